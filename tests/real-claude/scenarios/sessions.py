"""Which session a pane holds, from its start to its end."""

from model import Call, Say, Stream, bash
from scenarios.telling import BLUE, RED, GONE, IDLE, RUNNING, asking, check, come_to_stop, finished, scenario
from waiting import wait_until


@scenario
def named(world):
    pane = world.claude("-n", "my work")
    pane.ready()
    pane.expect(title="my work", **IDLE)
    pane.submit("/rename other work")
    pane.see("renamed")
    pane.ask("say hello", Say("Hello."))
    pane.expect(title="other work")
    world.next("Stop")
    pane.expect(title="other work", **finished("d", "Hello."))


@scenario
def clear(world):
    pane = world.claude()
    first = pane.ready()
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    pane.expect(session_id=first, **finished("d", "Hello."))
    pane.submit("/clear")
    world.next("SessionEnd", reason="clear")
    second = world.next("SessionStart", source="clear").data["session_id"]
    check(first != second, "/clear begins a new session")
    pane.expect(session_id=second, session_id_set_on="SessionStart", session_dir=str(world.project), **IDLE)
    pane.ask("say it again", Say("Hello again."))
    world.next("Stop")
    pane.expect(session_id=second, **finished("d", "Hello again."))


@scenario
def compact_between_turns(world):
    """The directory of the session is where it began, not where a `cd` led."""
    pane = world.claude()
    session = pane.ready()
    (world.project / "inner").mkdir()
    pane.ask("go there", Call(bash("cd inner")), Say("Here we are."))
    world.next("CwdChanged")
    stop = world.next("Stop")
    check(stop.data["cwd"] == str(world.project / "inner"), "the session moved")
    pane.expect(session_dir=str(world.project), **finished("d", "Here we are."))
    pane.submit("/compact")
    world.next("SessionStart", source="compact")
    world.next("PostCompact")
    pane.expect(
        session_id=session, session_dir=str(world.project), latest_hook_event="PostCompact", **finished("d", "Here we are.")
    )


@scenario
def compact_in_a_turn(world):
    """A full context is compacted by itself between two requests of one turn."""
    pane = world.claude()
    session = pane.ready()
    world.model.summary = "go on after the summary"
    world.model.learn("go on after the summary", Stream("reply"))
    pane.ask("work a lot", Call(bash("echo hello"), tokens=990_000))
    world.next("SessionStart", source="compact")
    pane.still(session_id=session, **RUNNING)
    world.next("PostCompact")
    pane.still(session_id=session, session_dir=str(world.project), **RUNNING)
    come_to_stop(pane, "reply")


@scenario
def resume_inside(world):
    pane = world.claude()
    first = pane.ready()
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    pane.submit("/clear")
    second = world.next("SessionStart", source="clear").data["session_id"]
    pane.expect(session_id=second, **IDLE)
    pane.submit(f"/resume {first}")
    world.next("SessionEnd", reason="resume")
    world.next("SessionStart", source="resume")
    pane.expect(session_id=first, session_id_set_on="SessionStart", **IDLE)
    pane.see("Hello.")
    pane.ask("say it again", Say("Hello again."))
    world.next("Stop")
    pane.expect(session_id=first, **finished("d", "Hello again."))


@scenario
def fork(world):
    pane = world.claude()
    first = pane.ready()
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    pane.expect(**finished("d", "Hello."))
    other = world.claude("--resume", first, "--fork-session")
    second = other.ready()
    check(first != second, "a fork is a new session")
    other.expect(session_id=second, session_id_set_on="SessionStart", **IDLE)
    other.ask("say it again", Say("Hello again."))
    world.next("Stop")
    other.expect(session_id=second, **finished("d", "Hello again."))
    pane.still(session_id=first, **finished("d", "Hello."))


@scenario
def nested_claude(world):
    """A Claude that the Bash tool runs inherits the pane, and must not take it over."""
    pane = world.claude()
    session = pane.ready()
    world.model.learn("say it from inside", Stream("inner"))
    pane.ask("run another one", Call(bash("claude -p 'say it from inside'")), Stream("reply"))
    inner = world.next("SessionStart").data["session_id"]
    check(inner != session, "the inner one has a session of its own")
    world.next("UserPromptSubmit", session_id=inner)
    pane.still(session_id=session, session_id_set_on="UserPromptSubmit", **RUNNING)
    check(not world.queue(), "nobody waits for the inner one")
    world.model.open("inner")
    world.next("Stop", session_id=inner)
    world.next("SessionEnd", session_id=inner)
    world.next("PostToolUse", session_id=session)
    pane.still(session_id=session, session_id_set_on="UserPromptSubmit", **RUNNING)
    come_to_stop(pane, "reply")


@scenario
def two_in_one_window(world):
    """The window shows the worst of its panes."""
    one = world.claude()
    one.ready()
    two = world.claude(beside=one)
    two.ready()
    one.ask("talk for long", Stream("first"))
    one.expect(**RUNNING)
    two.ask("make a file", Call(bash("touch made")))
    world.next("PermissionRequest")
    two.expect(**asking(("p", "touch made")))
    one.still(**RUNNING | {"state": "waiting"} | RED)
    two.answer("touch made", "Yes")
    world.next("Stop")
    two.expect(**finished("d", "Nothing left"))
    two.ask("talk as well", Stream("second"))
    two.expect(**RUNNING)
    world.model.open("second")
    world.next("Stop")
    two.submit("/exit")
    world.next("SessionEnd")
    two.expect(**GONE | {"state": "running"} | BLUE)
    come_to_stop(one, "first")


@scenario
def exit_by_command(world):
    pane = world.claude()
    session = pane.ready()
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    pane.expect(**finished("d", "Hello."))
    pane.submit("/exit")
    world.next("SessionEnd", reason="prompt_input_exit")
    pane.wait_for_end()
    pane.still(session_id=session, latest_hook_event="SessionEnd", **GONE)


@scenario
def killed(world):
    """No hook runs: what was written stays, with the pid of a process that is no more."""
    pane = world.claude()
    session = pane.ready()
    pane.ask("talk for long", Stream("never"))
    found = pane.expect(**RUNNING)
    pane.kill()
    shown = pane.shows("ended")
    check(shown["session_id"] == session and not shown["alive"], "cld ls knows that it was killed")
    pane.still(session_id=session, pid=found["pid"], **RUNNING | {"shown": "ended"})
    wait_until("the pid to be gone", lambda: not world.alive(int(found["pid"])))
    world.unheard("SessionEnd")


@scenario
def pane_killed(world):
    """The hook of the end runs when the pane is gone already, and stays quiet; the window is as the pane that is left."""
    pane = world.claude()
    pane.ready()
    other = world.claude(beside=pane)
    session = other.ready()
    pane.ask("make a file", Call(bash("touch made")))
    world.next("PermissionRequest")
    pane.expect(**asking(("p", "touch made")))
    other.still(session_id=session, **IDLE | {"state": "waiting"} | RED)
    claude = pane.pid()
    world.tmux("kill-pane", "-t", pane.name)
    world.next("SessionEnd", reason="other")
    wait_until("Claude and its hooks to end", lambda: not world.alive(claude) and not world.hooks_of(claude))
    other.expect(session_id=session, latest_hook_event="SessionStart", **IDLE)
    check(len(world.listed()) == 1 and not world.queue(), "cld ls and cld queue know of the other one alone")
