"""Finds shell commands in the text of code: for languages that are not parsed, and for code that is too long."""

from __future__ import annotations

import re
import shlex

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.code_sources import MAX_CODE
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.languages import language_catalogue
from toolguard_engine.effects.programs.code_search import MAX_FOUND, any_of, found_in, text_of
from toolguard_engine.effects.programs.code_text import STRING

_IN_HOME = r"(?:(?:Path\.expand|File\.expand_path|(?:os\.path\.)?expanduser|expand-file-name)[(\s]\s{0,4})?"
"""A function that only puts the home folder in place of `~`."""

_LIST = lazy_re.compile(rf"\s{{0,9}}+,?\s{{0,9}}+{_IN_HOME}{STRING}")
_ESCAPE = lazy_re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_SHELLISH = program_catalogue.programs("command_like_word")
_ADDED = lazy_re.compile(r"\)\s{0,40}+\.args?\(\s{0,4}+&?\[?")
"""Rust gives the words of a command one by one: `Command::new("sh").arg("-c").arg("ls")`."""


def commands(code: str, language: str) -> tuple[str, ...]:
    """The shell commands in literals of the code, in order. `language`: as `source` names it."""
    code = code[:MAX_CODE]
    if ").arg" in code:
        code = _ADDED.sub(", ", code)
    if reads_as_command(code):
        return (code,)
    lines: list[tuple[int, str]] = []
    known = language_catalogue.known(language)
    if known.calls and any_of(known.calling, code):
        for match in found_in(rf"{known.calls}\s{{0,4}}+(?P<open>[(\s\[{{]{{0,4}}+){STRING}", code):
            lines.append((match.start(), _command(match, code)))  # noqa: PERF401 - the same list is added to twice
    if known.quotes:
        lines.extend(
            (match.start(), next(group for group in match.groups() if group)) for match in found_in(known.quotes, code)
        )
    return tuple(text for _, text in sorted(lines) if text.strip())


def _command(match: re.Match[str], code: str) -> str:
    """`"rm -rf x"`, or the joined words of `["rm", "-rf", "x"]` and `"rm", ["-rf", "x"]`."""
    words = [_unescape(text_of(match))]
    at = match.end()
    in_list = "[" in match.group("open")
    while len(words) < MAX_FOUND:
        while code[at : at + 1] in (" ", "\n", "\t", ",", "["):
            in_list = in_list or code[at] in "[,"
            at += 1
        following = _LIST.match(code, at)
        if following is None:
            break
        words.append(_unescape(next((group for group in following.groups() if group), "")))
        at = following.end()
    if words[1:] and _base(words[0]) == _base(words[1]):
        del words[1]  # execl("/bin/sh", "sh", ...): the name passed to the program
    if len(words) == 1 and not in_list:
        return words[0]
    return words[0] if len(words) == 1 else " ".join(shlex.quote(word) for word in words)


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    two, four, octal, other = match.groups()
    if two or four:
        return chr(int(two or four, 16))
    if octal:
        return chr(int(octal, 8)) if octal != "0" else ""
    return _ESCAPED.get(other, other)


def reads_as_command(code: str) -> bool:
    """Whether the code is a shell command: no interpreter accepts `rm -rf /`, but it shows what is intended."""
    words = code[:200].split(None, 2)
    if len(words) < 2 or words[0] not in _SHELLISH:  # noqa: PLR2004 - a program and a word
        return False
    second = words[1]
    return second[:1] in "-/~." or (second[:1].isalnum() and len(words) > 2 and words[2][:1] in "-/~.")  # noqa: PLR2004 - the same
