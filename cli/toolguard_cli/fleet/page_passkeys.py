"""Passkeys of the dashboard: registering one, and an approval that one has signed.

The gateways decide what counts. What is checked here only spares a person an approval that every gateway would refuse: the
public keys are the database's, which proves nothing.
"""

from __future__ import annotations

import tempfile
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from starlette.datastructures import Headers

from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import Query
from toolguard_cli.fleet import fleet_decisions, page_calls, page_types, passkey_signature
from toolguard_cli.fleet.fleet_decisions import ShownCall
from toolguard_cli.fleet.page_calls import milliseconds
from toolguard_cli.fleet.page_security import PERSON
from toolguard_cli.fleet.page_visit import FleetVisit
from toolguard_cli.fleet.passkey_signature import Assertion, Passkey, PasskeyError
from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.signed_decision import DECISION_NAMESPACE, DecisionBody, Issuer
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.stores.ssh_keygen import InvalidSignatureError, SignerFiles
from toolguard_fleet.registry_rows import FleetCall

SECONDS = 5.0
NO_PASSKEY = "add one in the Passkeys tab, and have its line added on the gateways"


class PasskeyRow(msgspec.Struct, frozen=True):
    credential: bytes
    person: str
    rp: str
    point: bytes
    name: str
    created: float

    @property
    def passkey(self) -> Passkey:
        return Passkey(self.rp, self.point)


class WaitingCalls(msgspec.Struct, frozen=True):
    calls: list[FleetCall]


class CallAfterYes(msgspec.Struct, frozen=True):
    status: str
    need: int
    approvals: int


def listed(visit: FleetVisit, asked: Query) -> page_types.PasskeyViews:
    del asked
    return page_types.PasskeyViews([_view(row) for row in _own(visit)])


def add(visit: FleetVisit, asked: page_types.NewPasskey) -> page_types.Done:
    try:
        made = passkey_signature.passkey(_host(visit), _bytes(asked.public_key))
    except PasskeyError as error:
        raise ApiError(422, "passkey", str(error)) from error
    arguments = (_bytes(asked.id), made.rp, made.point, asked.name)
    visit.ask("SELECT fleet.page_add_passkey(%s, %s, %s, %s, %s)", arguments, bool)
    return page_types.Done("The passkey is registered here. Gateways accept it once its line is in their trust root.")


def remove(visit: FleetVisit, asked: page_types.PasskeyChoice) -> page_types.Done:
    visit.ask("SELECT fleet.page_remove_passkey(%s, %s)", (_bytes(asked.id),), bool)
    return page_types.Done("This page no longer offers the passkey. To revoke it, remove its line from the gateways.")


def begin(visit: FleetVisit, asked: page_types.CallChoice) -> page_types.SigningRequest:
    host = _host(visit)
    known = [_encoded(row.credential) for row in _own(visit) if row.rp == host]
    if not known:
        raise ApiError(409, "no-passkey", f"you have no passkey for {host}", NO_PASSKEY)
    call = _call(visit, asked.gateway, asked.nonce)
    until = fleet_decisions.signature_end(call.row, time.time())
    body = _signed_text(call, until)
    return page_types.SigningRequest(
        page_calls.signed_call(call.entry), body.decode(), _encoded(passkey_signature.challenge(body)), host, known,
        signed_decision.digest(call.entry), call.row.need, milliseconds(int(until)),
    )  # fmt: skip


def approve(visit: FleetVisit, asked: page_types.PasskeyApproval) -> page_types.Done:
    body = asked.body.encode()
    _check_same(_call(visit, asked.gateway, asked.nonce), body)
    row = next((passkey for passkey in _own(visit) if passkey.credential == _bytes(asked.id)), None)
    if row is None:
        raise ApiError(409, "no-passkey", "this passkey is not one of yours", NO_PASSKEY)
    made = Assertion(_bytes(asked.authenticator_data), _bytes(asked.client_data), _bytes(asked.signature))
    signature = _verified(row, body, made)
    arguments = (asked.gateway, asked.nonce, body, signature.encode())
    now = visit.ask("SELECT fleet.page_approve(%s, %s, %s, %s, %s)", arguments, CallAfterYes)
    if now.status == "approved":
        return page_types.Done(f"Your approval of {asked.nonce} was sent. Its gateway verifies it.")
    count = f"{now.approvals} of {now.need} people"
    return page_types.Done(f"Your approval of {asked.nonce} is recorded: {count} have approved it.")


