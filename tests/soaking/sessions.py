"""A day of one session: the events Claude Code would fire, in groups that run side by side.

Payloads are the recorded ones with ids, texts and inputs of their own, so all fields are there.
"""

import copy
import glob
import json
import os
import uuid

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "payloads")
RECORDED = {os.path.basename(path)[:-5]: json.load(open(path, encoding="utf-8"))
            for path in glob.glob(os.path.join(FIXTURES, "*.json"))}
ASIDE = ["CwdChanged", "FileChanged-change", "InstructionsLoaded-nested_traversal", "TaskCreated", "TaskCompleted",
         "ConfigChange", "UserPromptExpansion", "Notification-elicitation_response", "PreModelSwitch"]
TEXTS = ["make test", "ls -la", "rm -rf build", "echo #{pid} #(touch pwned)", "printf ';' ;", "a | b || c", "'; kill-server ; '",
         "grep -r 'x' . | wc -l;", "größer 日本 🙂", "two\nlines\tand tabs", "%0 @1 $1 {x} }", "word " * 300]


class Session:
    """Yields lists of payloads; those of one list are under way at the same time."""

    def __init__(self, random, directory):
        self.random, self.directory = random, directory
        self.agents = 0
        self.background = []
        self.begin()

    def begin(self):
        # Not from the seed alone: ids of sessions never repeat.
        self.id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.transcript = os.path.join(self.directory, "projects", f"{self.id}.jsonl")
        self.prompt = self.new_id()
        self.has_spoken = False

    def new_id(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def event(self, recorded, **fields):
        payload = copy.deepcopy(RECORDED[recorded])
        payload.update(session_id=self.id, transcript_path=self.transcript, cwd=self.directory)
        if "prompt_id" in payload:
            payload["prompt_id"] = self.prompt
        payload.pop("agent_id", None)
        payload.update(fields)
        return payload

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def text(self):
        return f"{self.random.choice(TEXTS)} {self.random.randrange(40)}"

    def day(self):
        yield [self.event("SessionStart-startup-named" if self.chance(30) else "SessionStart-startup")]
        while True:
            yield from self.turn()
            if self.chance(15):
                yield [self.event("Notification-idle_prompt")]
            if self.chance(12):
                yield from self.other_session()

    def other_session(self):
        how = self.random.choice(["clear", "resume", "exit"])
        self.background = []
        yield [self.event({"clear": "SessionEnd-clear", "resume": "SessionEnd-resume", "exit": "SessionEnd-other"}[how])]
        if how == "exit" and self.chance(50):
            yield [self.event("FileChanged-unlink")]
        self.begin()
        start = {"clear": "SessionStart-clear", "resume": "SessionStart-resume-named", "exit": "SessionStart-startup"}[how]
        yield [self.event("SessionStart-fork" if how == "resume" and self.chance(30) else start)]

    def turn(self):
        self.prompt = self.new_id()
        named = "UserPromptSubmit-named" if self.chance(10) else "UserPromptSubmit"
        self.speak()
        yield [self.event(named, prompt=self.text())]
        for _ in range(self.random.randrange(4)):
            ended = yield from self.message()
            if ended == "interrupted":
                # Nothing tells it; the next prompt follows, or one that was queued goes on by itself.
                self.prompt = self.new_id()
                if self.chance(50):
                    return
            if self.chance(6):
                yield from self.compaction()
        yield from self.stop()

    def speak(self):
        """The transcript appears with the first prompt."""
        if not self.has_spoken:
            with open(self.transcript, "w", encoding="utf-8") as file:
                file.write("{}\n")
        self.has_spoken = True

    def message(self):
        """One message of Claude with tools that run side by side, and what subagents do meanwhile."""
        interrupted = self.chance(8)
        chains = [self.call(interrupted) for _ in range(self.random.choice([1, 1, 1, 2, 3, 4]))]
        chains += [self.subagent() for _ in range(self.chance(15) + self.chance(5))]
        chains += self.background
        # Every call begins before one of them asks: Claude starts them as they are streamed.
        yield [next(chain) for chain in chains]
        yield from self.merged(chains)
        if interrupted:
            return "interrupted"
        yield [self.event("PostToolBatch")]
        if self.chance(10):
            yield [self.event(self.random.choice(ASIDE))]
        return "done"

    def merged(self, chains):
        """Random interleavings that keep the order inside each chain."""
        chains = list(chains)
        while chains:
            moving = self.random.sample(chains, self.random.randint(1, len(chains)))
            group = []
            for chain in moving:
                payload = next(chain, None)
                if payload is None:
                    chains.remove(chain)
                else:
                    group.append(payload)
            # A notification is only sent when nothing else has happened for seconds.
            late = [payload for payload in group if payload["hook_event_name"] == "Notification"]
            group = [payload for payload in group if payload["hook_event_name"] != "Notification"]
            self.random.shuffle(group)
            if group:
                yield group
            for payload in late:
                yield [payload]
        self.background = []

    def call(self, interrupted=False, **agent):
        """The events of one tool call, one after the other."""
        kind = self.random.choice(["Bash"] * 6 + ["Write", "Read", "question", "plan", "mcp"])
        if kind == "mcp" and not agent:
            yield from self.elicitation()
            return
        if kind == "question" and not agent:
            yield from self.question(interrupted)
            return
        if kind == "plan" and not agent:
            yield from self.plan(interrupted)
            return
        tool = kind if kind in ("Write", "Read") else "Bash"
        given = {"command": self.text(), "description": "d"} if tool == "Bash" else {"file_path": f"/home/u/{self.text()}"}
        fields = {"tool_name": tool, "tool_input": given, **agent}
        yield self.event("PreToolUse-Bash", **fields)
        asks = self.chance(30)
        if asks:
            yield self.event("PermissionRequest-Bash", **fields)
            if self.chance(40):
                yield self.event("Notification-permission_prompt", **agent)
            if interrupted or self.chance(20):
                return
        elif interrupted and self.chance(50):
            return
        yield self.event("PostToolUseFailure-Bash" if self.chance(15) else "PostToolUse-Bash", **fields)

    def elicitation(self):
        yield self.event("PreToolUse-mcp")
        yield self.event("Elicitation", message=self.text())
        yield self.event("Notification-elicitation_dialog")
        yield self.event("ElicitationResult")
        yield self.event("PostToolUse-Bash", tool_name="mcp__lab__ask", tool_input={})

    def question(self, interrupted):
        yield self.event("PreToolUse-AskUserQuestion")
        yield self.event("PermissionRequest-AskUserQuestion")
        if not interrupted:
            yield self.event("PostToolUse-AskUserQuestion")

    def plan(self, interrupted):
        yield self.event("PreToolUse-ExitPlanMode")
        yield self.event("PermissionRequest-ExitPlanMode")
        yield self.event("Notification-permission_prompt-plan")
        if not interrupted:
            yield self.event("PostToolUse-Bash", tool_name="ExitPlanMode", tool_input={"plan": "# Plan"})

    def subagent(self, in_background=False):
        self.agents += 1
        agent = {"agent_id": f"a{self.agents:016x}", "agent_type": "general-purpose"}
        given = {"tool_name": "Agent", "tool_input": {"description": self.text(), "prompt": "p"}}
        yield self.event("PreToolUse-Agent", **given)
        yield self.event("SubagentStart", **agent)
        if in_background:
            yield self.event("PostToolUse-Agent", **given)
        for _ in range(self.random.randint(1, 3)):
            yield from self.call(**agent)
            yield self.event("PostToolBatch", **agent)
        own = {"id": agent["agent_id"], "type": "subagent", "status": "running"}
        yield self.event("SubagentStop", background_tasks=[own], **agent)
        if not in_background:
            yield self.event("PostToolUse-Agent", **given)

    def compaction(self):
        yield [self.event("PreCompact-auto")]
        yield [self.event("SubagentStop-compaction", agent_id=f"c{self.random.getrandbits(60):015x}")]
        yield [self.event("SessionStart-compact")]
        yield [self.event("PostCompact-auto")]

    def stop(self):
        how = self.random.randrange(100)
        if how < 8:
            yield [self.event(self.random.choice(["StopFailure-server_error", "StopFailure-unknown",
                                                  "StopFailure-authentication_failed"]))]
        elif how < 16:
            yield [self.event("Stop-shell-running", last_assistant_message=self.text())]
        elif how < 30:
            yield from self.stop_while_an_agent_works()
        else:
            stopped = self.event("Stop", last_assistant_message=self.text())
            yield [stopped]
            if self.chance(10):
                yield [stopped]

    def stop_while_an_agent_works(self):
        """The main thread ends its turn, the agent asks and works on, and Claude is told of its end."""
        worker = self.subagent(in_background=True)
        for _ in range(3):
            yield [next(worker)]
        yield [self.event("PostToolBatch")]
        yield [self.event("Stop-subagent-running", last_assistant_message="later")]
        for payload in worker:
            yield [payload]
        self.prompt = self.new_id()
        yield [self.event("UserPromptSubmit-task-notification")]
        yield [self.event("Stop", last_assistant_message=self.text())]
