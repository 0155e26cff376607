"""The gateway's loop detection and toolguard's: the effect if both, one or none of them is on.

The gateway's thresholds are fixed; it only has a switch, for all agents and per agent. It runs before `before_tool_call` and
vetoes calls itself, so toolguard does not judge them. If toolguard's detection is on too, the second veto or block of either
ends the run. The gateway's history contains valid calls only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolguard_cli.doctor.check_types import FIX_CONFIG, UNREAD, Check, DoctorSubject
from toolguard_cli.migrations.hostloops import BLOCK, MAX_AGENTS, agent_id
from toolguard_cli.validation.subject import value_at
from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.wording import printable

ID = "loops"
NATIVE = (10, 20, 30)
"""Numbers of calls after which the gateway warns, blocks, and blocks every call without progress."""

SHOWN = 5
MALFORMED = "toolguard always ends loops of malformed calls"
_NATIVE = {
    True: f"the gateway's loop detection is on (it warns after {NATIVE[0]} calls, blocks after {NATIVE[1]} and {NATIVE[2]})",
    None: "the gateway's loop detection is off, except after a compaction",
    False: "the gateway's loop detection is off, even after a compaction",
}


def beside(subject: DoctorSubject) -> Check:
    """Always ok: every combination is valid. `settings` reports thresholds that contradict each other."""
    if subject.config is None:
        return Check(ID, "warn", UNREAD, FIX_CONFIG)
    general, own = _switch(subject.get(*BLOCK)), subject.settings.loop_detection
    lines = [f"{_words(general, own)}; {MALFORMED}"]
    agents = [(name, native, ours) for name, native, ours in _agents(subject, general) if (native, ours) != (general, own)]
    lines += [f"agent {printable.cut(name, 64)}: {_words(native, ours)}" for name, native, ours in agents[:SHOWN]]
    if len(agents) > SHOWN:
        lines.append(f"and {len(agents) - SHOWN} more agents with other settings")
    data = {name: {"native": native, "own": _state(ours)} for name, native, ours in agents}
    return Check(ID, "ok", "\n".join(lines), data={"native": general, "own": _state(own), "agents": data})


def _agents(subject: DoctorSubject, general: bool | None) -> Iterator[tuple[str, bool | None, LoopDetection]]:  # noqa: FBT001
    native = dict(_native_agents(subject))
    for name in sorted({*native, *subject.settings.agents}):
        switch = native.get(name)
        ours = subject.settings.for_agent(name).loop_detection
        yield name, general if switch is None else switch, ours


def _native_agents(subject: DoctorSubject) -> Iterator[tuple[str, bool | None]]:
    listed, keyed = subject.get("agents", "list"), subject.get("agents", "entries")
    agents = [(item.get("id"), item) for item in listed[:MAX_AGENTS] if isinstance(item, dict)] if _is(listed, list) else []
    agents += list(keyed.items())[:MAX_AGENTS] if _is(keyed, dict) else []
    for written, agent in agents:
        if name := agent_id(written):
            yield name, _switch(value_at(agent, BLOCK))


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind)


def _switch(block: Any) -> bool | None:
    value = value_at(block, ("enabled",))
    return value if isinstance(value, bool) else None


def _state(own: LoopDetection) -> bool | None:
    return own.enabled if isinstance(own.enabled, bool) else None


def _words(native: bool | None, own: LoopDetection) -> str:  # noqa: FBT001
    state = _state(own)
    parts = [_NATIVE[native], _own(own)]
    if native and state:
        parts.append(f"the gateway checks first, and toolguard counts its blocks; {_first(own)}")
    if native is not False and state is not False:
        parts.append("after a compaction, either of the two ends a run that repeats the same call")
    return "; ".join(parts)


def _own(own: LoopDetection) -> str:
    state, errors = _state(own), own.identical_errors
    if state is False:
        return "toolguard's is off, even after a compaction and for identical errors"
    limits = " and ".join(
        f"{what} after {limit}" for what, limit in (("warns", errors.warn), ("ends the run", errors.stop)) if limit
    )
    counted = "it does not count identical errors (identicalErrors is 0)"
    if limits:
        counted = f"for identical errors, it {limits}"
    if state is None:
        limits = (
            f"it warns after {own.warning_threshold} calls and ends the run after {own.global_circuit_breaker_threshold}"
        )
        return f"toolguard's is on for calls that demonstrably make no progress ({limits}); {counted}"
    ours = f"{own.warning_threshold} calls, blocks after {own.critical_threshold} and {own.global_circuit_breaker_threshold}"
    return f"toolguard's is on (it warns after {ours}); {counted}"


def _first(own: LoopDetection) -> str:
    """Which detection acts first at each threshold."""
    ours = (own.warning_threshold, own.critical_threshold, own.global_circuit_breaker_threshold)
    owners = [
        f"{name} {'toolguard' if one < other else 'the gateway'}"
        for name, one, other in zip(("warning:", "block:", "breaker:"), ours, NATIVE, strict=True)
    ]
    return f"the lower threshold takes effect first ({', '.join(owners)})"
