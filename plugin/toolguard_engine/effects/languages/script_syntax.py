"""How a language of scripts is written. The folder of each language has its own."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.model.lazy import LazyValue


class Keywords(msgspec.Struct, frozen=True, dict=True):
    """The words of a language that are no names, each text with blanks between them. What is in none of them is a name, to
    which code may give a function: a word of another language here would hide what that function is called with, and one
    that is missing is read as a call, whose arguments run all the same.

    `functions` begin one; `classes` begin a class; `spaces` name a module around what follows; `types` describe values and
    do nothing; `loops` are those that give a variable the elements of something; `declares`: in front of variables that get
    values; `imports`: `import a from "m"`; `uses`: the rest of the statement says what is
    loaded and is no value; `sets`: `set a to b`.

    `passed`: at the beginning of a statement, nothing needs to be known of them; `prefixes`: the same in front of a value,
    such as `not`, and of a call that gives its argument back, such as `echo`; `blocks`: where a word closes blocks, those
    that open one; `forever` begin a loop that has no condition; `leaves` end a loop or wait in it, beside those that any
    language has.
    """

    functions: str = "function"
    classes: str = ""
    spaces: str = ""
    types: str = ""
    loops: str = "for"
    declares: str = ""
    imports: str = ""
    uses: str = ""
    sets: str = ""
    passed: str = "if else while do"
    prefixes: str = "return not"
    blocks: str = ""
    forever: str = ""
    leaves: str = ""

    @LazyValue
    def kinds(self) -> Mapping[str, frozenset[str]]:
        """The words of each kind."""
        return {kind: word_set(getattr(self, kind)) for kind in self.__struct_fields__}


class Syntax(msgspec.Struct, frozen=True):
    """How a language is written. `single`, `double`, `back`: what these quotes mean: `plain` (nothing is escaped), `raw`
    (only a quote and the escape itself are), `text` (escapes), `fills` (values are filled in), `command`, or empty; `here`:
    the sign in front of the word that ends a here-document, if there are any; `marks`: which quotes begin a text at all, so
    an apostrophe that does not is left out; `doubles`: whether a quote that is written twice stands for itself; `lines`:
    whether a line end ends a statement; `concat`: the signs that join texts; `patterns`: whether `/` may begin a regular
    expression; `quotes`: words that do; `closes`: the word that closes blocks, if one does; `bare`: whether arguments need
    no parentheses; `operators`: names that are operators; `members`: the signs in front of a member; `keys`: whether
    `for (x in y)` takes keys instead of elements; `keywords`: see there.

    `filled`: how what is filled into a text begins: with a bracket that goes on to its closing one, or a whole name; what
    is escaped needs no care. `flat`: whether a text ends at the first quote, even within what is filled in; `sigils`:
    whether `${name}` is `$name`."""

    comment: str
    single: str = "text"
    double: str = "text"
    back: str = ""
    lines: bool = False
    concat: frozenset[str] = frozenset({"+"})
    patterns: bool = False
    quotes: str = ""
    closes: str = ""
    bare: bool = False
    escape: str = "\\"
    here: str = ""
    marks: str = "\"'`"
    filled: str = ""
    flat: bool = False
    sigils: bool = False
    doubles: bool = False
    operators: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset({".", "?.", "->", "::"})
    keys: bool = False
    keywords: Keywords = Keywords()
    names: str = r"[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*+"

    @property
    def modes(self) -> dict[str, str]:
        """What each quote means."""
        return {"'": self.single, '"': self.double, "`": self.back}
