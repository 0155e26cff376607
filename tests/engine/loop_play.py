"""Plays runs against the guard: what a model calls, what comes of it, and what the guard does about it.

A run is a text. A word is one message of the model, its calls are joined by `+`, `*9` says it nine times. A call is a
letter (`R` reads, `W` writes, `T` edits, `E` executes, `P` polls; any other is a tool of its own), `@7` a number among its
arguments (of `T` in words), and what comes of it: `1`, `2` are results, `!1` a failure that lasts and `?1` one that may
pass, `!1.2` the same with other numbers in its words; `:1` and `;1` are the same two where the words tell why, and name
something. `n` is a number that is new each time, as an argument, a result or in words. `~` is a compaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from toolguard_engine.config.settings import Config, parse
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.guard import Guard
from toolguard_engine.layers.repetition import Reaction
from toolguard_engine.model.call import Call
from toolguard_engine.model.history import mixed
from toolguard_engine.stores.files.counters import from_plain, to_plain

_CALL = re.compile(r"(?P<letter>[A-Z])(?:@(?P<number>n|\d+))?(?P<failed>[!?:;]?)(?P<result>n|\d+)(?:\.(?P<exact>n|\d+))?\Z")
_new = count(10_000)


def config(settings: dict[str, Any] | None = None, **more: Any) -> Config:
    """With the detectors switched on; `settings` of `loopDetection`, `more` beside it."""
    return parse({"loopDetection": {"enabled": True, **(settings or {})}, **more})


def messages(text: str) -> Iterator[str]:
    for word in text.split():
        message, _, times = word.partition("*")
        yield from [message] * int(times or 1)


def number(text: str | None) -> int:
    return next(_new) if text == "n" else int(text or 0)


def spelled(letter: str, at: int) -> tuple[str, dict[str, Any]]:
    match letter:
        case "R":
            return "read", {"path": f"missing-{at}.txt"}
        case "W":
            return "write", {"path": f"notes-{at}.txt", "content": "x"}
        case "T":
            words = "".join("abcdefghij"[int(digit)] for digit in str(at))
            return "edit", {"path": "notes.txt", "edits": [{"oldText": words, "newText": "x"}]}
        case "E":
            return "exec", {"command": f"check --port {at}"}
        case "P":
            return "process", {"action": "poll", "sessionId": f"s-{at}"}
        case _:
            return f"tool_{letter.lower()}", {"about": f"thing {at}"}


class Play:
    """One run `r`; `did` says by the number of the call what the guard did about it."""

    def __init__(self, settings: Config, agent: str = "", first_request: int = 1) -> None:
        self.config = settings
        self.agent = agent
        self.guard = Guard(settings, {})
        self.saved: dict[str, bytes] = {}
        self.requests = 0
        self.first = first_request
        self.calls = 0
        self.did: dict[int, str] = {}
        self.reactions: list[Reaction] = []
        self.ended = False

    def play(self, text: str) -> dict[int, str]:
        for message in messages(text):
            if self.ended:
                break
            self.compacted() if message == "~" else self.message(message)
        return self.did

    def compacted(self) -> None:
        self.guard.compacted("r", self.agent)

    def message(self, text: str) -> None:
        self.requests += 1
        made = [self.call(word) for word in text.split("+")]
        if refused := self.guard.message("r", self.agent, [call for call, _ in made]):
            stop = refused[0].correction.stop
            self.did[self.calls + 1], self.ended = f"stop {stop.code if stop else ''}", True
            return
        asked = [self.judged(call) for call, _ in made]
        for at, ((call, outcome), want) in enumerate(zip(made, asked, strict=True)):
            if want:
                self.came(call, outcome, want, self.calls + at + 1)
        self.calls += len(made)

    def call(self, word: str) -> tuple[Call, Outcome]:
        parts = _CALL.match(word)
        assert parts, word
        tool, params = spelled(parts["letter"], number(parts["number"]))
        request = self.requests if self.first else 0
        call = Call(tool, params, agent=self.agent, run="r", request=request)
        result = number(parts["result"])
        if not parts["failed"]:
            return call, Outcome(result, exact=result)
        exact, tells = mixed(result, number(parts["exact"])), parts["failed"] in ":;"
        lasting = parts["failed"] in "!:"
        return call, Outcome(
            exact, failed=True, wording=result, exact=exact, lasting=lasting, passing=not lasting,
            explained=tells, names=tells,
        )  # fmt: skip

    def judged(self, call: Call) -> str:
        verdict = self.guard.judge(call)
        if verdict.decision == "allow":
            return self.guard.wanted(call, self.guard.config_for(call.agent))
        verdict, stop = self.guard.refused(call, verdict)
        self.did[self.calls + 1] = f"{'end' if stop else verdict.decision} {verdict.code}"
        self.ended = self.ended or stop is not None
        return ""

    def came(self, call: Call, outcome: Outcome, want: str, at: int) -> None:
        reaction = self.guard.on_result(call, outcome, asked=want == "ask")
        if not reaction.code:
            return
        assert want == "ask", f"{reaction.code} at {at} was not asked for"
        self.reactions.append(reaction)
        self.did[at] = f"{'end' if reaction.stop else 'note'} {reaction.code}"
        self.ended = self.ended or reaction.stop is not None

    def restart(self) -> None:
        """Another engine goes on with what this one had saved."""
        for name, run in self.guard.take_touched().items():
            self.saved[name] = msgspec.json.encode(to_plain(run))
        self.guard = Guard(self.config, {})
        self.guard.remember({name: from_plain(msgspec.json.decode(saved)) for name, saved in self.saved.items()})


def play(text: str, settings: dict[str, Any] | None = None, **more: Any) -> dict[int, str]:
    """What the guard did, by the number of the call, with the detectors switched on."""
    return Play(config(settings, **more)).play(text)
