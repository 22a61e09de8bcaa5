"""What a pane should show after a sequence of events.

Written from the design's tables and independently of the product code: events are simply played
in the order in which their processes began.
"""

import json

MAIN = "main"
UNNAMED = "unnamed"
LONGEST = 512
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch")
ASKING_NOTIFICATIONS = {"permission_prompt": "p", "elicitation_dialog": "i", "agent_needs_input": "i"}
KINDS = {"AskUserQuestion": "q", "ExitPlanMode": "l"}


def one_line(text):
    """Text as an option may hold it, before it is cut."""
    return " ".join("".join(" " if ord(c) < 32 or ord(c) == 127 else c for c in text).split())


def says(shown, text, cut="end"):
    """Whether a shown line is this text, cut at its end or at its start where it is too long."""
    if len(text.encode()) <= LONGEST:
        return shown == text
    if len(shown.encode()) > LONGEST:
        return False
    if cut == "end":
        return shown.endswith("…") and len(shown) > 400 and text.startswith(shown[:-1].rstrip())
    return shown.startswith("…") and len(shown) > 400 and text.endswith(shown[1:].lstrip())


def call_of(payload):
    """What a dialog is known by: a question comes back with answers, a plan with its text."""
    tool, given = payload["tool_name"], payload.get("tool_input", {})
    if tool == "AskUserQuestion":
        given = given["questions"]
    if tool == "ExitPlanMode":
        given = None
    return tool + json.dumps(given)


def context_of(payload):
    tool, given = payload["tool_name"], payload.get("tool_input", {})
    if tool == "AskUserQuestion":
        ask = lambda q: f"{q['question']} ({' / '.join(o['label'] for o in q['options'])})"
        return "; ".join(ask(question) for question in given["questions"])
    if tool == "ExitPlanMode":
        return given.get("plan", "a plan is ready")
    subject = given.get("command") or given.get("file_path") or given.get("description")
    return f"{tool}: {subject}" if subject else tool


