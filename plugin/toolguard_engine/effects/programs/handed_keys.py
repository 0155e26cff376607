"""Files of keys that are handed to a program of which nothing is known, to a script, or to what carries files elsewhere.

An option that asks for a key, a certificate or settings (`--identity`, `--kubeconfig`) may have one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.programs import secrets_read

MAX_WORDS = 60
_RUNNERS = program_catalogue.programs("script_interpreter") | program_catalogue.programs("interpreter", "posix_shell")
_HINTS = (
    ".ssh/", ".aws/", ".gnupg", ".netrc", ".pgpass", ".kube/", ".docker/", ".npmrc", ".config/", ".pem", ".kdbx", ".p12",
    "id_rsa", "id_ed25519", "credential", "shadow", ".azure", ".password-store", ".vault", ".terraform.d",
    ".git-credentials", "cookies", "login data", "keychain", "wallet",
)  # fmt: skip
"""What the paths of most such files contain."""

_HINT = lazy_re.compile("|".join(map(re.escape, _HINTS)), re.IGNORECASE)
_HIDDEN = lazy_re.compile(r"(?:~|/root|/home/[^/\s]{1,60}|/users/[^/\s]{1,60}|\$home|\$\{home\})/\.|/root/|keyring")
"""A hidden file of a home folder, which may be one with keys."""

_ASKS = lazy_re.compile(
    r"-i|-{1,2}[\w-]{0,30}(?:key|ident|cert|cred|conf|auth|pem|ssh|secret|token|env|pass|exclu|ignore|skip|omit|dir|tree)[\w-]{0,30}",
    re.IGNORECASE,
)
"""Options for a file that logs in with keys, or of what is left out."""


def runs_scripts(name: str) -> bool:
    """Whether a program hands its words to a script."""
    return name.partition("@")[0].rstrip("0123456789.") in _RUNNERS


def effects(program: ProgramRun, where: Where, endings: tuple[str, ...] = ()) -> Iterator[Effect]:
    """`endings`: those of scripts, which are no keys in whatever folder they are."""
    words = (*program.argv[1:MAX_WORDS], *_put(program.stdin_text))
    flags: tuple[str, ...] = ("unknown",)
    if runs_scripts(program.name):
        flags, words = (), _of_script(program, endings)
    elif program.name in CARRIERS:
        flags, words = (), _carried(program)
    if words and _hints(" ".join(words)):
        yield from secrets_read(_handed(words), program, where, *flags)


def _of_script(program: ProgramRun, endings: tuple[str, ...]) -> tuple[str, ...]:
    """The script, lines of which stand in errors, and its words; those of code only where nothing else reads them."""
    read = program.words
    script = next((word.at for word in read.operands), len(program.argv))
    code = next((option for option in read.given if option.entry.name in ("-c", "-e") and option.word < script), None)
    if code is None:
        word = program.argv[script] if script < len(program.argv) else ""
        is_script = word.endswith(endings) or " " in word  # the latter is code, as PowerShell takes it
        return program.argv[script + is_script : MAX_WORDS]
    return program.argv[code.word + 2 : MAX_WORDS] if program.name not in _READ_THEMSELVES else ()


_READ_THEMSELVES = program_catalogue.programs("scripted_reader", "posix_shell")
CARRIERS = program_catalogue.programs("file_carrier")


def _carried(program: ProgramRun) -> tuple[str, ...]:
    """The words behind a verb that takes files in, or shows them, without folders that it works in or passes on."""
    if _TAKES_FILES.isdisjoint((*program.words.verb.split(), *program.words.texts[:2])):
        return ()
    options = (option for option in program.words.given if option.entry.role in _PLACES or "mounts" in option.entry.traits)
    kept_out = {option.value.text for option in options}
    return tuple(word for word in program.argv[1:MAX_WORDS] if word not in kept_out)


_TAKES_FILES = program_catalogue.words("takes_files")
_PLACES = frozenset(["folder", "setting"])


_PUTS = frozenset(["put", "mput", "send", "upload", "attach"])


def _put(text: str) -> list[str]:
    """The words of a line of input that sends a file, as clients of servers take it: `put ~/.ssh/id_rsa`."""
    words = text[:_MAX_LINE].split() if text else []
    return words[1:] if words and words[0] in _PUTS else []


_MAX_LINE = 400


def _hints(text: str) -> bool:
    if not text.isascii():  # other letters are these in another case
        return _HINT.search(text) is not None
    lower = text.lower()
    return any(map(lower.__contains__, _HINTS)) or _HIDDEN.search(lower) is not None


def _handed(words: tuple[str, ...]) -> Iterator[str]:
    read = option_parser.plain(("", *words))
    asking = {option.word + 1 for option in read.given if not option.value.text and _ASKS.fullmatch(option.entry.name)}
    values = (option.value.text for option in read.given if option.value.text and not _ASKS.fullmatch(option.entry.name))
    yield from (part for value in values for part in {value, value.rpartition("=")[2]})
    yield from (word.text.removeprefix("@") for word in read.operands if word.at not in asking)
