"""Who may sign approvals, and whether signatures can be verified."""

from __future__ import annotations

import os
from pathlib import Path

from toolguard_cli.doctor.check_types import Check, DoctorSubject, account, shown
from toolguard_engine.config.settings import ApprovalConfig
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.stores.ssh_keygen import SignerFiles
from toolguard_engine.wording import printable

ID = "signers"
MAX_NAMES = 10
MAX_BYTES = 1024 * 1024


def allowed(subject: DoctorSubject) -> Check:
    approval = subject.settings.approval
    if not approval.is_signed:
        return Check(ID, "ok", "approvals need no signature (approval.signers is not set)")
    files = SignerFiles(Path(approval.signers), Path(approval.revoked_signers) if approval.revoked_signers else None)
    try:
        files.check()
        names = principals(_text(files.allowed))
        installed = ssh_keygen.version()
    except ssh_keygen.VerifierError as error:
        text, _, fix = printable.plain(str(error)).rpartition("; ")
        return Check(ID, "error", f"nothing can be approved: {text}", fix)
    data: dict[str, object] = {"signers": names, "openssh": ".".join(map(str, installed)) if installed else ""}
    if installed and installed < ssh_keygen.OLDEST:
        return Check(
            ID, "error", f"OpenSSH {data['openssh']} cannot verify signatures", "install OpenSSH 8.2 or later", data
        )
    if not names:
        text = f"nothing can be approved: {shown(files.allowed)} lists nobody"
        return Check(ID, "error", text, "add a line: NAME followed by a public key, see ssh-keygen(1)", data)
    return _writable(subject, approval, names, data)


def _writable(subject: DoctorSubject, approval: ApprovalConfig, names: list[str], data: dict[str, object]) -> Check:
    paths = [Path(file) for file in (approval.signers, approval.revoked_signers) if file]
    changeable = [path for path in paths if may_change(path, subject.user)]
    many = f"{len(names)} signer{'' if len(names) == 1 else 's'}"
    listed = ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")
    if not changeable:
        return Check(ID, "ok", f"approvals are signed by {listed} ({many})", data=data)
    text = (
        f"{shown(changeable[0])} can be changed by {account(subject.user)}, the gateway's user: a program of that user "
        "could add its own key and approve calls"
    )
    fix = "let root own it and its folders, for example in /etc/toolguard"
    return Check(ID, "warn", text, fix, {**data, "writable": [str(path) for path in changeable], "guards": "yes"})


def principals(text: str) -> list[str]:
    """The names in a list of signers, for display; what counts is decided by ssh-keygen."""
    lines = (line.strip() for line in text.splitlines())
    names = (line.split()[0] for line in lines if line and not line.startswith("#") and len(line.split()) > 1)
    return list(dict.fromkeys(printable.cut(printable.plain(name), 100) for name in names))


def may_change(path: Path, user: int) -> bool:
    """Whether this user can write the file, or replace it or a folder above it. Groups are not looked up: a file or folder
    that any group but root's may write counts. Root can always; that is not reported for root's own gateway."""
    if user == 0:
        return False
    real = Path(os.path.realpath(path))
    folders = {*real.parents, *path.absolute().parents}  # of links on the way, too
    return _is_open(real, user, is_folder=False) or any(_is_open(folder, user, is_folder=True) for folder in folders)


def _is_open(path: Path, user: int, *, is_folder: bool) -> bool:
    try:
        stat = path.stat()
    except OSError:
        return True
    if stat.st_uid == user:
        return True
    sticky = is_folder and bool(stat.st_mode & 0o1000)
    by_others = bool(stat.st_mode & 0o002) or (bool(stat.st_mode & 0o020) and stat.st_gid != 0)
    return by_others and not sticky


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MAX_BYTES).decode(errors="replace")
