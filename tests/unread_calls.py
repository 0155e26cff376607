"""Calls that the guard does not read, of which a person has to see everything."""

from __future__ import annotations

from typing import Any

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.call import Call
from toolguard_engine.wording import approval as approval_texts


def held(arguments: dict[str, Any], tool: str = "write") -> HeldCall:
    shown, whole = approval_texts.disclosed(Call(tool, arguments))
    return HeldCall(
        nonce="00000001", binding="b", tool=tool, agent="main", session="s", run="r", code="c", reason="why", shown=shown,
        whole=whole, cwd="/w", created=0.0, expires=1.0,
    )  # fmt: skip


def texts(value: object) -> list[str]:
    """All texts in these arguments."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in texts(item)]


def written(content: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": "/w/.bashrc", "content": content}


UNREAD_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a file with long lines": written("\n".join(f"{'a' * 120}; {at}b{'c' * 60}" for at in range(8))),
    "a file with many lines": written("\n".join(f"line {at}" for at in range(60))),
    "a file with wide signs": written("写" * 110 + "end"),
    "edits": ("edit", {"path": "/w/a", "edits": [{"oldText": "x" * 90, "newText": f"y\n{at}"} for at in range(7)]}),
    "a message": ("message", {"action": "send", "to": "me", "message": f"{'word ' * 40}end"}),
    "a long name": ("write", {"path": "/w/a", "content": "a\nb", "n" * 55: "word " * 11 + "end"}),
}


def lines_of(arguments: dict[str, Any]) -> list[str]:
    return ["".join(line.split()) for text in texts(arguments) for line in text.split("\n")]
