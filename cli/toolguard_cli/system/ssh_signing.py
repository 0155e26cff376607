"""Signs with the user's SSH key: in an agent, in a file, on a FIDO key, or with a certificate. `ssh-keygen` does all of it,
and asks on the terminal for a passphrase, a PIN or a touch.
"""

from __future__ import annotations

import base64
import binascii
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from toolguard_cli.system.errors import UserError
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.wording import printable

VARIABLE = "TOOLGUARD_SIGNING_KEY"
FILES = ("id_ed25519", "id_ed25519_sk", "id_ecdsa", "id_ecdsa_sk", "id_rsa")
SECONDS = 60.0
"""For a signature: a person types a passphrase or touches a key meanwhile."""

AGENT_SECONDS = 5.0
MAX_FILE = 1024 * 1024
MAX_KEYS = 20
_CERTIFICATE = "-cert-v01@openssh.com"
_HOW = "toolguard approve --key FILE names a key; its public half must be in the file that approval.signers names"


@dataclass(frozen=True)
class SshKey:
    """`path`: the file to give to `ssh-keygen`; empty for a key that only the agent has. `public`: its public half, or its
    certificate, in one line; empty where it is not known."""

    name: str
    public: str = ""
    path: str = ""


def candidates(allowed: Path, chosen: str, env: Mapping[str, str] | None = None) -> list[SshKey]:
    """The keys to try in order. `chosen`: the file that the user named, else the variable; then no other key is tried.
    Otherwise those of the agent and the usual files that `allowed` names. Raises `UserError` if there are none."""
    env = os.environ if env is None else env
    if named := chosen or env.get(VARIABLE, ""):
        return [_named(Path(named).expanduser())]
    blobs = _blobs(_text(allowed))
    own, trouble = _of_agent(env)
    own += list(_of_files(Path(env.get("HOME") or "~").expanduser() / ".ssh"))
    usable = [key for key in own if _is_allowed(key.public, blobs)]
    if usable:
        return usable[:MAX_KEYS]
    if own:
        raise UserError(f"none of your SSH keys is allowed to sign ({allowed} does not name one)", _HOW)
    raise UserError(f"there is no SSH key to sign with{trouble}", f"ssh-add adds one to your agent; {_HOW}")


def sign(body: bytes, namespace: str, key: SshKey) -> str:
    """The signature as `ssh-keygen` prints it. What it asks goes to the terminal. Raises `UserError`."""
    with tempfile.TemporaryDirectory(prefix="toolguard-") as folder:
        path = key.path or _written(Path(folder) / "key.pub", key.public)
        return _signed(body, namespace, path, key)


def _signed(body: bytes, namespace: str, path: str, key: SshKey) -> str:
    words = [_program(), "-Y", "sign", "-f", path, "-n", namespace]
    try:
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None  # noqa: S101 - it is a pipe
            printed: list[bytes] = []
            relay = threading.Thread(target=_relay, args=(process.stderr, printed), daemon=True)
            relay.start()
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            try:
                output = _given(process, body)
            finally:
                timer.cancel()
            relay.join(1.0)
    except OSError as error:
        raise UserError(f"{ssh_keygen.NAME}: {error.strerror or error}", "install OpenSSH's client") from error
    if process.returncode == 0 and output.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        return output.decode("ascii", "replace")
    raise _failed(process.returncode, b"".join(printed).decode(errors="replace"), key)


def _given(process: subprocess.Popen[bytes], body: bytes) -> bytes:
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(body)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it has ended; its errors say why
    output = process.stdout.read(ssh_keygen.MAX_FILE)
    process.wait()
    return output


def _relay(errors: IO[bytes], printed: list[bytes]) -> None:
    """What the program says (touch your key now), for a person at a terminal; all of it is kept."""
    for line in iter(errors.readline, b""):
        printed.append(line[:1000])
        if sys.stderr.isatty() and not line.startswith(b"Signing data on"):
            sys.stderr.write(printable.plain(line.decode(errors="replace").strip()) + "\n")
            sys.stderr.flush()


