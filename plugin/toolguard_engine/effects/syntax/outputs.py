"""The output of simple programs, if the command alone determines it. It makes `echo cm0gLXI= | base64 -d | sh` readable."""

from __future__ import annotations

import re
from base64 import b32decode, b64decode
from binascii import Error as Base64Error
from binascii import unhexlify
from collections.abc import Callable
from urllib.parse import unquote

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.syntax.expand import here
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.effects.syntax.word_parts import escaped

MAX_TEXT = 65_536
MAX_SET = 200
"""Characters of a word that says what `tr` replaces."""

MAX_PROGRAMS = 60
"""Programs of a pipeline, counted from its end, and files that are listed."""

NOTHING = StdinSource("")

_PREFIX = "/usr"
_BIN = f"{_PREFIX}/bin"
_MODULES = f"{_PREFIX}/lib/node_modules"
_GATEWAY = frozenset({"openclaw", "clawdbot"})
"""The gateway's program. Its real folder is protected wherever it is, so a usual one stands for it."""

_GLOBAL_FOLDERS = {
    ("root",): _MODULES, ("dir",): f"{_PREFIX}/lib", ("prefix",): _PREFIX, ("bin",): _BIN, ("pm", "bin"): _BIN,
}  # fmt: skip
_PREFIX_ASKED = frozenset({("config", "get", "prefix"), ("get", "prefix"), ("c", "get", "prefix")})
_GLOBALLY = lazy_re.compile(r"-g|--global(?:=true)?|global|--location=global")

_FOLDERS = frozenset({"~", "$HOME", "$PWD", "."})
"""Signs for folders whose names are unknown here; `$PWD` arrives as `.`."""

_BASE64 = lazy_re.compile(r"[A-Za-z0-9+/_=\s-]*+")
_FORMAT = lazy_re.compile(r"%(?:%|-?\d{0,3}(?:\.\d{1,3})?([sdbqcxi]))")
_HEX = lazy_re.compile(r"(?>(?:[0-9A-Fa-f]{2})*)")


def known_text(feed: StdinSource | None) -> str | None:
    """The text of a source, or else the text it was derived from."""
    return None if feed is None else feed.was if feed.text is None else feed.text


def together(feeds: list[StdinSource], *, exact: bool) -> StdinSource:
    """The outputs of several programs in sequence. Not `exact` if some of them may not run at all."""
    programs = tuple(dict.fromkeys(name for feed in feeds for name in feed.programs))
    files = tuple(file for feed in feeds for file in feed.files)
    texts = [text for feed in feeds if (text := known_text(feed)) is not None]
    if exact and all(feed.text is not None for feed in feeds):
        return StdinSource("".join(texts)[: MAX_TEXT * 4], programs, files)
    return StdinSource(None, programs, files, "\n".join(filter(None, texts))[: MAX_TEXT * 4] or None)


def _before(program: ProgramRun) -> str | None:
    """The input of a program whose output is unknown."""
    if program.given:
        given = [text for at, feed in program.given if program.argv[at] == UNKNOWN and (text := known_text(feed))]
        return "\n".join([*given, known_text(program.stdin) or ""])[:MAX_TEXT] if given else known_text(program.stdin)
    return known_text(program.stdin) if program.stdin else None


def printed(program: ProgramRun) -> StdinSource:
    """The standard output of a program."""
    maker = _MAKERS.get(program.name)
    fed = program.stdin or NOTHING
    if maker is None:
        files = _named(program) if program.name in _READERS else ()
        programs = (*fed.programs[-MAX_PROGRAMS:], program.name)
        return StdinSource(None, programs, (fed.files + files)[:MAX_PROGRAMS], _before(program))
    if program.name in _TAKING_FILES and any(word != "-" for word in program.words.texts):
        return StdinSource(None, (program.name,), _named(program))
    text = maker(program, fed) if program.stdin is not None or program.name not in _CHANGING_INPUT else None
    if text is not None and (len(text) > MAX_TEXT or UNKNOWN in text):
        text = None if len(text) > MAX_TEXT else text
    files = _named(program) if program.name in _READERS else ()
    programs = fed.programs if program.name in _HANDING_ON and not files else (*fed.programs[-MAX_PROGRAMS:], program.name)
    if program.given:
        programs += tuple(name for _, feed in program.given for name in feed.programs)[:MAX_PROGRAMS]
    return StdinSource(text, programs, (fed.files + files)[:MAX_PROGRAMS], _before(program) if text is None else None)


def _named(program: ProgramRun) -> tuple[str, ...]:
    return tuple(word for word in program.words.texts if word[:1] != "+" and word != "-")


