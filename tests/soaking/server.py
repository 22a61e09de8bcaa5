"""A private tmux server with its panes, and the hook as Claude Code would start it."""

import os
import re
import shutil
import subprocess
import tempfile
import time

OPTIONS = ["session_id", "session_id_set_on", "session_dir", "status", "latest_hook_event", "latest_hook_time", "asking",
           "finished", "activity", "title", "background", "transcript", "pid"]


class Server:
    def __init__(self, tmux):
        self.tmux, self.dir = tmux, tempfile.mkdtemp(prefix="cld-soak.")
        self.home, self.socket = os.path.join(self.dir, "home"), os.path.join(self.dir, "socket")
        os.makedirs(self.home)
        self.noise = os.open(os.path.join(self.dir, "noise"), os.O_RDWR | os.O_CREAT | os.O_APPEND)

    def start(self, windows):
        """Opens windows with these numbers of panes; gives the panes of each."""
        opened = []
        for index, panes in enumerate(windows):
            if index == 0:
                self.call("new-session", "-d", "-s", "day", "-x", "200", "-y", "100", "sleep 100000")
            else:
                self.call("new-window", "-d", "-t", "day", "sleep 100000")
            window = self.call("list-windows", "-t", "day", "-F", "#{window_id}").split()[-1]
            for _ in range(panes - 1):
                self.call("split-window", "-d", "-t", window, "sleep 100000")
            opened.append((window, self.call("list-panes", "-t", window, "-F", "#{pane_id}").split()))
        self.pid = int(self.call("display-message", "-p", "#{pid}"))
        # tmux tells its name to what it starts since it has a hidden environment.
        self.version = self.call("-V")
        numbers = [int(number) for number in re.findall(r"\d+", self.version)[:2]]
        self.tells_its_name = numbers >= [3, 2]
        return opened

    def stop(self):
        self.call("kill-server")
        os.close(self.noise)

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def call(self, *words):
        argv = [self.tmux, "-u", "-f", "/dev/null", "-S", self.socket, *words]
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=120).stdout.rstrip("\n")

    def read(self):
        """The options of every pane as dicts, and the state of every window."""
        names = [f"#{{@meta.claude.{name}}}" for name in OPTIONS]
        fields = ["#{pane_id}", "#{window_id}", "#{@claude-state}", "#{@claude-attn}", *names]
        panes, windows = {}, {}
        for line in self.call("list-panes", "-a", "-F", "\t".join(fields)).split("\n"):
            pane, window, state, attention, *values = line.split("\t")
            panes[pane] = dict(zip(OPTIONS, values, strict=True), attention=attention)
            windows[window] = state
        return panes, windows

    def environment(self, pane):
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8", "CLAUDECODE": "1", "CLD_TMUX": self.tmux,
               "CLD_PATIENCE": "100", "CLAUDE_TMUX_DEBUG": "1", "CLAUDE_PID": str(os.getpid()),
               "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1",
               "TMUX": f"{self.socket},{self.pid},0", "TMUX_PANE": pane}
        if self.tells_its_name:
            env["TERM_PROGRAM"] = "tmux"
        return env

    def memory_kib(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))

    def open_files(self, at_most=0):
        """The files tmux has open, once those of clients that just ended are closed."""
        deadline = time.monotonic() + 5
        while (files := len(os.listdir(f"/proc/{self.pid}/fd"))) > at_most > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        return files

    def processes_left(self):
        """Processes that still name this server's directory, once it should be gone."""
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def processes(self):
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as env:
                    if int(pid) != os.getpid() and self.dir.encode() in line.read() + env.read():
                        left.append(int(pid))
            except OSError:
                continue
        return left


class Hook:
    """One `cld hook` that has begun and waits for its payload."""

    def __init__(self, program, env, noise):
        read, self.write = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_DUP2, noise, 1), (os.POSIX_SPAWN_DUP2, noise, 2)]
        self.pid = os.posix_spawn(program, [program, "hook"], env, file_actions=actions)
        os.close(read)
        self.program = program

    def wait_until_it_waits(self):
        """Then its moment is taken, and hooks begun later are younger."""
        deadline = time.monotonic() + 60
        while not self.waits():
            if time.monotonic() > deadline:
                raise TimeoutError("a hook did not begin")
            time.sleep(0.0002)

    def waits(self):
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
                return ") S " in file.read() and os.readlink(f"/proc/{self.pid}/exe") == self.program
        except OSError:
            return False

    def give(self, payload):
        left = memoryview(payload)
        while left:
            left = left[os.write(self.write, left):]
        os.close(self.write)

    def exit_code(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
