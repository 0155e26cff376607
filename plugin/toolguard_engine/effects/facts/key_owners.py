"""Which service a key belongs to, and whether a host is one of that service: data (`services.toml` has the facts)."""

from __future__ import annotations

from functools import cache, lru_cache

import msgspec

from toolguard_engine import packaged

MAX_HOST = 255


class KeyService(msgspec.Struct, frozen=True):
    """A service that issues keys."""

    name: str
    hosts: tuple[str, ...]
    variables: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


@cache
def services() -> tuple[KeyService, ...]:
    """The bundled services, read once."""
    data = packaged.table("services.toml")
    return msgspec.convert(data["service"], tuple[KeyService, ...])


def of_value(key: str) -> KeyService | None:
    """The service that issued a key, by how it begins."""
    return next((service for service in services() if key.startswith(service.prefixes)), None) if key else None


@lru_cache(maxsize=500)
def of_variable(name: str) -> KeyService | None:
    """The service whose key a variable holds, by its name: `GH_TOKEN`."""
    upper = name.upper()
    parts = upper.split("_")
    for service in services():
        if service.name.upper() in parts or upper.startswith(service.variables):
            return service
    return None


def is_own(service: KeyService, host: str) -> bool:
    """Whether a host is one of the service's own domains or below one."""
    host = host.lower().rstrip(".")
    return any(host == known or host.endswith(f".{known}") for known in service.hosts)


def belongs(variable: str, host: str) -> bool:
    """Whether what a variable holds is meant for this host: its service is there, or it is named after the host."""
    if not host or len(host) > MAX_HOST:
        return False
    if service := of_variable(variable):
        return is_own(service, host)
    name = _second_level(host.lower())
    if not name:
        return False
    words = [word for word in variable.lower().split("_") if len(word) >= _LONG_WORD and word not in _COMMON]
    return f"_{name.replace('-', '_')}_" in f"_{variable.lower()}_" or name.startswith(tuple(words))


def is_foreign(variable: str, host: str) -> bool:
    """Whether a variable surely holds the key of another service; that may also run at home (`gitlab.corp.example`)."""
    service = of_variable(variable)
    if service is None or not host or is_own(service, host):
        return False
    posing = any(f".{known}." in f".{host.lower()}." for known in service.hosts)
    return posing or service.name not in host.lower().split(".")


_LONG_WORD = 7
"""Letters of a word that a host may begin with: `OPENWEATHER_API_KEY` for openweathermap.org."""

_SHARED = frozenset("co com org net gov ac edu github gitlab vercel netlify herokuapp pages workers web".split())  # noqa: SIM905
_COMMON = frozenset("token secret access private password passphrase credential credentials auth user admin".split())  # noqa: SIM905
"""Words in the names of many variables: a host that is named so is not meant by them."""


def _second_level(host: str) -> str:
    """`trello` of `api.trello.com`; empty for an address in numbers and for names that everybody can have a part of."""
    parts = host.split(".")
    if len(parts) < 2 or parts[-1].isdigit():  # noqa: PLR2004 - a name and a top-level domain
        return ""
    name = parts[-3] if parts[-2] in _SHARED and len(parts) > 2 and len(parts[-1]) == 2 else parts[-2]  # noqa: PLR2004
    return name if len(name) > 3 and name not in _COMMON else ""  # noqa: PLR2004 - `db` is in many variables
