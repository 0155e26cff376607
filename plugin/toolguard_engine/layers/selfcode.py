"""Code for an interpreter that builds the path of a protected file out of pieces, where no path can be read off a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine.shellwords import INTERPRETERS, PRODUCERS, Line, Simple, base

FILES = "This command would change the files or the configuration of the guard itself."
KEY = "This command would read the secret key with which the guard signs approvals."

_JOINED = re.compile(r"['\"]\s*+(?:\+\s*+|\.\s*+(?=['\"]))?['\"]")
_STATE = re.compile(
    r"\.(?:openclaw|clawdbot)\b(?!['\"]?\s*[/,]\s*['\"]?workspace)|OPENCLAW_(?:STATE_DIR|HOME|CONFIG_PATH)|\.(?:open|claw)\w*[*?\[]"
)
_OURS = re.compile(r"toolguard|policy|nonces|openclaw\.json|clawdbot\.json|glob|\*|['\"/]key\b")
_SECRET = re.compile(r"['\"/]key['\"]")
_SECRET_FOLDER = re.compile(r"toolguard|\bglob\b|\*")
_WRITES = re.compile(
    r"open\w*\s*\([^)\n]{0,200},\s*(?:mode\s*=\s*)?['\"][rbt]*[wax>+]|open\b[^;\n]{0,80}['\"]\+?>|(?<!stdout\.)(?<!stderr\.)write"
    r"|unlink|remove|rename|rmtree|\brm(?:Sync|dir)?\b|\bmv\b|\bmove\b|copy|\bcp(?:Sync)?\b|chmod|chown|dump\(|symlink|truncate"
    r"|os\.replace|\.replace\([^,()\n]{0,200}\)|append(?:File|_text)|\bsed\b|\btee\b"
)
_WHOLE = re.compile(r"rmtree|\brm(?:Sync)?\b|rename|\bmove\b|copytree|make_archive|os\.replace|symlink|\bmv\b|cpSync")


def reason(found: tuple[Line, ...]) -> str:
    """Why code of these lines must not run; empty if it may. Code that only reads may, but for the key."""
    return next((text for line in found for code in _codes(line) if (text := _about(code))), "")


def _codes(line: Line) -> Iterator[str]:
    """What the interpreters of this line run: their own arguments and input, and files that the line itself writes."""
    running = [simple for simple in line if any(INTERPRETERS.fullmatch(base(word)) for word in simple.words[:6])]
    if not running:
        return
    named = {word for simple in running for word in simple.words}
    for simple in line:
        if simple in running or (simple.name in PRODUCERS and (simple.piped or named & _written(simple))):
            yield "\n".join((*simple.words, *simple.texts))


def _written(simple: Simple) -> set[str]:
    return {*simple.writes, *(simple.words[1:] if simple.name == "tee" else ())}


def _about(code: str) -> str:
    code = _JOINED.sub("", code)
    if not _STATE.search(code):
        return ""
    if _SECRET.search(code) and _SECRET_FOLDER.search(code):
        return KEY
    if _OURS.search(code) and _WRITES.search(code):
        return FILES
    return FILES if _WHOLE.search(code) else ""
