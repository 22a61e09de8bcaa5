"""How scenarios are told: what a pane can look like, and the list of them all."""

from waiting import Failed

SCENARIOS = {}

WHITE, BLUE, RED = ({"tab": f"fg={colour}", "current": f"fg={colour}"} for colour in ("#cdd3de", "#6699cc", "#EC5f67"))

RUNNING = {"status": "running", "state": "running", "asking": [], "finished": None, "attn": False, **BLUE}
IDLE = {"status": "stopped", "state": "idle", "asking": [], "finished": None, "attn": False, **WHITE}
GONE = IDLE | {"status": "", "session_id_set_on": "SessionEnd"}


def asking(*waits):
    return {"status": "stopped", "state": "waiting", "asking": list(waits), "finished": None, "attn": True, **RED}


def finished(kind, context):
    return {"status": "stopped", "state": "waiting", "asking": [], "finished": (kind, context), "attn": True, **RED}


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
