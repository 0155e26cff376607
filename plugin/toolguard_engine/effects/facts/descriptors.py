"""The names under which a program finds what is opened already."""

from __future__ import annotations

from posixpath import normpath

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import DESCRIPTORS, UNKNOWN

_OPENED = lazy_re.compile(rf"/(?:dev|proc/[^/]{{1,20}}+(?>(?:/task/[^/]{{1,20}}+)?))/fd/([0-9{UNKNOWN}]{{1,20}}+)")
_INPUT = "/dev/stdin"
_LONGEST = 200
_FOLDERS = ("/dev", "/proc")


def plain(word: str, cwd: str) -> str:
    """The usual spelling of a word that names something opened, in this folder: `/dev/stdin`, `/dev/fd/3`. Else the word."""
    if len(word) > _LONGEST or ("fd/" not in word and "stdin" not in word and not cwd.startswith(_FOLDERS)):
        return word
    whole = normpath(word if word[:1] == "/" else f"{cwd}/{word}" if cwd else word)
    if whole.startswith("../"):  # above a folder that is not known: it may be the root
        whole = f"/{whole.replace('../', '')}"
    whole = whole.replace("//", "/")
    if whole == _INPUT:
        return _INPUT
    if (match := _OPENED.fullmatch(whole)) is None:
        return word
    return _INPUT if match[1] == "0" else f"{DESCRIPTORS[0]}{match[1]}"
