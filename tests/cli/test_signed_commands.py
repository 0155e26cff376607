"""`toolguard approve` and `grant` where the settings name signers: which key signs, and what is said where none can."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from cli_stage import SCRIPT, toolguard
from held_stage import Terminal, hold, status_of

from ssh_signers import SshRoom
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import approve_call
from toolguard_cli.system import ssh_signing
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.model.held_details import ExactCall, HeldDetails
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.stores.approval_signers import ApprovalSigners
from toolguard_engine.stores.files.grants_file import PolicyFiles
from toolguard_engine.stores.files.nonces import FileNonces

PASSPHRASE = "correct horse"


NARROW: dict[str, Any] = {
    "code": "rule.files",
    "cwd": "/w",
    "details": HeldDetails(),
    "exact": ExactCall("rm -r build", cwd="/w"),
    "shown": 'exec({ command: "rm -r build" })',
}
"""A call for which there is a grant that is just it."""


class Signed:
    """A gateway whose settings name signers, and a person with a home folder."""

    def __init__(self, places: Places, folder: Path) -> None:
        self.places = places
        self.home = folder / "home"
        (self.home / ".ssh").mkdir(parents=True, mode=0o700)
        self.room = SshRoom(folder / "keys")
        self.configure()

    def configure(self, **more: Any) -> None:
        approval = {"signers": str(self.room.allowed), **more}
        config = {"plugins": {"entries": {"toolguard": {"config": {"approval": approval}}}}}
        self.places.config.write_text(json.dumps(config))

    def key(self, name: str, passphrase: str = "") -> Path:
        """One of the person's usual key files."""
        room = SshRoom(self.home / ".ssh")
        room.allowed.unlink()
        return room.key(name, passphrase)

    def run(self, *words: str, **environment: str) -> tuple[int, str]:
        usual = {"HOME": str(self.home), "SSH_AUTH_SOCK": "", "TOOLGUARD_SIGNING_KEY": ""}
        done = toolguard(*words, "--state-dir", self.places.state_dir, **(usual | environment))
        return done.returncode, done.stdout + done.stderr

    def approve(self, nonce: str, *words: str, **environment: str) -> tuple[int, str]:
        return self.run("approve", nonce, "--yes", *words, **environment)

    @property
    def signers(self) -> ApprovalSigners:
        return stores.signers(self.places.state_dir, str(self.room.allowed))

    def proven(self, nonce: str) -> str:
        """Why the engine would not believe this approval; empty where it does."""
        entry = next(entry for entry in FileNonces(self.places.state_dir).entries() if entry.nonce == nonce)
        assert entry.status == "approved"
        return self.signers.missing(entry, time.time())


@pytest.fixture
def signed(places: Places, tmp_path: Path) -> Signed:
    return Signed(places, tmp_path)


def test_a_key_file_of_the_user_signs(signed: Signed) -> None:
    signed.room.allow("ann@example.com", signed.key("id_ed25519"))
    entry = hold(signed.places)
    code, text = signed.approve(entry.nonce)
    assert code == 0, text
    assert f"approved {entry.nonce}" in text
    assert signed.proven(entry.nonce) == ""
    (stored,) = FileNonces(signed.places.state_dir).entries()
    assert stored.signatures[0].principal == "ann@example.com"
    assert "SSH SIGNATURE" not in signed.run("pending", "--json")[1]


def test_a_key_of_the_agent_signs_before_the_files(signed: Signed) -> None:
    locked = signed.key("id_ed25519", PASSPHRASE)
    inside = signed.room.key("inside")
    signed.room.allow("ann", locked)
    signed.room.allow("ann", inside)
    entry = hold(signed.places)
    with signed.room.agent(inside) as env:
        code, text = signed.approve(entry.nonce, SSH_AUTH_SOCK=env["SSH_AUTH_SOCK"])
    assert code == 0, text
    assert signed.proven(entry.nonce) == ""


