"""Which programs print no value of a file of settings, only names, counts and lengths: `cut -d= -f1 .env`, `jq keys x.json`.

What a program prints decides, not what it opens. Such a form is known from end to end; any other one prints values. A form
that relies on lines such as `NAME=value` counts only for a file that has such lines by its name.
"""

from __future__ import annotations

from posixpath import basename

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun

_MAX_WORDS, _MAX_SCRIPT = 40, 400
_SETTINGS = lazy_re.compile(r"(?:.{0,80}\.)?env(?:\.[\w-]{1,40})?")
_TELLERS = program_catalogue.programs("digest") | {"wc"}
_SEARCHES = program_catalogue.programs("search_reader")
_SEDS, _AWKS = program_catalogue.programs("sed"), program_catalogue.programs("awk")


def has_settings(path: str) -> bool:
    """Whether a file consists of lines such as `NAME=value`, by its name."""
    return _SETTINGS.fullmatch(basename(path)[:160]) is not None


def tells_names(program: ProgramRun, *, settings: bool) -> bool:
    """Whether no value of what it reads is printed. `settings`: it reads nothing but lines such as `NAME=value`."""
    name, words = program.name, program.argv[1:]
    if len(words) > _MAX_WORDS or program.given:
        return False
    if name in _TELLERS:
        return not program.words.named("names")
    if name in _SEARCHES:
        return program.words.trait("tells-names") or (settings and _finds_names(program))
    if name == "openssl":
        return words[:1] in _OF_KEYS and "-noout" in words and not any(map(_KEY_SHOWN.match, words))
    if name == "jq":
        return _jq(words)
    if name in _AWKS:
        return _awk(program, settings=settings)
    return settings and ((name == "cut" and _cut(words)) or (name in _SEDS and _sed(program)))


_OF_KEYS = frozenset([("rsa",), ("pkey",), ("ec",), ("dsa",), ("x509",), ("req",)])
_KEY_SHOWN = lazy_re.compile(r"-(?:text|out|passout|writerand|C)\Z")
_NAME_CLASS = r"(?:\[\^=\]|\[[A-Za-z0-9_-]{1,20}\]|\\w)[*+]"
_NAME_PATTERN = lazy_re.compile(rf"\^(?:export )?{_NAME_CLASS}(?:=|\(\?==\))?")


def _finds_names(program: ProgramRun) -> bool:
    """`grep -o '^[A-Z_]*='`: the beginning of a line, up to its sign."""
    words = program.words
    patterns = [value.text for value in words.named("pattern")]
    plain = not words.unknown and all(
        "harmless" in option.entry.traits or option.entry.role == "pattern" for option in words.given
    )
    return (
        plain
        and words.has("--only-matching")
        and len(patterns) == 1
        and _NAME_PATTERN.fullmatch(patterns[0][:_MAX_SCRIPT]) is not None
    )


_CUT = lazy_re.compile(r"(?=.*(?:-d|--delimiter)[ =]?=(?: |\Z))(?:(?: (?:-d ?=|--delimiter[ =]=|-s|--only-delimited))*"
    r" (?:-f ?1|--fields[ =]1))(?: (?:-d ?=|--delimiter[ =]=|-s|--only-delimited))*(?: [^-\s]\S{0,200}| -)*")  # fmt: skip


def _cut(words: tuple[str, ...]) -> bool:
    """The first field, up to the sign."""
    return not any(" " in word for word in words) and _CUT.fullmatch("".join(f" {word}" for word in words)) is not None


_MASK = lazy_re.compile(
    rf"s(?P<d>[/|#,])\^?(?:(?:\\?\()?{_NAME_CLASS})?(?:\\?\))?(?:\\?\()?=(?:\\?\))?\.[*+]\$?(?P=d)[^&\n/|#,]{{0,60}}(?P=d)g?;?"
)


def _sed(program: ProgramRun) -> bool:
    """`s/=.*/=***/`: what follows the sign is replaced in every line."""
    words = program.words
    scripts = [word.text for word in words.named("script")]
    plain = all(
        ("harmless" in option.entry.traits and option.entry.name != "--silent") or option.entry.role == "script"
        for option in words.given
    )
    return plain and not words.unknown and len(scripts) == 1 and _MASK.fullmatch(scripts[0][:_MAX_SCRIPT]) is not None


