"""The example configs of the documents that toolguard grew from, read where they lie; none of their text is here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from toolguard_cli.hostconfig import json5_edit

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
_BLOCK = re.compile(r"```json5\n(.*?)```", re.DOTALL)


def examples() -> dict[str, str]:
    """By the number of the document and their place in it; empty where the documents are not."""
    texts = {path.name: path.read_text("utf-8") for path in sorted(SEEDS.glob("*.md"))}
    return {
        f"{name.partition('-')[0]}.{at}": block
        for name, text in texts.items()
        for at, block in enumerate(_BLOCK.findall(text), 1)
    }


def comments(text: str) -> list[str]:
    """Every comment, in order. For texts whose strings hold no `//` but in addresses."""
    return re.findall(r"(?<!:)//.*|/\*.*?\*/", text)


def laid_under(text: str, below: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """`text` with the values of `below` that it does not have itself, its comments kept."""
    own = json5_edit.loads(text)
    for step in path:
        own = own[step] if isinstance(own, dict) else None
    for key, value in below.items():
        if isinstance(own, dict) and isinstance(own.get(key), dict) and isinstance(value, dict):
            text = laid_under(text, value, (*path, key))
        elif not isinstance(own, dict) or key not in own:
            text = json5_edit.set_value(text, (*path, key), value)
    return text
