"""Policies of teams for a person: validated first, signed with the person's SSH key, verified as gateways do."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolguard_cli.fleet.own_settings import fleet_settings
from toolguard_cli.policy import rule_view
from toolguard_cli.system import ssh_signing
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.layers import rule_examples
from toolguard_engine.stores import toml_file
from toolguard_engine.stores.fleet import policy_form, policy_signer
from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy, PolicyRefusedError, SignedPolicy
from toolguard_engine.stores.fleet.policy_form import ALL_TEAMS, NAMESPACE, FleetPolicy
from toolguard_engine.stores.fleet.trust_root import ALLOWED
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ssh_keygen import InvalidSignatureError
from toolguard_engine.stores.toml_file import InvalidTomlError
from toolguard_engine.stores.values import InvalidRulesError
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.registry_rows import PushedPolicy

MAX_DIFF = 2_000
MAX_KEYS = 5
NO_TEAM = "no team is given"


@dataclass(frozen=True)
class PolicySignature:
    """`signer`: the principal; empty where the allowed signers are not on this machine."""

    text: str
    signer: str


def read(path: Path) -> FleetPolicy:
    """Reads a policy and tries the examples of its rules. Raises `InvalidRulesError`, `UserError`."""
    try:
        text = toml_file.text_of(path)
    except InvalidTomlError as error:
        raise UserError(f"{printable.plain(str(path))}: {error}", error.fix) from error
    except StoreError as error:
        raise UserError(printable.plain(str(error))) from error
    if not text:
        raise UserError(f"{printable.plain(str(path))} does not exist or is empty")
    return policy_form.parse(text, path, rule_examples.speaks)


def trust_of(places: Places, given: Path | None) -> Path:
    """The folder with the allowed signers: given, or that of this gateway."""
    return given.absolute() if given else Path(fleet_settings(places).trust)


def team_of(places: Places, given: str) -> str:
    """Raises `UserError`."""
    if team := given or fleet_settings(places).team:
        return team
    raise UserError(NO_TEAM, f"give --team NAME; --team '{ALL_TEAMS}' means the whole fleet")


def signed(policy: FleetPolicy, trust: Path, key: str) -> PolicySignature:
    """Signs with the first key that gateways accept for policies. Raises `UserError`."""
    allowed = trust / ALLOWED
    if not allowed.exists() and not key:
        raise UserError(
            f"there is no {printable.plain(str(allowed))}", "give its folder with --trust DIR, or a key with --key FILE"
        )
    errors: list[UserError] = []
    for candidate in ssh_signing.candidates(allowed, key)[:MAX_KEYS]:
        try:
            made = ssh_signing.sign(policy.text.encode(), NAMESPACE, candidate)
            return PolicySignature(made, verified(policy.text, made, trust) if allowed.exists() else "")
        except UserError as error:
            errors.append(error)
    raise errors[0]


def verified(text: str, signature: str, trust: Path) -> str:
    """The principal. Raises `UserError`."""
    try:
        return policy_signer.signer_of(text, signature, trust)
    except InvalidSignatureError as error:
        line = f'its line in {trust / ALLOWED} needs namespaces="{NAMESPACE}"; '
        fix = f"{'' if 'namespaces=' in str(error) else line}--key FILE selects another key"
        raise UserError(
            f"gateways would reject the signature: {printable.plain(str(error))}", printable.plain(fix)
        ) from error
    except StoreError as error:
        raise UserError(printable.plain(str(error))) from error


def check_version(policy: FleetPolicy, before: PushedPolicy | None) -> None:
    """Raises `UserError`."""
    if before is not None and policy.version <= before.version:
        what = f"version {policy.version} is not greater than version {before.version}, which is in force"
        raise UserError(what, f"write version = {before.version + 1}; toolguard fleet policy diff FILE shows what changes")


def text_of(pushed: PushedPolicy | None) -> str:
    return pushed.toml.decode("utf-8", "replace") if pushed else ""


def diff(before: str, after: str, names: tuple[str, str]) -> list[str]:
    changed = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    lines = [printable.plain(line) for line in changed]
    return [*lines[:MAX_DIFF], *([f"and {len(lines) - MAX_DIFF} more lines"] if len(lines) > MAX_DIFF else [])]


def kept_here(places: Places) -> SignedPolicy | None:
    """What is in force on this gateway. Raises `UserError` for one that does not count."""
    config = fleet_settings(places)
    if not config.enabled:
        return None
    try:
        return LastGoodPolicy(places.state_dir, config.team, Path(config.trust)).load()
    except PolicyRefusedError as error:
        text = f"this gateway holds every call above SAFE: {printable.plain(str(error))}"
        raise UserError(text, "toolguard doctor shows details; push a policy that is signed by an admin") from error
    except StoreError as error:
        raise UserError(printable.plain(str(error))) from error


def summary(policy: FleetPolicy) -> Iterator[Line]:
    """What it says, in words."""
    team = "teams without a policy of their own" if policy.team == ALL_TEAMS else f"the team {policy.team}"
    yield Line("info", f"version {policy.version} for {team}, {printable.counted(len(policy.rules), 'rule')}")
    for rule in policy.approvers.rules:
        of = " or ".join(rule.teams) or "the team"
        what = f"{', '.join(rule.effect) or 'every call'} with stakes of {rule.stakes} or more"
        yield Line("info", f"{what} needs {rule.need} of {of} to approve")
    for name, persons in sorted((policy.approvers.members or {}).items()):
        yield Line("info", printable.plain(f"team {name}: {', '.join(sorted(persons))}"))
    for own_rule in policy.rules:
        yield Line("info", printable.plain(f"{own_rule.name}: {rule_view.describe(own_rule)}"))
    if policy.approvers.members is None:
        yield Line("warn", "without [teams], every allowed signer is an approver of every team")


def data(policy: FleetPolicy) -> dict[str, Any]:
    return {
        "version": policy.version,
        "team": policy.team,
        "approvers": [
            {"effect": list(rule.effect), "stakes": rule.stakes, "need": rule.need, "teams": list(rule.teams)}
            for rule in policy.approvers.rules
        ],
        "teams": {name: sorted(persons) for name, persons in sorted((policy.approvers.members or {}).items())},
        "rules": [rule_view.public(rule) for rule in policy.rules],
    }


def invalid(command: str, error: InvalidRulesError) -> Result:
    """The result for a policy that is not valid: its line and what to do."""
    return rule_view.report(command, error)
