"""An approval in chat as a person gives it: the call is shown first, and the code below it is sent back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
CODE = re.compile(r"/toolguard approve [0-9a-f]+ ([a-z2-9]{4})(?= |$)", re.MULTILINE)


def code_in(text: str) -> str:
    """The code that a text asks for; empty if it asks for none."""
    found = CODE.search(text)
    return found[1] if found else ""


def confirmed(ask: Callable[[str], T], why: str = "", *, text: Callable[[T], str]) -> T:
    """The last answer. `ask`: sends the command with these words behind the nonce; `text`: of an answer."""
    first = ask(why)
    code = code_in(text(first))
    return ask(f"{code} {why}".strip()) if code else first
