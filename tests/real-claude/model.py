"""A stand-in for the model: the part of the messages API that the client needs, on loopback.

What it says is decided by the prompt. A scenario teaches it the answers to a prompt, one per request
of the turn, and types that prompt. A prompt is known by standing alone on a line, so reminders and
notices that the client adds around it do not matter.
"""

import json
import threading
import uuid
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Call:
    """Tool calls in one message; a gate among them holds the message up. `tokens` is its claimed cost."""

    tools: tuple
    tokens: int = 100

    def __init__(self, *tools, tokens=100):
        object.__setattr__(self, "tools", tools)
        object.__setattr__(self, "tokens", tokens)


@dataclass(frozen=True)
class Stream:
    """Words without end, until the scenario opens the gate."""

    gate: str


@dataclass(frozen=True)
class Gate:
    name: str


@dataclass(frozen=True)
class Fail:
    status: int


def tool(name, **arguments):
    return (name, arguments)


def bash(command):
    return tool("Bash", command=command, description="a command of the test")


def read(path):
    return tool("Read", file_path=str(path))


def agent(prompt):
    return tool("Agent", description="a subagent of the test", prompt=prompt, subagent_type="general-purpose")


class Model:
    """`summary` is the answer to a request to compact the conversation."""

    DONE = Say("Nothing left to do.")

    def __init__(self):
        self.summary = "A short summary."
        self.answered = []
        self._scripts = {}
        self._gates = {}
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def learn(self, prompt, *answers):
        self._scripts[prompt] = answers

    def gate(self, name):
        return self._gates.setdefault(name, threading.Event())

    def open(self, name):
        self.gate(name).set()

    def close(self):
        for gate in self._gates.values():
            gate.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request):
        messages = request.get("messages", [])
        if messages and any(_wants_summary(text) for text in _texts(messages[-1])):
            return Say(f"<summary>\n{self.summary}\n</summary>")
        for at in range(len(messages) - 1, -1, -1):
            script = self._script_in(messages[at])
            if script is not None:
                step = sum(message["role"] == "assistant" for message in messages[at:])
                return script[step] if step < len(script) else self.DONE
        return self.DONE

    def _script_in(self, message):
        if message["role"] != "user":
            return None
        for text in reversed(_texts(message)):
            for line in reversed(text.splitlines()):
                if line.strip() in self._scripts:
                    return self._scripts[line.strip()]
        return None


def _texts(message):
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]


def _wants_summary(text):
    return "detailed summary of" in text


class _Handler(BaseHTTPRequestHandler):
    model = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._json(200, {})

    def do_GET(self):
        self._json(404, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            return self._json(200, {"input_tokens": 100})
        if path != "/v1/messages":
            return self._json(404, {})
        request = json.loads(body)
        answer = self.model.answer(request)
        self.model.answered.append(answer)
        if isinstance(answer, Fail):
            error = {"type": "api_error", "message": f"the model failed with {answer.status}"}
            return self._json(answer.status, {"type": "error", "error": error})
        try:
            if request.get("stream"):
                self._stream(request, answer)
            else:
                self._json(200, _message(request, answer, list(_blocks(answer, self.model))))
        except ConnectionError:
            self.model.answered.append("the client hung up")

    def _json(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self, request, answer):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        message = _message(request, answer, [])
        stop_reason = message.pop("stop_reason")
        self._event("message_start", message=message | {"stop_reason": None})
        for index, block in enumerate(_blocks(answer, self.model)):
            self._block(index, block, answer)
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        self._event("message_delta", delta=delta, usage=message["usage"])
        self._event("message_stop")

    def _block(self, index, block, answer):
        if block["type"] == "text":
            self._event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            for words in self._words(block, answer):
                self._event("content_block_delta", index=index, delta={"type": "text_delta", "text": words})
        else:
            self._event("content_block_start", index=index, content_block=block | {"input": {}})
            arguments = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self._event("content_block_delta", index=index, delta=arguments)
        self._event("content_block_stop", index=index)

    def _words(self, block, answer):
        yield block["text"]
        if isinstance(answer, Stream):
            while not self.model.gate(answer.gate).wait(0.1):
                yield "and on "

    def _event(self, name, **fields):
        self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode())
        self.wfile.flush()


def _blocks(answer, model):
    if isinstance(answer, Call):
        for part in answer.tools:
            if isinstance(part, Gate):
                model.gate(part.name).wait()
                continue
            name, arguments = part
            yield {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": arguments}
    else:
        yield {"type": "text", "text": answer.text if isinstance(answer, Say) else "On "}


def _message(request, answer, content):
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": content,
        "stop_reason": "tool_use" if isinstance(answer, Call) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": getattr(answer, "tokens", 100), "output_tokens": 10},
    }
