"""The secrets that results of tools contained, by session: recognised when they leave, and never kept.

Of a secret only keyed hashes of pieces are held (`hash`, whose key changes with each process), and its name: the variable or
the file that it stood in. Of a long secret every `_STEP`-th piece of `_PIECE` characters is held, so that any part of
`_PIECE + _STEP - 1` characters is recognised; of a short one only the whole. Bounded: `MAX_SECRETS` in a session, the oldest
forgotten first, `MAX_SESSIONS` sessions, `MAX_SCANNED` characters of a result.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import key_owners
from toolguard_engine.effects.facts.place_names import is_secret_name
from toolguard_engine.wording import redact

MAX_SESSIONS = 128
MAX_SECRETS = 32
MAX_SCANNED = 65_536
_MAX_NAMED = 60
_PIECE, _STEP = 12, 4
_MAX_PIECES = 24
_SHORT, _LONG = 8, 16

_PLACEHOLDER = lazy_re.compile(r"(.)\1{5}|\$\{|<[a-z_ ]+>|(?i:your|changeme|redacted|placeholder)")
_TOKEN = lazy_re.compile(r"[A-Za-z0-9+/_=.~-]{8,}")
SEPARATORS = lazy_re.compile(r"[\s.,|;:_-]{1,3}")
"""What may stand between the parts of a secret that is split."""
_WHOLE = lazy_re.compile(r"[^\s\"'&=<>,;:/?@]{8,16}")
_CREDENTIAL_TEXT = lazy_re.compile(r"[A-Za-z0-9+/_=-]{16,}")
_NAMES_SECRET = lazy_re.compile(
    r"\.ssh/|\.aws/|\.gnupg|\.netrc|\.pgpass|\.kube/config|\.docker/config|hosts\.yml|/etc/shadow|credentials"
)
_MIXED = lazy_re.compile(r"(?=[^\d]{0,200}\d)(?=[^A-Za-z]{0,200}[A-Za-z]).")


class KnownSecrets:
    """Those of all sessions."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, OrderedDict[int, tuple[str, tuple[int, ...]]]] = OrderedDict()

    def result(self, session: str, params: Any, text: str) -> None:
        """A tool brought this text."""
        if session and text:
            for name, secret in islice(found_in(text[:MAX_SCANNED], whole=_reads_credentials(params)), MAX_SECRETS):
                self._learn(session, name, secret)

    def names_in(self, session: str, texts: list[str]) -> str:
        """The name of a secret that one of these texts contains; empty if none does."""
        known = self._sessions.get(session)
        if not known:
            return ""
        pieces = {piece: name for name, contents in known.values() for piece in contents}
        for text in texts:
            for word in _WHOLE.findall(text):
                if name := pieces.get(hash(word)):
                    return name
            for token in _TOKEN.findall(text):
                cut = [hash(token[at : at + _PIECE]) for at in range(len(token) - _PIECE + 1)]
                if not pieces.keys().isdisjoint(cut):
                    return next(pieces[piece] for piece in cut if piece in pieces)
        return ""

    def _learn(self, session: str, name: str, secret: str) -> None:
        known = self._sessions.setdefault(session, OrderedDict())
        self._sessions.move_to_end(session)
        known[hash(secret)] = (name[:_MAX_NAMED], tuple(_pieces(secret)))
        if len(known) > MAX_SECRETS:
            known.popitem(last=False)
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)


def found_in(text: str, *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """The secrets of a text with their names. `whole`: it is the content of a file that holds nothing else."""
    for match in redact.keys_in(text):
        if is_key(match[0]):
            yield key_name(match[0]), match[0]
    for match in redact.assigned_in(text):
        value = match["value"].strip("\"'\\")
        if len(value) >= _SHORT and _MIXED.match(value) and not _PLACEHOLDER.search(value):
            yield _variable(text, match), value
    if whole:
        for match in islice(_CREDENTIAL_TEXT.finditer(text), MAX_SECRETS):
            if _MIXED.match(match[0]) and not _PLACEHOLDER.search(match[0]):
                yield "the content of a file with keys", match[0]


def is_key(text: str) -> bool:
    """Whether a text in the form of a key is one: not a placeholder, not a published one, not a name with `sk_` in it."""
    if text.startswith("-----"):
        return True
    known = key_owners.of_value(text) is not None or text.startswith("eyJ")
    return (known or _RANDOM.search(text) is not None) and not _PLACEHOLDER.search(text) and not text.startswith("pk_")


_RANDOM = lazy_re.compile(r"(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{16,}|^\d{8,10}:|^/?\d{5,}/|^[\w+/]{40,}=")


def key_name(key: str) -> str:
    """What a key is, without any of it."""
    if key.startswith("-----"):
        return "a private key"
    if key.startswith("eyJ"):
        return "a signed token"
    service = key_owners.of_value(key)
    return f"a key for {service.name}" if service else "a key"


def _variable(text: str, match: re.Match[str]) -> str:
    """The name before an assigned value, as far as it is one word."""
    before = re.search(r"[\w-]{0,40}\Z", text[max(0, match.start() - 40) : match.start()])
    name = re.match(r"[\w-]{1,40}", (before[0] if before else "") + match["name"])
    return name[0] if name else "a secret"


def _reads_credentials(params: Any) -> bool:
    """Whether a call names a file that holds keys and nothing else."""
    if not isinstance(params, dict):
        return False
    texts = [value[:2_000] for value in islice(params.values(), 20) if isinstance(value, str)]
    return any(_NAMES_SECRET.search(text) or any(map(_is_key_file, text.split()[:40])) for text in texts)


def _is_key_file(word: str) -> bool:
    name = word.strip("\"'").rpartition("/")[2]
    return bool(name) and not name.startswith(".env") and is_secret_name(name)


def _pieces(secret: str) -> Iterator[int]:
    if len(secret) < _LONG:
        yield hash(secret)
        return
    body = secret.partition("-----\n")[2] if secret.startswith("-----") else secret
    for token in islice(_TOKEN.findall(body), _MAX_PIECES):
        for spelled in dict.fromkeys((token, SEPARATORS.sub("", token))):
            starts = range(0, len(spelled) - _PIECE + 1, _STEP)
            yield from (hash(spelled[at : at + _PIECE]) for at in islice(starts, _MAX_PIECES))
