"""What a browser returns becomes an SSH signature: the right one, or words about what is wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from software_passkey import NAMESPACE, MadeAssertion, SoftwarePasskey, to_sign
from tables import each_row
from toolguard_cli.fleet import passkey_signature
from toolguard_cli.fleet.passkey_signature import Assertion, Passkey, PasskeyError
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.stores.ssh_keygen import SignerFiles

BODY = b'{"nonce":"3f9a51c2d07b"}'
KEY = SoftwarePasskey("fleet.example")
PASSKEY = passkey_signature.passkey("fleet.example", KEY.spki)
MADE = KEY.assertion(passkey_signature.challenge(BODY))


def converted(made: MadeAssertion, der: bytes | None = None, key: Passkey = PASSKEY) -> str:
    given = Assertion(made.authenticator_data, made.client_data, made.der if der is None else der)
    return passkey_signature.ssh_signature(key, BODY, given)


def test_the_challenge_is_what_ssh_keygen_signs() -> None:
    assert passkey_signature.challenge(BODY) == to_sign(BODY)


def test_a_signature_counts_with_the_line_of_its_passkey(tmp_path: Path) -> None:
    """Repeated, as one in 256 numbers of a signature is shorter than the others."""
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(PASSKEY.line("anna") + "\n")
    assert allowed.read_text() == KEY.line("anna")
    for _ in range(10):
        signature = converted(KEY.assertion(passkey_signature.challenge(BODY), counter=7))
        assert ssh_keygen.verify_text(BODY.decode(), signature, NAMESPACE, SignerFiles(allowed), 60.0) == "anna"


@each_row("r", [1, 0x7F, 0x80, 2**255 - 1, 2**255, 2**256 - 1])
def test_numbers_of_every_length_are_read(r: int) -> None:
    made = dataclasses.replace(MADE, r=r, s=r)
    assert passkey_signature._numbers(made.der) == (r, r)


ONE, TWO = b"\x02\x01\x01", b"\x02\x01\x02"


@each_row(
    "der",
    [
        b"",
        b"\x30",
        b"\x30\x00",
        b"\x30\x06" + ONE + TWO + b"x",
        b"\x30\x07" + ONE + TWO,
        b"\x30\x05" + ONE + TWO,
        b"\x31\x06" + ONE + TWO,
        b"\x30\x06\x03\x01\x01" + TWO,
        b"\x30\x03" + ONE,
        b"\x30\x09" + ONE + TWO + ONE,
        b"\x30\x05\x02\x00" + TWO,
        b"\x30\x06\x02\x01\x00" + TWO,
        b"\x30\x06\x02\x01\x80" + TWO,
        b"\x30\x07\x02\x02\x00\x01" + TWO,
        b"\x30\x80" + ONE + TWO + b"\x00\x00",
        b"\x30\x81\x06" + ONE + TWO,
        b"\x30\x06\x02\x7f\x01" + TWO,
        b"\x30\x06\x02\xff\x01" + TWO,
        b"\x30\x26\x02\x21\x01" + bytes(32) + TWO,
        b"\x30\x27\x02\x22\x00\x80" + bytes(32) + TWO,
    ],
    ids=lambda der: der[:8].hex(),
)
def test_only_the_shortest_form_of_two_positive_numbers_is_read(der: bytes) -> None:
    with pytest.raises(PasskeyError, match="cannot be read"):
        converted(MADE, der)


@each_row(
    ("made", "why"),
    [
        (dataclasses.replace(MADE, authenticator_data=b""), "cannot be read"),
        (dataclasses.replace(MADE, authenticator_data=MADE.authenticator_data[:36]), "cannot be read"),
        (dataclasses.replace(MADE, authenticator_data=MADE.authenticator_data + bytes(513)), "too large"),
        (KEY.assertion(to_sign(BODY), rp="evil.example"), "another host"),
        (dataclasses.replace(MADE, client_data=b""), "cannot be read"),
        (dataclasses.replace(MADE, client_data=b"\xff\xfe"), "cannot be read"),
        (dataclasses.replace(MADE, client_data=b"[" * 2_000), "cannot be read"),
        (dataclasses.replace(MADE, client_data=MADE.client_data + b" " * 2_048), "too large"),
        (KEY.assertion(to_sign(b"another call")), "something else"),
        (KEY.assertion(to_sign(BODY, "toolguard-policy")), "something else"),
        (KEY.assertion(to_sign(BODY), kind="webauthn.create"), "something else"),
    ],
)
def test_an_answer_that_is_not_for_this_text(made: MadeAssertion, why: str) -> None:
    with pytest.raises(PasskeyError, match=why):
        converted(made)


@each_row(
    "key",
    [b"", KEY.spki[:-1], KEY.spki + b"x", b"x" + KEY.spki[1:], KEY.spki[:26] + b"\x02" + KEY.spki[27:], KEY.point],
    ids=["empty", "short", "long", "another-sequence", "compressed", "point-alone"],  # the key differs in each process
)
def test_another_kind_of_public_key(key: bytes) -> None:
    with pytest.raises(PasskeyError, match="ES256"):
        passkey_signature.passkey("fleet.example", key)


@each_row("host", ["", "127.0.0.1", "[::1]", "a b", 'x"', "Fleet.example", "fleet.example\n", "-x", "x" * 254])
def test_a_host_for_which_no_browser_makes_passkeys(host: str) -> None:
    with pytest.raises(PasskeyError, match="host name"):
        passkey_signature.passkey(host, KEY.spki)
