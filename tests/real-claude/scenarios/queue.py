"""Who is in the queue of the real Claude Code, what it shows, and text that is sent there."""

import re
import time

from model import Call, Say, Stream, bash, read, tool
from scenarios.telling import RUNNING, asking, check, come_to_stop, scenario
from waiting import wait_until

SOON = 1.0


def gone_soon(world, what):
    """Asserts that the queue is empty within a second from now."""
    begun = time.monotonic()
    wait_until(f"{what} to leave the queue", lambda: not world.queue(), seconds=SOON)
    print(f"   {what} left the queue after {time.monotonic() - begun:.2f} s", flush=True)


def asks(world, command="touch made"):
    pane = world.claude()
    pane.ready()
    pane.ask("make a file", Call(bash(command)), Stream("reply"))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", command)))
    (entry,) = world.queue()
    check(entry["waiting"]["kind"] == "permission", f"{entry['waiting']} is no permission")
    check(command in entry["waiting"]["context"], f"{entry['waiting']} is not about {command}")
    return pane


@scenario
def queue_denied_with_escape(world):
    pane = asks(world)
    pane.answer("touch made", "Escape")
    gone_soon(world, "a denied dialog")


@scenario
def queue_approved(world):
    world.fifo("slow")
    pane = asks(world, "cat slow > made")
    pane.answer("cat slow > made", "Yes")
    gone_soon(world, "an approved dialog whose tool still runs")
    world.release("slow")
    come_to_stop(pane, "reply")
    (entry,) = world.queue()
    check(entry["waiting"]["kind"] == "done", f"{entry['waiting']} is not done")


@scenario
def queue_interrupted(world):
    """The turn before has ended, so the session was in the queue until the prompt."""
    pane = world.claude()
    pane.ready()
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    wait_until("the finished turn in the queue", lambda: len(world.queue()) == 1)
    pane.ask("talk for long", Stream("never"))
    pane.see("and on and on")
    gone_soon(world, "a session with a new prompt")
    pane.keys("Escape")
    pane.see("Interrupted")
    gone_soon(world, "an interrupted turn")


@scenario
def queue_killed(world):
    pane = asks(world)
    pane.kill()
    gone_soon(world, "a killed Claude")


@scenario
def queue_pane_closed(world):
    pane = asks(world)
    world.tmux("kill-pane", "-t", pane.name)
    gone_soon(world, "a closed pane")


@scenario
def queue_next(world):
    """Two sessions wait; the first is answered on the way."""
    first, second = world.claude(), world.claude()
    for pane in (first, second):
        pane.ready()
    for pane in (first, second):
        pane.ask("make a file", Call(bash("touch made")), Stream("reply"))
        world.next("PermissionRequest")
        pane.expect(**asking(("p", "touch made")))
    front = lambda: world.tmux("display-message", "-p", "#{pane_id}")
    world.cld("next")
    check(front() == first.name, f"{front()} is in front, not the first")
    first.answer("touch made", "Escape")
    world.cld("next")
    check(front() == second.name, f"{front()} is in front, not the second")
    second.answer("touch made", "Escape")
    gone_soon(world, "two denied dialogs")
    done = world.cld("next", fails=True)
    check("nothing waits" in done.stderr, done.stderr)
    world.cld("back")
    check(front() == first.name, f"{front()} is in front, not the first")


@scenario
def queue_context(world):
    """What is asked stands in the transcript while the dialog is open."""
    (world.project / "code.txt").write_text("one\ntwo\nthree\n")
    pane = world.claude()
    pane.ready()
    path = str(world.project / "code.txt")
    edit = tool("Edit", file_path=path, old_string="two", new_string="2")
    pane.ask("change it", Call(read(path)), Call(edit), Stream("reply"))
    world.next("PermissionRequest", tool_name="Edit")
    pane.expect(**asking(("p", "Edit:")))
    # The transcript is written a moment after the dialog.
    long = lambda: world.cld("queue", "--long").stdout
    wait_until(lambda: f"the difference in\n{long()}", lambda: "\n    - two\n    + 2\n" in long())
    pane.answer("code.txt", "Yes")
    come_to_stop(pane, "reply")
    wait_until(lambda: f"the last words in\n{long()}", lambda: re.search(r"(?m)^    On", long()))


