"""What a file contains after `sed -i` or `perl -pi -e` has changed it, where that can be known: after substitutions,
deletions and inserted lines, with addresses. Patterns run on RE2, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun

MAX_TEXT = 131_072
MAX_SCRIPT = 4_000
MAX_STEPS = 20_000
"""Lines times commands."""

MAX_READ = 4_000_000
"""Characters times commands."""

_SED = frozenset({"sed", "gsed"})
_FLAGS = lazy_re.compile(r"[gI]{0,3}\d{0,3}[gI]{0,3}")
_PERL_FLAGS = lazy_re.compile(r"[gimsx]{0,4}")
_ADDRESS = lazy_re.compile(r"\d{1,9}|\$|/((?:[^/\\\n]|\\.){0,300})/")
_SPACES = lazy_re.compile(r"[\s;]*+")
_PAIRED = {"{": "}", "(": ")", "[": "]", "<": ">"}


class _Unclear(Exception):  # noqa: N818 - what it does is not known
    pass


class _Edit(NamedTuple):
    """`first`, `last`: the lines that it is about, both None for all; a number, `$` or a pattern."""

    kind: str
    first: Any = None
    last: Any = None
    other: bool = False
    pattern: Any = None
    text: str = ""
    most: int = 1
    groups: Callable[[Any], str] | None = None


def edited(program: ProgramRun, text: str) -> str | None:
    """The text of a file that the program changes in its place; None if it is not known."""
    if len(text) > MAX_TEXT or any(UNKNOWN in word for word in program.argv):
        return None
    try:
        edits = list(_edits(program))
        lines = text.splitlines()
        if not edits or len(edits) * len(lines) > MAX_STEPS or len(edits) * len(text) > MAX_READ:
            return None
        for edit in edits:
            lines = list(_applied(edit, lines))
    except (_Unclear, ValueError, IndexError):
        return None
    return "\n".join(lines) + "\n" if lines else ""


def is_understood(program: ProgramRun) -> bool:
    """Whether its scripts only substitute, delete and insert: they open no file and run nothing."""
    try:
        return not any(UNKNOWN in word for word in program.argv) and bool(list(_edits(program, in_place=False)))
    except (_Unclear, ValueError, IndexError):
        return False


def replaced(pattern: str, new: str, text: str) -> str | None:
    """All matches of a Python pattern in a text replaced; None if that is not known."""
    try:
        edit = _Edit("s", pattern=_compiled(pattern, extended=True, perl=True), most=0, groups=_replacement(new, perl=False))
        return _substituted(edit, text)
    except (_Unclear, ValueError, IndexError):
        return None


def _edits(program: ProgramRun, *, in_place: bool = True) -> Iterator[_Edit]:
    scripts, extended, changes = _scripts(program)
    if in_place and not changes:
        raise _Unclear
    for script in scripts:
        if len(script) > MAX_SCRIPT:
            raise _Unclear
        yield from _parsed(script, extended=extended, perl=program.name == "perl")


def _scripts(program: ProgramRun) -> tuple[list[str], bool, bool]:
    """The scripts among the words, whether their patterns are extended ones, and whether the files are changed."""
    scripts, extended, words, in_place = list[str](), program.name == "perl", list(program.argv[1:]), False
    if program.name not in _SED and program.name != "perl":
        raise _Unclear
    while words:
        word = words.pop(0)
        name, sign, value = word.partition("=")
        if name in ("--expression", "-e"):
            scripts.append(value if sign and name != "-e" else words.pop(0))
        elif word in ("-E", "-r", "--regexp-extended"):
            extended = True
        elif name == "--in-place" or re.fullmatch(r"-i(?:\.\w{1,9})?", word):
            in_place = True
        elif match := re.fullmatch(
            r"-([pErs]{0,4})i([pEr]{0,3})(e?)" if program.name == "perl" else r"-([Ers]{0,4})i(e?)", word
        ):
            in_place = True
            extended = extended or "E" in word or "r" in word
            scripts += [words.pop(0)] if match[match.lastindex or 0] == "e" and word.endswith("e") else []
        elif program.name == "perl" and word in ("-pe", "-p"):
            scripts += [words.pop(0)] if word == "-pe" else []
        elif word.startswith("-"):
            raise _Unclear  # an option of which the result may depend in a way that is not known here
        elif word and not scripts:
            scripts.append(word)
    return scripts, extended, in_place


def _range(script: str, at: int, *, extended: bool) -> tuple[Any, Any, int]:
    """The lines that a command of sed is for: the first, the last, and where the command goes on."""
    last = None
    first, at = _address(script, at, extended=extended)
    if first is not None and script[at : at + 1] == ",":
        last, at = _address(script, at + 1, extended=extended)
        if last is None:
            raise _Unclear
    return first, last, _after_spaces(script, at)


def _parsed(script: str, *, extended: bool, perl: bool) -> Iterator[_Edit]:
    at = 0
    while (at := _after_spaces(script, at)) < len(script):
        first, last, other = None, None, False
        if not perl:
            first, last, at = _range(script, at, extended=extended)
            other = script[at : at + 1] == "!"
            at = _after_spaces(script, at + other)
        kind = script[at]
        if kind == "s":
            edit, at = _substitution(script, at + 1, extended=extended, perl=perl)
            yield edit._replace(first=first, last=last, other=other)
        elif kind == "d" and not perl:
            at += 1
            yield _Edit("d", first, last, other)
        elif kind in "iac" and not perl:
            text, _, rest = script[at + 1 :].removeprefix("\\").lstrip(" \n").partition("\n")
            if rest or text.endswith("\\") or (kind == "c" and last is not None):
                raise _Unclear
            yield _Edit(kind, first, last, other, text=text.removeprefix("\\"))
            return
        else:
            raise _Unclear


def _after_spaces(script: str, at: int) -> int:
    match = _SPACES.match(script, at)
    return match.end() if match else at


def _address(script: str, at: int, *, extended: bool) -> tuple[Any, int]:
    if (match := _ADDRESS.match(script, at)) is None:
        return None, at
    if match[1] is not None:
        return _compiled(match[1], extended=extended), match.end()
    return match[0] if match[0] == "$" else int(match[0]), match.end()


def _substitution(script: str, at: int, *, extended: bool, perl: bool) -> tuple[_Edit, int]:
    sign = script[at]
    if sign in _PAIRED or sign.isalnum() or sign.isspace():
        raise _Unclear
    pattern, at = _until(script, at + 1, sign)
    new, at = _until(script, at, sign)
    match = (_PERL_FLAGS if perl else _FLAGS).match(script, at)
    flags = match[0] if match else ""
    at += len(flags)
    if "x" in flags or "s" in flags or script[at : at + 1] not in ("", ";", "\n", " ", "}"):
        raise _Unclear
    number = re.sub(r"\D", "", flags)
    if number not in ("", "1"):
        raise _Unclear
    ignores = "i" in flags or "I" in flags
    made = _compiled(pattern, extended=extended, perl=perl, ignores=ignores)
    return _Edit("s", pattern=made, most=0 if "g" in flags else 1, groups=_replacement(new, perl=perl)), at


def _until(script: str, at: int, sign: str) -> tuple[str, int]:
    """The text up to a sign that is not escaped, and the position after that."""
    part_text = ""
    while script[at] != sign:
        step = 2 if script[at] == "\\" else 1
        part = script[at : at + step]
        part_text += sign if part == f"\\{sign}" else part
        at += step
    return part_text, at + 1


def _compiled(pattern: str, *, extended: bool, perl: bool = False, ignores: bool = False) -> Any:
    import re2  # noqa: PLC0415 - only for such an edit: its library takes 10 ms to load

    options = re2.Options()
    options.case_sensitive = not ignores
    options.log_errors = False
    text = pattern if perl else "".join(_translated(pattern, extended=extended))
    if not text or (perl and ("$" in text[:-1] or "@" in text)):
        raise _Unclear
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise _Unclear from error


def _translated(pattern: str, *, extended: bool) -> Iterator[str]:
    """A POSIX pattern as RE2 reads it."""
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "[":
            # A bracket right behind `[` or `[^` is a character of the set, and so is one within `[:alpha:]`.
            end = pattern.index("]", at + 1 + pattern[at + 1 :].startswith("^") + 1)
            while ":" in pattern[at:end] and pattern[at:end].count("[:") > pattern[at : end + 1].count(":]"):
                end = pattern.index("]", end + 1)
            yield pattern[at : end + 1].replace("\\", "\\\\")
            at = end + 1
            continue
        if sign == "\\":
            following = pattern[at + 1]
            if following.isdigit():
                raise _Unclear  # RE2 has no references to groups
            yield {"<": r"\b", ">": r"\b", "n": "\n", "t": "\t"}.get(following) or (
                following if following in "(){}|+?" and not extended else f"\\{following}"
            )
            at += 2
            continue
        # In a basic pattern these signs are special only behind a backslash, and `*`, `^`, `$` only where they can be meant.
        literal = sign in "(){}|+?" or (sign == "*" and at == 0)
        literal = (
            literal or (sign == "^" and at > 0 and pattern[at - 1] not in "(|") or (sign == "$" and at < len(pattern) - 1)
        )
        yield f"\\{sign}" if literal and not extended else sign
        at += 1


def _escaped_in_replacement(sign: str) -> str | int:
    """What a sign behind a backslash stands for: a group by its number, or a text."""
    if sign.isdigit():
        return int(sign)
    if sign.isalpha() and sign not in "nt":
        raise _Unclear
    return {"n": "\n", "t": "\t"}.get(sign, sign)


def _replacement(new: str, *, perl: bool) -> Callable[[Any], str]:
    parts: list[str | int] = []
    at = 0
    while at < len(new):
        sign, following = new[at], new[at + 1 : at + 2]
        if sign == "\\":
            parts.append(_escaped_in_replacement(following))
            at += 2
        elif perl and sign == "$" and following.isdigit():
            parts.append(int(following))
            at += 2
        elif perl and sign in "$@":
            raise _Unclear
        else:
            parts.append(0 if sign == "&" and not perl else sign)
            at += 1
    return lambda match: "".join(part if isinstance(part, str) else match.group(part) or "" for part in parts)


def _applied(edit: _Edit, lines: list[str]) -> Iterator[str]:
    within = False
    for number, line in enumerate(lines, 1):
        chosen, within = _is_meant(edit, number, line, len(lines), within=within)
        if chosen == edit.other:
            yield line
        elif edit.kind == "s":
            yield from _substituted(edit, line).split("\n")
        elif edit.kind != "d":
            yield from (edit.text, line) if edit.kind == "i" else (line, edit.text) if edit.kind == "a" else (edit.text,)


def _substituted(edit: _Edit, line: str) -> str:
    result, end = "", 0
    for match in islice(edit.pattern.finditer(line), edit.most or None):
        if match.start() == match.end() and not edit.most:  # programs differ in which empty matches count
            raise _Unclear
        result += line[end : match.start()] + (edit.groups(match) if edit.groups else "")
        end = match.end()
        if len(result) > MAX_TEXT:
            raise _Unclear
    return result + line[end:]


def _is_meant(edit: _Edit, number: int, line: str, last: int, *, within: bool) -> tuple[bool, bool]:
    """Whether a line is meant, and whether it is within a range that has begun."""

    def fits(address: Any) -> bool:
        if isinstance(address, int):
            return number == address
        return number == last if address == "$" else address.search(line) is not None

    if edit.first is None:
        return True, False
    if edit.last is None:
        return fits(edit.first), False
    if within:
        return True, not (fits(edit.last) or (isinstance(edit.last, int) and number >= edit.last))
    begins = fits(edit.first)
    return begins, begins and not (isinstance(edit.last, int) and edit.last <= number)
