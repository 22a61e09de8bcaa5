"""One isolated world per scenario: a home, a project, a tmux server, a model, and Claude Code in panes.

Two hooks run on every event: the one under test, which `cld setup` has put there, and a recorder. Scenarios
wait for what the recorder heard, so that they know what Claude did, whatever the hook under test made of it.
"""

import json
import os
import re
import shlex
import signal
import subprocess
from collections import namedtuple
from pathlib import Path

from model import Model
from pane import Pane
from waiting import Failed, wait_until

Programs = namedtuple("Programs", "cld claude tmux")
Event = namedtuple("Event", "began key name data")

API_KEY = "sk-ant-api03-not-a-real-key-of-anybody-0000"

EVENTS = """
    SessionStart SessionEnd Setup UserPromptSubmit UserPromptExpansion PreToolUse PostToolUse PostToolUseFailure
    PostToolBatch PermissionRequest PermissionDenied Notification Elicitation ElicitationResult Stop StopFailure
    SubagentStart SubagentStop TeammateIdle TaskCreated TaskCompleted PreCompact PostCompact PreModelSwitch
    PostModelSwitch ConfigChange InstructionsLoaded CwdChanged DirectoryAdded FileChanged WorktreeRemove
""".split()

MANUAL = ["--permission-mode", "manual"]
ALLOWED = ["Bash(echo:*)", "Bash(claude -p:*)"]

HOOK_TROUBLE = re.compile("hook (failed|error|cancelled|timed out)", re.IGNORECASE)

# The name of the file is the moment the hook began, its content is what the hook got.
RECORDER = """exec cat > "$0/$EPOCHREALTIME.$$\""""


