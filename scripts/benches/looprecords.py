"""Runs as OpenClaw kept them: the calls of each request with what came of them. Nothing is ever written.

Of a call of a tool that does not exist only the result is kept, so its arguments are not known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopkinds import Act, Result

from toolguard_cli import transcripts
from toolguard_cli.rig.model import CHARACTERS_PER_TOKEN

INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"


@dataclass
class Recorded:
    """One run: from a person's message to the last answer. `tokens` of each request as the provider said, else
    what the history took so far, about."""

    name: str
    agent: str
    asked: str = ""
    requests: list[list[Act]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


class Conversation(transcripts.Source):
    """A transcript, read as messages instead of calls."""

    def runs(self) -> list[Recorded]:
        """All of the file, those without a call left out. Where it cannot be read to its end, `error` says why."""
        self._runs: list[Recorded] = []
        self._pending: dict[str, tuple[list[Act], int]] = {}
        self._size = 0
        for _ in self.calls():
            pass
        return [run for run in self._runs if any(run.requests)]

    def _found(self, value: dict[str, Any], number: int) -> Iterator[transcripts.Kept]:  # noqa: ARG002
        if value.get("type") == "session":
            self._size = 0
            self._begin()
        elif isinstance(message := value.get("message"), dict):
            self._enter(message)
            self._size += len(json.dumps(message.get("content")))
        yield from ()

    def _begin(self, asked: str = "") -> Recorded:
        name = f"{self.path.stem}-{len(self._runs)}"
        self._pending = {}
        self._runs.append(Recorded(name, self._agent or "main", asked))
        return self._runs[-1]

    def _enter(self, message: dict[str, Any]) -> None:
        role = message.get("role")
        if role == "user":
            text = content_text(message)
            if not text.startswith(INTERNAL):
                self._begin(text)
        elif role == "assistant":
            self._answered(message)
        elif role == "toolResult":
            self._came(message)

    def _came(self, message: dict[str, Any]) -> None:
        result = result_of(message)
        found = self._pending.pop(str(message.get("toolCallId")), None)
        if found:
            acts, place = found
            acts[place] = Act(acts[place].tool, acts[place].params, result)
        else:  # of a tool that does not exist: the gateway keeps the result only
            self._add([Act(str(message.get("toolName")), {}, result)])

    def _add(self, acts: list[Act], tokens: int = 0) -> None:
        run = self._runs[-1] if self._runs else self._begin()
        run.requests.append(acts)
        run.tokens.append(tokens or max([self._size // CHARACTERS_PER_TOKEN, *run.tokens[-1:]]))

    def _answered(self, message: dict[str, Any]) -> None:
        acts: list[Act] = []
        parts = message.get("content")
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict) and part.get("type") == "toolCall":
                self._pending[str(part.get("id"))] = (acts, len(acts))
                acts.append(Act(str(part.get("name")), part.get("arguments"), None))
        usage = message.get("usage")
        total = usage.get("totalTokens") if isinstance(usage, dict) else None
        self._add(acts, total if isinstance(total, int) and total > 0 else 0)


def result_of(message: dict[str, Any]) -> Result:
    details = message.get("details")
    details = details if isinstance(details, dict) else {}
    status, code = details.get("status"), details.get("exitCode")
    return Result(
        content_text(message),
        failed=message.get("isError") is True,
        status=status if isinstance(status, str) else "",
        exit_code=code if isinstance(code, int) else None,
    )


def content_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def within(folder: Path, complain: Callable[[str], None]) -> list[Recorded]:
    """All runs of the transcripts below a folder. Raises `UserError` where there is none."""
    found = []
    for path in transcripts.named([folder]):
        conversation = Conversation(path)
        found += conversation.runs()
        for count, of in (
            (conversation.damaged, "damaged lines"),
            (conversation.packed, "packed events that this Python cannot read"),
        ):
            if count:
                complain(f"{path}: {count} {of} left out")
        if conversation.error:
            complain(f"{path}: {conversation.error}")
    return found
