"""Files of keys that are handed to a program of which nothing is known, or to a script.

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
    r"-i|-{1,2}[\w-]{0,30}(?:key|ident|cert|cred|conf|auth|pem|ssh|secret|token|env|pass|exclu|ignore|skip|omit)[\w-]{0,30}",
    re.IGNORECASE,
)
"""Options for a file that logs in with keys, or of what is left out."""


def runs_scripts(name: str) -> bool:
    """Whether a program hands its words to a script."""
    return name.partition("@")[0].rstrip("0123456789.") in _RUNNERS


def effects(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = (*program.argv[1:MAX_WORDS], *_put(program.stdin_text))
    flags: tuple[str, ...] = ("unknown",)
    if runs_scripts(program.name):
        flags = ()
        read = program.words
        script = next((word.at for word in read.operands), len(program.argv))
        given = (option for option in read.given if option.word < script)
        words = (
            program.argv[script + 1 : MAX_WORDS] if not any(option.entry.name in ("-c", "-e") for option in given) else ()
        )
    if words and _hints(" ".join(words)):
        yield from secrets_read(_handed(words), program, where, *flags)


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
    yield from (option.value.text for option in read.given if option.value.text and not _ASKS.fullmatch(option.entry.name))
    yield from (word.text.removeprefix("@") for word in read.operands if word.at not in asking)
