"""A pane with Claude Code in it: its keys, its screen, and what is written about it in tmux."""

import json
import os
import re
import signal
import time
from collections import namedtuple
from itertools import zip_longest
from pathlib import Path

from waiting import Failed, wait_until

Wait = namedtuple("Wait", "agent call kind time context")
Finished = namedtuple("Finished", "time kind context")

PREFIX = "@meta.claude."
OPTIONS = """
    session_id session_id_set_on session_dir status latest_hook_event latest_hook_time asking finished transcript
    pid background title
""".split()
WAIT = re.compile(r"\|(main|[0-9a-f]{8})\.([0-9a-f]{12}|none)\.([pqli])@(\d{16}) ")
FINISHED = re.compile(r"(\d{16}) ([de]) ?(.*)")
KINDS = {"p": "permission", "q": "question", "l": "plan", "i": "input", "d": "done", "e": "error"}


class Pane:
    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.seen = []

    def ready(self):
        """Waits for a new session at its prompt, and returns its id."""
        start = self.world.next("SessionStart")
        self.see(r"(?m)^❯")
        return start.data["session_id"]

    def keys(self, *keys):
        self.world.tmux("send-keys", "-t", self.name, *keys)

    def type(self, text):
        """What is typed while Claude changes the screen gets lost, so it is typed again from the start."""
        for attempt in range(4):
            if attempt:
                self.keys("C-u")
            self.world.tmux("send-keys", "-t", self.name, "-l", text)
            try:
                return self.see(re.escape(text), seconds=5)
            except Failed:
                if attempt == 3:
                    raise

    def submit(self, text):
        """Types a line and sends it. The text must not stand on the screen already."""
        self.type(text)
        self.keys("Enter")

    def ask(self, prompt, *answers):
        """Submits a prompt which the model answers like this, and waits until Claude has taken it."""
        self.world.model.learn(prompt, *answers)
        self.submit(prompt)
        return self.world.next("UserPromptSubmit", prompt=prompt)

    def screen(self):
        return self.world.tmux("capture-pane", "-p", "-t", self.name)

    def history(self):
        """The screen and all that has left it; nothing of a pane that is gone."""
        panes = self.world.tmux("list-panes", "-a", "-F", "#{pane_id}").split()
        return self.world.tmux("capture-pane", "-p", "-S", "-", "-t", self.name) if self.name in panes else ""

    def see(self, pattern, seconds=20):
        return wait_until(f"/{pattern}/ on the screen", lambda: re.search(pattern, self.screen()), seconds)

    def dialog(self):
        """The part of the screen below the first line across it: an open dialog, or else the input."""
        return re.split(r"(?m)^[─▔]{40,}", self.screen(), maxsplit=1)[-1]

    def asks(self, asked):
        return asked in self.dialog()

    def answer(self, asked, choice):
        """Answers the dialog that asks for this, by the start of the answer's text or by a key."""
        wait_until(f"a dialog about {asked!r}", lambda: self.asks(asked))
        number = re.search(rf"(\d)\. {choice}", self.dialog())
        key = number.group(1) if number else choice
        self.press_until(key, f"the dialog about {asked!r} to go", lambda: not self.asks(asked))

    def refuse(self, asked, words):
        """Answers with the last choice, No, and says what to do instead."""
        wait_until(f"a dialog about {asked!r}", lambda: self.asks(asked))
        self.press_until("Up", "the last answer", lambda: re.search(r"❯ \d\. No", self.dialog()))
        self.press_until("Tab", "room for words", lambda: self.asks("tell Claude what to do") or self.asks(words))

        def say():
            if not self.asks(words):
                self.type(words)
            self.keys("Enter")

        self._repeat(say, "the refusal to be taken", lambda: not self.asks(asked))

    def press_until(self, key, what, reached):
        self._repeat(lambda: self.keys(key), what, reached)

    def _repeat(self, act, what, reached):
        """A fresh dialog loses keys, so what had no effect is done again."""
        for attempt in range(6):
            act()
            try:
                return wait_until(what, reached, seconds=1.5)
            except Failed:
                if attempt == 5:
                    raise

    def pid(self):
        return int(self.world.tmux("display-message", "-p", "-t", self.name, "#{pane_pid}"))

    def wait_for_end(self):
        wait_until("Claude to end", lambda: self._format("#{pane_dead}") == "1")

    def kill(self):
        os.kill(self.pid(), signal.SIGKILL)
        self.wait_for_end()

    def registry(self):
        """What Claude itself says of this session."""
        file = self.world.home / ".claude" / "sessions" / f"{self.pid()}.json"
        try:
            return json.loads(file.read_text())
        except (OSError, ValueError):
            return {}

    def options(self):
        """All that is written about this pane, parsed; what is unset is empty."""
        commands = []
        for name in [*(PREFIX + name for name in OPTIONS), "@claude-attn"]:
            commands += ["display-message", "-p", "-t", self.name, f"#{{{name}}}", ";"]
        for name in ["@claude-state", "window-status-style", "window-status-current-style"]:
            commands += ["display-message", "-p", "-t", self.name, f"#{{{name}}}", ";"]
        found = dict(zip_longest([*OPTIONS, "attn", "state", "tab", "current"], self.world.tmux(*commands[:-1]).split("\n"), fillvalue=""))
        found["attn"] = found["attn"] == "1"
        found["asking"] = _waits(found["asking"])
        found["finished"] = _finished(found["finished"])
        if not self.seen or self.seen[-1][1] != found:
            self.seen.append((time.time(), found))
        return found

    def expect(self, seconds=10, shown=None, **wanted):
        """Waits until the options are as wanted. `asking` and `finished` are given as (kind, part of the context).

        With `shown`, a state, `cld ls` and `cld queue` must then say the same of the pane.
        """

        def probe():
            found = self.options()
            return None if _differences(found, wanted) else found

        def missing():
            return f"options of {self.name}\n" + "\n".join(_differences(self.seen[-1][1], wanted))

        found = wait_until(missing, probe, seconds)
        if shown:
            self.shows(shown, 5, probe)
        return found

    def still(self, **wanted):
        """Lets the hooks that run come to their end; then the options must be as wanted at once."""
        self.settle()
        return self.expect(seconds=0, **wanted)

    def settle(self):
        pid = self.pid()
        wait_until("the hooks to end", lambda: not self.world.hooks_of(pid))

    def silently(self, truth, **still):
        """After something that Claude tells no hook: the options stay as they were, its registry knows the truth,
        and a second later at the latest so does `cld ls`, which combines the two."""
        wait_until(
            lambda: f"{truth} in the registry, not {self.registry().get('status')}",
            lambda: self.registry().get("status") == truth,
        )
        state = {"busy": "running"}.get(truth, truth)
        self.shows(state, 1)
        return self.still(**still | {"shown": state})

    def shows(self, state, seconds=1, options=None):
        """Waits until `cld ls` says this of the session in the pane, and `cld queue` has it exactly while it waits.

        With `options`, which reads those of the pane, both also tell the session and the waits that stand there.
        They are read anew each time: Claude may end one more turn meanwhile.
        """
        said = []

        def here(sessions):
            return [session for session in sessions if (session["pane"] or {}).get("id") == self.name]

        def probe():
            found = options and options()
            said[:] = here(self.world.listed()), here(self.world.queue())
            listed, queued = said
            if [session["state"] for session in listed] != [state] or len(queued) != (state == "waiting"):
                return None
            if options and not (found and all(_tells(session, found) for session in listed + queued)):
                return None
            return listed[0]

        return wait_until(lambda: f"{state} in cld ls and cld queue, which say\n{said}", probe, seconds)

    def exit_code(self):
        """Of a program that has ended and left its words on the screen. tmux 3.3a may miss the end of a program,
        and finds out when another one ends."""

        def status():
            self.world.tmux("run-shell", "true")
            return self._format("#{pane_dead_status}")

        return int(wait_until("an exit code", status))

    def dead_children(self):
        """Processes that the program in the pane has never collected."""
        children = [stat.read_text().rsplit(")", 1)[1].split() for stat in Path("/proc").glob("[0-9]*/stat")]
        return sum(fields[0] == "Z" and int(fields[1]) == self.pid() for fields in children)

    def _format(self, text):
        return self.world.tmux("display-message", "-p", "-t", self.name, text)


