"""The hub with the real client: a session is started, written to, and stopped."""

import json
import os
import subprocess
import urllib.error
import urllib.request
import uuid
from contextlib import contextmanager

from model import Call, Say, Stream, bash
from scenarios.telling import IDLE, RUNNING, asking, check, finished, scenario
from waiting import wait_until


class Hub:
    def __init__(self, world):
        self.world = world
        # The hub finds its tmux server as a program inside of it does.
        pid = world.tmux("display-message", "-p", "#{pid}")
        self.environment = world._environment() | {"TMUX": f"{world._socket()},{pid},0"}

    def cld(self, *words):
        argv = [str(self.world.programs.cld), "hub", *words]
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True)

    def ask(self, method, path, body=None):
        """Status and document of an answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.loads(refusal.read())

    def state(self, session):
        return self.ask("GET", f"/sessions/{session}")[1].get("state")

    def until(self, session, state):
        wait_until(f"the session to be {state}", lambda: self.state(session) == state)

    def message(self, session, text, **fields):
        return self.ask("POST", f"/sessions/{session}/message", {"text": text, "wait_ms": 15000} | fields)

    def names(self, session):
        events = self.ask("GET", f"/sessions/{session}/history?limit=1000")[1]["events"]
        return [event["data"].get("hook_event_name", event["data"].get("type")) for event in events]


@contextmanager
def hub_of(world):
    hub = Hub(world)
    argv = [str(world.programs.cld), "hub", "--listen", "127.0.0.1:0"]
    with open(world.root / "hub.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(argv, env=hub.environment, stderr=log)
    try:
        status = wait_until("the hub to answer", lambda: hub.cld("status", "--json").stdout)
        hub.url, hub.token = json.loads(status)["url"], hub.cld("token").stdout.strip()
        yield hub
    finally:
        process.terminate()
        process.wait(20)


def create(hub, world, **fields):
    """A new session, and the pane it is in."""
    session = str(uuid.uuid4())
    wanted = {"session_id": session, "cwd": str(world.project), "args": ["--permission-mode", "manual"]} | fields
    status, document = hub.ask("POST", "/sessions", wanted)
    check(status == 201, f"created: {status} {document}")
    return session, world.pane(world.tmux("display-message", "-p", "-t", f"=claude-{session[:8]}:", "#{pane_id}"))


@scenario
def hub_starts_writes_and_stops(world):
    with hub_of(world) as hub:
        world.model.learn("say hello", Say("Hello."))
        session, pane = create(hub, world, name="by the hub")
        pane.expect(session_id=session, session_dir=str(world.project), title="by the hub", **IDLE)
        text = "say hello"
        status, sent = hub.message(session, text)
        check((status, sent["state"]) == (200, "submitted"), f"{status} {sent}")
        wait_until("the first turn to end", lambda: hub.names(session).count("Stop") == 1)
        pane.expect(session_id=session, **finished("d", "Hello."))
        many = "two lines;\n\n\tand #(a tab) 'é 😀' ends with;"
        status, sent = hub.message(session, many)
        check((status, sent["state"]) == (200, "submitted"), f"{status} {sent}")
        long = "\n".join(f"line {number} of a long text" for number in range(400))
        wait_until("the second turn to end", lambda: hub.names(session).count("Stop") == 2)
        status, sent = hub.message(session, long)
        check((status, sent["state"]) == (200, "submitted"), f"a long paste: {status} {sent}")
        hub.until(session, "waiting")
        pane.expect(**finished("d", "Nothing left"))
        status, stopped = hub.ask("DELETE", f"/sessions/{session}")
        check(stopped == {"state": "ended", "session_end_seen": True, "forced": False}, f"{status} {stopped}")
        names = hub.names(session)
        check(names[0] in ("SessionStart", "InstructionsLoaded"), f"{names}")
        check(names[-2:] == ["SessionEnd", "session_ended"], f"{names}")
        check(pane.history() == "" and not world.listed() and not world.queue(), "nothing is left of it")


@scenario
def hub_tells_busy_and_dialogs_apart(world):
    with hub_of(world) as hub:
        world.model.learn("work on it", Stream("reply"))
        world.model.learn("make a file", Call(bash("touch made")))
        session, pane = create(hub, world, prompt="work on it")
        hub.until(session, "running")
        pane.expect(session_id=session, **RUNNING)
        status, sent = hub.message(session, "and then this")
        check((status, sent["state"]) == (202, "queued"), f"{status} {sent}")
        check(sent["event_id"], f"what is put aside is confirmed too: {sent}")
        world.model.open("reply")
        hub.until(session, "waiting")
        wait_until("both turns to end", lambda: hub.names(session).count("Stop") >= 2 or hub.state(session) == "waiting")
        status, sent = hub.message(session, "make a file")
        check(status in (200, 202), f"{status} {sent}")
        wait_until("the dialog", lambda: "PermissionRequest" in hub.names(session))
        pane.expect(**asking(("p", "touch made")))
        status, refused = hub.message(session, "yes")
        check((status, refused["code"]) == (409, "awaiting_user"), f"{status} {refused}")
        pane.still(**asking(("p", "touch made")))
        check(not os.path.exists(world.project / "made"), "the message must not answer the dialog")


@scenario
def hub_follows_a_cleared_session(world):
    with hub_of(world) as hub:
        session, pane = create(hub, world)
        hub.until(session, "idle")
        status, refused = hub.message(session, "/clear", wait_ms=2000)
        check((status, refused["code"]) == (504, "unconfirmed"), f"{status} {refused}")
        wait_until("the new id", lambda: hub.ask("GET", f"/sessions/{session}")[1]["aliases"] == [session])
        cleared = world.next("SessionStart", source="clear").data["session_id"]
        pane.expect(session_id=cleared, **IDLE)
        status, stopped = hub.ask("DELETE", f"/sessions/{session}")
        check(stopped["session_end_seen"], f"{status} {stopped}")
