"""Who signed a team's policy: only lines of `allowed_signers` count that name the namespace `toolguard-policy`. A line
without `namespaces` is one of an approver, and must not be able to sign a policy as well.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from toolguard_engine import lazy_re
from toolguard_engine.stores import ssh_keygen, system_calls
from toolguard_engine.stores.fleet.policy_form import NAMESPACE
from toolguard_engine.stores.fleet.trust_root import ALLOWED, REVOKED
from toolguard_engine.stores.ssh_keygen import InvalidSignatureError, SignerFiles, VerifierError

SECONDS = 2.0
_LINE = lazy_re.compile(r'\s*(?:"[^"]*"|[^\s"#][^\s"]*)\s+(?P<options>(?:[^\s"]|"[^"]*")+)\s')
_NAMESPACES = lazy_re.compile(r'(?:^|,)namespaces="([^"]*)"', re.IGNORECASE)
NOBODY = 'nobody may sign policies: add namespaces="toolguard-policy" to the line of an admin in {0}'


def signer_of(text: str, signature: str, trust: Path, at: float | None = None) -> str:
    """The principal. `at`: when it was accepted, for a signer whose certificate is over since; None: now.

    Raises `InvalidSignatureError`, and `VerifierError` where that cannot be known.
    """
    allowed, revoked = trust / ALLOWED, trust / REVOKED
    lines = [line for line in _text(allowed).splitlines() if is_of_admin(line)]
    if not lines:
        raise InvalidSignatureError(NOBODY.format(allowed))
    try:
        handle = system_calls.private_file("\n".join([*lines, ""]).encode())
    except OSError as error:
        raise VerifierError(
            f"the signers cannot be passed to ssh-keygen: {error.strerror or error}; repeat it later"
        ) from error
    try:
        files = SignerFiles(Path(f"/dev/fd/{handle}"), revoked if os.path.lexists(revoked) else None, (handle,))
        return ssh_keygen.verify_text(text, signature, NAMESPACE, files, SECONDS, at)
    finally:
        os.close(handle)


def is_of_admin(line: str) -> bool:
    """Whether a line of `allowed_signers` names the namespace by itself, not by a pattern."""
    match = _LINE.match(line)
    names = _NAMESPACES.search(match["options"]) if match else None
    return names is not None and NAMESPACE in (name.strip() for name in names[1].split(","))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(ssh_keygen.MAX_FILE).decode("utf-8", "replace")
    except OSError as error:
        raise VerifierError(f"{path}: {error.strerror or error}; make it readable for the gateway") from error