def _echo(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    words, escapes, end = list(program.argv[1:]), False, "\n"
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes = escapes or "e" in words[0]
        end = "" if "n" in words[0] else end
        words.pop(0)
    text = " ".join(words)
    return (escaped(text) if escapes else text) + end


def _printf(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    words = program.words.texts
    if not words or program.words.has("-v"):
        return ""
    values = iter(words[1:])

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "%"
        item = next(values, "")
        return escaped(item) if match[1] == "b" else item

    text, template = "", escaped(words[0])
    for _ in range(100):
        text += _FORMAT.sub(value, template)
        rest = list(values)
        if not rest or not _FORMAT.search(template) or len(text) > MAX_TEXT:
            break
        values = iter(rest)
    return text


def _cat(program: ProgramRun, fed: StdinSource) -> str | None:
    return fed.text if all(word == "-" for word in program.words.texts) else None


def _tee(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    return fed.text


def _dd(program: ProgramRun, fed: StdinSource) -> str | None:
    return None if any(word.startswith(("if=", "skip=", "count=", "conv=")) for word in program.argv[1:]) else fed.text


def _base64(program: ProgramRun, fed: StdinSource) -> str | None:
    options = " ".join(program.argv[1:])
    if not re.search(r"(?:^| )-(?:[a-zA-Z]*[dD]|-d)", options):
        return None
    return _decoded(fed.text, b32decode if program.name == "base32" else _standard)


def _openssl(program: ProgramRun, fed: StdinSource) -> str | None:
    return (
        _decoded(fed.text, _standard) if {"base64", "-base64", "-a"} & set(program.argv) and "-d" in program.argv else None
    )


def _standard(text: str) -> bytes:
    digits = text.rstrip("=").replace("-", "+").replace("_", "/")
    return b64decode(digits + "=" * (-len(digits) % 4))


def _decoded(text: str | None, decode: Callable[[str], bytes]) -> str | None:
    if text is None or not _BASE64.fullmatch(text):
        return None
    try:
        return decode("".join(text.split())).decode("latin-1").replace("\0", "")
    except (Base64Error, ValueError):
        return None


def _xxd(program: ProgramRun, fed: StdinSource) -> str | None:
    if not any(re.fullmatch(r"-[a-z]*r[a-z]*|-revert", word) for word in program.argv[1:]) or fed.text is None:
        return None
    digits = re.sub(r"[\s:]|\\x|0x", "", fed.text)
    return unhexlify(digits).decode("latin-1").replace("\0", "") if _HEX.fullmatch(digits) else None


_SUBSTITUTES = lazy_re.compile(r"s([/|#,@:])([^\\.*\[\]^$&]*)\1([^\\&]*)\1([g1]?)")


def _sed(program: ProgramRun, fed: StdinSource) -> str | None:
    """One substitution of plain text; None for any other script."""
    words = [word for word in program.argv[1:] if word not in ("-e", "-E", "-r", "-u")]
    match = _SUBSTITUTES.fullmatch(words[0]) if len(words) == 1 else None
    if fed.text is None or match is None or not match[2] or match[1] in match[2] + match[3]:
        return None
    count = -1 if match[4] == "g" else 1
    if count < 0 and fed.text.count(match[2]) * len(match[3]) > MAX_TEXT:
        return None
    return "\n".join(line.replace(match[2], match[3], count) for line in fed.text.split("\n"))


def _cut(program: ProgramRun, fed: StdinSource) -> str | None:
    """Characters from a position on, or one field."""
    options = "".join(program.argv[1:])
    if fed.text is None:
        return None
    lines = fed.text.split("\n")
    if match := re.fullmatch(r"-[cb](\d{1,3})-", options):
        return "\n".join(line[max(int(match[1]), 1) - 1 :] for line in lines)
    if match := re.fullmatch(r"-d(.)-f(\d{1,2})(-?)", options):
        at = max(int(match[2]), 1) - 1
        rows = [line.split(match[1]) for line in lines]
        return "\n".join(match[1].join(row[at:] if match[3] else row[at : at + 1]) for row in rows)
    return None


def _rev(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    return None if fed.text is None else "\n".join(line[::-1] for line in fed.text.split("\n"))


def _tr(program: ProgramRun, fed: StdinSource) -> str | None:
    words = program.words.texts
    if fed.text is None or any(len(word) > MAX_SET for word in words):
        return None
    if "-d" in program.argv and len(words) == 1 and "[:" not in words[0]:
        return fed.text.translate(dict.fromkeys(map(ord, _range(words[0]))))
    if len(words) != 2 or len(program.argv) != 3 or "[:" in "".join(words):  # noqa: PLR2004 - from and to, and the program
        return None
    old, new = _range(words[0]), _range(words[1])
    return fed.text.translate({ord(a): b for a, b in zip(old, new.ljust(len(old), new[-1:] or " "), strict=False)})


def _range(text: str) -> str:
    text = escaped(text)
    return re.sub(
        r"(.)-(.)", lambda m: "".join(map(chr, range(ord(m[1]), min(ord(m[2]), ord(m[1]) + 200) + 1))), text, flags=re.DOTALL
    )


def _found(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    names = program.words.texts
    asked = program.name != "command" or program.words.has("-v", "-V")
    if len(names) != 1 or not asked:
        return None
    return f"{_BIN}/{names[0]}" if names[0] in _GATEWAY else names[0]


def _fixed(text: str) -> Callable[[ProgramRun, StdinSource], str | None]:
    return lambda program, fed: text if len(program.argv) == 1 else None  # noqa: ARG005 - table signature


def _pwd(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    return here(ShellState(cwd=program.cwd)) if len(program.argv) == 1 else None


def _paths(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    names = program.words.texts
    if len(names) != 1:
        return None
    folder, _, name = names[0].rpartition("/")
    return f"{_MODULES}/{name}/{name}.mjs" if name in _GATEWAY and folder.endswith("/bin") else names[0]


def _packages(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    """The global folder of a package manager: npm's usual one."""
    words = tuple(word for word in program.argv[1:] if not _GLOBALLY.fullmatch(word))
    if words in _PREFIX_ASKED:
        return _PREFIX
    if len(words) == len(program.argv) - 1:
        return None
    match words:
        case ("list" | "ls", "-p"):
            return _MODULES
        case _:
            return _GLOBAL_FOLDERS.get(words)


def _mktemp(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    return f"/tmp/tmp.{UNKNOWN}"  # noqa: S108 - a name, nothing is opened


def _basename(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    words = program.words.texts
    last = words[0].rstrip("/").rpartition("/")[2] if words else ""
    if last in _FOLDERS:
        return UNKNOWN
    return last.removesuffix(words[1] if len(words) > 1 else "") if words else None


def _dirname(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    words = program.words.texts
    if not words:
        return None
    path = words[0].rstrip("/") or words[0][:1]
    above, slash, last = path.rpartition("/")
    if slash:
        return above or "/"
    if last in _FOLDERS or last.startswith("$"):
        return f"{last}/.."
    return UNKNOWN if UNKNOWN in last else "."


def _config_path(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    """`openclaw config file` prints the path of the gateway's config: the usual one."""
    pairs = zip(program.argv, program.argv[1:], strict=False)
    return "~/.openclaw/openclaw.json" if ("config", "file") in pairs and "claw" in " ".join(program.argv).lower() else None


def _bun(program: ProgramRun, fed: StdinSource) -> str | None:
    return _packages(program, fed) or _config_path(program, fed)


def _url(program: ProgramRun, fed: StdinSource) -> str | None:  # noqa: ARG001 - table signature
    return None if fed.text is None else unquote(fed.text)


_MAKERS: dict[str, Callable[[ProgramRun, StdinSource], str | None]] = {
    "dd": _dd,
    "echo": _echo, "printf": _printf, "cat": _cat, "tee": _tee, "base64": _base64, "base32": _base64, "openssl": _openssl,
    "xxd": _xxd, "rev": _rev, "tr": _tr, "which": _found, "command": _found, "type": _found, "pwd": _pwd,
    "openclaw": _config_path, "clawdbot": _config_path, "node": _config_path, "bun": _bun,
    "npm": _packages, "pnpm": _packages, "yarn": _packages, "whence": _found,
    "realpath": _paths, "readlink": _paths, "mktemp": _mktemp, "basename": _basename, "dirname": _dirname,
    "true": _fixed(""),
    "sponge": _tee, "urldecode": _url, "sed": _sed, "gsed": _sed, "cut": _cut,
}  # fmt: skip
_CHANGING_INPUT = frozenset(
    ["dd", "tee", "base64", "base32", "openssl", "xxd", "rev", "tr", "sponge", "urldecode", "sed", "gsed", "cut"]
)
"""Without an input, what they print comes from somewhere else."""

_TAKING_FILES = frozenset({"base64", "base32", "rev", "xxd"})
"""Each operand is a file."""

_READERS = program_catalogue.programs("file_printer")
_HANDING_ON = program_catalogue.programs("input_printer")
