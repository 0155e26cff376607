"""Keys, certificates and lists of signers for tests, made by the real ssh-keygen in a private folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AGENT, ADD, KEYGEN = (shutil.which(name) or name for name in ("ssh-agent", "ssh-add", "ssh-keygen"))


class SshRoom:
    """A folder with keys. `allowed` is the list of signers, `revoked` the revocation list."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.allowed = folder / "allowed_signers"
        self.revoked = folder / "krl"
        self.allowed.touch()

    def key(self, name: str, passphrase: str = "") -> Path:
        keygen("-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", str(self.folder / name))
        return self.folder / name

    def allow(self, principal: str, key: Path, options: str = "") -> None:
        public = key.with_name(f"{key.name}.pub").read_text().strip()
        with self.allowed.open("a") as file:
            file.write(f"{principal} {options} {public}\n" if options else f"{principal} {public}\n")

    def revoke(self, key: Path) -> None:
        keygen("-q", "-k", "-f", str(self.revoked), str(key.with_name(f"{key.name}.pub")))

    def certify(self, authority: Path, key: Path, principal: str, valid: str = "-1h:+1h") -> Path:
        """The certificate's file. Its key is beside it, as `ssh-keygen` expects."""
        public = key.with_name(f"{key.name}.pub")
        keygen("-q", "-s", str(authority), "-I", principal, "-n", principal, "-V", valid, str(public))
        return key.with_name(f"{key.name}-cert.pub")

    @contextmanager
    def agent(self, *keys: Path) -> Iterator[dict[str, str]]:
        """An agent with these keys; the environment that names it."""
        socket = self.folder / "agent"
        env = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
        with subprocess.Popen([AGENT, "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as process:
            try:
                while not socket.exists() and process.poll() is None:
                    pass
                for key in keys:
                    subprocess.run([ADD, "-q", str(key)], env=env, check=True, stdin=subprocess.DEVNULL)
                yield env
            finally:
                process.terminate()

    @staticmethod
    def lock(env: dict[str, str]) -> None:
        """Locks the agent of `env`, which also says how the password is asked for."""
        subprocess.run([ADD, "-x"], env=env, check=True, stdin=subprocess.DEVNULL, start_new_session=True)


def keygen(*words: str, given: bytes = b"") -> bytes:
    """What it prints. Raises `CalledProcessError`."""
    return subprocess.run([KEYGEN, *words], input=given, capture_output=True, check=True).stdout


def sign(body: bytes, key: Path, namespace: str = "toolguard-decision") -> str:
    return keygen("-Y", "sign", "-f", str(key), "-n", namespace, given=body).decode()
