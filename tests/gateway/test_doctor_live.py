"""`doctor --live` on the real gateway: it finds a guard that works, and the fault of one that does not."""

from __future__ import annotations

import stat
import sys
import tempfile
from pathlib import Path

import pytest

from toolguard_cli.doctor import live
from toolguard_cli.rig import downloads
from toolguard_cli.setup import install_record, plugin_folder
from toolguard_cli.setup.install_record import Record
from toolguard_cli.system import paths
from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import Config

OK = dict.fromkeys(["live-gateway", "live-hooks", "live-block", "live-correct", "live-stop", "live-approval"], "ok")
FAILS = dict.fromkeys(OK, "error")

NO_HOOKS = ("index.mjs", "  connectHooks(api, membership);", "")
NOTHING_IN_PLACE = ("seams.mjs", "    message.content[0].text = text;", "    return false;")
NO_NET = ("seams.mjs", "  outgoing(text) {", "  outgoing(text) {\n    return text;")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where all temporary files of this process go."""
    made = tmp_path / "scratch"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A gateway of a user, in which the plugin was installed as a copy; it never runs."""
    state = tmp_path / ".openclaw"
    state.mkdir()
    found = Places(state, state / "openclaw.json")
    found.config.write_text('{ plugins: { entries: { toolguard: { enabled: true } } }, secret: "sesame" }\n')
    plugin_folder.copy(paths.plugin_source(), found.extension, "0.1.0")
    install_record.save(
        found.record, Record("0.1.0", sys.executable, "copy", str(found.extension), str(found.config), "", [])
    )
    return found


def spoil(places: Places, *edits: tuple[str, str, str]) -> None:
    for name, before, after in edits:
        file = places.extension / name
        text = file.read_text()
        assert text.count(before) == 1
        file.write_text(text.replace(before, after))


def assert_proved(real: downloads.Runtime, places: Places, expected: dict[str, str], **settings: str) -> None:
    """Status by check; whatever failed comes with a fix."""
    checks = live.prove(real.command(), places, Config(**settings))
    assert {check.id: check.status for check in checks} == expected, checks
    assert [check.id for check in checks if check.status != "ok" and not check.fix] == []


def everything(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """All files below, with mode, time of change and content."""
    infos = {path: path.lstat() for path in root.rglob("*")}
    return {
        str(path): (info.st_mode, info.st_mtime_ns, path.read_bytes() if stat.S_ISREG(info.st_mode) else b"")
        for path, info in infos.items()
    }


@pytest.mark.thorough
def test_a_guard_that_works(real: downloads.Runtime, places: Places, scratch: Path) -> None:
    before = everything(places.state_dir)
    assert_proved(real, places, OK)
    assert everything(places.state_dir) == before
    assert list(scratch.iterdir()) == []


@pytest.mark.thorough
def test_a_plugin_without_hooks(real: downloads.Runtime, places: Places, scratch: Path) -> None:
    spoil(places, NO_HOOKS)
    assert_proved(real, places, {**FAILS, "live-gateway": "ok"})
    assert list(scratch.iterdir()) == []


@pytest.mark.thorough
def test_a_plugin_that_cannot_correct(real: downloads.Runtime, places: Places, scratch: Path) -> None:
    spoil(places, NOTHING_IN_PLACE, NO_NET)
    assert_proved(real, places, {**OK, "live-correct": "error"})


@pytest.mark.thorough
def test_an_engine_that_cannot_start(real: downloads.Runtime, places: Places, scratch: Path) -> None:
    assert_proved(real, places, {"live-gateway": "error"}, python=str(scratch / "no-python"))
    assert list(scratch.iterdir()) == []
