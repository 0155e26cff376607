"""Makes JSON5 documents as people write them, and says what they hold: nested, commented in every place a comment may be.

A document keeps to one style (line breaks, indentation, quotes, bare keys, trailing commas), but for a few exceptions as
every file has them. The value is what was written, not what some parser reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

_NAMES = [
    *(
        "agents",
        "defaults",
        "list",
        "model",
        "primary",
        "fallbacks",
        "tools",
        "exec",
        "ask",
        "gateway",
        "port",
        "auth",
        "bind",
    ),
    *("token", "plugins", "entries", "allow", "deny", "load", "paths", "channels", "telegram", "enabled", "config", "hooks"),
    *("toolguard", "tool-guard", "loopDetection", "warningThreshold", "größe", "a b", "127.0.0.1", "_x1", "$schema", "日本"),
    *("null", "true", "class", "x.y", "", "it's", 'say "hi"', "env", "vars", "logging", "level", "session", "scope", "cron"),
]
_WORDS = [
    *("keep", "this", "in", "step", "with", "see,", "{", "not:", "code", "},", "[1,", "2]", "'and'", '"so"', "it's", "done"),
    *("\\", "100", "%", "ü", "日本", "//x", "${VAR}", "$include:"),
]
_SCALARS: list[tuple[str, Any]] = [
    *(("true", True), ("false", False), ("null", None), ("0", 0), ("18789", 18789), ("-1", -1), ("2.50", 2.5), ("0x1F", 31)),
    *(
        (".5", 0.5),
        ("5.", 5.0),
        ("+3", 3),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("Infinity", float("inf")),
        ("[]", []),
        ("{}", {}),
    ),
    *(("[ ]", []), ("{ }", {}), ("12345678901234567890", 12345678901234567890)),
]
_TEXTS = [
    *("on", "main", "", "${GATEWAY_TOKEN}", "${HOME}/x", "a // b", "/* no */", "{ a: [1, 2] }", "C:\\dir", "two\nlines"),
    *("it's", 'say "hi"', "日本 😀", "openclaw/model-1", "*", "tab\there", "\u2028", "a, b: c", "x" * 40),
]
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\u2028": "\\u2028"}


@dataclass(frozen=True)
class Document:
    """`value` is what `text` holds; every line break of it is a `newline`."""

    text: str
    value: Any
    newline: str


def document(chance: Random, lines: int) -> Document:
    """A document of about so many lines; one object at the top, as in a config."""
    return _Writer(chance).document(lines)


class _Writer:
    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.newline = chance.choice(["\n", "\n", "\r\n"])
        self.mark = chance.choice(["", "", "", "\ufeff"])
        self.unit = chance.choice(["  ", "  ", "    ", "\t"])
        self.quote = chance.choice('""\'')
        self.bare = chance.random() < 0.6
        self.trailing = chance.random() < 0.5
        self.colon = chance.choice([": ", ": ", ":"])
        self.commented = chance.choice([0.0, 0.2, 0.4])
        self.left = 0

    def document(self, lines: int) -> Document:
        self.left = lines
        top = self._comments("") if self._maybe(self.commented) else ""
        text, value = self._spread_object("", 0)
        end = self.chance.choice(["", "\n", "\n", "\n// the end\n"])
        return Document(self.mark + (top + text + end).replace("\n", self.newline), value, self.newline)

    def _maybe(self, share: float) -> bool:
        return self.chance.random() < share

    def _value(self, indent: str, depth: int) -> tuple[str, Any]:
        if depth < 6 and self.left > 3 and self._maybe(0.45):
            return self.chance.choice([self._spread_object, self._spread_object, self._spread_array])(indent, depth)
        if depth < 6 and self._maybe(0.25):
            return self.chance.choice([self._inline_object, self._inline_array])()
        return self._scalar()

    def _spread_object(self, indent: str, depth: int) -> tuple[str, Any]:
        names = self.chance.sample(_NAMES, self._count(depth))
        if self._maybe(0.1):
            names.insert(0, "$include")
        value: dict[str, Any] = {}

        def item(name: str, inner: str) -> str:
            if name == "$include":
                shown, value[name] = self._text("./base.json5"), "./base.json5"
            else:
                shown, value[name] = self._value(inner, depth + 1)
            before = " /* k */" if self._maybe(self.commented / 20) else ""
            between = self._between(inner)
            return self._key(name) + before + self.colon + between + shown

        return self._spread("{", names, item, "}", indent), value

    def _spread_array(self, indent: str, depth: int) -> tuple[str, Any]:
        value: list[Any] = []

        def item(_: str, inner: str) -> str:
            shown, element = self._value(inner, depth + 1)
            value.append(element)
            return shown

        return self._spread("[", [""] * self._count(depth), item, "]", indent), value

    def _count(self, depth: int) -> int:
        return self.chance.randint(2, 12) if depth == 0 else self.chance.randint(1, 6)

    def _spread(self, opening: str, names: list[str], item: Callable[[str, str], str], closing: str, indent: str) -> str:
        inner = indent + self.unit
        text = opening + (self._behind(inner) if self._maybe(self.commented / 2) else "") + "\n"
        index = 0
        while index < len(names):
            self.left -= 1
            last = index == len(names) - 1 or (self.left < 0 and index > 0)
            text += self._above(inner) + inner + item(names[index], inner)
            text += " /* v */" if self._maybe(self.commented / 10) else ""
            text += "," if not last or self.trailing else ""
            text += self._behind(inner) if self._maybe(self.commented) else ""
            if not last and self._maybe(0.04):
                index += 1
                text += ("" if text.endswith("*/") or "//" not in text.rsplit("\n", 1)[-1] else "\n" + inner) + " "
                last = index == len(names) - 1
                text += item(names[index], inner) + ("," if not last or self.trailing else "")
            text += "\n"
            index = len(names) if last else index + 1
        return text + (self._comments(inner) if self._maybe(self.commented / 4) else "") + indent + closing

    def _above(self, inner: str) -> str:
        blank = "\n" if self._maybe(0.1) else ""
        own = self._comments(inner) if self._maybe(self.commented) else ""
        return blank + own + ("\n" if own and self._maybe(0.15) else "")

    def _comments(self, indent: str) -> str:
        """One to three comments on lines of their own."""
        text = ""
        for _ in range(self.chance.randint(1, 3)):
            kind = self.chance.random()
            if kind < 0.6:
                text += f"{indent}// {self._words()}\n"
            elif kind < 0.8:
                text += f"{indent}/* {self._words()} */\n"
            else:
                text += f"{indent}/*\n{indent} * {self._words()}\n\n{indent}   {self._words()}\n{indent} */\n"
        return text

    def _behind(self, inner: str) -> str:
        kind = self.chance.random()
        if kind < 0.7:
            return f" // {self._words()}"
        return f" /* {self._words()} */" if kind < 0.9 else f" /* {self._words()}\n{inner}   {self._words()} */"

    def _between(self, inner: str) -> str:
        if not self._maybe(self.commented / 20):
            return ""
        return self.chance.choice(["/* ms */ ", "// why\n" + inner + self.unit])

    def _words(self) -> str:
        return " ".join(self.chance.choices(_WORDS, k=self.chance.randint(1, 5)))

    def _inline_object(self) -> tuple[str, Any]:
        names = self.chance.sample(_NAMES, self.chance.randint(1, 3))
        parts, value = [], {}
        for name in names:
            shown, value[name] = self._scalar()
            parts.append(self._key(name) + self.colon + shown)
        pad = self.chance.choice([" ", " ", ""])
        note = " /* n */" if self._maybe(self.commented / 5) else ""
        return "{" + pad + ", ".join(parts) + note + pad + "}", value

    def _inline_array(self) -> tuple[str, Any]:
        elements = [self._scalar() for _ in range(self.chance.randint(1, 4))]
        note = "/* n */ " if self._maybe(self.commented / 5) else ""
        return "[" + note + ", ".join(shown for shown, _ in elements) + "]", [value for _, value in elements]

    def _scalar(self) -> tuple[str, Any]:
        if self._maybe(0.4):
            shown, value = self.chance.choice(_SCALARS)
            return shown, type(value)(value) if isinstance(value, list | dict) else value
        text = self.chance.choice(_TEXTS)
        return self._text(text), text

    def _key(self, name: str) -> str:
        if name.replace("$", "_").isidentifier() and self.bare != self._maybe(0.05):
            return name
        return self._text(name, broken=False)

    def _text(self, text: str, *, broken: bool = True) -> str:
        quote = self.quote if not self._maybe(0.1) else self.chance.choice("\"'")
        shown = "".join(_ESCAPES.get(char, char) for char in text).replace(quote, "\\" + quote)
        if broken and self._maybe(0.04):
            shown = "\\\n" + shown
        return quote + shown + quote
