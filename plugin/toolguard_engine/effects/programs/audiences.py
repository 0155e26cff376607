"""What everybody may see or use after a command: an audience among the options of a program that creates, changes or sends
something elsewhere, whatever program it is (`--public`, `--visibility public`, `--acl public-read`, `--member allUsers`).

The kind is `expose` with the flag `everyone`; the target names the option.
"""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.manuals import option_parser, wrapper_catalogue
from toolguard_engine.effects.manuals.option_spellings import HELP, REHEARSAL
from toolguard_engine.effects.programs.wrappers import WRAPPERS

MAX_WORDS = 60
MAX_WORD = 200
_HINTS = ("public", "anyone", "everyone", "everybody", "allusers", "allauthenticatedusers", "unauthenticated")
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


LEAST = 2
"""A program that lets everybody see something has more words than these."""

_TEXTS = program_catalogue.programs("words_only", "path_reader")
"""Programs whose words are texts and paths."""


def may_expose(program: ProgramRun) -> bool:
    """A quick look: whether anything in the words may name everybody."""
    text = " ".join(program.argv[:MAX_WORDS]).lower()
    return any(map(text.__contains__, _HINTS)) and program.name not in _TEXTS and not _only_runs(program.name)


def _only_runs(name: str) -> bool:
    """Whether all words are another program's, but for options."""
    return name in WRAPPERS and not wrapper_catalogue.verbs(name)


def effects(program: ProgramRun) -> list[Effect]:
    """What `program`, whose words may name everybody, lets them see or use."""
    if not _ONLY_ASKS.isdisjoint(program.argv):
        return []
    argv = tuple([word[:MAX_WORD] for word in program.argv[:MAX_WORDS]])
    read = option_parser.plain(argv)
    verbs = [word.text.lower() for word in read.operands[:_VERBS_AT]]
    if not any(map(_HANDS_OUT.fullmatch, verbs)):
        return []
    for option in read.given:
        value = (option.value.text or "".join(argv[option.word + 1 : option.word + 2])).lower()
        if shown := _opening(option.entry.name.lower(), value):
            return [Effect("expose", f"{program.name}: {shown}"[:MAX_WORD], "remote", _EVERYONE, program)]
    return []


def _opening(option: str, value: str) -> str:
    """The option with the audience, if that is everybody."""
    if _OPENS.fullmatch(option):
        return "" if value in _NO else option
    return f"{option} {value}" if _AUDIENCES.fullmatch(option) and _EVERYBODY.fullmatch(value) else ""