def _call(visit: FleetVisit, gateway: str, nonce: str) -> ShownCall:
    """Only what the page can show in full is signed here. Raises `ApiError`."""
    calls = visit.ask("SELECT fleet.page_waiting(%s)", (), WaitingCalls).calls
    row = next((waiting for waiting in calls if (waiting.gateway, waiting.nonce) == (gateway, nonce)), None)
    if row is None:
        raise ApiError(409, "unknown", "no such call is waiting in your teams")
    call = fleet_decisions.shown(row)
    if call is None or not page_calls.is_shown_whole(call.entry):
        command = page_calls.COMMAND.format(nonce=nonce, gateway=gateway)
        raise ApiError(409, "incomplete", "this page cannot show the whole call", f"run `{command}`, which shows it")
    return call


def _signed_text(call: ShownCall, until: float) -> bytes:
    issuer = Issuer(call.row.gateway, call.row.team)
    return signed_decision.decision_body(call.entry, issuer, until, need=call.row.need)


def _check_same(call: ShownCall, body: bytes) -> None:
    """Whether the text is still the one for this call. Raises `ApiError`."""
    try:
        until = msgspec.json.decode(body, type=DecisionBody).until
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(422, "values", "the signed text has an unexpected format") from error
    latest = fleet_decisions.signature_end(call.row, time.time())
    if until > latest or _signed_text(call, until) != body:
        raise ApiError(409, "changed", "the call has changed since it was shown", "read it again, then approve it")


def _verified(row: PasskeyRow, body: bytes, made: Assertion) -> str:
    """The signature, if the passkey's public key made it. Raises `ApiError`, `StoreError`."""
    try:
        signature = passkey_signature.ssh_signature(row.passkey, body, made)
        with tempfile.NamedTemporaryFile("w", prefix="toolguard-", encoding="ascii") as file:
            file.write(_line(row) + "\n")
            file.flush()
            ssh_keygen.verify_text(body.decode(), signature, DECISION_NAMESPACE, SignerFiles(Path(file.name)), SECONDS)
    except (PasskeyError, InvalidSignatureError) as error:
        raise ApiError(
            409, "signature", f"the signature is not accepted: {error}", "sign again, with a PIN or a fingerprint"
        ) from error
    return signature


def _own(visit: FleetVisit) -> list[PasskeyRow]:
    return visit.ask("SELECT fleet.page_passkeys(%s)", (), list[PasskeyRow])


def _view(row: PasskeyRow) -> page_types.PasskeyView:
    return page_types.PasskeyView(_encoded(row.credential), row.rp, row.name, milliseconds(row.created), _line(row))


def _line(row: PasskeyRow) -> str:
    """Raises `ApiError` for what is no line: the database is not believed."""
    if not PERSON.fullmatch(row.person) or not passkey_signature.is_host(row.rp):
        raise ApiError(502, "database", "the database returned an invalid answer")
    return row.passkey.line(row.person)


def _host(visit: FleetVisit) -> str:
    """The host of the page, as the browser states it: `Security` has checked that it is one of ours. Raises `ApiError`."""
    origins = Headers(scope=visit.scope).getlist("origin")
    host = urlsplit(origins[0]).hostname if len(origins) == 1 else None
    if host is None:
        raise ApiError(403, "origin", "changes can only be made on the page")
    if not passkey_signature.is_host(host):
        raise ApiError(
            409, "host", "browsers create passkeys for host names only", "open the page by its name or as localhost"
        )
    return host


def _bytes(text: str) -> bytes:
    """Raises `ApiError`."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise ApiError(422, "values", "this is not base64url") from error


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