class Pane:
    def __init__(self):
        self.said = self.set_on = self.session = self.directory = self.title = ""
        self.transcript = self.background = self.latest = self.pid = ""
        self.dialogs = {}
        self.finished = self.turn = self.prompt = None
        self.running = self.attention = False

    @property
    def waits(self):
        return bool(self.dialogs) or self.finished is not None

    @property
    def status(self):
        return "stopped" if self.dialogs else self.said

    @property
    def tab(self):
        if self.waits:
            return "waiting" if self.attention else "idle"
        return "running" if self.running else "idle"

    def apply(self, payload, transcript_exists, pid):
        name, agent = payload["hook_event_name"], payload.get("agent_id") or MAIN
        getattr(self, f"on_{name}", lambda *_: None)(payload, agent)
        fresh = name == "SessionStart" and payload["source"] != "compact"
        if name in ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "SessionEnd"):
            self.session, self.set_on = payload["session_id"], name
            if transcript_exists or fresh:
                self.transcript = payload["transcript_path"] if transcript_exists else ""
        if name in ("SessionStart", "UserPromptSubmit"):
            self.pid = pid
        if not self.waits:
            self.attention = False
        about = payload.get("notification_type")
        self.latest = f"{name}-{about}" if about else name

    def look(self):
        """The person looks at the pane: nothing in it asks for attention any more."""
        self.attention = False

    def on_SessionStart(self, payload, _):
        if payload["source"] == "compact":
            return
        self.end_everything()
        self.said, self.running, self.background = "stopped", False, "0"
        self.directory, self.title = payload["cwd"], one_line(payload.get("session_title", ""))

    def on_UserPromptSubmit(self, payload, _):
        if payload["prompt"].startswith("<task-notification>"):
            self.finished = None
        else:
            self.end_agent(MAIN)
        self.said, self.running = "running", True
        if "session_title" in payload:
            self.title = one_line(payload["session_title"])

    def on_PreToolUse(self, payload, agent):
        self.running = True
        if agent != MAIN:
            return
        self.finished = None
        if payload["prompt_id"] != self.prompt:
            self.dialogs = {key: wait for key, wait in self.dialogs.items() if key[0] != MAIN}
        self.prompt = payload["prompt_id"]

    def on_PostToolUse(self, payload, agent):
        self.answered(agent, call_of(payload))

    on_PostToolUseFailure = on_PostToolUse

    def on_PostToolBatch(self, _, agent):
        self.end_agent(agent)

    def on_PermissionRequest(self, payload, agent):
        self.ask(agent, call_of(payload), KINDS.get(payload["tool_name"], "p"), context_of(payload))

    def on_Notification(self, payload, agent):
        about = payload["notification_type"]
        if about == "idle_prompt":
            self.said = "stopped"
        if about in ASKING_NOTIFICATIONS:
            self.said = "stopped"
            if all(call == UNNAMED for _, call in self.dialogs):
                self.ask(agent, UNNAMED, ASKING_NOTIFICATIONS[about], payload["message"])

    def on_Elicitation(self, payload, agent):
        self.ask(agent, "server " + payload["mcp_server_name"], "i", payload["message"])

    def on_ElicitationResult(self, payload, agent):
        self.answered(agent, "server " + payload["mcp_server_name"])

    def on_Stop(self, payload, _):
        self.said = "stopped"
        work = self.count_work(payload)
        if any(task["type"] == "subagent" for task in work):
            self.end_agent(MAIN)
            return
        self.finish("d", payload["last_assistant_message"], payload)

    def on_StopFailure(self, payload, _):
        error, message = payload["error"], payload["last_assistant_message"]
        self.said = "stopped"
        self.finish("e", message if error == "unknown" else f"{error}: {message}", payload)

    def on_SubagentStop(self, payload, agent):
        self.count_work(payload)
        if agent != MAIN:
            self.end_agent(agent)

    def on_SessionEnd(self, *_):
        self.end_everything()
        self.said, self.running, self.background = "", False, "0"

    def count_work(self, payload):
        """Tasks in the background, but for the agent that speaks."""
        work = [task for task in payload["background_tasks"] if task["id"] != payload.get("agent_id")]
        self.background = str(len(work))
        return work

    def ask(self, agent, call, kind, context):
        self.said = "stopped"
        if call != UNNAMED:
            self.dialogs = {key: wait for key, wait in self.dialogs.items() if key[1] != UNNAMED}
        if (agent, call) not in self.dialogs:
            self.attention = True
        self.dialogs[agent, call] = (kind, one_line(context).replace("|", "¦"))

    def answered(self, agent, call):
        self.dialogs = {key: wait for key, wait in self.dialogs.items() if key != (agent, call) and key[1] != UNNAMED}
        self.said, self.running = "running", True

    def finish(self, kind, words, payload):
        turn = (payload["prompt_id"], words)
        if self.finished is None or self.turn != turn:
            self.attention = True
        self.end_agent(MAIN)
        self.finished, self.turn, self.running = (kind, one_line(words)), turn, False

    def end_agent(self, agent):
        self.dialogs = {key: wait for key, wait in self.dialogs.items() if key[0] != agent}
        if agent == MAIN:
            self.finished = None

    def end_everything(self):
        self.dialogs, self.finished = {}, None

    def differences(self, shown):
        """Where the options of the pane, as a dict, are not what they should be."""
        expected = {
            "status": self.status, "session_id": self.session, "session_id_set_on": self.set_on,
            "session_dir": self.directory, "title": self.title, "background": self.background,
            "activity": "running" if self.running else "idle" if self.latest else "", "pid": self.pid,
            "transcript": self.transcript, "attention": "1" if self.attention else "",
        }
        wrong = [f"{name} is {shown[name]!r}, not {value!r}" for name, value in expected.items() if shown[name] != value]
        if not self.shows_latest(shown["latest_hook_event"]):
            wrong.append(f"latest_hook_event is {shown['latest_hook_event']!r}, not {self.latest!r}")
        if not self.shows_dialogs(shown["asking"]):
            wrong.append(f"asking is {shown['asking']!r}, not {sorted(self.dialogs.values())}")
        _, _, words = shown["finished"].partition(" ")
        kind, _, words = words.partition(" ")
        if (kind == "") != (self.finished is None) or self.finished and not (
                kind == self.finished[0] and says(words, self.finished[1], "end" if kind == "e" else "start")):
            wrong.append(f"finished is {shown['finished']!r}, not {self.finished}")
        return wrong

    def shows_latest(self, shown):
        """Tool events of one second are folded, so that any of them may stand for the last."""
        return shown == self.latest or self.latest in TOOL_EVENTS and shown in TOOL_EVENTS

    def shows_dialogs(self, asking):
        found = []
        for dialog in filter(None, asking.split("|")):
            head, _, context = dialog.partition(" ")
            found.append((head.partition("@")[0][-1], context))
        expected = sorted(self.dialogs.values())
        return len(found) == len(expected) and all(
            a[0] == b[0] and says(a[1], b[1]) for a, b in zip(sorted(found), expected))


def tab_of(panes):
    """What the window shows: the worst of its panes."""
    tabs = {pane.tab for pane in panes}
    return next((tab for tab in ("waiting", "running") if tab in tabs), "idle")
