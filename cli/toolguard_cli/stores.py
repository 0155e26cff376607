"""The stores of one gateway as its settings name them, and their errors as a person can mend them.

The settings are read leniently: only those that the stores need, so that a fault elsewhere keeps nobody from saying no.
Nothing heavy is imported before it is needed: `toolguard approve` is to answer while the agent waits.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from toolguard_cli.errors import UserError
from toolguard_cli.paths import PLUGIN_ID, Places
from toolguard_engine import answers
from toolguard_engine.config import Config, parse
from toolguard_engine.ledger import Decision, Refused
from toolguard_engine.stores import audit
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.nonces import FileNonces

ENTRY = ("plugins", "entries", PLUGIN_ID, "config")
NEEDED = ("approvalWindowMs", "pendingTimeoutMs", "storePath")
MAX_BYTES = 20 * 1024 * 1024
COMPOSED = (b"$include", b"${")
_USUAL_FIX = "check that it exists, its owner, its mode and the space on its disk"
_DAMAGED_FIX = "toolguard doctor --fix"


def settings(places: Places) -> Config:
    """What the stores need of the settings; the rest has its defaults. Raises `UserError`."""
    value = entry(places)
    known = value if isinstance(value, dict) else {}
    try:
        return parse({name: known[name] for name in NEEDED if name in known})
    except msgspec.ValidationError as error:
        raise UserError(f"{'.'.join(ENTRY)} in {places.config}: {error}", "mend that setting, then repeat") from error


def entry(places: Places) -> Any:
    """Our settings as the gateway's config has them; None where it has none. Raises `UserError`."""
    value = _config(places)
    for step in ENTRY:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def plugins(places: Places) -> dict[str, Any]:
    """What the gateway's config says about its plugins; empty where it says nothing. Raises `UserError`."""
    value = _config(places)
    found = value.get("plugins") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _config(places: Places) -> Any:
    """Most configs are plain JSON in one file, which costs a hundredth of JSON5."""
    try:
        with places.config.open("rb") as file:
            data = file.read(MAX_BYTES)
        if not any(sign in data for sign in COMPOSED):
            return msgspec.json.decode(data)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    from toolguard_cli import configtree, configvars  # noqa: PLC0415 - see above

    return configvars.filled(configtree.read(places.config).value)


def nonces(places: Places, config: Config | None = None) -> FileNonces:
    """The held calls. Raises `UserError`."""
    known = config or settings(places)
    if not isinstance(known.store_path, str):
        return FileNonces(places.state_dir)
    from toolguard_engine import settingrules  # noqa: PLC0415 - as below
    from toolguard_engine.stores import calllog  # noqa: PLC0415 - it brings half of the engine along

    named = settingrules.store_path(known)
    return FileNonces(places.state_dir, calllog.resolve(named, places.state_dir) if named else None)


def decision(why: str, where: str = "cli") -> Decision:
    """This person's word, given here and now."""
    return Decision(who(), where, audit.plain(why))


def who(env: Mapping[str, str] = os.environ) -> str:
    """The person at the keyboard: the account, or who became it by sudo."""
    uid = os.getuid()
    try:
        account = pwd.getpwuid(uid).pw_name
    except KeyError:
        account = str(uid)
    behind = env.get("SUDO_USER", "")
    return answers.cut(account if behind in ("", account) else f"{behind} (as {account})", 100)


@contextmanager
def told() -> Iterator[None]:
    """What a store or the ledger refuses becomes a `UserError` with its next step."""
    try:
        yield
    except Refused as refused:
        answer = answers.explain(refused)
        raise UserError(answer.text, answer.fix) from refused
    except StoreError as error:
        said, _, mend = answers.plain(str(error)).rpartition("; ")
        fix = _DAMAGED_FIX if error.code == "store.damaged" else mend if said else _USUAL_FIX
        raise UserError(said or mend, fix) from error
