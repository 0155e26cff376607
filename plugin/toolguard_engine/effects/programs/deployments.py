"""What goes live: a program with an account, or one that is not known, has a word that deploys or publishes. An option that
names what everybody uses (`--prod`) says it of one with an account; others build, check or install for it.

Programs that run what a project names (`make deploy`) are judged by what that is. The kind is `expose` with the flag
`deploys`; the target names the word.
"""

from __future__ import annotations

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.option_spellings import HELP, REHEARSAL
from toolguard_engine.effects.programs import principles

_MAX_WORDS = 60
_MAX_WORD = 200
_VERBS_AT = 3
_DEPLOYS = frozenset(["deploys"])
_ACCOUNTS = program_catalogue.programs("context_client")
_ENGINES = program_catalogue.programs("container")
"""What these deploy runs on machines of one's own, and is judged by what starts there."""
_UNDERSTOOD = program_catalogue.programs("understood", "words_only", "path_reader")
_GOES_LIVE = principles.pattern("deploy", "goes_live")
_LIVE = principles.pattern("deploy", "live")
"""Options that name what everybody uses."""
_RELEASE = principles.pattern("deploy", "release")
"""A word that is also a name, with what it releases."""
_CHANNEL = principles.pattern("deploy", "channel")
_PUSHES = principles.pattern("deploy", "pushes")
_ASIDE = principles.pattern("deploy", "aside")
"""Words that keep it from everybody."""
_READS = principles.pattern("deploy", "reads")
_HINTS = principles.hints("deploy")


def effects(program: ProgramRun) -> list[Effect]:
    """What `program` brings to everybody."""
    argv = program.argv[1:_MAX_WORDS]
    text = " ".join(argv)
    if not any(map(text.__contains__, _HINTS)) or "/" in program.argv[0]:
        return []
    if program.name in _ENGINES or (program.name not in _ACCOUNTS and program.name in _UNDERSTOOD):
        return []
    words = [word[:_MAX_WORD].lower() for word in argv]
    if not (HELP | REHEARSAL).isdisjoint(words) or any(map(_ASIDE.fullmatch, words)):
        return []
    operands = [word.text.lower() for word in option_parser.plain(program.argv[:_MAX_WORDS]).operands]
    named = _named(operands, words, has_account=program.name in _ACCOUNTS)
    return [Effect("expose", f"{program.name} {named}"[:_MAX_WORD], "remote", _DEPLOYS, program)] if named else []


def _named(operands: list[str], words: list[str], *, has_account: bool) -> str:
    """The word or option that says so; empty if none does."""
    verbs = operands[:_VERBS_AT]
    for verb, following in zip(verbs, [*operands[1:], ""], strict=False):
        if _READS.fullmatch(verb):
            return ""
        if _GOES_LIVE.fullmatch(verb):
            return "" if _READS.fullmatch(following) else verb
        if _RELEASE.fullmatch(f"{verb} {following}"):
            return verb
    if any(map(_PUSHES.fullmatch, verbs[:1])) and (channel := next(filter(_CHANNEL.fullmatch, words), "")):
        return f"{verbs[0]} {channel}"
    return next(filter(_LIVE.fullmatch, words), "") if has_account else ""
