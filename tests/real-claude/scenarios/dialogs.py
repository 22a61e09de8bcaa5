"""Dialogs of one call at a time, and the ways to answer them."""

from model import Call, Gate, Stream, bash, tool
from scenarios.telling import RUNNING, asking, check, come_to_stop, finished, scenario


@scenario
def permission_approved(world):
    pane = world.claude()
    pane.ready()
    world.fifo("slow")
    pane.ask("make a file", Call(bash("cat slow > made")), Stream("reply"))
    world.next("PermissionRequest")
    found = pane.expect(**asking(("p", "cat slow > made")))
    check(found["asking"][0].agent == "main", "the wait is of the main thread")

    pane.answer("cat slow > made", "Yes")
    pane.silently("busy", **asking(("p", "cat slow > made")))
    world.release("slow")
    world.next("PostToolUse")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def permission_notified_late(world):
    """The Notification six seconds after the dialog is about a wait that is already open."""
    pane = world.claude()
    pane.ready()
    pane.ask("make a file", Call(bash("touch made")))
    world.next("PermissionRequest")
    before = pane.expect(**asking(("p", "touch made")))
    world.next("Notification", notification_type="permission_prompt")
    after = pane.expect(latest_hook_event="Notification-permission_prompt", **asking(("p", "touch made")))
    check(after["asking"] == before["asking"], "the notification changed the wait")
    pane.answer("touch made", "Yes")
    world.next("Stop")
    pane.expect(**finished("d", "Nothing left"))


@scenario
def permission_denied_with_escape(world):
    pane = world.claude()
    pane.ready()
    pane.ask("make a file", Call(bash("touch made")))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "touch made")))
    pane.answer("touch made", "Escape")
    pane.silently("idle", **asking(("p", "touch made")))

    pane.ask("then say hello", Stream("reply"))
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def permission_denied_with_feedback(world):
    pane = world.claude()
    pane.ready()
    pane.ask("make a file", Call(bash("touch made")), Stream("reply"))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "touch made")))
    pane.refuse("touch made", "make no files")
    world.next("PostToolBatch")
    pane.expect(**RUNNING | {"status": "stopped"})
    come_to_stop(pane, "reply")


@scenario
def denied_with_a_prompt_in_the_queue(world):
    """The next turn begins without a UserPromptSubmit, so its first tool call must end the wait that was denied."""
    pane = world.claude()
    pane.ready()
    world.fifo("slow")
    pane.ask("make a file", Call(Gate("typed"), bash("touch made")))
    pane.ask("the queued prompt", Call(bash("cat slow")), Stream("reply"))
    world.model.open("typed")
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "touch made")))
    pane.answer("touch made", "Escape")
    for _ in range(2):
        world.next("PreToolUse")
    pane.expect(**RUNNING | {"status": "stopped"})
    world.release("slow")
    world.next("PostToolUse")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def question(world):
    pane = world.claude()
    pane.ready()
    options = [{"label": label, "description": "a colour"} for label in ("Red", "Blue")]
    asked = {"question": "Which colour is it?", "header": "Colour", "options": options, "multiSelect": False}
    pane.ask("ask me something", Call(tool("AskUserQuestion", questions=[asked])), Stream("reply"))
    world.next("PermissionRequest", tool_name="AskUserQuestion")
    pane.expect(**asking(("q", "Which colour is it?")))
    pane.answer("Which colour is it?", "Blue")
    world.next("PostToolUse", tool_name="AskUserQuestion")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def plan(world):
    pane = world.claude("--permission-mode", "plan")
    pane.ready()
    pane.ask("make a plan", Call(tool("ExitPlanMode", plan="Do it well.")), Stream("reply"))
    world.next("PermissionRequest", tool_name="ExitPlanMode")
    pane.expect(**asking(("l", "")))
    pane.answer("Exit plan mode?", "Yes")
    world.next("PostToolUse", tool_name="ExitPlanMode")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")