def test_a_key_that_is_not_allowed_is_not_tried(signed: Signed) -> None:
    other, inside = signed.room.key("other"), signed.room.key("inside")
    signed.room.allow("ann", inside)
    with signed.room.agent(other, inside) as env:
        found = ssh_signing.candidates(signed.room.allowed, "", {"HOME": "/none", "SSH_AUTH_SOCK": env["SSH_AUTH_SOCK"]})
    assert [key.name for key in found] == ["the agent's key inside"]


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_named_key_signs(signed: Signed, how: str) -> None:
    key = signed.room.key("named")
    signed.room.allow("ann", key)
    entry = hold(signed.places)
    if how == "option":
        code, text = signed.approve(entry.nonce, "--key", str(key))
    else:
        code, text = signed.approve(entry.nonce, TOOLGUARD_SIGNING_KEY=str(key))
    assert code == 0, text
    assert signed.proven(entry.nonce) == ""


def test_a_certificate_of_a_company_signs(signed: Signed) -> None:
    authority, key = signed.room.key("authority"), signed.key("id_ed25519")
    signed.room.allow("carol", authority, "cert-authority")
    signed.room.certify(authority, key, "carol")
    entry = hold(signed.places)
    code, text = signed.approve(entry.nonce)
    assert code == 0, text
    assert signed.proven(entry.nonce) == ""


def test_an_old_certificate_is_refused_before_anything_is_approved(signed: Signed) -> None:
    authority, key = signed.room.key("authority"), signed.key("id_ed25519")
    signed.room.allow("carol", authority, "cert-authority")
    signed.room.certify(authority, key, "carol", "-2h:-1h")
    entry = hold(signed.places)
    code, text = signed.approve(entry.nonce)
    assert code == 1
    assert "is not allowed to sign here" in text
    assert status_of(signed.places, entry.nonce) == "pending"


def no_key(signed: Signed) -> dict[str, str]:
    del signed
    return {}


def foreign_key(signed: Signed) -> dict[str, str]:
    signed.key("id_ed25519")
    return {}


def no_agent(signed: Signed) -> dict[str, str]:
    return {"SSH_AUTH_SOCK": str(signed.home / "nobody")}


def no_file(signed: Signed) -> dict[str, str]:
    return {"TOOLGUARD_SIGNING_KEY": str(signed.home / "none")}


def named_foreign_key(signed: Signed) -> dict[str, str]:
    return {"TOOLGUARD_SIGNING_KEY": str(signed.room.key("mallory"))}


def with_passphrase(signed: Signed) -> dict[str, str]:
    signed.room.allow("ann", signed.key("id_ed25519", PASSPHRASE))
    return {"SSH_ASKPASS_REQUIRE": "never"}


def no_program(signed: Signed) -> dict[str, str]:
    signed.room.allow("ann", signed.key("id_ed25519"))
    return {"PATH": str(signed.home)}


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (no_key, "there is no SSH key to sign with (no SSH agent is running)"),
        (foreign_key, "none of your SSH keys is allowed to sign"),
        (no_agent, "there is no SSH key to sign with (your SSH agent does not answer)"),
        (no_file, "there is no key file"),
        (named_foreign_key, "is not allowed to sign here"),
        (with_passphrase, "is needed, and was wrong or could not be asked for"),
        (no_program, "there is no ssh-keygen on this machine"),
    ],
)
def test_why_nothing_is_signed(signed: Signed, monkeypatch: pytest.MonkeyPatch, prepare: Any, words: str) -> None:
    if prepare is no_program:
        monkeypatch.setattr(ssh_keygen, "USUAL", ())
    entry = hold(signed.places)
    code, text = signed.approve(entry.nonce, **prepare(signed))
    assert code == 1, text
    assert words in text
    assert "-> " in text
    assert "Traceback" not in text
    assert status_of(signed.places, entry.nonce) == "pending"


