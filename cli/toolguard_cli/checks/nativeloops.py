"""The gateway's own loop detection beside ours: what happens where both, one or none of them is on.

Of the gateway's only the switch is left, for all and per agent: its thresholds are fixed. It looks before `before_tool_call`
and vetoes the call itself; toolguard does not judge that call, and where its own detection is on the second such veto or
block of its own ends the run. The gateway's history has valid calls only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolguard_cli.checks.check import MEND_CONFIG, UNREAD, Check, Subject
from toolguard_cli.migrations.hostloops import BLOCK, MAX_AGENTS, agent_id
from toolguard_engine import answers
from toolguard_engine.config import LoopDetection

ID = "loops"
NATIVE = (10, 20, 30)
"""From how many calls on the gateway's detection warns, blocks, and breaks every call without progress."""

SHOWN = 5
MALFORMED = "loops of malformed calls are toolguard's in any case"
_NATIVE = {
    True: f"the gateway's own detection is on (it warns at {NATIVE[0]} calls, blocks at {NATIVE[1]} and {NATIVE[2]})",
    None: "the gateway's own detection is off, but for its guard after a compaction",
    False: "the gateway's own detection is off, its guard after a compaction as well",
}


def beside(subject: Subject) -> Check:
    """Whatever is on is no fault; `settings` tells where thresholds contradict each other."""
    if subject.config is None:
        return Check(ID, "warn", UNREAD, MEND_CONFIG)
    general, own = _switch(subject.get(*BLOCK)), subject.settings.loop_detection
    told = [f"{_words(general, own)}; {MALFORMED}"]
    agents = [(name, native, ours) for name, native, ours in _agents(subject, general) if (native, ours) != (general, own)]
    told += [f"agent {answers.cut(name, 64)}: {_words(native, ours)}" for name, native, ours in agents[:SHOWN]]
    if len(agents) > SHOWN:
        told.append(f"and {len(agents) - SHOWN} more agents with a detection of their own")
    data = {name: {"native": native, "own": _state(ours)} for name, native, ours in agents}
    return Check(ID, "ok", "\n".join(told), data={"native": general, "own": _state(own), "agents": data})


def _agents(subject: Subject, general: bool | None) -> Iterator[tuple[str, bool | None, LoopDetection]]:  # noqa: FBT001
    native = dict(_native_agents(subject))
    for name in sorted({*native, *subject.settings.agents}):
        switch = native.get(name)
        ours = subject.settings.for_agent(name).loop_detection
        yield name, general if switch is None else switch, ours


def _native_agents(subject: Subject) -> Iterator[tuple[str, bool | None]]:
    listed, keyed = subject.get("agents", "list"), subject.get("agents", "entries")
    found = [(each.get("id"), each) for each in listed[:MAX_AGENTS] if isinstance(each, dict)] if _is(listed, list) else []
    found += list(keyed.items())[:MAX_AGENTS] if _is(keyed, dict) else []
    for written, agent in found:
        if name := agent_id(written):
            yield name, _switch(_at(agent, *BLOCK))


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind)


def _at(value: Any, *steps: str) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _switch(block: Any) -> bool | None:
    """Of the gateway's; none where it is not set."""
    value = _at(block, "enabled")
    return value if isinstance(value, bool) else None


def _state(own: LoopDetection) -> bool | None:
    return own.enabled if isinstance(own.enabled, bool) else None


def _words(native: bool | None, own: LoopDetection) -> str:  # noqa: FBT001
    state = _state(own)
    parts = [_NATIVE[native], _own(own)]
    if native and state:
        parts.append(
            "neither hides the other: the gateway looks first, and what it blocks counts for toolguard "
            "like a block of its own; "
            f"{_first(own)}"
        )
    if native is not False and state is not False:
        parts.append("after a compaction both guards watch, and the first that sees the same call too often ends the run")
    return "; ".join(parts)


def _own(own: LoopDetection) -> str:
    state, errors = _state(own), own.identical_errors
    if state is False:
        return "toolguard's is off as well: nothing of its own, and no identical errors, are counted"
    limits = " and ".join(
        f"{name} at {limit}" for name, limit in (("warned of", errors.warn), ("ended", errors.stop)) if limit
    )
    counted = f"identical errors are {limits}" if limits else "identical errors are not counted (identicalErrors is 0)"
    if state is None:
        return f"of toolguard's only the guard after a compaction is on, and {counted}"
    ours = f"{own.warning_threshold} calls, blocks at {own.critical_threshold} and {own.global_circuit_breaker_threshold}"
    return f"toolguard's is on (it warns at {ours}); {counted}"


def _first(own: LoopDetection) -> str:
    """Whose warning, whose block comes first."""
    ours = (own.warning_threshold, own.critical_threshold, own.global_circuit_breaker_threshold)
    names = ("the warning", "the block", "the breaker")
    said = [
        f"{name} is {'toolguard' if one < other else 'the gateway'}'s"
        for name, one, other in zip(names, ours, NATIVE, strict=True)
    ]
    return f"the lower threshold acts first: {', '.join(said)}"