class World:
    def __init__(self, root, programs):
        self.root = Path(root)
        self.programs = programs
        self.home = self.root / "home"
        self.project = self.home / "project"
        self.settings = self.home / ".claude" / "settings.json"
        self.heard = self.root / "heard"
        self.panes = []
        self.model = Model()
        self._clients = []
        self._known = {}
        self._consumed = set()

    def start(self):
        for directory in (self.home / ".claude", self.project, self.heard, self.root / "tmp", self.root / "bin"):
            directory.mkdir(parents=True)
        (self.root / "bin" / "claude").symlink_to(self.programs.claude)
        (self.root / "bin" / "tmux").symlink_to(self.programs.tmux)
        self._write_config()
        self.set_up()
        self._add_recorder()
        self.start_tmux()

    def set_up(self, *options):
        """Runs `cld setup`, and returns what it says."""
        return self._run("setup", "-y", *options, environment=self._environment()).stdout

    def start_tmux(self):
        """With the configuration that `cld setup` wrote."""
        self.tmux("-f", str(self.home / ".tmux.conf"), "new-session", "-d", "-x", "120", "-y", "40", "-c", str(self.project), "cat")
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def attach(self):
        """A client that looks at the windows, until it is closed with the server."""
        client = subprocess.Popen([self.programs.tmux, "-S", self._socket(), "-C", "attach"], env=self._environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._clients.append(client)
        wait_until("a client", lambda: self.tmux("list-clients", "-F", "#{client_name}"))

    def close(self):
        subprocess.run([self.programs.tmux, "-S", self._socket(), "kill-server"], capture_output=True)
        home = f"HOME={self.home}\0".encode()
        for pid, _ in _processes():
            if home in _read(f"/proc/{pid}/environ"):
                _kill(pid)
        for client in self._clients:
            client.communicate()
        self.model.close()

    def tmux(self, *arguments):
        command = [self.programs.tmux, "-S", self._socket(), *arguments]
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"tmux {shlex.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.removesuffix("\n")

    def claude(self, *arguments, beside=None):
        """Claude in a window of its own, or in that of another pane.

        In manual mode, because the default mode asks a server what is allowed.
        """
        command = [str(self.programs.claude), *MANUAL, *arguments]
        return self.run(*command, beside=beside)

    def manage_plugins(self, *arguments):
        """`claude plugin`, outside of any pane."""
        command = [str(self.programs.claude), "plugin", *arguments]
        return subprocess.run(command, env=self._environment(), capture_output=True, text=True)

    def cld_in_window(self, *arguments, directory):
        """The program under test in a window of its own, as a person would start it there."""
        return self.run(str(self.programs.cld), *arguments, directory=directory)

    def run(self, *command, beside=None, directory=None):
        place = ["split-window", "-t", beside.name] if beside else ["new-window"]
        return self.pane(self.tmux(*place, "-d", "-P", "-F", "#{pane_id}", "-c", str(directory or self.project), *command))

    def pane(self, name):
        """A pane that exists."""
        self.panes.append(Pane(self, name))
        return self.panes[-1]

    def cld(self, *arguments, text=None, fails=False):
        """Runs the program under test beside the panes, in none of them."""
        pid = self.tmux("display-message", "-p", "#{pid}")
        environment = self._environment() | {"TMUX": f"{self._socket()},{pid},0"}
        return self._run(*arguments, environment=environment, text=text, fails=fails)

    def _run(self, *arguments, environment, text=None, fails=False):
        command = [self.programs.cld, *arguments]
        done = subprocess.run(command, env=environment, input=text or "", capture_output=True, text=True)
        if (done.returncode != 0) != fails:
            raise Failed(f"cld {shlex.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def listed(self):
        """What `cld ls --json` says of every session."""
        return json.loads(self.cld("ls", "--json").stdout)["sessions"]

    def queue(self):
        """What `cld queue --json` says of every session that waits."""
        return json.loads(self.cld("queue", "--json").stdout)["sessions"]

    def restart_tmux(self):
        """The server is killed as by a crash, and a new one begins to count its panes at zero."""
        server = int(self.tmux("display-message", "-p", "#{pid}"))
        os.kill(server, signal.SIGKILL)
        wait_until("the tmux server to be gone", lambda: not self.alive(server))
        self.panes = []
        self.start_tmux()

    def fifo(self, name):
        """A file whose reader hangs until `release`: a read-only command that takes as long as we like."""
        os.mkfifo(self.project / name)

    def release(self, name):
        fd = wait_until(f"a reader of {name}", lambda: _open_for_writing(self.project / name))
        os.close(fd)

    def next(self, name, seconds=20, **fields):
        """Waits for the oldest event of that name that no earlier call returned, with these fields in its payload."""

        def probe():
            for event in self.events():
                if event.name == name and event.key not in self._consumed and _has(event.data, fields):
                    return event

        event = wait_until(f"the event {name} {fields or ''}", probe, seconds)
        self._consumed.add(event.key)
        return event

    def unheard(self, *names):
        """Asserts that no event of these names came but those that `next` returned."""
        extra = [event.name for event in self.events() if event.name in names and event.key not in self._consumed]
        if extra:
            raise Failed(f"did not expect {extra}")

    def check_quiet(self):
        """Asserts that no hook failed: Claude shows a line for each that does."""
        for pane in self.panes:
            lines = [line.strip() for line in pane.history().splitlines() if HOOK_TROUBLE.search(line)]
            if lines:
                raise Failed(f"Claude complains in {pane.name}: {lines}")

    def events(self):
        """All events so far, by the moment their hook began."""
        for file in self.heard.iterdir():
            if file.name not in self._known:
                event = _parse(file)
                if event:
                    self._known[file.name] = event
        return sorted(self._known.values(), key=lambda event: event.began)

    def hooks_of(self, pid):
        """The processes of the hook under test that this Claude runs now."""
        program = os.fsencode(self.programs.cld)
        return [child for child, parent in _processes() if parent == pid and program in _read(f"/proc/{child}/cmdline")]

    def alive(self, pid):
        return any(process == pid for process, _ in _processes())

    def _socket(self):
        return str(self.root / "tmux")

    def _environment(self):
        environment = {
            "HOME": str(self.home),
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/bash",
            "TMPDIR": str(self.root / "tmp"),
            "TMUX_TMPDIR": str(self.root),
            "CLAUDE_CODE_TMPDIR": str(self.root / "tmp"),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        if "CLAUDE_TMUX_DEBUG" in os.environ:
            environment["CLAUDE_TMUX_DEBUG"] = os.environ["CLAUDE_TMUX_DEBUG"]
        return environment

    def _write_config(self):
        """A user who has been through the first start, and trusts the project."""
        config = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "99.0.0",
            "theme": "dark",
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(config))
        self.settings.write_text(json.dumps({"permissions": {"allow": ALLOWED}}))

    def _add_recorder(self):
        """Behind the hook under test, which is thus started before it: once the recorder has an event, so has it."""
        settings = json.loads(self.settings.read_text())
        recorder = f"bash -c {shlex.quote(RECORDER)} {shlex.quote(str(self.heard))}"
        for event in EVENTS:
            hook = {"type": "command", "command": recorder, "timeout": 5 if event == "SessionEnd" else 10}
            settings["hooks"].setdefault(event, []).append({"hooks": [hook]})
        self.settings.write_text(json.dumps(settings))


def _parse(file):
    """Nothing for an event that is still being written."""
    try:
        data = json.loads(file.read_text())
    except ValueError:
        return None
    return Event(float(file.name.rpartition(".")[0]), file.name, data["hook_event_name"], data)


def _has(data, fields):
    return all(data.get(name) == value for name, value in fields.items())


def _open_for_writing(fifo):
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def _processes():
    """Process and parent of everything that runs. What is dead but not yet reaped does not run."""
    for entry in os.listdir("/proc"):
        stat = _read(f"/proc/{entry}/stat") if entry.isdigit() else b""
        state, parent, *_ = stat.rpartition(b")")[2].split() or (b"Z", b"0")
        if state not in (b"Z", b"X"):
            yield int(entry), int(parent)


def _read(path):
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
