"""A window is left after something that Claude tells no hook: a moment later its tab is right."""

from model import Call, Stream, bash
from scenarios.telling import BLUE, IDLE, RUNNING, WHITE, asking, come_to_stop, scenario


def looked_at(world):
    """Claude in the window that a client shows."""
    pane = world.claude()
    pane.ready()
    world.attach()
    world.tmux("select-window", "-t", pane.name)
    return pane


def leave(world):
    world.tmux("select-window", "-t", ":0")


def look_again(world, pane):
    """What the tmux server does by itself a moment after the window was left."""
    world.cld("mend", world.tmux("display-message", "-p", "-t", pane.name, "#{window_id}"))


@scenario
def interrupted_and_left(world):
    pane = looked_at(world)
    pane.ask("talk for long", Stream("never"))
    pane.expect(**RUNNING)
    pane.see("and on and on")
    pane.keys("Escape")
    pane.see("Interrupted")
    leave(world)
    pane.expect(**IDLE)

    pane.ask("then say hello", Stream("reply"))
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def denied_and_left(world):
    pane = looked_at(world)
    pane.ask("make a file", Call(bash("touch made")))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "touch made")))
    pane.answer("touch made", "Escape")
    leave(world)
    pane.expect(**IDLE)


@scenario
def approved_and_left(world):
    """The tool runs for long, and tells of its approval only when it has ended."""
    pane = looked_at(world)
    world.fifo("slow")
    pane.ask("read it", Call(bash("tee made < slow")), Stream("reply"))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "tee made")))
    pane.answer("tee made", "Yes")
    leave(world)
    pane.expect(**RUNNING)
    world.unheard("PostToolUse")
    world.release("slow")
    world.next("PostToolUse")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def left_while_it_works(world):
    """Nothing to put right, neither where Claude works nor where it asks."""
    pane = looked_at(world)
    pane.ask("talk for long", Stream("reply"))
    pane.expect(**RUNNING)
    leave(world)
    look_again(world, pane)
    pane.still(**RUNNING)
    come_to_stop(pane, "reply")
    world.tmux("select-window", "-t", pane.name)
    pane.expect(state="idle", **WHITE)
    pane.ask("make a file", Call(bash("touch made")), Stream("more"))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "touch made")))
    leave(world)
    look_again(world, pane)
    pane.still(**asking(("p", "touch made")))
    pane.answer("touch made", "Yes")
    world.next("PostToolUse")
    pane.expect(state="running", **BLUE)
    come_to_stop(pane, "more")


@scenario
def killed_and_left(world):
    pane = looked_at(world)
    pane.ask("talk for long", Stream("never"))
    pane.expect(**RUNNING)
    pane.kill()
    leave(world)
    pane.expect(**IDLE | {"status": "", "shown": "ended", "session_id_set_on": "UserPromptSubmit"})
