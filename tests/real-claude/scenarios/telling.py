"""How scenarios are told: what a pane can look like, and the list of them all."""

from waiting import Failed

SCENARIOS = {}

RUNNING = {"status": "running", "state": "running", "asking": [], "finished": None, "attn": False}
IDLE = {"status": "stopped", "state": "idle", "asking": [], "finished": None, "attn": False}
GONE = IDLE | {"status": "", "session_id_set_on": "SessionEnd"}


def asking(*waits):
    return {"status": "stopped", "state": "waiting", "asking": list(waits), "finished": None, "attn": True}


def finished(kind, context):
    return {"status": "stopped", "state": "waiting", "asking": [], "finished": (kind, context), "attn": True}


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
