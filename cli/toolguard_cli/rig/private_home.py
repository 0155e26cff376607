"""A temporary home for the rig: state directory, workspace and an `openclaw.json` that points to the scripted model."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from toolguard_cli.rig.scripted_model import MODEL, PROVIDER

PASSED_ON = ("PATH", "LANG", "TZ", "TMPDIR")
SEALED = {
    "NODE_DISABLE_COMPILE_CACHE": "1",
    "OPENCLAW_DISABLE_BONJOUR": "1",
    "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
    "OPENCLAW_NO_AUTO_UPDATE": "1",
    "OPENCLAW_NO_RESPAWN": "1",
    "OPENCLAW_SKIP_CRON": "1",
}
"""Isolates a gateway: no announcements in the local network, no update checks, no cache outside of its home."""

LOCKS = Path("/tmp").resolve() / f"openclaw-state-locks-{os.getuid()}"  # noqa: S108 - OpenClaw's choice


@dataclass
class Home:
    """Everything below `root` is deleted at the end; the user's own files are not written.

    `extra`: merged into the config. `sealed`: OpenClaw's log and temporary files stay inside as well, it contacts only the
    model, and it uses no cache of compiled code.
    """

    base_url: str
    plugins: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    workspace: bool = True
    sealed: bool = False

    def __post_init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="toolguard-rig-"))
        try:
            self._make()
        except BaseException:  # an interrupt, too: nobody else knows the folder yet
            shutil.rmtree(self.root, ignore_errors=True)
            raise

    def _make(self) -> None:
        self.state_dir = self.root / ".openclaw"
        self.workspace_dir = self.root / "workspace"
        self.temporary_dir = self.root / "tmp"
        self.config_path = self.state_dir / "openclaw.json"
        self.port = free_port()
        self.token = secrets.token_hex(16)
        self.state_dir.mkdir(mode=0o700)
        self.workspace_dir.mkdir()
        self.temporary_dir.mkdir()
        self.config_path.write_text(json.dumps(self._config(), indent=2) + "\n")
        self.config_path.chmod(0o600)

    def _config(self) -> dict[str, Any]:
        model = {
            "id": MODEL,
            "name": "Scripted",
            "reasoning": False,
            "input": ["text"],
            "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": 1_000_000,
            "maxTokens": 32_000,
        }
        provider = {"baseUrl": self.base_url, "apiKey": "rehearsal", "api": "openai-completions", "models": [model]}
        config: dict[str, Any] = {
            "gateway": {
                "mode": "local",
                "port": self.port,
                "bind": "loopback",
                "auth": {"mode": "token", "token": self.token},
                "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
            },
            "models": {"mode": "replace", "providers": {PROVIDER: provider}},
            "agents": {
                "defaults": {
                    "model": {"primary": f"{PROVIDER}/{MODEL}"},
                    "workspace": str(self.workspace_dir),
                    "skipBootstrap": True,
                    "heartbeat": {"every": "0m"},
                }
            },
            **({"plugins": self.plugins} if self.plugins else {}),
        }
        sealed = {"logging": {"file": str(self.temporary_dir / "openclaw.log")}, "update": {"checkOnStart": False}}
        return over(over(config, sealed if self.sealed else {}), self.extra)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of processes of this home; of the user's own variables only those in `PASSED_ON`."""
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return {
            **passed,
            "HOME": str(self.root),
            "OPENCLAW_STATE_DIR": str(self.state_dir),
            "OPENCLAW_CONFIG_PATH": str(self.config_path),
            "OPENCLAW_SKIP_CHANNELS": "1",
            "NO_COLOR": "1",
            **({**SEALED, "TMPDIR": str(self.temporary_dir)} if self.sealed else {}),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for lock in _locks_outside(self.state_dir):
            with suppress(OSError):
                lock.unlink()
        shutil.rmtree(self.root, ignore_errors=True)


def _locks_outside(state_dir: Path) -> list[Path]:
    """The lock files of this state directory's databases, which OpenClaw keeps in a fixed folder."""
    names = [sha256(str(database.resolve()).encode()).hexdigest()[:8] for database in state_dir.rglob("*.sqlite")]
    return [lock for name in names for lock in LOCKS.glob(f"*.{name}.lock.sqlite*")]


def over(value: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """`more` merged into `value`: objects are merged, all other values replaced."""
    merged = dict(value)
    for name, new in more.items():
        old = merged.get(name)
        merged[name] = over(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
    return merged


def free_port() -> int:
    """A free loopback port that the kernel gives to no other program for a while.

    A connection to it, closed here first, lingers in TIME_WAIT: the kernel does not pick the port for others, but a server
    that names it (with `SO_REUSEADDR`) can bind it at once.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            server.accept()[0].close()
            client.recv(1)
    return port
