"""Where secrets are known to be: the gateway's own files, the guard's, and the usual credential files in the home folder.

Nothing is searched: every place is named here, by the config, or in `place_names`. All reading is bounded, and a file is
read again only when it has changed. What cannot be read names no secret.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from toolguard_engine.effects.facts import place_names
from toolguard_engine.stores import atomic, gateway_config, gateway_database, secret_fields
from toolguard_engine.stores.state_files import KEY
from toolguard_engine.wording.secret_values import KnownSecret, is_usable

MAX_BYTES = 256 * 1024
MAX_FILES = 300
MAX_SECRETS = 1_000
MAX_ROWS = 500
DATABASE_SECONDS = 30.0
"""Between two readings of the gateway's databases, which change with every message."""

ENVIRONMENT_FILE = ".env"
_STATE_GLOBS: tuple[tuple[str, str], ...] = (
    ("secrets.json", "secret"),
    ("agents/*/agent/auth-profiles.json", secret_fields.MODEL_KEY),
    ("agents/*/agent/auth.json", secret_fields.MODEL_KEY),
    ("agents/*/agent/models.json", secret_fields.MODEL_KEY),
    ("oauth.json", secret_fields.MODEL_KEY),
    ("identity/*.json", "device key"),
    ("devices/*.json", "device token"),
    ("nodes/*.json", "device token"),
    ("credentials/*.json", "credential"),
    ("credentials/*/*.json", "credential"),
)
"""Files in the state directory that hold secrets, and what the secrets are called."""

_DATABASES = ("state/openclaw.sqlite", "agents/*/agent/openclaw-agent.sqlite")
_TABLES: tuple[tuple[str, str, str, str], ...] = (
    ("config_machine_state", "state_key", "value_json", secret_fields.MODEL_KEY),
    ("auth_profile_store", "store_key", "store_json", secret_fields.MODEL_KEY),
    ("auth_profile_stores", "store_key", "store_json", secret_fields.MODEL_KEY),
    ("secret_store_entries", "name", "value", "stored secret"),
    ("mcp_oauth_stores", "store_key", "store_json", "MCP secret"),
    ("device_identities", "identity_key", "private_key_pem", "device key"),
    ("device_auth_tokens", "device_id", "token", "device token"),
    ("device_bootstrap_tokens", "token_key", "token", "device token"),
    ("gateway_origin_device_tokens", "device_id", "token", "device token"),
    ("device_pairing_paired", "device_id", "tokens_json", "device token"),
)
"""Table, column with the name, column with the secret (plain or JSON), and what the secret is called."""

_SSH_KEYS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
_STATES = (".openclaw", ".clawdbot")


class SecretPlaces(NamedTuple):
    """Where one gateway keeps its secrets. `token_file`: that of the dashboard's token; `own_files`: the files with
    addresses and secrets of notifications. Empty names mean none."""

    state_dir: str
    config_path: str
    home: str = ""
    token_file: str = ""
    own_files: tuple[str, ...] = ()


