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

_ASKS = lazy_re.compile(
    r"-i|-{1,2}[\w-]{0,30}(?:key|ident|cert|cred|conf|auth|pem|ssh|secret|token|env|pass)[\w-]{0,30}", re.IGNORECASE
)


def runs_scripts(name: str) -> bool:
    """Whether a program hands its words to a script."""
    return name.rstrip("0123456789.") in _RUNNERS


def effects(run: ProgramRun, where: Where) -> Iterator[Effect]:
    words = run.argv[1:MAX_WORDS]
    flags: tuple[str, ...] = ("unknown",)
    if runs_scripts(run.name):
        flags = ()
        script = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
        words = words[script + 1 :] if not any(word in ("-c", "-e") for word in words[:script]) else ()
    if words and _hints(" ".join(words)):
        yield from secrets_read(_handed(words), run, where, *flags)


def _hints(text: str) -> bool:
    if not text.isascii():  # other letters are these in another case
        return _HINT.search(text) is not None
    lower = text.lower()
    return any(map(lower.__contains__, _HINTS))


def _handed(words: tuple[str, ...]) -> Iterator[str]:
    asked = False
    for word in words:
        if word.startswith("-"):
            option, _, value = word.partition("=")
            asked = not value and _ASKS.fullmatch(option) is not None
            if value and not _ASKS.fullmatch(option):
                yield value
        elif not asked:
            yield word.removeprefix("@")
            asked = False
        else:
            asked = False
