"""Turns of the main thread: plain ones, broken ones, and those that nobody typed."""

from model import Call, Fail, Say, Stream, bash, tool
from scenarios.telling import IDLE, RUNNING, check, come_to_stop, finished, scenario


@scenario
def text_turn(world):
    pane = world.claude()
    session = pane.ready()
    found = pane.expect(session_id=session, session_id_set_on="SessionStart", session_dir=str(world.project), **IDLE)
    check(found["pid"] == str(pane.pid()), f"pid {found['pid']} is not that of Claude")

    prompt = pane.ask("say hello", Stream("reply"))
    found = pane.expect(session_id=session, session_id_set_on="UserPromptSubmit", **RUNNING)
    check(abs(int(found["latest_hook_time"]) - prompt.began) <= 2, f"{found['latest_hook_time']} is no time of now")

    world.model.open("reply")
    world.next("Stop")
    pane.expect(session_id_set_on="Stop", latest_hook_event="Stop", **finished("d", "On"))

    pane.ask("say it again", Stream("again"))
    pane.expect(**RUNNING)
    come_to_stop(pane, "again")
    found = pane.options()
    check(found["transcript"].endswith(f"/{session}.jsonl"), f"transcript {found['transcript']} is of another session")


@scenario
def prompt_typed_while_busy(world):
    """Both turns end with a Stop, and only typing fires a UserPromptSubmit."""
    pane = world.claude()
    pane.ready()
    pane.ask("talk for long", Stream("first"))
    pane.see("and on and on")
    pane.ask("the queued prompt", Call(bash("echo hello")), Stream("second"))
    pane.expect(**RUNNING)
    world.model.open("first")
    world.next("Stop")
    world.next("PostToolUse")
    pane.expect(**RUNNING)
    come_to_stop(pane, "second")


@scenario
def shell_command_of_the_user(world):
    """`!command` fires no UserPromptSubmit."""
    pane = world.claude()
    pane.ready()
    pane.type("!")
    pane.submit("echo from the shell")
    world.next("Stop")
    pane.expect(**finished("d", "Nothing left"))
    world.unheard("UserPromptSubmit")


@scenario
def api_error(world):
    pane = world.claude()
    pane.ready()
    pane.ask("break it", Fail(400))
    world.next("StopFailure")
    pane.expect(latest_hook_event="StopFailure", **finished("e", "the model failed with 400"))
    pane.ask("then say hello", Stream("reply"))
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def background_command(world):
    """A command in the background does not keep a turn from being done."""
    pane = world.claude()
    pane.ready()
    world.fifo("slow")
    pane.ask("run it behind", Call(tool("Bash", command="cat slow", run_in_background=True)), Say("It runs."))
    world.next("Stop")
    pane.expect(background="1", **finished("d", "It runs."))
    world.release("slow")
    world.next("UserPromptSubmit")
    world.next("Stop")
    pane.expect(background="0", **finished("d", "Nothing left"))


@scenario
def interrupted_while_it_streams(world):
    pane = world.claude()
    pane.ready()
    pane.ask("talk for long", Stream("never"))
    pane.expect(**RUNNING)
    pane.see("and on and on")
    pane.keys("Escape")
    pane.see("Interrupted")
    pane.silently("idle", **RUNNING)
    world.unheard("Stop", "StopFailure")

    pane.ask("then say hello", Stream("reply"))
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")


@scenario
def interrupted_in_a_tool(world):
    pane = world.claude()
    pane.ready()
    world.fifo("slow")
    pane.ask("wait for long", Call(bash("cat slow")))
    world.next("PreToolUse")
    pane.expect(**RUNNING)
    pane.see("cat slow")
    pane.keys("Escape")
    pane.see("Interrupted")
    pane.silently("idle", **RUNNING)
    world.unheard("Stop", "StopFailure", "PostToolUse", "PostToolUseFailure")

    pane.ask("then say hello", Stream("reply"))
    pane.expect(**RUNNING)
    come_to_stop(pane, "reply")
