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


def shown_lines(found: list[TrailLine]) -> list[Line]:
    """The oldest first, as in `toolguard audit show`."""
    if not found:
        return [Line("info", "no audit lines of your teams' gateways match")]
    return tables.table(HEAD, (_row(each) for each in reversed(found)))


def line_data(each: TrailLine) -> dict[str, Any]:
    """`line`: what the gateway wrote, as JSON if it is."""
    fields = {"gateway": each.gateway, "team": each.team, "chain": each.chain, "seq": each.seq, "stored": each.stored}
    return dated({**fields, "line": _event(each) or each.line.decode(errors="replace")}, "stored")


def check_lines(found: list[ChainCheck]) -> Iterator[Line]:
    if not found:
        yield Line("info", "none of your teams' gateways has sent an audit log")
    for each in found:
        yield from _checked(each)


def _checked(each: ChainCheck) -> Iterator[Line]:
    chain = each.chain
    name = printable.plain(f"{chain.gateway} {chain.chain[:SHORT]}")
    counted = f"{each.lines} line{'' if each.lines == 1 else 's'}"
    kept = f"; {each.removed} older ones are no longer kept" if each.removed else ""
    if each.error:
        yield Line("error", f"{name}: {printable.plain(each.error)}; unchanged before that: {counted}")
        yield Line("next", "compare with toolguard audit verify on that machine; somebody may have changed the database")
    else:
        yield Line("ok", f"{name}: intact, {counted}{kept}")
    if chain.forked is not None:
        yield Line("error", f"{name}: a second version of line {chain.forked} was received, so the chain is closed")
    for gap in chain.gaps:
        where = f"{name}: lines {gap.first} to {gap.last} were lost before they were sent ({printable.plain(gap.reason)})"
        if gap in each.unnamed:
            yield Line("error", f"{where}, and the log does not account for them")
        else:
            yield Line("warn", where)


def check_data(each: ChainCheck) -> dict[str, Any]:
    chain = each.chain
    return {
        "gateway": chain.gateway,
        "team": chain.team,
        "chain": chain.chain,
        "lines": each.lines,
        "removed": each.removed,
        "error": each.error,
        "forked": chain.forked,
        "gaps": [dated(msgspec.to_builtins(gap) | {"named": gap not in each.unnamed}, "at") for gap in chain.gaps],
        "intact": each.is_sound,
    }


def _event(each: TrailLine) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(each.line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _row(each: TrailLine) -> list[str]:
    event = _event(each) or {"shown": each.line.decode(errors="replace")}
    text = {name: str(event.get(name, "")) for name in ("event", "code", "nonce", "tool", "agent", "by", "why", "shown")}
    what = ": ".join(part for part in (text["why"], text["shown"] or str(event.get("reason", ""))) if part)
    place = (printable.moment(each.stored), each.team, each.gateway)
    return [
        *place,
        *(text[name] for name in ("event", "code", "nonce", "tool", "agent", "by")),
        printable.cut(what, MAX_WHAT),
    ]
