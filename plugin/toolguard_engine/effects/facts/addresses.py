"""Alternative spellings of an address: `2130706433`, `0x7f.1` and `0177.0.0.1` are `127.0.0.1`, as programs parse them."""

from __future__ import annotations

from toolguard_engine import lazy_re

_NUMBERS = lazy_re.compile(r"(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,12})(?:\.(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,12})){0,3}\.?\Z")
_QUAD = lazy_re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}\Z")
_MAPPED = lazy_re.compile(r"(?:0{0,4}:){2,6}[fF]{4}:(?:([0-9.]{7,15})|([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,4}))\Z")
_BYTES, _HIGHEST = 4, 0xFF


def is_quad(host: str) -> bool:
    """Whether this is an address of four numbers and not a name that begins like one."""
    return _QUAD.match(host) is not None


def canonical(host: str) -> str:
    """The address as four numbers; a name without its trailing dot; anything else unchanged."""
    if host[:1].isdigit() and _NUMBERS.match(host):
        return host if is_quad(host) else _quad(host.rstrip(".").split(".")) or host
    if ":" in host and (mapped := _MAPPED.match(host)):
        return mapped[1] or _quad([str((int(mapped[2], 16) << 16) + int(mapped[3], 16))])
    return host[:-1] if host[-1:] == "." else host


def _quad(parts: list[str]) -> str:
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return ""
    *heads, last = numbers
    if any(head > _HIGHEST for head in heads) or last >= 1 << 8 * (_BYTES + 1 - len(parts)):
        return ""
    whole = last + sum(head << 8 * (_BYTES - 1 - at) for at, head in enumerate(heads))
    return ".".join(str(whole >> shift & _HIGHEST) for shift in (24, 16, 8, 0))


def _number(part: str) -> int:
    if part[:2].lower() == "0x":
        return int(part, 16)
    return int(part, 8) if part[:1] == "0" else int(part)