class SecretSources:
    """The secrets of one gateway. `environment`: the variables that its process was started with."""

    def __init__(
        self, places: SecretPlaces, environment: Mapping[str, str], monotonic: Callable[[], float], *, is_on: bool = True
    ) -> None:
        self._places = places
        self._environment = environment
        self._monotonic = monotonic
        self._is_on = is_on
        self._read: dict[Path, tuple[object, tuple[KnownSecret, ...]]] = {}
        self._config: tuple[tuple[Path, ...], list[object], object] = ((), [], None)
        """The files of the config, by what one sees that they have changed, and its value."""
        self._database_read = float("-inf")
        self._in_databases: tuple[KnownSecret, ...] = ()

    def collect(self) -> tuple[KnownSecret, ...]:
        """The secrets as the files are now, those of the gateway first."""
        if not self._is_on:
            return ()
        return tuple(islice((secret for secret in self._collected() if is_usable(secret.value)), MAX_SECRETS))

    def _collected(self) -> Iterator[KnownSecret]:
        state, config = Path(self._places.state_dir), self._parsed_config()
        variables = self._variables(state / ENVIRONMENT_FILE)
        effective = {**secret_fields.config_variables(config), **variables, **self._environment}
        yield from secret_fields.in_config(config, effective)
        yield from self._of_guard(state)
        yield from secret_fields.in_variables(variables, ENVIRONMENT_FILE, free=True)
        yield from secret_fields.in_variables(self._environment, "environment of the gateway", free=False)
        for named in secret_fields.provider_files(config):
            yield from self._of_file(Path(self._expanded(named)), "secret")
        for path, kind in self._listed(state):
            yield from self._of_file(path, kind)
        yield from self._of_databases(state)
        yield from self._of_home(Path(self._places.home))

    def _parsed_config(self) -> object:
        files, stamps, value = self._config
        if not files or stamps != [_stamp(path) for path in files]:
            before = _stamp(Path(self._places.config_path))
            value, files = gateway_config.whole(self._places.config_path)
            self._config = (files, [before, *map(_stamp, files[1:])], value)
        return value

    def _variables(self, path: Path) -> dict[str, str]:
        return secret_fields.variables_of(_content(path).decode("utf-8", "replace"))

    def _of_guard(self, state: Path) -> Iterator[KnownSecret]:
        if self._places.token_file:
            yield from self._of_file(Path(self._places.token_file), "dashboard token")
        for own in self._places.own_files:
            yield from self._of_file(Path(own), "notification secret")
        key = _content(atomic.own_folder(state) / KEY)
        for text in (key.hex(), base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode()):
            yield KnownSecret("guard key", "toolguard/key", text.rstrip("="))

    def _expanded(self, path: str) -> str:
        return self._places.home + path[1:] if path.startswith("~/") else path

    @staticmethod
    def _listed(state: Path) -> Iterator[tuple[Path, str]]:
        sources = ((path, kind) for pattern, kind in _STATE_GLOBS for path in _matching(state, pattern))
        return islice(sources, MAX_FILES)

    def _of_file(self, path: Path, kind: str) -> tuple[KnownSecret, ...]:
        stamp = _stamp(path)
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, tuple(islice(_secrets_of(_content(path), kind, path.name), MAX_SECRETS)) if stamp else ())
            self._read[path] = known
        return known[1]

    def _of_databases(self, state: Path) -> tuple[KnownSecret, ...]:
        now = self._monotonic()
        if now - self._database_read >= DATABASE_SECONDS:
            self._database_read = now
            self._in_databases = tuple(islice(_secrets_in_databases(state), MAX_SECRETS))
        return self._in_databases

    def _of_home(self, home: Path) -> Iterator[KnownSecret]:
        if not self._places.home:
            return
        keys = (home / ".ssh" / name for name in _SSH_KEYS)
        for path in islice((*keys, *_credentials(home)), MAX_FILES):
            yield from self._of_file(path, "private key" if path.parent.name == ".ssh" else "credential")


def _secrets_of(data: bytes, kind: str, source: str) -> Iterator[KnownSecret]:
    text = data.decode("utf-8", "replace")
    if "\0" in text:
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield from secret_fields.in_lines(text, kind, source)
        return
    if isinstance(value, dict | list):
        yield from secret_fields.in_json(value, kind, source, whole=source == "secrets.json" or kind == "secret")
    else:
        yield KnownSecret(kind, source, text.strip())


def _secrets_in_databases(state: Path) -> Iterator[KnownSecret]:
    for path in (path for pattern in _DATABASES for path in _matching(state, pattern)):
        for table, name_column, value_column, kind in _TABLES:
            for name, value in _rows(path, table, name_column, value_column):
                yield from _secrets_of(value.encode(errors="replace"), kind, f"{name} in {table}")


def _rows(path: Path, table: str, name_column: str, value_column: str) -> Iterable[tuple[str, str]]:
    try:
        rows = gateway_database.table_rows(path, table, (name_column, value_column), MAX_ROWS) or []
    except gateway_database.GatewayDatabaseError:
        return []
    return [(str(name), value) for name, value in rows if isinstance(value, str) and len(value) <= MAX_BYTES]


def _matching(folder: Path, pattern: str) -> list[Path]:
    """The files that match, in order; a broken folder has none."""
    try:
        return sorted(islice((path for path in folder.glob(pattern) if path.is_file()), MAX_FILES))
    except (OSError, ValueError):
        return []


def _credentials(home: Path) -> Iterator[Path]:
    """The usual files of credentials: those whose names begin as one in `place_names`."""
    names = cache(_names)
    for first, tails in place_names.HOME_SECRETS.items():
        if first in _STATES:
            continue
        for place in [home / first / tail for tail in tails if not tail.endswith("/")]:
            yield from (
                path
                for name in names(place.parent)
                if name.startswith(place.name)
                if _is_file(path := place.with_name(name))
            )
        if all(tail.endswith("/") for tail in tails) and _is_file(home / first):
            yield home / first


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - the patterns of `glob` took half of the time until all is read
    except (OSError, ValueError):
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _stamp(path: Path) -> object:
    """Shows by what one sees that a file has changed; None if there is none."""
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _content(path: Path) -> bytes:
    try:
        return atomic.read_bounded(path, MAX_BYTES)
    except (OSError, ValueError):
        return b""
