"""Back to a session that was left, from wherever one stands."""

from model import Say
from scenarios.telling import GONE, IDLE, check, finished, scenario
from waiting import wait_until
from world import MANUAL


def left(world):
    """A session in which something was said, and which was closed; its id."""
    pane = world.claude()
    session = pane.ready()
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    pane.submit("/exit")
    world.next("SessionEnd")
    pane.wait_for_end()
    pane.expect(**GONE)
    return session


@scenario
def resumed_by_prefix_from_another_directory(world):
    session = left(world)
    elsewhere = world.home / "elsewhere"
    elsewhere.mkdir()
    pane = world.cld_in_window("resume", "-y", session[:8], "--", *MANUAL, directory=elsewhere)
    start = world.next("SessionStart", source="resume").data
    check(start["session_id"] == session, "the session is the one that was named")
    check(start["cwd"] == str(world.project), "it goes on in its own directory")
    pane.see("Hello.")
    pane.expect(session_id=session, session_dir=str(world.project), **IDLE)
    pane.ask("say it again", Say("Hello again."))
    world.next("Stop")
    found = pane.expect(session_id=session, **finished("d", "Hello again."))
    transcripts = list((world.home / ".claude" / "projects").glob("*/*.jsonl"))
    check([str(path) for path in transcripts] == [found["transcript"]], "there is still one transcript")
    shown = pane.shows("waiting")
    check(shown["directory"] == str(world.project), "cld ls shows where it belongs")


@scenario
def resumed_twice(world):
    """A second Claude on one transcript would mix two conversations: the open one is shown instead."""
    session = left(world)
    open_one = world.cld_in_window("resume", "-y", session[:8], "--", *MANUAL, directory=world.home)
    world.next("SessionStart", source="resume")
    open_one.see(r"(?m)^❯")
    open_one.expect(session_id=session, **IDLE)
    wait_until("no process to be left behind by cld, whose place Claude has taken", lambda: open_one.dead_children() == 0)
    for arguments in (["-y", session[:8]], [session]):
        world.tmux("select-window", "-t", "%0")
        second = world.cld_in_window("resume", *arguments, directory=world.home)
        check(second.exit_code() == 0, f"the second resume ends well: {second.screen()}")
        current = world.tmux("display-message", "-p", "#{pane_id}")
        check(current == open_one.name, "the pane of the open one is in front")
    world.unheard("SessionStart")
    check([listed["session_id"] for listed in world.listed() if listed["alive"]] == [session], "it is open once")
    open_one.still(session_id=session, **IDLE)


@scenario
def restored_after_the_end_of_tmux(world):
    """What was open when the server died comes back; what was closed stays closed."""
    left(world)
    panes = [world.claude(), world.claude()]
    sessions = []
    for number, pane in enumerate(panes):
        sessions.append(pane.ready())
        pane.ask(f"say number {number}", Say(f"Number {number}."))
        world.next("Stop")
        pane.expect(**finished("d", f"Number {number}."))
    claudes = [pane.pid() for pane in panes]
    world.restart_tmux()
    wait_until("Claude to end with its terminal", lambda: not any(world.alive(pid) for pid in claudes))
    before = len(world.tmux("list-panes", "-a").splitlines())
    restore = world.cld_in_window("restore", "-y", directory=world.home)
    starts = [world.next("SessionStart", source="resume").data for _ in sessions]
    check({start["session_id"] for start in starts} == set(sessions), "both are back")
    check({start["cwd"] for start in starts} == {str(world.project)}, "in their directory")
    check(restore.exit_code() == 0, "and the command says so")
    alive = [listed for listed in world.listed() if listed["alive"]]
    check({listed["session_id"] for listed in alive} == set(sessions), "cld ls has both")
    for listed in alive:
        world.pane(listed["pane"]["id"]).expect(session_id=listed["session_id"], session_dir=str(world.project), **IDLE)
    check(len(world.tmux("list-panes", "-a").splitlines()) == before + 3, "each in a window of its own")
