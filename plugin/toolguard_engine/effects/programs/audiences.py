"""What everybody may see or use after a command: an audience among the options of a program that creates, changes or sends
something elsewhere, whatever program it is (`--public`, `--visibility public`, `--acl public-read`, `--member allUsers`).

The kind is `expose` with the flag `everyone`; the target names the option.
"""

from __future__ import annotations

import itertools

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.option_spellings import HELP, REHEARSAL
from toolguard_engine.effects.programs.wrappers import only_runs

MAX_WORDS = 60
MAX_WORD = 200
_HINTS = (
    "link",
    "presign",
    "sign-url",
    "signurl",
    "signed",
    "share",
    "public",
    "anyone",
    "everyone",
    "everybody",
    "allusers",
    "allauthenticatedusers",
    "unauthenticated",
)
_VERBS_AT = 5
_EVERYONE = frozenset(["everyone"])
_ONLY_ASKS = HELP | REHEARSAL

_HANDS_OUT = lazy_re.compile(
    r"(?:[\w-]{1,30}[:-])?(?:share|publish|create|upload|deploy|release|update|edit|set|put|add|grant|copy|cp|sync|post|link|push"
    r"|modify|change|patch|permissions?|visibility|acl|sharing|access)(?:[:-][\w-]{1,30})?"
)
_OPENS = lazy_re.compile(
    r"--?(?:(?:make|is|set|go|allow|enable)-?)?(?:public|anyone|everyone|everybody|unauthenticated|anonymous)(?:-?(?:link|read|access))?"
    r"|--allow-[\w-]{0,20}public-access"
)
_AUDIENCES = lazy_re.compile(
    r"--?(?:[\w-]{0,30}-)?(?:visibility|acl|access|privacy|audience|sharing|share|share-with|shared-with|members?|principal|scope"
    r"|type|who|to|with|role-entity|grantee)"
)
_EVERYBODY = lazy_re.compile(
    r"(?:user:|group:)?(?:public(?:[-_]?read(?:[-_]?write)?)?|anyone(?:[-_]?with[-_]?(?:the[-_]?)?link)?|everyone|everybody"
    r"|all-?(?:authenticated-?)?users)(?::\w{1,20})?",
)
_NO = frozenset(["false", "no", "off", "0", "none", "disabled"])
_LINKS = lazy_re.compile(
    r"share-?links?|(?:create|new|make|get|public|shared?)-?share(?:d|able)?-?links?|public-?links?|links?:create|share:link"
)
_SHARED = lazy_re.compile(r"(?:shared?|public) (?:links?|urls?|downloads?)(?: (?:create|new|make|add))?")
_SIGNS = lazy_re.compile(r"(?:pre-?)sign(?:ed)?(?:-?urls?)?|sign-?urls?|signed-?urls?|share (?:download|upload|url)")
_LASTS = lazy_re.compile(r"(?:-{1,2}(?:expir\w{0,8}|expires?-?in|duration|ttl|d|e)=?)?(\d{1,9})([smhdw]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONG = 86_400
"""Seconds for which an address that needs no login is more than a hand-over."""


LEAST = 2
"""A program that lets everybody see something has more words than these."""

_TEXTS = program_catalogue.programs("words_only", "path_reader")
"""Programs whose words are texts and paths."""


def may_expose(program: ProgramRun) -> bool:
    """A quick look: whether anything in the words may name everybody."""
    text = " ".join(program.argv[:MAX_WORDS]).lower()
    return any(map(text.__contains__, _HINTS)) and program.name not in _TEXTS and not only_runs(program.name)


def effects(program: ProgramRun) -> list[Effect]:
    """What `program`, whose words may name everybody, lets them see or use."""
    if not _ONLY_ASKS.isdisjoint(program.argv):
        return []
    argv = tuple([word[:MAX_WORD] for word in program.argv[:MAX_WORDS]])
    read = option_parser.plain(argv)
    verbs = [word.text.lower() for word in read.operands[:_VERBS_AT]]
    if link := _link(verbs, argv):
        return [Effect("expose", f"{program.name}: {link}"[:MAX_WORD], "remote", _EVERYONE, program)]
    if not any(map(_HANDS_OUT.fullmatch, verbs)):
        return []
    for option in read.given:
        value = (option.value.text or "".join(argv[option.word + 1 : option.word + 2])).lower()
        if shown := _opening(option.entry.name.lower(), value):
            return [Effect("expose", f"{program.name}: {shown}"[:MAX_WORD], "remote", _EVERYONE, program)]
    return []


def _link(verbs: list[str], argv: tuple[str, ...]) -> str:
    """A link that anybody may follow, or that needs no login for a long time."""
    pairs = [f"{one} {other}" for one, other in itertools.pairwise(verbs)]
    if link := next((word for word in verbs if _LINKS.fullmatch(word)), next(filter(_SHARED.fullmatch, pairs), "")):
        return "" if link.startswith("share download") and not _is_long(argv) else link
    signed = next(filter(_SIGNS.fullmatch, [*verbs, *pairs]), "")
    return signed if signed and _is_long(argv) else ""


def _is_long(argv: tuple[str, ...]) -> bool:
    times = (_LASTS.fullmatch(word.lower()) for word in argv)
    return any(int(time[1]) * _SECONDS[time[2]] > _LONG for time in times if time)


def _opening(option: str, value: str) -> str:
    """The option with the audience, if that is everybody."""
    if _OPENS.fullmatch(option):
        return "" if value in _NO else option
    return f"{option} {value}" if _AUDIENCES.fullmatch(option) and _EVERYBODY.fullmatch(value) else ""
