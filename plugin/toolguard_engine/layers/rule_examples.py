"""Whether a rule matches its own examples: how the packs and a person's rules are checked."""

from __future__ import annotations

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import constraints, rubric
from toolguard_engine.layers.provenance.context import RunContexts
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.clock_hours import zone
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import FileText, NoFiles, Unread
from toolguard_engine.rules.rulebook import Example, Rule, Rulebook

_THERE = Host("/home/ada", "/home/ada/.openclaw")
_CWD = "/home/ada/work"
_RUN = "run"


def speaks(rule: Rule, example: Example) -> bool:
    """Whether a rule is about one of its examples, which happens in a person's workspace; what it does not say of the call
    counts as fitting."""
    call = call_of(rule, example, _CWD)
    made, known = _made(example), _contexts(example)
    reading = CallReading(call, _THERE, files=_Unreadable(), made=made) if made else CallReading(call, _THERE)
    earlier = rubric.weighed(reading, Config(), Rulebook((rule,)), known.get(_RUN), known.secrets)
    return constraints.speaks(rule, reading, earlier.effects) if rule.needs_view else bool(earlier.matches)


def call_of(rule: Rule, example: Example, cwd: str) -> Call:
    """The call that an example means, by default in the folder `cwd`. A date without an offset is on the rule's clock."""
    if isinstance(example, str):
        return Call("exec", {"command": example}, cwd=cwd)
    moment = example.get("at")
    if moment is not None and moment.tzinfo is None and rule.timezone:
        moment = moment.replace(tzinfo=zone(rule.timezone))
    known = {name: example[name] for name in ("agent", "channel", "requester") if name in example}
    at = moment.timestamp() if moment is not None else 0.0
    return Call(example["tool"], example["params"], run=_RUN, cwd=example.get("cwd", cwd), at=at, **known)


def _made(example: Example) -> FileMemory | None:
    if isinstance(example, str) or "unread" not in example:
        return None
    made = FileMemory()
    made.wrote(example["unread"], FileRecord("agent"))
    return made


class _Unreadable(NoFiles):
    """No file can be read, but there are some."""

    def read(self, path: str) -> FileText | Unread:  # noqa: ARG002
        return Unread("forbidden")


def _contexts(example: Example) -> RunContexts:
    """The texts that were fetched before the call of an example."""
    known = RunContexts()
    if not isinstance(example, str) and "heard" in example:
        known.result(_RUN, "read", {}, example.get("read", ""))
        known.secrets.result(_RUN, {}, example.get("read", ""))
        known.result(_RUN, "web_fetch", {}, example["heard"])
    return known
