"""What a `process` call types, and the lines that result.

`arriving` returns the characters that the gateway (2026.9.6, `pty-keys.ts`) writes to the program: for `write` its `data`,
for `send-keys` its `literal`, `hex` and `keys` in this order, for `paste` its `text` between the marks of a bracketed paste,
for `submit` a carriage return. Parameters that an action does not use type nothing.

`lines` emulates the line editor: Backspace, Ctrl-U, Ctrl-W and Ctrl-C where they do the same in every shell and in the
terminal itself, and Ctrl-L, which clears the screen and edits nothing. Any other key that edits, completes, moves or brings
back an older line makes the line unsure, because what Enter runs is then not known from what was typed. Without a terminal
there is no editor, so each control character makes the line unsure. A line break in a paste counts as Enter, because not
every program waits for one after a paste.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from toolguard_engine import lazy_re

TYPING = frozenset({"write", "send-keys", "paste", "submit"})
CUT = "\0"
"""Stands for text that was too long to keep."""

STAYED = "\ufdd0"
"""Stands where a line was perhaps read and perhaps remains."""

MAX_TYPED = 16_384
"""Characters of a line that is not entered yet, and of a text that is not complete yet."""

MAX_KEYS = 65_536
"""Characters of one call."""

ESC = "\x1b"
PASTE, PASTED = f"{ESC}[200~", f"{ESC}[201~"
CURSOR_KEYS = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_NAMED = {
    "enter": "\r", "return": "\r", "tab": "\t", "escape": ESC, "esc": ESC, "space": " ", "bspace": "\x7f",
    "backspace": "\x7f", "up": f"{ESC}[A", "down": f"{ESC}[B", "right": f"{ESC}[C", "left": f"{ESC}[D", "home": f"{ESC}[1~",
    "end": f"{ESC}[4~",
    "pageup": f"{ESC}[5~", "pgup": f"{ESC}[5~", "ppage": f"{ESC}[5~", "pagedown": f"{ESC}[6~", "pgdn": f"{ESC}[6~",
    "npage": f"{ESC}[6~", "insert": f"{ESC}[2~", "ic": f"{ESC}[2~", "delete": f"{ESC}[3~", "del": f"{ESC}[3~",
    "dc": f"{ESC}[3~", "btab": f"{ESC}[Z", "f1": f"{ESC}OP", "f2": f"{ESC}OQ", "f3": f"{ESC}OR", "f4": f"{ESC}OS",
    "f5": f"{ESC}[15~", "f6": f"{ESC}[17~", "f7": f"{ESC}[18~", "f8": f"{ESC}[19~", "f9": f"{ESC}[20~", "f10": f"{ESC}[21~",
    "f11": f"{ESC}[23~", "f12": f"{ESC}[24~", "kp/": f"{ESC}Oo", "kp*": f"{ESC}Oj", "kp-": f"{ESC}Om", "kp+": f"{ESC}Ok",
    "kp7": f"{ESC}Ow", "kp8": f"{ESC}Ox", "kp9": f"{ESC}Oy", "kp4": f"{ESC}Ot", "kp5": f"{ESC}Ou", "kp6": f"{ESC}Ov",
    "kp1": f"{ESC}Oq", "kp2": f"{ESC}Or", "kp3": f"{ESC}Os", "kp0": f"{ESC}Op", "kp.": f"{ESC}On", "kpenter": f"{ESC}OM",
}  # fmt: skip
_HEX = lazy_re.compile(r"(?:0x)?([0-9a-f]{1,2})")
_ESCAPE = lazy_re.compile(r"\x1b(?:\[[0-9;?]{0,16}[ -/]{0,4}[@-~]|O[A-Za-z]|[^\[O\x00-\x1f\x7f])?")
_PLAIN = lazy_re.compile(r"[^\x00-\x1f\x7f\ufdd0]+")
_EDITS = frozenset("\x01\x02\x05\x06\x08\x0b\x0c\x0e\x10\x12\x14\x17\x19\t\x7f" + CUT + STAYED)
_MOVES = lazy_re.compile(r"\x1b(?:\[[0-9;]{0,16}[A-DFHZ~]|O[A-DFHP-S])")
"""Keys that edit, move, complete or bring back a line in bash and zsh, but do not run it."""

_LAST_WORD = lazy_re.compile(r"(?:(?<=[ ])|\A)\w+[ ]*\Z", re.ASCII)
"""What Ctrl-W deletes in bash, zsh and the terminal alike."""


_HALVES = lazy_re.compile("[\ud800-\udc7f\udd00-\udfff]")
Ended = Literal["enter", "end", "interrupt"]


class InputLine(msgspec.Struct, frozen=True):
    """`ended`: how; an `interrupt` discards the line. `sure`: the text is exactly what the program gets."""

    text: str
    ended: Ended = "enter"
    sure: bool = True


class Typed(msgspec.Struct, frozen=True):
    """`rest`: the keys after the last line, as typed; `CUT` if there were too many."""

    lines: tuple[InputLine, ...]
    rest: str


def types(params: Any) -> bool:
    return isinstance(params, dict) and isinstance(action := params.get("action"), str) and action in TYPING


def arriving(params: dict[str, Any]) -> str:
    """The characters that reach the program. Bytes that are not yet valid UTF-8 may become so with those that follow."""
    match params.get("action"):
        case "write":
            return _text(params.get("data")) + ("\x04" if params.get("eof") else "")
        case "submit":
            return "\r"
        case "paste":
            text = _text(params.get("text"))
            return text if params.get("bracketed") is False else f"{PASTE}{text}{PASTED}"
        case "send-keys":
            return _sent(params)
    return ""


def may_be_refused(params: dict[str, Any]) -> bool:
    """Whether the gateway may refuse just this call: cursor keys before the program has chosen a cursor mode."""
    tokens = {token.strip().lower() for token in _texts(params.get("keys"))}
    return params.get("action") == "send-keys" and not tokens.isdisjoint(CURSOR_KEYS)


def _text(value: Any) -> str:
    return value[: MAX_KEYS + 1] if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    return [item for item in value[:MAX_KEYS] if isinstance(item, str)] if isinstance(value, list) else []


def _sent(params: dict[str, Any]) -> str:
    codes = [match for code in _texts(params.get("hex")) if (match := _HEX.fullmatch(code.strip().lower()))]
    data = bytes(int(code[1], 16) for code in codes).decode("utf-8", "surrogateescape")
    return _text(params.get("literal")) + data + "".join(map(_key, _texts(params.get("keys"))))


def _key(raw: str) -> str:
    """One token of `keys`: `Enter`, `C-u`, `^C`, `M-x`, or a literal text."""
    token = raw.strip()
    if len(token) == 2 and token[0] == "^" and (code := _control(token[1])):  # noqa: PLR2004 - the sign and a letter
        return code
    rest, held = token, set()
    while len(rest) > 2 and rest[1] == "-" and rest[0].lower() in "cms":  # noqa: PLR2004 - a letter, the dash, a key
        held.add(rest[0].lower())
        rest = rest[2:]
    if known := _NAMED.get(rest.strip().lower()):
        return f"{ESC}{known}" if "m" in held or (held and known[:1] == ESC) else known
    return _letter(rest, held) if len(rest) == 1 else rest


def _letter(letter: str, held: set[str]) -> str:
    """What a letter types while these keys are held: `c` for control, `m` for meta, `s` for shift."""
    letter = letter.upper() if "s" in held else letter
    letter = (_control(letter) or letter) if "c" in held else letter
    return f"{ESC}{letter}" if "m" in held else letter


def _control(letter: str) -> str:
    if letter == "?":
        return "\x7f"
    code = ord(letter.upper()[0])
    return chr(code & 31) if 64 <= code <= 95 else ""  # noqa: PLR2004 - ASCII's capital letters and their neighbours


def lines(typed: str, *, terminal: bool) -> Typed:
    """The lines that these keys enter, and the keys after them. `terminal`: there is a line editor."""
    if len(typed) > MAX_KEYS:
        return Typed((InputLine("", sure=False),) if "\n" in typed or "\r" in typed else (), CUT)
    if not typed.isascii():
        typed = _HALVES.sub("\ufffd", typed).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    editor = _Editor(typed, terminal=terminal)
    rows = tuple(editor.lines())
    rest = editor.before + typed[editor.begun :]
    return Typed(rows, rest if len(rest) <= MAX_TYPED else CUT)


class _Editor:
    """One pass over the keys. `begun`: start of the line that is not entered yet; `before`: the text needed before it so
    that it is read again in the same way."""

    def __init__(self, typed: str, *, terminal: bool) -> None:
        self._typed = typed
        self._terminal = terminal
        self._text = ""
        self._sure = True
        self._pasting = False
        self._was_unsure = False
        self.begun = 0
        self.before = ""

    def lines(self) -> Iterator[InputLine]:
        at = 0
        while at < len(self._typed):
            if plain := _PLAIN.match(self._typed, at):
                self._text += plain[0]
                at = plain.end()
                continue
            key = self._typed[at]
            at += 1
            if key == ESC:
                begun, at = at - 1, self._escape(at - 1)
                if not _MOVES.match(self._typed, begun) and self._typed[begun:at] not in (PASTE, PASTED):
                    yield from self._perhaps(at)
            elif key in "\r\n":
                yield self._entered("enter", at)
            elif key == "\x03" and self._terminal and not self._pasting:
                yield self._entered("interrupt", at)
            elif key == "\x04" and not self._pasting:
                yield self._entered("end", at)
            else:
                known = key in _EDITS or (key == "\x15" and self._terminal)
                self._control(key)
                if not known:
                    yield from self._perhaps(at)

    def _perhaps(self, at: int) -> Iterator[InputLine]:
        """A key that may run the current line."""
        if self._terminal and not self._pasting and (self._text or self._was_unsure):
            yield self._entered("end", at)
        self._was_unsure = True

    def _entered(self, how: Ended, at: int) -> InputLine:
        """Text before Ctrl-D is read, but may also remain in the line."""
        line = InputLine(self._text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), how, self._sure)
        stays = how == "end" and bool(self._text or not self._sure)
        self.begun, self.before = at, (PASTE if self._pasting else "") + (STAYED if stays else "")
        self._text, self._sure, self._was_unsure = "", not stays, stays
        return line

    def _escape(self, at: int) -> int:
        match = _ESCAPE.match(self._typed, at)
        end = match.end() if match else at + 1
        keys = self._typed[at:end]
        if keys == PASTE and self._terminal:
            self._pasting = True
        elif keys == PASTED and self._terminal:
            self._pasting = False
        else:
            self._was_unsure, self._sure = not self._sure, False
        return end

    def _control(self, key: str) -> None:
        self._was_unsure = not self._sure
        if key == "\t":
            self._sure = self._sure and not self._text.strip()
            self._text += key
        elif not self._terminal or self._pasting:
            self._sure = False
        elif key == "\x0c":
            pass
        elif key == "\x7f" and self._text.isascii():
            self._text = self._text[:-1]
        elif key == "\x15":
            self._text = ""
        elif key == "\x17" and (match := _LAST_WORD.search(self._text)):
            self._text = self._text[: match.start()]
        else:
            self._sure = False
