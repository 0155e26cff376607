"""Whether this gateway's fleet works: its settings, contact and queue here, and its database. Without `fleet.enabled`
nothing of it is loaded or asked."""

from __future__ import annotations

from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_cli.system import extras
from toolguard_cli.system.errors import UserError
from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

HERE, DATABASE = "fleet", "fleet-server"
UNKNOWN = "unknown gateway"
REJOIN = "toolguard fleet join --new-identity, if this is the right database"
NO_FLEET = "this gateway is not in a fleet (fleet.enabled is not set)"
MAX_SKEW = 2.0
MAX_WAITING = 10_000
"""What may wait to be copied before it is reported."""


def ready(subject: DoctorSubject) -> Check:
    """Settings, and what the courier last wrote."""
    fleet = subject.settings.fleet
    if not fleet.enabled:
        return Check(HERE, "ok", NO_FLEET)
    if problem := fleet.problem[1]:
        return Check(HERE, "error", problem, subject.command("fleet", "join", "--help"))
    return _contact(subject, fleet)


def _contact(subject: DoctorSubject, fleet: FleetConfig) -> Check:
    from toolguard_engine.stores.fleet import fleet_state  # noqa: PLC0415 - only in a fleet

    state = fleet_state.load(subject.places.state_dir)
    status = state.status
    silent = subject.now - status.contact
    data: dict[str, object] = {
        "contact": round(status.contact, 1), "queue": dict(state.queue), "policyVersion": status.policy_version,
        "kill": status.kill, "shippingErrors": dict(state.shipping_errors),
    }  # fmt: skip
    if not status.contact:
        why = f": {printable.plain(status.error)}" if status.error else ""
        return Check(HERE, "warn", f"this gateway has not had contact with its fleet yet{why}", "start the gateway", data)
    ago = printable.duration(max(silent, 0.0))
    if silent > fleet.stale_seconds:
        why = printable.plain(status.error) or "the gateway may not be running"
        return Check(HERE, "warn", f"the last contact with the fleet was {ago} ago: {why}", "openclaw gateway status", data)
    waiting = {kind: many for kind, many in state.queue.items() if many > MAX_WAITING}
    if waiting:
        many = ", ".join(f"{count} of {printable.plain(kind)}" for kind, count in waiting.items())
        return Check(
            HERE, "warn", f"many rows have not been copied to the fleet: {many}", "check the load on its database", data
        )
    if state.shipping_errors:
        why = "; ".join(f"{printable.plain(kind)}: {printable.plain(text)}" for kind, text in state.shipping_errors.items())
        fix = "run toolguard doctor again in a minute: copying is retried, and nothing is lost"
        return Check(HERE, "warn", f"copying to the fleet fails: {why}", fix, data)
    return Check(HERE, "ok", f"team {fleet.team}, last contact {ago} ago", data=data)


def database(subject: DoctorSubject) -> Check:
    """Reachable, verified, admitted, of a version that fits, with a synchronous standby and the same time."""
    fleet = subject.settings.fleet
    if not fleet.enabled:
        return Check(DATABASE, "ok", NO_FLEET)
    if fleet.problem[1]:
        return Check(DATABASE, "error", "not checked, because the settings of the fleet are invalid", "see fleet above")
    if not extras.FLEET.is_installed():
        return Check(DATABASE, "error", f"held calls are blocked: {extras.FLEET.lack}", extras.install_command(extras.FLEET))
    from toolguard_cli.fleet import database_facts  # noqa: PLC0415 - only in a fleet

    try:
        facts = database_facts.ask(subject.places.state_dir, fleet.dsn)
    except UserError as error:
        fix = error.fix or "check fleet.dsn, the password file and the network"
        return Check(DATABASE, "error", f"held calls are blocked: {printable.plain(error.message)}", fix)
    except StoreError as error:
        text, _, fix = printable.plain(str(error)).rpartition("; ")
        return Check(DATABASE, "error", f"held calls are blocked: {text or fix}", fix)
    return _judged(facts)


def _judged(facts: object) -> Check:
    from toolguard_cli.fleet.database_facts import DatabaseFacts  # noqa: PLC0415 - only in a fleet

    assert isinstance(facts, DatabaseFacts)  # noqa: S101 - its only caller
    data = {
        "gateway": facts.gateway, "skew": round(facts.skew, 1), "schema": facts.schema, "encrypted": facts.is_encrypted,
        "synchronousStandby": facts.has_standby,
    }  # fmt: skip
    if facts.version_problem:
        return Check(DATABASE, "error", printable.plain(facts.version_problem), "toolguard fleet migrate", data)
    if facts.refusal:
        text = f"held calls are blocked: {printable.plain(facts.refusal)}"
        ask = f"ask an admin to run: toolguard fleet admit {facts.gateway}"
        return Check(DATABASE, "error", text, REJOIN if facts.refusal.startswith(UNKNOWN) else ask, data)
    if not (facts.is_encrypted or facts.is_local):
        fix = "set sslmode=verify-full in fleet.dsn"
        return Check(DATABASE, "error", "the connection is not encrypted", fix, data)
    if abs(facts.skew) >= MAX_SKEW:
        text = f"the server's clock differs from this one by {facts.skew:+.1f} s; it determines when approvals expire"
        return Check(DATABASE, "warn", text, "synchronize both with NTP: timedatectl set-ntp true", data)
    if not facts.has_standby:
        text = "it has no synchronous standby: after a failover, recent approvals may be lost or become valid again"
        return Check(DATABASE, "warn", text, "set synchronous_standby_names on the server; see docs/fleet.md", data)
    kind = "on this machine" if facts.is_local else "TLS verified"
    return Check(DATABASE, "ok", f"{kind}, schema {facts.schema}, admitted as {facts.gateway}", data=data)
