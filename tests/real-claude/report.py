"""What a failed scenario tells: the reason, where it stood, and all that was seen."""

import json
import time
import traceback
from pathlib import Path

from waiting import Failed


def failure(world, reason, error):
    parts = [reason, _place(error)]
    for pane in world.panes:
        parts += [f"--- screen of {pane.name}", _screen(pane), f"--- options of {pane.name}", *_options(pane)]
    parts += ["--- hooks", *_hooks(world), "--- model", *map(str, world.model.answered[-8:])]
    return "\n".join(f"    {line}" for part in parts for line in part.splitlines())


def _place(error):
    frames = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in frames if Path(frame.filename).parent.name == "scenarios"]
    return "\n".join(f"at {Path(frame.filename).name}:{frame.lineno}: {frame.line}" for frame in frames)


def _screen(pane):
    try:
        return pane.screen().rstrip()
    except Failed as error:
        return str(error)


def _options(pane):
    """The last few states, each as what changed against the one before."""
    before = {}
    for when, found in pane.seen[-6:]:
        changes = {name: value for name, value in found.items() if before.get(name) != value}
        yield f"{_clock(when)} {changes}"
        before = found


def _hooks(world):
    shown = ("tool_name", "tool_input", "agent_id", "source", "reason", "prompt", "notification_type")
    for event in world.events()[-40:]:
        details = {name: event.data[name] for name in shown if name in event.data}
        yield f"{_clock(event.began)} {event.name} {event.data['session_id'][:8]} {json.dumps(details)[:150]}"


def _clock(when):
    return time.strftime("%H:%M:%S", time.localtime(when)) + f".{int(when % 1 * 1000):03}"
