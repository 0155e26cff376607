"""Where an interpreter gets its code from, and the language of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import STDIN, UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.languages import language_catalogue, script_code
from toolguard_engine.effects.languages.code_deeds import CodeReading
from toolguard_engine.effects.languages.python import python_code
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords, GivenOption, ParsedWord
from toolguard_engine.effects.syntax import windows_shells
from toolguard_engine.model.lazy import kept

MAX_CODE = 20_000
READERS: dict[str, Callable[[str], CodeReading | None]] = {"python": python_code.read, **script_code.READERS}
"""Language: what parses its code; None where it cannot."""

MAX_FILE_CODE = 65_536
COMMANDS = language_catalogue.COMMANDS
_SCRIPT_MODULES = program_catalogue.programs("script_module")
LANGUAGES = {
    program: language.name for language in language_catalogue.LANGUAGES.values() for program in language.programs.split()
}
"""The language that each interpreter reads. `cmd` reads none of PowerShell, but its commands have the same names there."""

_POWERSHELL = lazy_re.compile(r"[-/](?:c|co|com|comm|comma|comman|command)\Z", re.IGNORECASE)
_SLASH_C = lazy_re.compile(r"(?:/[A-Za-z](?::\w{1,9})?){0,9}?//?[ckrCKR]")
"""Also behind other options: `cmd /q/c`. MSYS doubles the slash."""

_ENCODED = lazy_re.compile(r"[-/](?:e|ec|en|enc[a-z]{0,15})\Z", re.IGNORECASE)


def plain_name(name: str) -> str:
    """The program without a version: `python3.11` is `python`, `perl5.36` is `perl`, `node@22` is `node`."""
    name = name.partition("@")[0] or name
    return name if name in LANGUAGES else name.rstrip("0123456789.").removesuffix("-")


def language(name: str) -> str:
    """The language that a program interprets; empty if it is not an interpreter."""
    return LANGUAGES.get(name) or LANGUAGES.get(plain_name(name), "")


def words_of_file(text: str, program: str) -> tuple[str, ...]:
    """The words with which an interpreter runs the content of a file as its input."""
    return (text,) if language(program) == "awk" else ("-",)


@kept
def source(program: ProgramRun) -> tuple[str, str] | None:
    """The language and the code of a run; None if there is no code or it is unknown."""
    language = LANGUAGES.get(plain_name(program.name), "")
    if not language:
        return None
    if language == "applescript" and "JavaScript" in program.argv[1:4]:
        language = "javascript"
    reader = _reader(program, language)
    texts = [*(reader(program) if reader else given(program)), *(feed.text for feed in fed_scripts(program) if feed.text)]
    most = MAX_FILE_CODE if program.origin is not None or language in READERS else MAX_CODE
    if reader is None and not is_script(program) and (not texts or names_input(program)):
        texts = list(dict.fromkeys((*texts, *filter(None, (program.stdin_text,)))))
    return (language, "\n".join(texts)[:most]) if texts else None


def may_run_script(program: ProgramRun) -> bool:
    """Whether a script may run although there is code in the words: beside it, or an unknown option may be why it looks
    like code."""
    if _reader(program, language(program.name)) is not None:
        return bool(fed_scripts(program))  # beside which a file may be named
    return any(words.operands and (words.trait("beside") or not any(_code(words))) for words in readings(program))


def leave_unread(program: ProgramRun) -> None:
    """Reading the code of a program takes more than its call may cost: nothing that judges it reads it either."""
    program.__dict__["is_code_unread"] = True


def is_left_unread(program: ProgramRun) -> bool:
    return "is_code_unread" in program.__dict__


def is_parsed(program: str) -> bool:
    """Whether the language of a program is parsed, not only searched."""
    return language(program) in READERS


def readings(program: ProgramRun) -> tuple[CommandWords, ...]:
    """What the words of an interpreter are, whatever its version is. Several readings if an option is unknown."""
    if program.readings:
        return program.readings
    name = plain_name(program.name)
    return option_parser.readings(name, program.argv) or (option_parser.plain(program.argv),)


def given(program: ProgramRun) -> list[str]:
    """The code that options have as their values, in any reading. An unknown option may have code by its name."""
    known = readings(program)
    texts = [value for words in known for value in _code(words)]
    if unknown := {name for words in known for name in words.unknown}:
        texts += option_parser.values(program.argv, unknown & manual_catalogue.spelled("(any-interpreter)", "starts"))
    return list(dict.fromkeys(texts))


def _code(words: CommandWords) -> Iterator[str]:
    end = _script_at(words)  # what follows a script are words of its own
    for option in words.given:
        if option.valued and option.entry.role == "script" and not 0 < end < option.word:
            yield option.value.text


def script_words(words: CommandWords) -> Iterator[ParsedWord]:
    """The words that name what an interpreter runs: a script, or code that is loaded before it."""
    yield from (option.value for option in words.given if option.valued and option.entry.role in _NAMING)
    if not any(_is_alone(option) for option in words.given):  # else what follows is data
        named = [word for role, word in words.roles if role == "script-from"]
        yield from words.operands if _runs_module(words) else named if words.roles else words.operands[:1]


def fed_scripts(program: ProgramRun) -> list[StdinSource]:
    """What scripts hold that are no files: the input under a name of it, the output of a substitution (`ruby <(cat x)`)."""
    if program.stdin is None and not program.given and not program.redirects:
        return []
    is_read = _reader(program, language(program.name)) is None  # else the input is no code unless it is named
    named = (word for words in readings(program) for word in script_words(words) if word.text != "-" or not is_read)
    feeds = {word.at: feed for word in named if (feed := program.content(word)) is not None}
    return list(feeds.values())


def fed_code(program: ProgramRun) -> list[StdinSource]:
    """Where code in the words comes from that is not known there: `ruby -e "$(cat x)"`."""
    if not program.given:
        return []
    code = (word for words in readings(program) for word in words.named("script") if word.text == UNKNOWN)
    return [feed for word in code if (feed := program.fed_at(word.at)) is not None and feed.text is None]


def names_input(program: ProgramRun) -> bool:
    """Whether a script is the input, under any name of it, or the input is code beside what else runs."""
    known = readings(program)
    return any(words.trait("interactive") or any(word.text in STDIN for word in script_words(words)) for words in known)


def _script_at(words: CommandWords) -> int:
    """The position of the operand that is the script; 0 if there is none. Without roles, the first may be one."""
    if not words.roles:
        return words.operands[0].at if words.operands else 0
    return next((word.at for role, word in words.roles if role == "script-from"), 0)


def _awk(program: ProgramRun) -> list[str]:
    """The first operand, unless the program is in a file."""
    words = option_parser.read_words("awk", program.argv)
    return [] if words.named("script-from") else [word.text for word in words.named("script")[:1]]


def _deno(program: ProgramRun) -> list[str]:
    words = program.words
    named = [word for word in words.texts if word != "-"]
    if words.verb in ("", "run") and not named and (text := program.stdin_text):
        return [text]
    return named[:1] if words.verb == "eval" else []


def _rails(program: ProgramRun) -> list[str]:
    return [word.text for words in readings(program) for word in words.named("script")]


def _powershell(program: ProgramRun) -> list[str]:
    return [windows_shells.plain(text) for text in (_after_slash if program.name == "cmd" else _powershell_texts)(program)]


def _after_slash(program: ProgramRun) -> list[str]:
    """What `cmd /c` runs, or `/k`, which stays open after it; without them, what it is fed."""
    for at, word in enumerate(program.argv[1:], 1):
        if match := _SLASH_C.match(word):
            return [windows_shells.from_cmd(" ".join((word[match.end() :], *program.argv[at + 1 :])).strip())]
    text = program.stdin_text
    return [windows_shells.from_cmd(text)] if text else []


def _powershell_texts(program: ProgramRun) -> list[str]:
    argv = program.argv
    for at in range(1, len(argv) - 1):
        if _POWERSHELL.match(argv[at]):
            return [" ".join(argv[at + 1 :])]
        if _ENCODED.match(argv[at]):
            return [_utf16(argv[at + 1])]
    words = [word for word in program.words.texts if word != "-" and word[:1] != "/"]
    if words and not words[0].endswith((".ps1", ".psm1")):
        return [" ".join(words)]
    text = program.stdin_text
    return [text] if text else []


def _utf16(text: str) -> str:
    import base64  # noqa: PLC0415 - seldom needed, and slows start-up
    import binascii  # noqa: PLC0415 - as above

    try:
        return base64.b64decode(text[:MAX_CODE]).decode("utf-16-le", "replace")
    except (ValueError, binascii.Error):
        return text


def _reader(program: ProgramRun, language: str) -> Callable[[ProgramRun], list[str]] | None:
    return _SPECIAL.get(language) or _SPECIAL.get(plain_name(program.name)) or _console(program)


def _console(program: ProgramRun) -> Callable[[ProgramRun], list[str]] | None:
    """`python manage.py shell -c`, `php artisan tinker --execute`: the console of a framework."""
    words = program.argv[1:4]
    if not any(word.endswith(("manage.py", "artisan", "bin/console")) for word in words[:1]):
        return None
    return _framework if {"shell", "shell_plus", "tinker"}.intersection(words) else None


def _framework(program: ProgramRun) -> list[str]:
    if code := option_parser.value(program.argv, ("-c", "--command", "--execute")):
        return [code]
    text = program.stdin_text
    return [text] if text else []


_SPECIAL = {"awk": _awk, "deno": _deno, "powershell": _powershell, "rails": _rails}


def is_script(program: ProgramRun) -> bool:
    """Whether a script or module is named, so that standard input is data and not code."""
    known = readings(program)
    first, *more = known if any(name[:2] != "--" for name in known[0].unknown) else known[:1]
    named = bool(first.texts) and all(map(_names_code, more))  # unknown letters often take a value, unknown words seldom
    return (named or all(map(_has_code, known))) and "-" not in program.argv[1:] and not names_input(program)


def _names_code(words: CommandWords) -> bool:
    return bool(words.texts) or _has_code(words)


def _has_code(words: CommandWords) -> bool:
    return any(_is_alone(option) or option.entry.role == "script" for option in words.given)


def _is_alone(option: GivenOption) -> bool:
    """Whether an option gives the code or the module that runs, and no script runs beside it."""
    entry = option.entry
    return entry.role in _RUN and "beside" not in entry.traits and not _is_runner(option)


def _is_runner(option: GivenOption) -> bool:
    return option.entry.role == "module" and option.value.text.partition(".")[0] in _SCRIPT_MODULES


def _runs_module(words: CommandWords) -> bool:
    """Whether a module runs that runs a script: its own options may stand before that."""
    return any(map(_is_runner, words.given))


_RUN = frozenset({"module", "script"})
_NAMING = frozenset({"script-from", "loads"})
