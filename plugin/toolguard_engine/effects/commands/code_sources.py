"""Where an interpreter gets its code from, and the language of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.languages import python_code, script_code
from toolguard_engine.effects.languages.code_deeds import CodeReading
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.syntax import windows_shells
from toolguard_engine.model.lazy import kept

MAX_CODE = 20_000
READERS: dict[str, Callable[[str], CodeReading | None]] = {"python": python_code.read, **script_code.READERS}
"""Language: what parses its code; None where it cannot."""

MAX_FILE_CODE = 65_536
MAX_OPTIONS = 40
LANGUAGES: dict[str, tuple[str, str]] = {
    # program: language, letters of the options that are followed by code
    "python": ("python", "c"),
    "pypy": ("python", "c"),
    "ipython": ("python", "c"),
    "node": ("javascript", "ep"),
    "nodejs": ("javascript", "ep"),
    "bun": ("javascript", "ep"),
    "tsx": ("javascript", "ep"),
    "ts-node": ("javascript", "ep"),
    "zx": ("javascript", "e"),
    "deno": ("javascript", ""),
    "perl": ("perl", "eE"),
    "ruby": ("ruby", "e"),
    "jruby": ("ruby", "e"),
    "php": ("php", "rBRE"),
    "lua": ("lua", "e"),
    "luajit": ("lua", "e"),
    "awk": ("awk", ""),
    "gawk": ("awk", "e"),
    "mawk": ("awk", ""),
    "nawk": ("awk", ""),
    "osascript": ("applescript", "e"),
    "powershell": ("powershell", ""),
    "pwsh": ("powershell", ""),
    "cmd": ("powershell", ""),  # its commands have the same names there
    "Rscript": ("r", "e"),
    "R": ("r", "e"),
    "julia": ("julia", "eE"),
    "elixir": ("elixir", "e"),
    "groovy": ("groovy", "e"),
    "scala": ("scala", "e"),
    "tclsh": ("tcl", ""),
    "expect": ("tcl", "c"),
    "swift": ("swift", "e"),
    "yaegi": ("go", "e"),
    "ghc": ("haskell", "e"),
    "racket": ("lisp", "e"),
    "guile": ("lisp", "c"),
    "rails": ("ruby", ""),
    "irb": ("ruby", ""),
    "psysh": ("php", ""),
    "rake": ("ruby", "ep"),
    "jrunscript": ("javascript", "e"),
    "jjs": ("javascript", ""),
    "octave": ("octave", ""),
    "octave-cli": ("octave", ""),
    "slsh": ("octave", "e"),
    "emacs": ("lisp", ""),
}
_LONGEST_CLUSTER = 7
_LONG = frozenset({"--eval", "--print", "--execute", "--run", "--command"})
_NO_CODE = ("-M", "-m", "-I", "-x", "-D", "-C", "-W", "-X")
"""Options of perl, python and ruby whose own value follows the letter."""

WITH_VALUE = frozenset(
    {"-W", "-X", "-r", "--require", "-I", "-C", "-d", "-l", "--import", "--loader", "-L", "-cp", "--project"}
)
"""Options whose value may be the next word. Any other word that is not an option is the script and ends the options."""

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
    return (LANGUAGES.get(name) or LANGUAGES.get(plain_name(name), ("", "")))[0]


def words_of_file(text: str, program: str) -> tuple[str, ...]:
    """The words with which an interpreter runs the content of a file as its input."""
    return (text,) if language(program) == "awk" else ("-",)


@kept
def source(program: ProgramRun) -> tuple[str, str] | None:
    """The language and the code of a run; None if there is no code or it is unknown."""
    language, letters = LANGUAGES.get(plain_name(program.name), ("", ""))
    if not language:
        return None
    if language == "applescript" and "JavaScript" in program.argv[1:4]:
        language = "javascript"
    reader = _SPECIAL.get(language) or _SPECIAL.get(plain_name(program.name)) or _console(program)
    texts = reader(program) if reader else list(_given_by_option(program, letters))
    most = MAX_FILE_CODE if program.origin is not None or language in READERS else MAX_CODE
    if texts:
        return language, "\n".join(texts)[:most]
    if reader is None and not is_script(program):
        text = program.stdin_text
        if text:
            return language, text[:most]
    return None


def is_parsed(program: str) -> bool:
    """Whether the language of a program is parsed, not only searched."""
    return language(program) in READERS


def _given_by_option(program: ProgramRun, letters: str) -> Iterator[str]:
    argv, code_at = program.argv, 0
    for at in range(1, min(len(argv), MAX_OPTIONS)):
        word = argv[at]
        if at == code_at:
            continue
        if word[:1] != "-" or word in ("--", "-") or (word == "-m" and letters == "c"):
            return
        if word in WITH_VALUE:
            code_at = at + 1
        name, attached, value = word.partition("=")
        if name in _LONG:
            if attached:
                yield value
            elif at + 1 < len(argv):
                code_at = at + 1
                yield argv[code_at]
        elif word[1:2] != "-" and not word.startswith(_NO_CODE):
            code_at = at + 1 if word[-1] in letters else code_at
            yield from _by_letter(argv, at, letters)


def _by_letter(argv: tuple[str, ...], at: int, letters: str) -> Iterator[str]:
    """Code after `-e`, `-lane`, or attached as in `-e'code'`."""
    word = argv[at]
    if word[-1] in letters and len(word) <= _LONGEST_CLUSTER:
        if at + 1 < len(argv):
            yield argv[at + 1]
    elif word[1:2] in letters and len(word) > 2:  # noqa: PLR2004 - the dash and a letter
        yield word[2:]


def _awk(program: ProgramRun) -> list[str]:
    """The first operand, unless the program is in a file."""
    words = option_parser.words("awk", program.argv)
    return [] if words.named("script-from") else [word.text for word in words.named("script")[:1]]


def _deno(program: ProgramRun) -> list[str]:
    words = [word for word in program.words.texts if word != "-"]
    if words[:1] in ([], ["run"]) and not words[1:] and (text := program.stdin_text):
        return [text]
    return words[1:2] if words[:1] == ["eval"] else []


def _rails(program: ProgramRun) -> list[str]:
    words = list(program.words.texts)
    return words[1:2] if words[:1] in (["runner"], ["r"]) else []


def _powershell(program: ProgramRun) -> list[str]:
    return [windows_shells.plain(text) for text in (_after_slash if program.name == "cmd" else _powershell_texts)(program)]


def _after_slash(program: ProgramRun) -> list[str]:
    """What `cmd /c` runs, or `/k`, which stays open after it; without them, what it is fed."""
    for at, word in enumerate(program.argv[1:], 1):
        if found := _SLASH_C.match(word):
            return [windows_shells.from_cmd(" ".join((word[found.end() :], *program.argv[at + 1 :])).strip())]
    text = program.stdin_text
    return [windows_shells.from_cmd(text)] if text else []


def _powershell_texts(program: ProgramRun) -> list[str]:
    argv = program.argv
    for at in range(1, len(argv) - 1):
        if _POWERSHELL.match(argv[at]):
            return [" ".join(argv[at + 1 :])]
        if _ENCODED.match(argv[at]):
            return [_utf16(argv[at + 1])]
    words = [word for word in argv[1:] if not word.startswith(("-", "/"))]
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


def _console(program: ProgramRun) -> Callable[[ProgramRun], list[str]] | None:
    """`python manage.py shell -c`, `php artisan tinker --execute`: the console of a framework."""
    words = program.argv[1:4]
    if not any(word.endswith(("manage.py", "artisan", "bin/console")) for word in words[:1]):
        return None
    return _framework if {"shell", "shell_plus", "tinker"}.intersection(words) else None


def _framework(program: ProgramRun) -> list[str]:
    for at, word in enumerate(program.argv):
        if word in ("-c", "--command", "--execute") and at + 1 < len(program.argv):
            return [program.argv[at + 1]]
        if word.startswith(("--execute=", "--command=")):
            return [word.partition("=")[2]]
    text = program.stdin_text
    return [text] if text else []


_SPECIAL = {"awk": _awk, "deno": _deno, "powershell": _powershell, "rails": _rails}


def is_script(program: ProgramRun) -> bool:
    """Whether a script or module is named, so that standard input is data and not code."""
    return (
        any(not word.startswith("-") or word.startswith("-m") for word in program.argv[1:]) and "-" not in program.argv[1:]
    )
