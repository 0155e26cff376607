"""What a person has said about tools of plugins and servers: that an agent may use one, or that nobody may.

An answer is about one tool or a whole server, and about one agent or all. A tool is trusted as it described itself then:
with another description, or other parameters, it is asked about again. What is not known of an answer or of the use (the
gateway does not always show descriptions) changes nothing, unless the tool was seen to change since. A refusal wins over
trust, and a trusted server may change its tools. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.model.tool_use import ToolUse

ToolStanding = Literal["new", "changed", "trusted", "refused"]
USED_BEFORE = "before"
"""The `where` of an answer that nobody gave: the tool was in use when the guard began to ask about tools."""

_Name = Annotated[str, Meta(max_length=200)]
_Digest = Annotated[str, Meta(max_length=64)]
_Line = Annotated[str, Meta(max_length=400)]


class ToolAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tool`: empty for the whole server; `agent`: empty for all; `changed`: the tool has described itself differently
    since; `mac`: see `stores.files.tool_answers_file`."""

    answer: Literal["trust", "refuse"]
    tool: _Name = ""
    server: _Name = ""
    agent: _Line = ""
    words: _Digest = ""
    schema: _Digest = ""
    id: Annotated[str, Meta(max_length=40)] = ""
    created: float = 0.0
    by: _Line = ""
    where: Annotated[str, Meta(max_length=40)] = ""
    reason: _Line = ""
    nonce: Annotated[str, Meta(max_length=64)] = ""
    changed: bool | msgspec.UnsetType = msgspec.UNSET
    mac: _Line = ""


Subject = tuple[str, str, str]


def subject(answer: ToolAnswer) -> Subject:
    """What it is about: a later answer about the same takes its place."""
    return answer.tool, "" if answer.tool else answer.server, answer.agent


def trusting(use: ToolUse) -> ToolAnswer:
    """The answer that trusts this tool of this agent, as it describes itself."""
    return ToolAnswer("trust", use.tool, use.server, use.agent, use.words, use.schema)


def named(answer: ToolAnswer) -> str:
    """What it is about, in words."""
    what = f"{answer.tool}" if answer.tool else f"all tools of {answer.server}"
    return f"{what}, {f'agent {answer.agent}' if answer.agent else 'every agent'}"


def as_grant(answer: ToolAnswer) -> Grant:
    """The form in which signers sign it. The digests are not part of it: they are added when the tool is first described."""
    return Grant(
        id="g-new",
        tool=answer.tool or "*",
        pattern=f"tools {answer.answer} {answer.server or '-'}",
        agent=answer.agent,
        created=answer.created,
        by=answer.by,
        reason=answer.reason,
    )


class ToolAnswers:
    """Answers by what they are about."""

    def __init__(self, answers: Iterable[ToolAnswer] = ()) -> None:
        self._by_subject = {subject(answer): answer for answer in answers}

    def standing(self, use: ToolUse) -> ToolStanding:
        about = self._about(use)
        if use.other:  # whose it is, is contested: each of the two may refuse it, and neither speaks for it
            refused = [answer for answer in (*about, *self._of_server(use, use.other)) if answer.answer == "refuse"]
            about = refused or [answer for answer in about if answer.tool]
        if any(answer.answer == "refuse" for answer in about):
            return "refused"
        if any(not (answer.tool and _differs(answer, use)) for answer in about):
            return "trusted"
        return "changed" if about else "new"

    def noted(self, use: ToolUse) -> ToolAnswer | None:
        """An answer that trusts this tool, with what is new since: how the tool describes itself, or that it does so
        differently. None where nothing is."""
        trusting_it = (answer for answer in self._about(use) if answer.tool and answer.answer == "trust")
        return next((now for answer in trusting_it if (now := _noted(answer, use)) != answer), None)

    def _about(self, use: ToolUse) -> list[ToolAnswer]:
        return [*self._named(use, (use.tool, "")), *self._of_server(use, use.server)]

    def _of_server(self, use: ToolUse, server: str) -> list[ToolAnswer]:
        return self._named(use, ("", server)) if server else []

    def _named(self, use: ToolUse, name: tuple[str, str]) -> list[ToolAnswer]:
        keys = [(*name, agent) for agent in dict.fromkeys((use.agent, ""))]
        return [self._by_subject[key] for key in keys if key in self._by_subject]


def bound(answer: ToolAnswer, use: ToolUse) -> ToolAnswer:
    """The same with how the tool describes itself."""
    return msgspec.structs.replace(answer, words=answer.words or use.words, schema=answer.schema or use.schema)


def _noted(answer: ToolAnswer, use: ToolUse) -> ToolAnswer:
    if any(then and now and then != now for then, now in _digests(answer, use)):
        return msgspec.structs.replace(answer, changed=True)
    return bound(answer, use)


def _differs(answer: ToolAnswer, use: ToolUse) -> bool:
    """Whether it describes itself differently; after a change, whether it is not known to be as it was again."""
    if answer.changed is True:
        return any(then != now for then, now in _digests(answer, use) if then)
    return any(then and now and then != now for then, now in _digests(answer, use))


def _digests(answer: ToolAnswer, use: ToolUse) -> tuple[tuple[str, str], ...]:
    return (answer.words, use.words), (answer.schema, use.schema)