_LENGTH = r'(?:length(?:\(\$(?:\d|NF)\))?|NR|NF|FILENAME|"[^"\\$`]{0,60}")'
_KIND = r"substr\(\$\d, ?1, ?[1-4]\)"
"""The first letters, which say what kind of a key it is."""
_SELECTS = r"(?:/[^/\n]{1,80}/|NR ?[=<>!]{1,2} ?\d{1,6}|\$1 ?[=!]= ?\"[\w.-]{1,80}\"|\$1 ?~ ?/[^/\n]{1,80}/)?"
_LENGTHS = lazy_re.compile(
    rf"\s*{_SELECTS}\s*\{{\s*print\s*\(?\s*{_LENGTH}(?:[\s,]{{0,4}}{_LENGTH}){{0,9}}\s*\)?\s*;?\s*\}}\s*"
)
_NAMES = lazy_re.compile(
    rf"\s*{_SELECTS}\s*\{{\s*print\s*\(?\s*(?:\$1(?!\d)|{_KIND}|{_LENGTH})(?:[\s,]{{0,4}}(?:\$1(?!\d)|{_KIND}|{_LENGTH})){{0,9}}\s*\)?\s*;?\s*\}}\s*"
)


def _awk(program: ProgramRun, *, settings: bool) -> bool:
    """Lengths, and the names before the sign: `awk -F= '{print $1, length($2)}'`."""
    words = program.words
    given = [(option.entry.name, option.value.text) for option in words.given]
    script = next((word.text for word in words.named("script")), "")[:_MAX_SCRIPT]
    if words.unknown or len(words.named("script")) != 1 or any(name != "--field-separator" for name, _ in given):
        return False
    if _LENGTHS.fullmatch(script):
        return True
    return settings and ("--field-separator", "=") in given and len(given) == 1 and _NAMES.fullmatch(script) is not None


_PLAIN_FIELD = r"(?:type|provider|mode|kind|version|expires(?:_?at)?|created(?:_?at)?|updated(?:_?at)?|status|enabled|label)"
"""Fields that hold no secret in any file of keys."""
_FIELDS = rf"\{{\s*{_PLAIN_FIELD}(?:\s*,\s*{_PLAIN_FIELD}){{0,9}}\s*\}}"
_STATED = r"(?:keys(?:_unsorted)?(?:\s*\|?\s*(?:\.?\[\]|length|\.\[\d{1,3}:?\d{0,3}\]))?|length|type)"
_STEP = r'(?:\.[A-Za-z_]\w{0,60}|\."[\w:@./-]{1,80}"|\.?\[(?:"[\w:@./-]{1,80}")?\])'
_JQ = lazy_re.compile(
    rf"(?i)\s*\.?{_STEP}{{0,9}}\s*(?:(?<![\w\]\"])|\|)\s*(?:{_STATED}|{_FIELDS}|map(?:_values)?\(\s*(?:\.\s*\|\s*)?(?:{_STATED}|{_FIELDS})\s*\))\s*"
)
_OPTION = lazy_re.compile(r"-.")
_JQ_OPTION = lazy_re.compile(
    r"-[rcSCMejn]{1,5}|--(?:raw-output|compact-output|sort-keys|exit-status|tab|color-output|join-output)"
)


def _jq(words: tuple[str, ...]) -> bool:
    """`keys`, lengths, types, and fields such as `type`."""
    at = next((at for at, word in enumerate(words) if not _JQ_OPTION.fullmatch(word)), len(words))
    return (
        bool(words[at:]) and _JQ.fullmatch(words[at][:_MAX_SCRIPT]) is not None and not any(map(_OPTION.match, words[at:]))
    )


_PASSING = frozenset(["cat", "sort", "head", "tail", "grep", "egrep", "fgrep", "uniq"])
"""Programs that pass on whole lines of their input."""


def printed_further(program: ProgramRun, runs: tuple[ProgramRun, ...], at: int, *, settings: bool) -> bool:
    """Whether all that it prints goes to a program that prints only names of it. `at`: its position in `runs`."""
    if not _goes_on(program):
        return False
    for run in runs[at + 1 : at + 1 + _MAX_STAGES]:
        if run.name in _SAME_OUTPUT:
            continue
        if run.pipeline != program.pipeline or _around(run) != _around(program) or run.stdin is None:
            return False
        if tells_names(run, settings=settings):
            return True
        if run.name not in _PASSING or not _goes_on(run):
            return False
    return False


_MAX_STAGES = 6
_SAME_OUTPUT = frozenset(["sudo", "doas", "nice", "timeout"])
"""Wrappers that are runs of their own and hand the pipe to the program that they start."""


def _around(program: ProgramRun) -> tuple[str, ...]:
    return tuple(name for name in program.via if name not in _SAME_OUTPUT)


def _goes_on(program: ProgramRun) -> bool:
    return program.piped and all(redirect.kind in ("read", "text") or redirect.fd == "2" for redirect in program.redirects)
