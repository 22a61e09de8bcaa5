"""Several calls at once, in the main thread and in subagents: no wait is lost and none sticks."""

from model import Call, Gate, Say, Stream, agent, bash, read
from scenarios.telling import RUNNING, asking, check, come_to_stop, finished, scenario


@scenario
def parallel_calls_with_one_dialog(world):
    pane = world.claude()
    pane.ready()
    world.fifo("slow")
    (world.project / "notes").write_text("hello\n")
    calls = Call(read("/etc/passwd"), read(world.project / "notes"), bash("echo hello"), bash("cat slow"))
    pane.ask("look around", calls, Stream("reply"))
    world.next("PermissionRequest")
    for _ in range(2):
        world.next("PostToolUse")
        pane.still(**asking(("p", "/etc/passwd")))
    world.release("slow")
    world.next("PostToolUse")
    pane.still(**asking(("p", "/etc/passwd")))

    pane.answer("/etc/passwd", "Yes")
    world.next("PostToolUse")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def parallel_calls_with_two_dialogs(world):
    pane = world.claude()
    pane.ready()
    (world.project / "notes").write_text("hello\n")
    calls = Call(read("/etc/passwd"), read(world.project / "notes"), bash("echo hello"), read("/etc/group"))
    pane.ask("look around", calls, Stream("reply"))
    for _ in range(2):
        world.next("PermissionRequest")
        world.next("PostToolUse")
    pane.still(**asking(("p", "/etc/passwd"), ("p", "/etc/group")))

    pane.see("1 of 2")
    first, second = ("/etc/passwd", "/etc/group") if "/etc/passwd" in pane.dialog() else ("/etc/group", "/etc/passwd")
    pane.answer(first, "Yes")
    world.next("PostToolUse")
    pane.expect(**asking(("p", second)))
    pane.answer(second, "Yes")
    world.next("PostToolUse")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def parallel_calls_that_stream_in(world):
    """Claude runs a call when it is complete, while the rest of the message still comes: a PreToolUse of the
    second call, however late, says nothing of the first one's dialog."""
    pane = world.claude()
    pane.ready()
    (world.project / "notes").write_text("hello\n")
    calls = Call(
        *(read("/etc/passwd"), Gate("second"), read(world.project / "notes")),
        *(Gate("third"), read("/etc/group"), Gate("fourth"), bash("echo hello")),
    )
    pane.ask("look around", calls, Stream("reply"))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "/etc/passwd")))
    world.model.open("second")
    world.next("PostToolUse")
    pane.still(**asking(("p", "/etc/passwd")))
    world.model.open("third")
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "/etc/passwd"), ("p", "/etc/group")))
    world.model.open("fourth")
    world.next("PostToolUse")
    pane.still(**asking(("p", "/etc/passwd"), ("p", "/etc/group")))

    pane.answer("/etc/passwd", "Yes")
    world.next("PostToolUse")
    pane.expect(**asking(("p", "/etc/group")))
    pane.answer("/etc/group", "Yes")
    world.next("PostToolUse")
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def background_subagent_asks(world):
    pane = world.claude()
    pane.ready()
    world.model.learn("help with a file", Call(Gate("main stopped"), bash("touch made")), Say("It is made."))
    pane.ask("let a subagent do it", Call(agent("help with a file")), Say("The subagent is at it."))
    stop = world.next("Stop")
    check(stop.data["background_tasks"], "the subagent runs in the background")
    pane.expect(background="1", **RUNNING | {"status": "stopped"})

    world.model.open("main stopped")
    world.next("PermissionRequest")
    found = pane.expect(**asking(("p", "touch made")))
    check(found["asking"][0].agent != "main", "the wait is that of the subagent")

    pane.answer("touch made", "Yes")
    world.next("SubagentStop")
    world.next("Stop")
    pane.expect(background="0", **finished("d", "Nothing left"))


@scenario
def subagent_calls_that_stream_in(world):
    """A prompt that comes to the main thread meanwhile says nothing of the subagent's dialog either."""
    pane = world.claude()
    pane.ready()
    (world.project / "notes").write_text("hello\n")
    calls = Call(read("/etc/passwd"), Gate("second"), read(world.project / "notes"))
    world.model.learn("help with reading", calls, Say("It is read."))
    world.model.learn("help with nothing", Call(Gate("asked"), bash("echo hello")), Say("There was nothing."))
    pane.ask("let two subagents do it", Call(agent("help with reading"), agent("help with nothing")))
    world.next("PermissionRequest")
    world.next("Stop")
    pane.still(**asking(("p", "/etc/passwd")))
    world.model.open("asked")
    world.next("SubagentStop")
    world.next("Stop")
    pane.still(**asking(("p", "/etc/passwd")))
    world.model.open("second")
    world.next("PostToolUse", tool_name="Read")
    pane.still(**asking(("p", "/etc/passwd")))

    pane.answer("/etc/passwd", "Yes")
    world.next("SubagentStop")
    world.next("Stop")
    pane.expect(**finished("d", "Nothing left"))


@scenario
def subagent_denied_with_escape(world):
    """Unlike the main thread's, a subagent's denial is told to hooks."""
    pane = world.claude()
    pane.ready()
    world.model.learn("help with a file", Call(bash("touch made")), Say("It is not made."))
    pane.ask("let a subagent do it", Call(agent("help with a file")), Stream("reply"))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "touch made")))
    pane.answer("touch made", "Escape")
    world.next("SubagentStop")
    pane.expect(**RUNNING | {"status": "stopped"})
    come_to_stop(pane, "reply", "")
