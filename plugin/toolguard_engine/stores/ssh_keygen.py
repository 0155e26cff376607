"""Verifies SSH signatures with OpenSSH's own program. What `allowed_signers` says (namespaces, dates, authorities) and what
a revocation list says is left to it; what it does not check of security keys and passkeys is in `approvals.security_keys`.

Nothing is written to disk: the signature is passed through a pipe. Each run is bounded in time.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.approvals import security_keys
from toolguard_engine.model.signed_body import MAX_PRINCIPAL, MAX_SIGNATURE, SignedBody
from toolguard_engine.stores.locked import StoreError

NAME = "ssh-keygen"
USUAL = ("/usr/bin/ssh-keygen", "/usr/local/bin/ssh-keygen", "/opt/homebrew/bin/ssh-keygen")
OLDEST = (8, 2)
"""The first version with `-Y find-principals`."""

MAX_FILE = 4 * 1024 * 1024
MAX_LINKS = 40
MAX_PRINCIPALS = 5
"""Names of one key that are tried."""

_ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath}
_GENERAL = ("Could not verify", "No principal matched")
_VERSION = lazy_re.compile(r"OpenSSH_(\d+)\.(\d+)")


class VerifierError(StoreError):
    """Signatures cannot be verified now. The text names the fix."""

    code = "approval.unverifiable"


class InvalidSignatureError(Exception):
    """The signature does not count. The text is one line for a person."""


class SignerFiles(Struct, frozen=True):
    """Who may sign: an `allowed_signers` file, and a list of revoked keys if there is one. `handles`: open files that the
    paths name as `/dev/fd/N`."""

    allowed: Path
    revoked: Path | None = None
    handles: tuple[int, ...] = ()

    def check(self) -> None:
        """Raises `VerifierError` for what cannot be read as a file."""
        for path in (self.allowed, *([self.revoked] if self.revoked else [])):
            try:
                status = path.stat()
                with path.open("rb"):
                    pass
            except OSError as error:
                raise VerifierError(f"{path}: {error.strerror or error}; make it readable for the gateway") from error
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
                raise VerifierError(f"{path} is not a file of at most {MAX_FILE} bytes; put one there")


def program() -> str:
    """The program of the system, else the first on the path. Raises `VerifierError`."""
    file = next((path for path in USUAL if os.access(path, os.X_OK)), None) or shutil.which(NAME)
    if not file:
        raise VerifierError(f"there is no {NAME} on this machine; install OpenSSH's client (openssh-client)")
    return file


def verifier() -> str:
    """`program`, which other programs of our user must not be able to replace: it would find every signature valid. Root
    could replace each. Raises `VerifierError`."""
    program_path = program()
    if os.geteuid() != 0 and any(map(_can_change, _passed(Path(program_path)))):
        raise VerifierError(
            f"{program_path} can be changed by the gateway's own user; install OpenSSH's client for all users"
        )
    return program_path


def _passed(path: Path) -> Iterator[Path]:
    """The program, each file that it is a link to, and their folders."""
    for _ in range(MAX_LINKS):
        yield from (path, *path.parents)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    real = path.resolve()
    yield from (real, *real.parents)


def _can_change(place: Path) -> bool:
    try:
        status = place.lstat()
    except OSError:
        return True
    if status.st_uid == os.geteuid():
        return True
    is_sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
    return not (is_sticky or stat.S_ISLNK(status.st_mode)) and os.access(place, os.W_OK)


def verify(signed: SignedBody, namespace: str, files: SignerFiles, seconds: float) -> str:
    """The principal who signed, one of those that `files` allow now. Raises `InvalidSignatureError`, `VerifierError`."""
    if not signed.is_bounded:
        raise InvalidSignatureError("the signature is too large")
    return verify_text(signed.body, signed.signature, namespace, files, seconds)


def verify_text(
    body: str, signature: str, namespace: str, files: SignerFiles, seconds: float, at: float | None = None
) -> str:
    """The same for a text of any length. `at`: when the signer must have been allowed, seconds since 1970; None: now."""
    if len(signature) > MAX_SIGNATURE:
        raise InvalidSignatureError("the signature is too large")
    files.check()
    until = time.monotonic() + seconds
    then = () if at is None else ("-O", time.strftime("verify-time=%Y%m%d%H%M%SZ", time.gmtime(at)))
    done = _run(("-Y", "find-principals", *then, "-f", str(files.allowed)), body, signature, until, files.handles)
    names = [name for name in done.stdout.splitlines() if name.isprintable() and 0 < len(name) <= MAX_PRINCIPAL]
    if done.returncode or not names:
        raise InvalidSignatureError(_reason(done) or "the key is not allowed to sign")
    revoked = ("-r", str(files.revoked)) if files.revoked else ()
    for name in names[:MAX_PRINCIPALS]:
        words = ("-Y", "verify", *then, "-n", namespace, "-I", name, "-f", str(files.allowed), *revoked)
        tried = _run(words, body, signature, until, files.handles)
        if tried.returncode == 0:
            if why := security_keys.shortcoming(signature):
                raise InvalidSignatureError(why)
            return name
    raise InvalidSignatureError(_reason(tried) or "the signature is not valid")


def _run(
    words: tuple[str, ...], body: str, signature: str, until: float, handles: tuple[int, ...]
) -> subprocess.CompletedProcess[str]:
    ours, theirs = os.pipe()
    try:
        for handle in handles:
            os.lseek(handle, 0, os.SEEK_SET)  # where /dev/fd shares the position with the run before
        os.write(theirs, signature.encode())  # fits into the pipe: it is bounded
        os.close(theirs)
        theirs = -1
        return subprocess.run(
            [verifier(), *words, "-s", f"/dev/fd/{ours}"],
            input=body,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=max(until - time.monotonic(), 0.01),
            pass_fds=(ours, *handles),
            env=_ENVIRONMENT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise VerifierError(f"{NAME} took too long; repeat the call") from error
    except OSError as error:
        raise VerifierError(f"{NAME}: {error.strerror or error}; install OpenSSH's client") from error
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)


def _reason(ended: subprocess.CompletedProcess[str]) -> str:
    """What the program printed last, in one printable line."""
    lines = [line.strip() for line in f"{ended.stdout}\n{ended.stderr}".splitlines()]
    text = next((line for line in lines if line and not line.startswith(_GENERAL)), "")
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:200]


def version() -> tuple[int, int] | None:
    """The version of the OpenSSH that is installed; None if it does not say."""
    beside = Path(program()).with_name("ssh")
    try:
        printed = subprocess.run([beside, "-V"], capture_output=True, text=True, timeout=5, env=_ENVIRONMENT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(printed.stderr + printed.stdout)
    return (int(match[1]), int(match[2])) if match else None
