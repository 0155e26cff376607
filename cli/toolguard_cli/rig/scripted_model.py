"""A language model that follows a script: an OpenAI-style chat endpoint on loopback.

A script is a function from a `Request` to a `Reply`. It is called once per request, in the order of arrival.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

PROVIDER = "scripted"
MODEL = "scripted-1"
TOKENS_PER_ANSWER = 20
CHARACTERS_PER_TOKEN = 4
"""An approximation, sufficient to show that a loop costs more with every request."""


@dataclass(frozen=True)
class ToolCall:
    """One call as the model would send it; `arguments` as a `str` is sent unchanged."""

    name: str
    arguments: dict[str, Any] | str

    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class TokenUsage:
    """The tokens of a request. `cached`: the part of `prompt` that was read from the cache."""

    prompt: int
    completion: int
    cached: int = 0


@dataclass(frozen=True)
class Reply:
    """The model's answer: a text, tool calls, or both. `error`: the code of a refusal instead, with `text` as its reason.
    `usage`: reported with the answer; estimated if None.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    error: str = ""
    usage: TokenUsage | None = None


def call(name: str, arguments: dict[str, Any] | str | None = None) -> Reply:
    return Reply(calls=(ToolCall(name, {} if arguments is None else arguments),))


def overflow() -> Reply:
    """The refusal of a request that exceeds the model's context."""
    return Reply(
        "This model's maximum context length is 128000 tokens. Please reduce the length of the messages.",
        error="context_length_exceeded",
    )


@dataclass(frozen=True)
class Request:
    index: int
    at: float
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]

    def texts(self, role: str) -> list[str]:
        return [content_text(m.get("content")) for m in self.messages if m.get("role") == role]

    @property
    def last_result(self) -> str:
        """The text of the newest tool result, or an empty string."""
        results = self.texts("tool")
        return results[-1] if results else ""

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools]

    @property
    def tokens(self) -> int:
        return len(json.dumps(self.messages)) // CHARACTERS_PER_TOKEN


Script = Callable[[Request], Reply]
ASIDE = "Nothing to add."


def content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return ""


def endless(reply: Reply, closing: str, give_up_after: int = 10_000) -> Script:
    """Repeats one reply as long as tools are offered, then answers `closing`."""

    def script(request: Request) -> Reply:
        if not request.tools or request.index >= give_up_after:
            return Reply(text=closing)
        return reply

    return script


def sequence(replies: list[Reply], closing: str = "Done.") -> Script:
    """Plays the replies one after another, then answers `closing` to all further requests."""

    def script(request: Request) -> Reply:
        if request.tools and request.index < len(replies):
            return replies[request.index]
        return Reply(text=closing)

    return script


@dataclass
class ScriptedModel:
    """The server. Use it as a context manager; `requests` grows as they arrive.

    A gateway also sends requests of its own, minutes after a turn (to review long sessions, for example). If a `marker` is
    set, requests without it in a user's message are answered with `ASIDE` and not recorded.
    """

    script: Script
    marker: str = ""
    requests: list[Request] = field(default_factory=list)
    on_request: Callable[[Request], None] | None = None
    last_answer: str = ""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def tokens(self) -> int:
        return sum(request.tokens + TOKENS_PER_ANSWER for request in self.requests)

    def play(self, script: Script, marker: str = "") -> None:
        """Starts a new script; its requests count from 0 again."""
        with self._lock:
            self.script, self.marker = script, marker
            self.requests.clear()
            self.last_answer = ""

    def answer(self, body: dict[str, Any]) -> tuple[Request, Reply]:
        with self._lock:
            request = Request(len(self.requests), time.monotonic(), body.get("messages", []), body.get("tools") or [])
            if self.marker and not any(self.marker in text for text in request.texts("user")):
                return request, Reply(ASIDE)
            self.requests.append(request)
            reply = self.script(request)
            self.last_answer = reply.text
        if self.on_request:
            self.on_request(request)
        return request, reply

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Silent: the requests are recorded, not printed."""

        def do_GET(self) -> None:
            self._send(json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}), "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
            request, reply = model.answer(body)
            if reply.error:
                self._send(json.dumps(_refusal(reply)), "application/json", HTTPStatus.BAD_REQUEST)
            elif body.get("stream"):
                events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(request, reply))
                self._send(events + "data: [DONE]\n\n", "text/event-stream")
            else:
                self._send(json.dumps(_whole(request, reply)), "application/json")

        def _send(self, text: str, content_type: str, status: HTTPStatus = HTTPStatus.OK) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _refusal(reply: Reply) -> dict[str, Any]:
    return {"error": {"message": reply.text, "type": "invalid_request_error", "param": "messages", "code": reply.error}}


def _usage(request: Request, reply: Reply) -> dict[str, Any]:
    used = reply.usage or TokenUsage(request.tokens, TOKENS_PER_ANSWER)
    cached = {"prompt_tokens_details": {"cached_tokens": used.cached}} if used.cached else {}
    total = used.prompt + used.completion
    return {"prompt_tokens": used.prompt, "completion_tokens": used.completion, "total_tokens": total, **cached}


def _tool_calls(request: Request, reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "index": position,
            "id": f"call_{time.time_ns()}_{request.index}_{position}",
            "type": "function",
            "function": {"name": item.name, "arguments": item.text()},
        }
        for position, item in enumerate(reply.calls)
    ]


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _chunks(request: Request, reply: Reply) -> Iterator[dict[str, Any]]:
    base = {"id": f"chatcmpl-{request.index}", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    delta: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        delta["tool_calls"] = _tool_calls(request, reply)
    yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]}
    yield {**base, "choices": [], "usage": _usage(request, reply)}


def _whole(request: Request, reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = _tool_calls(request, reply)
    return {
        "id": f"chatcmpl-{request.index}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply)}],
        "usage": _usage(request, reply),
    }
