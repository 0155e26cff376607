"""A gateway joins the fleet, and leaves it."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

import msgspec

from toolguard_cli.fleet.fleet_session import refuse_password, user_errors
from toolguard_cli.fleet.own_settings import fleet_settings
from toolguard_cli.operations import set_setting
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine import __version__
from toolguard_engine.stores import atomic
from toolguard_engine.stores.fleet import fleet_identity, trust_root
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity, NotJoinedError
from toolguard_engine.wording import printable

MAX_HOST = 255


def join(places: Places, dsn: str, team: str, *, anew: bool) -> Result:
    """The first identity is stored before the database learns of it, so an interrupted join is repeated with the same one.

    A new one replaces an old one only once the database has accepted it: a join that fails leaves the gateway as it was.
    """
    refuse_password(dsn)
    settings = [("fleet.dsn", dsn), ("fleet.team", team), ("fleet.enabled", "true")]
    set_setting.run_all(places, settings, ChangeOptions(offline=True, dry_run=True))  # what cannot be set joins nothing
    with user_errors():
        from toolguard_fleet import registration  # noqa: PLC0415 - needs the extra

        old = _stored(places.state_dir, anew=anew)
        identity = old if old and not anew else _made(team)
        if not old:
            _store(places.state_dir, identity)
        host = socket.gethostname()[:MAX_HOST]
        state = registration.join(dsn, identity.id, identity.token, team, host, __version__)
        if old and anew:
            _store(places.state_dir, identity)
        shown = registration.fingerprint(identity.token)
    if state in ("revoked", "left"):
        raise UserError(
            f"{identity.id} is no longer in the fleet ({state})",
            "toolguard fleet join --new-identity creates a new identity",
        )
    change = set_setting.run_all(places, settings, ChangeOptions(offline=True))
    lines = [Line("ok", f"{identity.id} joined the team {team}; fingerprint {shown}"), *change.lines]
    if state == "new":
        lines.append(Line("next", f"an admin must admit it: toolguard fleet admit {identity.id}"))
    lines += _trust_lines(places)
    data = {"gateway": identity.id, "team": team, "state": state, "fingerprint": shown}
    return Result("fleet join", data, tuple(lines), change.exit_code)


def _trust_lines(places: Places) -> list[Line]:
    """Whether this machine's list of signers can be trusted; for the user that runs the command, as the gateway should."""
    config = fleet_settings(places)
    problem = trust_root.problem(Path(config.trust), may_be_writable=config.trust_writable)
    if not problem:
        return []
    return [Line("warn", printable.plain(f"held calls will be blocked: {problem}")), Line("next", "toolguard doctor")]


def _stored(state_dir: Path, *, anew: bool) -> FleetIdentity | None:
    """Raises `NotJoinedError` if there is one that cannot be used and is not to be replaced."""
    try:
        return fleet_identity.load(state_dir)
    except NotJoinedError:
        if fleet_identity.path(state_dir).exists() and not anew:
            raise
        return None


def _made(team: str) -> FleetIdentity:
    return FleetIdentity(f"gw-{secrets.token_hex(8)}", secrets.token_bytes(fleet_identity.TOKEN_BYTES), team)


def _store(state_dir: Path, identity: FleetIdentity) -> None:
    place = fleet_identity.path(state_dir)
    try:
        atomic.make_folder(place.parent)
        atomic.replace(place, msgspec.json.encode(identity))
    except OSError as error:
        raise UserError(f"{place} cannot be written: {error.strerror}") from error


def leave(places: Places, dsn: str) -> Result:
    """Raises `UserError`; then the gateway is still in the fleet."""
    with user_errors():
        from toolguard_fleet import registration  # noqa: PLC0415 - needs the extra

        identity = fleet_identity.load(places.state_dir)
        change = set_setting.run_all(places, [("fleet.enabled", "false")], ChangeOptions(offline=True))
        registration.leave(dsn, identity.id, identity.token)
    place = fleet_identity.path(places.state_dir)
    try:
        place.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{printable.plain(str(place))} cannot be removed: {error.strerror}") from error
    lines = (Line("ok", f"{identity.id} left the fleet; held calls are stored in files again"), *change.lines)
    return Result("fleet leave", {"gateway": identity.id}, lines, change.exit_code)
