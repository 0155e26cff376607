"""The audit logs of the fleet as users see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, dated
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.audit_trail import ChainCheck, TrailLine

HEAD = ("STORED", "TEAM", "GATEWAY", "EVENT", "CODE", "NONCE", "TOOL", "AGENT", "BY", "WHAT")
MAX_WHAT = 300
SHORT = 12
"""Characters of a chain's name that are shown."""


def shown_lines(lines: list[TrailLine]) -> list[Line]:
    """The oldest first, as in `toolguard audit show`."""
    if not lines:
        return [Line("info", "no audit lines of your teams' gateways match")]
    return tables.table(HEAD, (_row(line) for line in reversed(lines)))


def line_data(line: TrailLine) -> dict[str, Any]:
    """`line`: what the gateway wrote, as JSON if it is."""
    fields = {"gateway": line.gateway, "team": line.team, "chain": line.chain, "seq": line.seq, "stored": line.stored}
    return dated({**fields, "line": _event(line) or line.line.decode(errors="replace")}, "stored")


def check_lines(checks: list[ChainCheck]) -> Iterator[Line]:
    if not checks:
        yield Line("info", "none of your teams' gateways has sent an audit log")
    for check in checks:
        yield from _checked(check)


def _checked(check: ChainCheck) -> Iterator[Line]:
    chain = check.chain
    name = printable.plain(f"{chain.gateway} {chain.chain[:SHORT]}")
    counted = f"{check.lines} line{'' if check.lines == 1 else 's'}"
    kept = f"; {check.removed} older ones are no longer kept" if check.removed else ""
    if check.error:
        yield Line("error", f"{name}: {printable.plain(check.error)}; unchanged before that: {counted}")
        yield Line("next", "compare with toolguard audit verify on that machine; somebody may have changed the database")
    else:
        yield Line("ok", f"{name}: intact, {counted}{kept}")
    if chain.forked is not None:
        yield Line("error", f"{name}: a second version of line {chain.forked} was received, so the chain is closed")
    for gap in chain.gaps:
        where = f"{name}: lines {gap.first} to {gap.last} were lost before they were sent ({printable.plain(gap.reason)})"
        if gap in check.unnamed:
            yield Line("error", f"{where}, and the log does not account for them")
        else:
            yield Line("warn", where)


def check_data(check: ChainCheck) -> dict[str, Any]:
    chain = check.chain
    return {
        "gateway": chain.gateway,
        "team": chain.team,
        "chain": chain.chain,
        "lines": check.lines,
        "removed": check.removed,
        "error": check.error,
        "forked": chain.forked,
        "gaps": [dated(msgspec.to_builtins(gap) | {"named": gap not in check.unnamed}, "at") for gap in chain.gaps],
        "intact": check.is_sound,
    }


def _event(line: TrailLine) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line.line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _row(line: TrailLine) -> list[str]:
    event = _event(line) or {"shown": line.line.decode(errors="replace")}
    text = {name: str(event.get(name, "")) for name in ("event", "code", "nonce", "tool", "agent", "by", "why", "shown")}
    what = ": ".join(part for part in (text["why"], text["shown"] or str(event.get("reason", ""))) if part)
    place = (printable.moment(line.stored), line.team, line.gateway)
    return [
        *place,
        *(text[name] for name in ("event", "code", "nonce", "tool", "agent", "by")),
        printable.cut(what, MAX_WHAT),
    ]
