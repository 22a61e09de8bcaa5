"""What `cld setup` writes, Claude Code reads."""

import json
from pathlib import Path

from model import Say
from scenarios.telling import GONE, IDLE, check, finished, scenario

REPOSITORY = Path(__file__).resolve().parents[3]


@scenario
def set_up(world):
    """The hooks are taken out and put in again beside the recorder's, which stay."""
    settings = world.settings
    world.set_up("--uninstall")
    check(count(settings, world.programs.cld) == 0, "no hook of cld is left")
    recorders = count(settings, str(world.heard))
    world.set_up()
    check(count(settings, world.programs.cld) == 29, "every event has a hook")
    check(count(settings, str(world.heard)) == recorders, "the other hooks stay")

    pane = world.claude()
    pane.ready()
    pane.expect(session_id_set_on="SessionStart", **IDLE)
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    pane.expect(**finished("d", "Hello."))
    pane.submit("/hooks")
    pane.see(rf"{recorders + 29} hooks on \d+ events")
    check("rror" not in pane.screen(), "/hooks shows no error")
    pane.keys("Escape")
    check("already up to date" in world.set_up(), "also after Claude wrote the file anew")
    pane.submit("/exit")
    pane.wait_for_end()
    pane.expect(**GONE)


@scenario
def plugin(world):
    """The hooks come from the plugin alone, installed by Claude Code itself."""
    world.set_up("--uninstall")
    (world.root / "bin" / "cld").symlink_to(world.programs.cld)
    for words in (["marketplace", "add", f"{REPOSITORY}/"], ["install", "cld@cld"]):
        done = world.manage_plugins(*words)
        check(done.returncode == 0, f"claude plugin {words}: {done.stdout}{done.stderr}")

    pane = world.claude()
    pane.ready()
    pane.expect(session_id_set_on="SessionStart", **IDLE)
    pane.ask("say hello", Say("Hello."))
    world.next("Stop")
    pane.expect(**finished("d", "Hello."))
    check("has the plugin" in world.cld("doctor").stdout, "the doctor sees it")
    pane.submit("/exit")
    pane.wait_for_end()
    pane.expect(**GONE)


def count(settings, program):
    hooks = json.loads(settings.read_text()).get("hooks", {})
    entries = [entry for entries in hooks.values() for entry in entries]
    return sum(program in hook["command"] for entry in entries for hook in entry["hooks"])
