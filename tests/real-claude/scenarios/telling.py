"""How scenarios are told: what a pane can look like, and the list of them all.

A look is that of the options, of the tab, and of what `cld ls` and `cld queue` say (`shown`).
"""

from waiting import Failed

SCENARIOS = {}

WHITE, BLUE, RED = ({"tab": f"fg={colour}", "current": f"fg={colour}"} for colour in ("#cdd3de", "#6699cc", "#EC5f67"))

RUNNING = {"status": "running", "state": "running", "asking": [], "finished": None, "attn": False, "shown": "running", **BLUE}
IDLE = {"status": "stopped", "state": "idle", "asking": [], "finished": None, "attn": False, "shown": "idle", **WHITE}
WAITING = {"status": "stopped", "state": "waiting", "attn": True, "shown": "waiting", **RED}
GONE = IDLE | {"status": "", "shown": "ended", "session_id_set_on": "SessionEnd"}


def asking(*waits):
    return WAITING | {"asking": list(waits), "finished": None}


def finished(kind, context):
    return WAITING | {"asking": [], "finished": (kind, context)}


def scenario(tell):
    SCENARIOS[tell.__name__.replace("_", "-")] = tell
    return tell


def check(condition, what):
    if not condition:
        raise Failed(what)


def come_to_stop(pane, gate, reply="On"):
    """Lets the model end its reply, which ends the turn."""
    pane.world.model.open(gate)
    pane.world.next("Stop")
    pane.expect(**finished("d", reply))
