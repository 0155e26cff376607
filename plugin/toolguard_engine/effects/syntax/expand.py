"""Expands words to what a program gets: variables that the command sets, braces, field splitting.

What cannot be known is `UNKNOWN`. `~` and wildcards are left for `facts.places`. At the beginning of a path `~` stands for
the home folder and `.` for the folder that the command starts in. After other text of a path these signs have no such
meaning, so there they are written `$HOME` and `$PWD` (`/tmp/..$HOME`), which `facts.places` expands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, StdinSource
from toolguard_engine.effects.syntax import brace_words
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.effects.syntax.syntax_tree import SUBSCRIPT, Literal, Part, Substitution, Variable, Word
from toolguard_engine.effects.syntax.variable_values import FEW, MAX_VALUE, all_of, in_one, pieces
from toolguard_engine.model.work_limit import steps_to_build

MAX_FIELDS = 256
_FIELD = 3
"""Steps of work for each word, and for each one that braces make of it."""

_CHARACTERS = 2_000
"""That are joined in one step of work."""

KNOWN = {
    "HOME": "~", "OLDPWD": ".", "IFS": " ", "SHELL": "sh", "BASH": "bash",
    "PPID": "$PPID", "$": "$$", "OPENCLAW_STATE_DIR": "$OPENCLAW_STATE_DIR", "OPENCLAW_HOME": "$OPENCLAW_HOME",
    "OPENCLAW_CONFIG_PATH": "$OPENCLAW_CONFIG_PATH", "CLAWDBOT_STATE_DIR": "$CLAWDBOT_STATE_DIR", "#": "0",
    "-": "", "?": "0",
}  # fmt: skip
"""Variables whose meaning is known without their value. Those with a dollar sign are left to later stages."""

HOME = "${HOME}"
HERE = "${PWD}"
_BRACED = lazy_re.compile(r"\$\{(HOME|PWD)\}(?!\w)")
_SEPARATORS = frozenset("=:,;|&()<>[{@'\"` \t\n")
"""Characters after which a new path may begin."""

_ENDS = frozenset(["", "/", *_SEPARATORS])
"""What may follow a folder that is written as one sign."""


Captured = Callable[[Substitution, ShellState], StdinSource]
"""Runs a substitution and returns what it prints."""


class Fields(msgspec.Struct):
    """The fields that one word expands to, and what its substitutions print. `cut`: fields were dropped; `unset`: a variable
    in the word was never set, and is probably empty."""

    texts: list[str]
    feed: StdinSource | None = None
    cut: bool = False
    unset: bool = False


def expand(word: Word, state: ShellState, capture: Captured) -> Fields:
    """All fields of a word."""
    if isinstance(word, str):
        return Fields([word])
    fields = Fields([])
    state.work.spend(_FIELD)
    for number, parts in enumerate(brace_words.words_of(word)):
        if isinstance(parts, str):
            fields.texts.append(parts)
            state.work.spend(_FIELD + 1 + len(parts) / _CHARACTERS)
        else:
            _split(parts, state, capture, fields)
            state.work.spend(_FIELD)
        if number == brace_words.MAX_BRACES or len(fields.texts) > MAX_FIELDS:
            del fields.texts[MAX_FIELDS:]
            fields.cut = True
            break
    fields.texts = [rendered(text, state) if "${" in text else text for text in fields.texts]
    return fields


def rendered(text: str, state: ShellState) -> str:
    """Replaces the current folder at the beginning of a word by `.`."""
    folder = here(state)
    if folder.startswith(HERE) and text.startswith(folder) and text[len(folder) : len(folder) + 1] in _ENDS:
        text = "." + text[len(folder) :]
    return _BRACED.sub(r"$\1", text)


def text_of(word: Word, state: ShellState, capture: Captured) -> tuple[str, StdinSource | None]:
    """A word in a context without field splitting: the value of an assignment, a here-document."""
    if isinstance(word, str):
        return word, None
    feed: StdinSource | None = None
    text = ""
    for part in word:
        piece, given = _value(part, state, capture)
        state.work.spend(1 + (len(text) + len(piece)) / _CHARACTERS)
        feed = _together(feed, given)
        text = _joined(text, piece, part)
        if len(text) > MAX_VALUE * 4:
            break
    return text[: MAX_VALUE * 4], feed


def texts_of(word: Word, state: ShellState, capture: Captured, few: int = FEW) -> tuple[tuple[str, ...], StdinSource | None]:
    """The same for a value that is assigned: one for each value of a variable in it, as far as these are few."""
    name = undecided((word,), state)
    if name and len(word) == 1 and not isinstance(part := word[0], str) and isinstance(part, Variable) and not part.operator:
        return all_of(state.variables[name]), state.feeds.get(name)
    if not name or len(state.variables[name]) > few or any(isinstance(part, Substitution) for part in word):
        text, feed = text_of(word, state, capture)
        return (text,), feed
    before, pieces, feed = state.variables[name], dict[str, None](), None
    for value in before:
        state.variables[name] = value
        texts, given = texts_of(word, state, capture, few // len(before))
        feed = feed or given
        pieces.update(dict.fromkeys(texts))
    state.variables[name] = before
    return tuple(pieces), feed


def first_elements(word: Word, state: ShellState) -> tuple[str, ...]:
    """What may be the first element of an array if the word is just its name in quotes. So bash reads it, zsh reads all
    elements."""
    part = word[0] if len(word) == 1 else ""
    if not isinstance(part, Variable) or not part.quoted or part.every or part.operator:
        return ()
    return tuple(pieces(all_of(state.variables.get(f"{part.name}[0]", ()))))


def undecided(words: Iterable[Word], state: ShellState) -> str:
    """The name of a variable in these words that may hold several values, or an empty string."""
    for word in words:
        if isinstance(word, str):
            continue
        for part in word:
            if isinstance(part, Variable) and isinstance(state.variables.get(part.name), tuple):
                return part.name
    return ""


def has_arguments(words: Iterable[Word]) -> bool:
    """Whether one of these words has an argument of the shell in it."""
    parts = (part for word in words if not isinstance(word, str) for part in word)
    return any(isinstance(part, Variable) and (part.name.isdigit() or part.name in "@*") for part in parts)


def _joined(before: str, value: str, part: Part) -> str:
    """The text of a word so far, joined with the value of its next part."""
    if not before or isinstance(part, Literal):
        return f"{HOME}{value}" if before == "~" and value[:1] not in _ENDS else before + value
    if value[:1] == "~" and value[1:2] in _ENDS and not _begins_after(before):
        return f"{before}{HOME}{value[1:]}"
    if value.startswith(HERE) and value[len(HERE) : len(HERE) + 1] in _ENDS and _begins_after(before):
        return f"{before}.{value[len(HERE) :]}"
    return before + value


def _begins_after(before: str) -> bool:
    """Whether a path may begin after this text, as after `--target=` or `-C`."""
    return before[-1] in _SEPARATORS or (len(before) == 2 and before[0] == "-" and before[1].isalpha())  # noqa: PLR2004


def _split(parts: Iterable[Part], state: ShellState, capture: Captured, fields: Fields) -> None:
    current, begun = "", False
    parts = tuple(parts)
    alone = len(parts) == 1  # `"$x"` stays a word if it is empty, `$x` does not
    for part in parts:
        value, feed = _value(part, state, capture)
        state.work.spend(1 + (len(current) + len(value)) / _CHARACTERS)
        fields.feed = _together(fields.feed, feed)
        fields.unset = fields.unset or (
            value == UNKNOWN and feed is None and _is_unset(part, state) and not (alone and part.quoted)
        )
        if isinstance(part, Literal) or part.quoted:
            if isinstance(part, Variable) and part.name == "@" and state.args is not None and not part.operator:
                first, *more = state.args[1:] or ("",)
                begun = begun or len(state.args) > 1
                if more:
                    fields.texts += [current + first, *more[:-1]]
                current = more[-1] if more else current + first
                continue
            current, begun = _joined(current, value, part), True
            continue
        if "IFS" in state.variables:
            value = value.translate(dict.fromkeys(map(ord, _looked_up("IFS", state) or ""), " "))
        pieces = value.split()
        if not pieces:
            if value and current:
                fields.texts.append(current)
                current, begun = "", False
            continue
        if value[0].isspace() and current:
            fields.texts.append(current)
            current = ""
        fields.texts += [_joined(current, pieces[0], part), *pieces[1:-1]] if len(pieces) > 1 else []
        current = pieces[-1] if len(pieces) > 1 else _joined(current, pieces[0], part)
        begun = True
        if value[-1].isspace():
            fields.texts.append(current)
            current, begun = "", False
    if begun or current:
        fields.texts.append(current)


def _is_unset(part: Part, state: ShellState) -> bool:
    return isinstance(part, Variable) and not part.operator and _looked_up(part.name, state) is None


def _together(first: StdinSource | None, other: StdinSource | None) -> StdinSource | None:
    """The first feed of a word; secret variables of the same word are all named."""
    if first is None or other is None or first is other:
        return first or other
    if first.programs[:1] == other.programs[:1] == ("$secret",):
        return StdinSource(None, (*first.programs, *other.programs[1:])[:MAX_SECRETS])
    return first


MAX_SECRETS = 20


def _value(part: Part, state: ShellState, capture: Captured) -> tuple[str, StdinSource | None]:
    if isinstance(part, Literal):
        return part.text, None
    if isinstance(part, Variable):
        return _variable(part, state, capture)
    feed = capture(part, state)
    if part.kind in ("<(", ">("):
        return UNKNOWN, feed
    if part.kind == "$((":
        return "0", feed if feed.programs else None
    return UNKNOWN if feed.text is None else feed.text.rstrip("\n"), feed


_SECRET_NAME = lazy_re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PRIVATE)(?:_|\Z)", re.IGNORECASE
)


def _secret(name: str) -> StdinSource:
    """The value of an environment variable whose name suggests a secret, and that name."""
    return StdinSource(None, ("$secret", f"${name[:_MAX_NAME]}"))


_MAX_NAME = 80


def _variable(part: Variable, state: ShellState, capture: Captured) -> tuple[str, StdinSource | None]:
    value = _looked_up(part.name, state)
    operator = part.operator
    if operator == SUBSCRIPT:
        _, feed = text_of(part.operand, state, capture)
        return UNKNOWN if value is None else value, feed
    if not operator:
        if value is None:
            name = part.name if part.name[:1] != "!" else _named(part.name[1:], state)
            return UNKNOWN, _secret(name) if _SECRET_NAME.search(name) else None
        return value, state.feeds.get(part.name)
    if operator[-1:] in "-=+?" and operator != "##":
        other, feed = text_of(part.operand, state, capture)
        if operator[-1] == "+":
            return other if value is None or value else "", feed
        if value is not None and value != "":
            return value, feed
        if operator[-1] == "=":
            state.assign(part.name, other)
        return (UNKNOWN if operator[-1] == "?" else other), feed
    if not isinstance(part.operand, str):
        return UNKNOWN, text_of(part.operand, state, capture)[1]
    if value is None or UNKNOWN in value:
        return UNKNOWN, None
    if value[:1] in ("~", "$", "."):
        return _changed_folder(value, operator, part.operand), None
    return _CHANGES.get(operator, _unknown)(value, part.operand)[:MAX_VALUE], None


def _named(name: str, state: ShellState) -> str:
    """What the value of a variable names, of `${!name}`: the first of its values that suggests a secret."""
    value = state.variables.get(name, UNKNOWN)
    names = (value,) if isinstance(value, str) else value
    return next(
        (other_name for other_name in names if UNKNOWN in other_name or _SECRET_NAME.search(other_name)), ""
    ).replace(UNKNOWN, "ANY_KEY")


def _looked_up(name: str, state: ShellState) -> str | None:
    if name.startswith("!"):
        inner = _looked_up(name[1:], state)
        return None if inner is None or not inner.isidentifier() else _looked_up(inner, state)
    if name in state.variables:
        value = state.variables[name]
        if isinstance(value, str):
            return value
        text = in_one(value)
        state.work.spend(steps_to_build(len(text)))
        return text
    if name.endswith("[0]"):
        return _looked_up(name[:-3], state)
    if name[-1:] == SUBSCRIPT:
        return _looked_up(name[:-1], state)
    if name.isdigit() or name in "@*":
        return _positional(name, state.args)
    return here(state) if name == "PWD" else KNOWN.get(name)


def here(state: ShellState) -> str:
    """The folder that the command is in."""
    cwd = state.cwd
    if not cwd or cwd.startswith(("/", "~", "$", UNKNOWN)):
        return cwd or HERE
    return f"{HERE}/{cwd}"


def _positional(name: str, args: tuple[str, ...] | None) -> str | None:
    if args is None:
        return "sh" if name == "0" else None
    if name in "@*":
        return " ".join(args[1:])
    return args[int(name[:4])] if int(name[:4]) < len(args) else ""


def _unknown(value: str, operand: str) -> str:  # noqa: ARG001 - table signature
    return UNKNOWN


def _slice(value: str, operand: str) -> str:
    match = re.fullmatch(r"\s*(-?\d{1,6})(?:\s*:\s*(-?\d{1,6}))?", operand)
    if not match:
        return UNKNOWN
    start = int(match[1])
    rest = value[start:]
    if match[2] is None:
        return rest
    return rest[: int(match[2])]


def _replace(value: str, operand: str, count: int) -> str:
    old, _, new = operand.partition("/")
    if not old or re.search(r"[*?\[]", old):
        return UNKNOWN
    enough = MAX_VALUE // (len(new) or 1) + 1  # what is longer is cut off
    return value.replace(old, new, count if count > 0 else enough if len(new) > len(old) else -1)


def _changed_folder(value: str, operator: str, operand: str) -> str:
    """The result of an operator on a path that begins with a sign for a folder: only the leading slash is known of that."""
    folder = next((sign for sign in ("~", HERE) if value == sign or value.startswith(f"{sign}/")), "")
    if not folder:
        return _CHANGES.get(operator, _unknown)(value, operand)[:MAX_VALUE]
    above, _, last = value.rpartition("/")
    if operator == ":" and (match := _SLICE.fullmatch(operand)):
        begin, length = int(match[1]), match[2]
        return {(0, None): value, (0, "1"): "/", (1, None): _bare(value)}.get((begin, length), UNKNOWN)
    if operator in ("#", "##") and operand == "/":
        return _bare(value)
    if operator == "%" and operand == "/*":
        return above or f"{value}/.."
    if operator == "##" and operand == "*/":
        return last if above else UNKNOWN
    if operator in ("/", "//") and operand.partition("/")[0] in value:
        return _CHANGES[operator](value, operand)
    if value == folder and (changed := _renamed(folder, operator, operand)):
        return changed
    kept = operator in ("%", "%%") and (operand == "/" or (above and not re.search(r"[*?\[]", operand)))
    return value.removesuffix(operand) if kept else value if operator in ("@", ",", ",,") else UNKNOWN


def _renamed(folder: str, operator: str, operand: str) -> str:
    """The path beside or above a folder whose last names are cut off or replaced; empty if unknown.

    The folder's names are not known here, so those that are cut off or replaced are assumed to be its last ones.
    """
    if not operand or re.search(r"[*?\[\\]", operand):
        return ""
    if operator in ("%", "%%"):
        return folder + "/.." * operand.rstrip("/").count("/") + ("" if operand[0] == "/" else "/../")
    old, _, new = operand.partition("/")
    return f"{folder}/../{new}" if operator in ("/", "//") and old else ""


def _bare(value: str) -> str:
    """The value without its leading slash."""
    return f"${{HOME#/}}{value[1:]}" if value[0] == "~" else UNKNOWN


_SLICE = lazy_re.compile(r"\s*(\d{1,6})(?:\s*:\s*(-?\d{1,6}))?")

_CHANGES: dict[str, Callable[[str, str], str]] = {
    ":": _slice,
    "/": lambda value, operand: _replace(value, operand, 1),
    "//": lambda value, operand: _replace(value, operand, -1),
    "#": lambda value, operand: UNKNOWN if re.search(r"[*?\[]", operand) else value.removeprefix(operand),
    "##": lambda value, operand: value.rpartition("/")[2] if operand == "*/" else UNKNOWN,
    "%": lambda value, operand: UNKNOWN if re.search(r"[*?\[]", operand) else value.removesuffix(operand),
    "^": lambda value, _: value[:1].upper() + value[1:],
    "^^": lambda value, _: value.upper(),
    ",": lambda value, _: value[:1].lower() + value[1:],
    ",,": lambda value, _: value.lower(),
    "len": lambda value, _: str(len(value)),
    "@": lambda value, _: value,
}