def test_a_locked_agent_is_named(signed: Signed) -> None:
    inside = signed.room.key("inside")
    signed.room.allow("ann", inside)
    entry = hold(signed.places)
    ask = signed.home / "ask"
    ask.write_text("#!/bin/sh\necho secret\n")
    ask.chmod(stat.S_IRWXU)
    with signed.room.agent(inside) as env:
        signed.room.lock(env | {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"})
        code, text = signed.approve(entry.nonce, SSH_AUTH_SOCK=env["SSH_AUTH_SOCK"])
    assert code == 1
    assert "your SSH agent is empty or locked; ssh-add -X unlocks it" in text


def test_a_security_key_that_is_not_there_is_named() -> None:
    """Without the device only what ssh-keygen reports can be tested."""
    for printed in ("Couldn't sign message: device not found", "sign failed: No FIDO SecurityKeyProvider specified"):
        failed = ssh_signing._failed(255, printed, ssh_signing.SshKey("id_ed25519_sk"))
        assert "the security key of id_ed25519_sk cannot be used" in failed.message


@pytest.mark.parametrize("text", ["ssh-keygen: unknown option -- Y", 'Unsupported operation for -Y: "sign"'])
def test_a_program_that_is_too_old_is_named(text: str) -> None:
    failed = ssh_signing._failed(1, text, ssh_signing.SshKey("k"))
    assert (failed.message, failed.fix) == ("ssh-keygen is too old to sign", "install OpenSSH 8.2 or later")


def test_the_passphrase_is_asked_for_on_the_terminal(signed: Signed) -> None:
    key = signed.key("id_ed25519", PASSPHRASE)
    signed.room.allow("ann", key)
    entry = hold(signed.places)
    words = ["env", f"HOME={signed.home}", "SSH_AUTH_SOCK=", str(SCRIPT), "approve", entry.nonce, "--yes"]
    shown = Terminal([*words, "--state-dir", str(signed.places.state_dir)], None)
    try:
        shown.until("passphrase")
        shown.type(f"{PASSPHRASE}\n")
        assert shown.end() == 0, shown.seen
    finally:
        shown.close()
    assert signed.proven(entry.nonce) == ""


def test_approve_for_a_while_signs_the_grant_as_well(signed: Signed) -> None:
    signed.room.allow("ann", signed.key("id_ed25519"))
    entry = hold(signed.places, **NARROW)
    code, text = signed.approve(entry.nonce, "--for", "1h")
    assert code == 0, text
    (grant,) = PolicyFiles(signed.places.state_dir).grants()
    assert signed.signers.allows(grant)
    assert signed.proven(entry.nonce) == ""


def test_a_grant_is_signed_and_one_from_before_is_listed_as_unsigned(signed: Signed) -> None:
    signed.room.allow("ann", signed.key("id_ed25519"))
    before = PolicyFiles(signed.places.state_dir).add(Grant("g-1", "exec", "git push origin *", created=1.0))
    code, text = signed.run("grant", "make *", "--tool", "exec", "--for", "1d")
    assert code == 0, text
    listed = json.loads(signed.run("grants", "--json")[1])["data"]["grants"]
    assert {each["id"]: each["signed"] for each in listed}[before.id] is False
    assert [each["signed"] for each in listed if each["pattern"] == "make *"] == [True]
    code, text = signed.run("grant", "--accept", before.id, "--yes")
    assert code == 0, text
    assert all(each["signed"] for each in json.loads(signed.run("grants", "--json")[1])["data"]["grants"])


def test_nothing_is_granted_where_nothing_can_be_signed(signed: Signed) -> None:
    code, text = signed.run("grant", "make *", "--tool", "exec", "--for", "1d")
    assert code == 1
    assert "there is no SSH key to sign with" in text
    assert PolicyFiles(signed.places.state_dir).known() == ()


def test_ways_that_cannot_sign_refuse_with_the_command(signed: Signed) -> None:
    entry = hold(signed.places)
    config = gateway_stores.settings(signed.places)
    for where in ("dashboard", "link"):
        with pytest.raises(UserError, match="approvals need a signature here") as caught:
            approve_call.approve(
                signed.places,
                FileNonces(signed.places.state_dir),
                entry.nonce,
                gateway_stores.decision("", where),
                config,
            )
        assert caught.value.fix.startswith(f"run toolguard approve {entry.nonce} in a terminal")
    assert status_of(signed.places, entry.nonce) == "pending"
    code, text = signed.run("deny", entry.nonce)
    assert code == 0, text


def test_without_the_setting_a_key_is_refused_and_nothing_is_signed(signed: Signed) -> None:
    signed.places.config.write_text("{}")
    entry = hold(signed.places)
    code, text = signed.approve(entry.nonce, "--key", "/none")
    assert code == 1
    assert "approvals are not signed here" in text
    assert signed.approve(entry.nonce)[0] == 0
    (stored,) = FileNonces(signed.places.state_dir).entries()
    assert stored.signatures == ()