@scenario
def queue_context_of_a_question(world):
    pane = world.claude()
    pane.ready()
    options = [{"label": label, "description": f"the {label} one"} for label in ("Red", "Blue")]
    asked = {"question": "Which colour is it?", "header": "Colour", "options": options, "multiSelect": False}
    pane.ask("ask me something", Call(tool("AskUserQuestion", questions=[asked])), Stream("reply"))
    world.next("PermissionRequest", tool_name="AskUserQuestion")
    pane.expect(**asking(("q", "Which colour is it?")))
    wanted = "    Which colour is it?\n    • Red: the Red one\n    • Blue: the Blue one\n"
    wait_until("the options of the question", lambda: wanted in world.cld("queue", "--long").stdout)
    pane.answer("Which colour is it?", "Blue")
    come_to_stop(pane, "reply")


@scenario
def queue_context_of_a_plan(world):
    pane = world.claude("--permission-mode", "plan")
    pane.ready()
    pane.ask("make a plan", Call(tool("ExitPlanMode", plan="Do it well.")), Stream("reply"))
    world.next("PermissionRequest", tool_name="ExitPlanMode")
    pane.expect(**asking(("l", "")))
    pane.see("Exit plan mode")
    long = world.cld("queue", "--long").stdout
    check("Exit plan mode" in long or "Do it well" in long, long)


@scenario
def send(world):
    """Several lines, other scripts, what looks like a command: it arrives as it was written.

    No tab is among it: Claude Code itself makes four blanks of one.
    """
    pane = world.claude()
    session = pane.ready()
    text = "first line\n\n  indented — 日本語 👩‍💻 é\n$HOME `x` #{pane_id} ; \\ \"y\"\nsay hello"
    world.model.learn("say hello", Stream("reply"))
    sent(world, session, text)
    pane.expect(**RUNNING)

    refused = world.cld("send", session[:8], "more", fails=True)
    check("is busy" in refused.stderr, refused.stderr)
    world.model.learn("the queued prompt", Stream("second"))
    sent(world, session, "the queued prompt", "--queue")
    world.model.open("reply")
    world.next("Stop")
    come_to_stop(pane, "second")


@scenario
def send_much(world):
    pane = world.claude()
    session = pane.ready()
    lines = [f"{number:05} {'word ' * 12}ünï" for number in range(1400)]
    text = "\n".join([*lines, "say hello"])
    check(len(text.encode()) > 100_000, "the text is too short")
    world.model.learn("say hello", Stream("reply"))
    sent(world, session, text)
    come_to_stop(pane, "reply")


@scenario
def send_refused_at_a_dialog(world):
    pane = asks(world)
    wait_until("the dialog", lambda: pane.asks("touch made"))
    refused = world.cld("send", pane.name, "yes", fails=True)
    check("has a dialog open (permission: Bash: touch made)" in refused.stderr, refused.stderr)
    check(pane.asks("touch made"), "the dialog is still open")
    pane.answer("touch made", "Escape")
    gone_soon(world, "a denied dialog")
    # What was denied still stands in the pane's option, and does not stand in the way.
    world.model.learn("say hello", Stream("other"))
    sent(world, pane.options()["session_id"], "say hello")
    come_to_stop(pane, "other")


@scenario
def send_while_somebody_scrolls(world):
    pane = world.claude()
    session = pane.ready()
    world.tmux("copy-mode", "-t", pane.name)
    world.model.learn("say hello", Stream("reply"))
    sent(world, session, "two lines\nsay hello")
    come_to_stop(pane, "reply")


def sent(world, session, text, *options):
    done = world.cld("send", *options, session, "-", text=text)
    check(done.stdout == "submitted\n", f"{done.stdout!r} {done.stderr!r}")
    arrived = world.next("UserPromptSubmit", seconds=5).data["prompt"]
    world.unheard("UserPromptSubmit")
    check(arrived == text, f"what arrived differs: {len(arrived)} of {len(text)}\n{arrived[:300]!r}\n{text[:300]!r}")
