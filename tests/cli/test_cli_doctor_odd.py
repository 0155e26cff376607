"""What lies where a file of ours belongs and is none: doctor waits for nothing, ends, and says so."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from doctor_stage import examined, faulty, healthy, host
from held_stage import hold

from effort import some
from toolguard_cli.doctor.checks import engine_check
from toolguard_cli.system.paths import Places

KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "empty": lambda path: path.write_bytes(b""),
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe"),
}
FILES = {
    "toolguard/policy.toml": "policy",
    "toolguard/install.json": "toolguard",
    "toolguard/nonces.json": "stores",
    "toolguard/counters.json": "stores",
    "toolguard/engines/1.json": "running",
    "toolguard/last-engine.json": "running",
    "toolguard/engines": "running",
    "extensions/toolguard/openclaw.plugin.json": "manifest",
    "extensions/toolguard/index.mjs": "manifest",
}
"""And the check that says so."""
FINE = {("empty", "toolguard/policy.toml"), ("empty", "extensions/toolguard/index.mjs"), ("a folder", "toolguard/engines")}
FINE |= {("no UTF-8", "extensions/toolguard/index.mjs")}
"""Where the check may find nothing."""
LIMIT = 120


@pytest.fixture
def patience() -> Iterator[None]:
    """A check that waits for a pipe would wait for ever."""

    def _over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{number} {frame}")

    before = signal.signal(signal.SIGALRM, _over)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("name", some(list(FILES)))
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in ("a pipe", "no UTF-8") else [pytest.mark.thorough]) for kind in KINDS]
)
def test_odd_things(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str) -> None:
    made = host(tmp_path / "host")
    monkeypatch.setenv("PATH", f"{made.root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(engine_check, "_ask", lambda _python, _scratch: "")
    monkeypatch.setattr(engine_check, "_measured", lambda _python, _scratch: (0.2, 0.1))
    healthy(places)
    hold(places)
    path = places.state_dir / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    KINDS[kind](path)
    path.chmod(0o644 if "extensions" in name and path.is_file() else 0o755 if path.is_dir() else 0o600)
    found = examined(places)
    assert ((kind, name) in FINE) is (FILES[name] not in faulty(found)), found[FILES[name]]