def _tells(session, found):
    """Whether a reader tells what the options say, as far as nothing but hooks can know it."""
    if [session["session_id"], session["latest_hook_event"]] != [found["session_id"], found["latest_hook_event"]]:
        return False
    if session["state"] != "waiting":
        return session["waiting"] is None
    waits = [*found["asking"], *filter(None, [found["finished"]])]
    told = session["waiting"]["kind"], session["waiting"]["context"]
    return told == (KINDS[waits[0].kind], waits[0].context)


def _waits(text):
    starts = list(WAIT.finditer(text))
    if text and not (starts and starts[0].start() == 0):
        raise Failed(f"asking is not a list of waits: {text!r}")
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return [Wait(*start.groups(), text[start.end() : end]) for start, end in zip(starts, ends)]


def _finished(text):
    if not text:
        return None
    match = FINISHED.fullmatch(text)
    if not match:
        raise Failed(f"finished has a form of its own: {text!r}")
    return Finished(*match.groups())


def _differences(found, wanted):
    return [
        f"  {name}: wanted {value!r}, found {found[name]!r}"
        for name, value in wanted.items()
        if not _fits(name, found[name], value)
    ]


def _fits(name, found, wanted):
    if name == "asking":
        rest = list(found)
        for kind, context in wanted:
            match = next((wait for wait in rest if wait.kind == kind and context in wait.context), None)
            if match is None:
                return False
            rest.remove(match)
        return not rest
    if name == "finished" and wanted is not None:
        return found is not None and found.kind == wanted[0] and wanted[1] in found.context
    return found == wanted
