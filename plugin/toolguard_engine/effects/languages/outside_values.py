"""Values that come from outside the code, and what requests carry there."""

from __future__ import annotations

import re

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import key_owners
from toolguard_engine.effects.facts.command import UNKNOWN, StdinSource
from toolguard_engine.effects.languages.code_values import Unknown, Value, either, feed, sourced, sources, text

_LOGIN_HEADERS = frozenset({"authorization", "x-api-key", "private-token", "x-auth-token", "api-key", "proxy-authorization"})


def environment(name: str, default: Value = None) -> Value:
    """The value of an environment variable."""
    if name in _PLACES:
        return _PLACES[name]
    if _SECRET_NAME.search(name):
        return sourced(UNKNOWN, (f"secret:{name}",))
    return UNKNOWN if default is None else either([default, UNKNOWN])


_PLACES = {
    "HOME": "~", "USERPROFILE": "~", "PWD": ".", "TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "SHELL": "sh",  # noqa: S108 - names
}  # fmt: skip
_SECRET_NAME = lazy_re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PRIVATE)(?:_|\Z)", re.IGNORECASE
)


def address(value: Value) -> str:
    """An address as far as it is known; empty where its host is not."""
    url = text(value) if value is not None else ""
    host = url.partition("://")[2] or url
    return "" if not host or host[:1] == UNKNOWN or host.split("/")[0].strip(UNKNOWN + ".:") == "" else url


def carried(url: str, *values: Value) -> StdinSource:
    """What a request carries, without a secret that is the host's own."""
    host = url.partition("://")[2].partition("/")[0].lower()
    kept = tuple(
        source
        for source in sources(*values)
        if not (source.startswith("secret:") and key_owners.belongs(source[7:], host.partition(":")[0]))
    )
    return feed(Unknown(sources=kept))


def data_headers(value: Value) -> list[Value]:
    """The headers that carry data: not those that log in."""
    if not isinstance(value, dict):
        return []
    return [part for name, part in value.items() if str(name).lower() not in _LOGIN_HEADERS]


def logs_in(*values: Value) -> bool:
    """Whether a request carries a secret, though it may be the host's own."""
    return any(source.startswith("secret:") for source in sources(*values))