def _failed(code: int, printed: str, key: SshKey) -> UserError:
    """Each cause with its next step."""
    text = printed.lower()
    name = printable.cut(printable.plain(key.name), 200)
    lines = [line.strip() for line in printed.splitlines() if line.strip() and not line.startswith("Signing data on")]
    last = printable.cut(printable.plain(lines[-1] if lines else f"it ended with {code}"), 200)
    if "unknown option" in text or "illegal option" in text or "unsupported operation" in text:
        return UserError(f"{ssh_keygen.NAME} is too old to sign", "install OpenSSH 8.2 or later")
    if code < 0:
        return UserError(f"{name} did not sign within {SECONDS:.0f} s", "repeat, and touch the key or type its passphrase")
    if "passphrase" in text:
        return UserError(
            f"the passphrase of {name} is needed, and was wrong or could not be asked for",
            "ssh-add the key to your agent first, or run this in a terminal",
        )
    if "device not found" in text or "no fido" in text or "sk-api" in text or "security key" in text or "provider" in text:
        return UserError(f"the security key of {name} cannot be used: {last}", "plug it in; see ssh-keygen(1), option -w")
    if "agent" in text and ("refused" in text or "communication" in text or "locked" in text):
        return UserError(f"your SSH agent refused to sign with {name}", "unlock it (ssh-add -X), or confirm there")
    if "no private key found" in text or "couldn't get agent" in text:
        missing = f"the private half of {name} is neither in your SSH agent nor in a file beside it"
        return UserError(missing, "ssh-add adds it to the agent")
    return UserError(f"{ssh_keygen.NAME} could not sign with {name}: {last}", _HOW)


def _program() -> str:
    try:
        return ssh_keygen.program()
    except ssh_keygen.VerifierError as error:
        text, _, fix = str(error).rpartition("; ")
        raise UserError(text, fix) from error


def _named(path: Path) -> SshKey:
    if not path.is_file():
        raise UserError(f"there is no key file {printable.plain(str(path))}", _HOW)
    return SshKey(str(path), path=str(path.absolute()))


def _of_agent(env: Mapping[str, str]) -> tuple[list[SshKey], str]:
    """The keys of the agent, and what is the matter with it."""
    if not env.get("SSH_AUTH_SOCK"):
        return [], " (no SSH agent is running)"
    words = [str(Path(_program()).with_name("ssh-add")), "-L"]
    try:
        listed = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=AGENT_SECONDS, check=False, env=dict(env)
        )
    except (OSError, subprocess.TimeoutExpired):
        return [], " (your SSH agent does not answer)"
    if listed.returncode == 1:
        return [], " (your SSH agent is empty or locked; ssh-add -X unlocks it)"
    if listed.returncode:
        return [], " (your SSH agent does not answer)"
    lines = listed.stdout.decode(errors="replace").splitlines()[:MAX_KEYS]
    keys = [line for line in lines if len(line.split()) > 1]
    return [SshKey(f"the agent's key {' '.join(line.split()[2:]) or line.split()[0]}", line) for line in keys], ""


def _of_files(folder: Path) -> Iterator[SshKey]:
    for name in FILES:
        for public in (folder / f"{name}-cert.pub", folder / f"{name}.pub"):
            line = _text(public).strip() if public.is_file() else ""
            if line and (folder / name).is_file():
                used = str(public if public.name.endswith("-cert.pub") else folder / name)
                yield SshKey(used, line, used)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE).decode(errors="replace")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "see approval.signers in toolguard config show") from error


def _blobs(text: str) -> tuple[bytes, ...]:
    """All public keys of a list of signers, authorities too."""
    words = (word for line in text.splitlines() if not line.lstrip().startswith("#") for word in line.split())
    return tuple(blob for word in words if word.startswith("AAAA") and (blob := _decoded(word)))


def _is_allowed(public: str, allowed: Sequence[bytes]) -> bool:
    """Whether the key, or the authority of the certificate, is in the list. Only to choose a key: what counts is whether the
    signature is valid."""
    kind, _, rest = public.partition(" ")
    blob = _decoded(rest.split()[0]) if rest.split() else b""
    if kind.endswith(_CERTIFICATE):
        return any(signer in blob for signer in allowed)
    return bool(blob) and blob in allowed


def _decoded(word: str) -> bytes:
    try:
        return base64.b64decode(word, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _written(path: Path, line: str) -> str:
    path.write_text(f"{line}\n", encoding="utf-8")
    return str(path)
