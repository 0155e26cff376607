"""What `toolguard doctor` reports about signers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_stage import put_in

from ssh_signers import SshRoom
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.doctor.checks import grants_check, signers_check
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.config import settings
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.stores.files.grants_file import PolicyFiles

NOBODY = 65_534


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "keys")


@pytest.fixture
def subject(places: Places) -> DoctorSubject:
    put_in(places)
    return doctor.look(places)


def signed(subject: DoctorSubject, room: SshRoom, **more: Any) -> DoctorSubject:
    return replace(subject, settings=settings.parse({"approval": {"signers": str(room.allowed), **more}}))


def test_off(subject: DoctorSubject) -> None:
    found = signers_check.allowed(subject)
    assert (found.status, found.detail) == ("ok", "approvals need no signature (approval.signers is not set)")


def test_who_may_sign(subject: DoctorSubject, room: SshRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.allow("ann@example.com,ann", room.key("ann"))
    room.allow("*@example.com", room.key("authority"), "cert-authority")
    monkeypatch.setattr(signers_check, "may_change", lambda *_: False)
    found = signers_check.allowed(signed(subject, room))
    assert found.status == "ok"
    assert found.detail == "approvals are signed by ann@example.com,ann, *@example.com (2 signers)"
    assert found.data["openssh"]


def no_file(room: SshRoom) -> dict[str, Any]:
    room.allowed.unlink()
    return {}


def a_folder(room: SshRoom) -> dict[str, Any]:
    room.allowed.unlink()
    room.allowed.mkdir()
    return {}


def nobody(room: SshRoom) -> dict[str, Any]:
    room.allowed.write_text("# nobody yet\n")
    return {}


def no_list_of_revoked(room: SshRoom) -> dict[str, Any]:
    return {"revokedSigners": str(room.folder / "none")}


@pytest.mark.parametrize("spoil", [no_file, a_folder, nobody, no_list_of_revoked])
def test_what_keeps_everybody_from_approving_is_an_error(subject: DoctorSubject, room: SshRoom, spoil: Any) -> None:
    room.allow("ann", room.key("ann"))
    found = signers_check.allowed(signed(subject, room, **spoil(room)))
    assert found.status == "error"
    assert found.detail.startswith("nothing can be approved: ")
    assert found.fix


def test_without_openssh(subject: DoctorSubject, room: SshRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.allow("ann", room.key("ann"))
    monkeypatch.setattr(ssh_keygen, "USUAL", ())
    monkeypatch.setenv("PATH", str(room.folder))
    found = signers_check.allowed(signed(subject, room))
    assert (found.status, found.fix) == ("error", "install OpenSSH's client (openssh-client)")


def test_an_old_openssh(subject: DoctorSubject, room: SshRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.allow("ann", room.key("ann"))
    monkeypatch.setattr(ssh_keygen, "version", lambda: (8, 1))
    assert signers_check.allowed(signed(subject, room)).status == "error"


@pytest.mark.parametrize(
    ("mode", "folder", "changeable"),
    [(0o644, 0o755, False), (0o666, 0o755, True), (0o664, 0o755, False), (0o644, 0o777, True), (0o644, 0o1777, False)],
)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of root and another user")
def test_who_could_change_the_list(subject: DoctorSubject, mode: int, folder: int, changeable: bool) -> None:  # noqa: FBT001
    """A file of root in a folder of root, for a gateway of another user."""
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(folder)
        path = place / "allowed_signers"
        path.write_text("ann ssh-ed25519 AAAA\n")
        path.chmod(mode)
        assert signers_check.may_change(path, NOBODY) is changeable
        assert not signers_check.may_change(path, 0)
    del subject


def test_a_list_of_the_gateways_own_user_is_a_warning(
    subject: DoctorSubject, room: SshRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.allow("ann", room.key("ann"))
    monkeypatch.setattr(signers_check, "may_change", lambda *_: True)
    found = signers_check.allowed(signed(subject, room))
    assert found.status == "warn"
    assert "could add its own key and approve calls" in found.detail
    assert found.data["writable"] == [str(room.allowed)]


def test_grants_without_a_signature_are_reported(subject: DoctorSubject, room: SshRoom) -> None:
    room.allow("ann", room.key("ann"))
    grant = PolicyFiles(subject.places.state_dir).add(Grant("g-1", "exec", "make *", created=1.0))
    assert grants_check.policy(subject).status == "ok"
    found = grants_check.policy(signed(subject, room))
    assert (found.status, found.detail) == ("warn", f"not signed, so not in force: {grant.id}")
