"""A migration taken back byte for byte: after it, in the midst of it, and where somebody changed a file since."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli_stage import LIMIT, picture, texts

from toolguard_cli.commands import migrate
from toolguard_cli.hostconfig import config_tree
from toolguard_cli.migrations import journal
from toolguard_cli.operations import reload_note
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.config.settings import DEFAULT_METRICS_PATH
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import atomic

MAIN = """\
// my gateway
{
  agents: { defaults: { workspace: "WORKSPACE" } },
  $include: "./plugins.json5",
  tools: {
    loopDetection: {
      enabled: true, // the switch
      historySize: 20, // short
    },
  },
}
"""
PLUGINS = """\
{
  plugins: {
    entries: {
      "guardian-angel": {
        enabled: true,
        config: {
          escalationThreshold: 40, // stricter
        },
      },
    },
  },
}
"""
CALLS = {
    "pending": {"aaaa": {"nonce": "aaaa", "expiresAt": 4e12}, "bbbb": {"nonce": "bbbb", "expiresAt": 1}},
    "approved": {"cccc": {"nonce": "cccc", "expiresAt": 4e12}},
}
OURS = ("plugins", "entries", "toolguard")


@dataclass
class Stage:
    """A gateway whose plugins stand in a file of their own, with held calls and metrics of old plugins."""

    places: Places
    workspace: Path
    before: dict[Path, bytes] = field(default_factory=dict)

    @property
    def plugins(self) -> Path:
        return self.places.config.with_name("plugins.json5")

    @property
    def calls(self) -> Path:
        return self.workspace / ".ga-state.json"

    @property
    def metrics(self) -> Path:
        return self.places.state_dir / "metrics.db"

    @property
    def ours(self) -> Path:
        """One for all gateways of the machine."""
        return metrics_path.resolve(DEFAULT_METRICS_PATH)

    def run(self, **options: Any) -> Result:
        return migrate.run(self.places, yes=True, openclaw=(), **options)

    def undo(self, *, yes: bool = False, dry_run: bool = False) -> Result:
        return migrate.undo_last(self.places, yes=yes, dry_run=dry_run)

    def is_as_before(self) -> bool:
        return {path: path.read_bytes() for path in self.before if path.exists()} == self.before and not self.imported()

    def imported(self) -> int:
        """Rows of ours that came from the old plugin."""
        if not self.ours.exists():
            return 0
        with closing(sqlite3.connect(self.ours)) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'toolguard_calls'").fetchone():
                return 0
            return int(connection.execute("SELECT count(*) FROM toolguard_calls").fetchone()[0])

    def is_migrated(self) -> bool:
        tree = config_tree.read(self.places.config)
        return (
            tree.get(*OURS)
            == {
                "enabled": True,
                "config": {
                    "escalationThreshold": 40,
                    "approval": {"prefix": "GUARDIAN_ANGEL"},
                    "loopDetection": {"enabled": True, "historySize": 20},
                },
            }
            and tree.get("plugins", "entries", "guardian-angel") == {"enabled": False}
            and tree.get("tools", "loopDetection") == {"enabled": True}
            and not self.calls.exists()
            and self.imported() == 2
        )


@pytest.fixture
def stage(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    stage = Stage(places, tmp_path / "w")
    stage.workspace.mkdir()
    places.config.write_text(MAIN.replace("WORKSPACE", str(stage.workspace)))
    stage.plugins.write_text(PLUGINS)
    stage.plugins.chmod(0o640)
    stage.calls.write_text(json.dumps(CALLS))
    with closing(sqlite3.connect(stage.metrics)) as connection, connection:
        connection.execute(
            "CREATE TABLE usage_events (id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, gateway_id TEXT,"
            " channel TEXT, provider TEXT, model TEXT, session_key TEXT, session_id TEXT, input_tokens INTEGER,"
            " output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, total_tokens INTEGER,"
            " cost_usd REAL, duration_ms INTEGER)"
        )
        for table, column in (("hourly_stats", "hour"), ("daily_stats", "day")):
            connection.execute(
                f"CREATE TABLE {table} ({column} TEXT, gateway_id TEXT, model TEXT, event_count INTEGER,"
                " input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER, cost_usd REAL)"
            )
        connection.executemany(
            "INSERT INTO usage_events (ts, gateway_id, model, total_tokens) VALUES (?, 'home', 'big', 15)",
            [("2025-06-15T12:00:00.000Z",), ("2025-06-15T12:00:01.000Z",)],
        )
    stage.before = {path: path.read_bytes() for path in (places.config, stage.plugins, stage.calls)}
    return stage


def folders(stage: Stage) -> list[Path]:
    """What is kept of migrations."""
    return [*(stage.places.own / "migrations").rglob("*"), *(stage.places.own / "migrated").rglob("*")]


def test_all_of_it_and_back(stage: Stage) -> None:
    done = stage.run()
    assert stage.is_migrated()
    assert "// short" in stage.plugins.read_text()
    assert "// short" not in stage.places.config.read_text()
    assert done.data["putAside"] == [{"path": str(stage.calls), "waiting": 2}]
    messages = [f"{line.kind} {line.text}" for line in done.lines]
    assert f"ok {stage.calls} is moved aside; its approvals are not tied to one call, so none is migrated" in messages
    assert "warn calls that must be approved again: 2" in messages
    assert f"ok metrics of {stage.metrics} are imported into {stage.ours}: 2 calls" in messages
    (aside,) = (stage.places.own / "migrated" / "1").iterdir()
    assert (aside.name, aside.read_bytes()) == ("0-.ga-state.json", stage.before[stage.calls])
    assert stage.run().data["changed"] is False
    taken_back = stage.undo()
    assert stage.is_as_before()
    assert stat.S_IMODE(stage.plugins.stat().st_mode) == 0o640
    assert texts(taken_back)[-2:] == ["removed 4 imported metrics rows", reload_note.RELOADED_SOON]
    own = {path.relative_to(stage.places.own).as_posix() for path in (*folders(stage),) if path.exists()}
    assert own == {"migrations/1.json"}
    assert texts(stage.undo()) == ["no migration to undo"]


def test_it_can_be_done_again_after_it_was_taken_back(stage: Stage) -> None:
    stage.run()
    stage.undo()
    assert stage.run().data["migration"] == 2
    assert stage.is_migrated()
    stage.undo()
    assert stage.is_as_before()


def test_dry_runs_write_nothing(stage: Stage) -> None:
    before = picture(stage.places.state_dir.parent)
    messages = stage.run(dry_run=True)
    assert texts(messages)[-1] == "nothing was written (--dry-run)"
    assert {f"--- {stage.plugins}", '+            prefix: "GUARDIAN_ANGEL",', "-      historySize: 20, // short"} <= set(
        texts(messages)
    )
    assert picture(stage.places.state_dir.parent) == before
    stage.run()
    before = picture(stage.places.state_dir.parent)
    messages = stage.undo(dry_run=True)
    assert picture(stage.places.state_dir.parent) == before
    assert texts(messages)[-1] == "nothing was written (--dry-run)"


def test_kept_copies_are_for_nobody_else(stage: Stage) -> None:
    stage.run()
    folder = journal.folder(stage.places)
    modes = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    kept = {f"1/{at}.{which}": 0o600 for at in (0, 1) for which in ("before", "after")}
    assert modes == {"1": 0o700, "1.json": 0o600, **kept}


def changed_since(stage: Stage) -> str:
    text = stage.plugins.read_text().replace("escalationThreshold: 40", "escalationThreshold: 41")
    stage.plugins.write_text(text)
    return text


def test_a_file_that_was_changed_since_is_not_put_back_unasked(stage: Stage) -> None:
    stage.run()
    text = changed_since(stage)
    before = picture(stage.places.state_dir.parent, times=False)
    with pytest.raises(UserError) as caught:
        stage.undo()
    lines = caught.value.message.splitlines()
    assert lines[0] == f"{stage.plugins} was changed since the migration:"
    assert [line.strip() for line in lines[2:4]] == [
        "-          escalationThreshold: 40, // stricter",
        "+          escalationThreshold: 41, // stricter",
    ]
    original = lines[-1].removeprefix("as it was before the migration: ")
    assert Path(original).read_bytes() == stage.before[stage.plugins]
    assert caught.value.fix == "undo that change, or run: toolguard migrate --undo --yes (the current file is backed up)"
    assert picture(stage.places.state_dir.parent, times=False) == before
    stage.undo(yes=True)
    assert stage.is_as_before()
    assert stage.plugins.with_name("plugins.json5.toolguard.last.bak").read_text() == text


@pytest.mark.parametrize(
    ("added", "messages"),
    [
        pytest.param('botToken: "hunter2",', ['+botToken: "[redacted]",'], id="text"),
        pytest.param("list: ['hunter2'], n: 7, //\t\x9b", ["""+list: ["[redacted]"], n: 7, //\t<U+009B>"""], id="cursor"),
        pytest.param('k: "a\\\nhunter2",', ['+k: "[redacted]"', "+,"], id="a text of two lines"),
        pytest.param("/* password=hunter2 */", ["+/* password=[redacted] */"], id="comment"),
        pytest.param("k: hunter2,", None, id="no JSON5"),
    ],
)
def test_what_was_added_since_is_shown_without_secrets(stage: Stage, added: str, messages: list[str] | None) -> None:
    stage.run()
    stage.plugins.write_text(stage.plugins.read_text().replace("{\n", f"{{\n{added}\n", 1))
    with pytest.raises(UserError, match="was changed since") as caught:
        stage.undo()
    lines = caught.value.message.split("\n")[1:-1]
    assert "hunter2" not in caught.value.message
    assert lines == (["@@ -2 +2 @@", *messages] if messages else ["@@ -2 +2 @@", f"+{journal.UNREADABLE}"])


def test_paths_with_control_characters_move_no_cursor(places: Places) -> None:
    workspace = places.state_dir / "w\x1b[2J\u202e"
    workspace.mkdir()
    (workspace / ".ga-state.json").write_text(json.dumps(CALLS))
    agents = {"defaults": {"workspace": str(workspace)}}
    entry = {"guardian-angel": {"enabled": True}}
    places.config.write_text(json.dumps({"agents": agents, "plugins": {"entries": entry}}))
    messages = texts(migrate.run(places, yes=True, openclaw=()))
    messages += texts(migrate.undo_last(places, yes=False, dry_run=True))
    (workspace / ".ga-state.json").write_text("mine")
    with pytest.raises(UserError) as caught:
        migrate.undo_last(places, yes=False, dry_run=False)
    messages += [caught.value.message, *texts(migrate.undo_last(places, yes=True, dry_run=False))]
    assert [line for line in messages if not line.isprintable()] == []
    assert sum("w<U+001B>[2J<U+202E>" in line for line in messages) == 4


def test_a_file_that_is_in_the_way_is_kept(stage: Stage) -> None:
    stage.run()
    stage.calls.write_text("mine")
    with pytest.raises(UserError, match="exists again"):
        stage.undo()
    stage.undo(yes=True)
    assert stage.is_as_before()
    assert stage.calls.with_name(".ga-state.json.toolguard.last.bak").read_text() == "mine"


FOREIGN = {
    "somebody's key": ("id_rsa", b"-----BEGIN OPENSSH PRIVATE KEY-----\n"),
    "a list": ("list.json", b"[]"),
    "more than a store": ("more.json", json.dumps({**CALLS, "mine": 1}).encode()),
    "large": ("large", bytes(21 * 1024 * 1024)),
    "our lock": ("toolguard/install.lock", b""),
    "in our folder": ("toolguard/calls.json", json.dumps(CALLS).encode()),
}


@pytest.mark.parametrize(("name", "content"), FOREIGN.values(), ids=FOREIGN)
def test_only_what_held_calls_is_put_aside(places: Places, name: str, content: bytes) -> None:
    path = places.state_dir / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    entry = {"enabled": True, "config": {"storePath": name}}
    places.config.write_text(json.dumps({"plugins": {"entries": {"guardian-angel": entry}}}))
    done = migrate.run(places, yes=True, openclaw=())
    assert path.read_bytes() == content
    assert done.data["putAside"] == []
    assert f"{path} stays: it holds no calls of guardian-angel; set storePath to another path" in done.data["warnings"]


def test_the_config_itself_is_never_put_aside(places: Places) -> None:
    """Not even one that looks like held calls."""
    entry = {"guardian-angel": {"enabled": True, "config": {"storePath": "held.json"}}}
    places.config.write_text(json.dumps({"agents": {"$include": "./held.json"}, "plugins": {"entries": entry}}))
    held = places.state_dir / "held.json"
    held.write_text(json.dumps(CALLS))
    assert migrate.run(places, yes=True, openclaw=()).data["putAside"] == []
    assert held.read_text() == json.dumps(CALLS)


def test_a_file_that_is_gone_comes_back(stage: Stage) -> None:
    stage.run()
    stage.plugins.unlink()
    with pytest.raises(UserError, match="was changed since"):
        stage.undo()
    stage.undo(yes=True)
    assert stage.is_as_before()


def test_what_was_put_back_by_hand_is_fine(stage: Stage) -> None:
    stage.run()
    for path, data in stage.before.items():
        path.write_bytes(data)
    stage.undo()
    assert stage.is_as_before()


def test_a_spoilt_copy_is_not_put_back(stage: Stage) -> None:
    stage.run()
    journal.kept(stage.places, 1, 0, "before").write_text("{}")
    with pytest.raises(UserError, match=r"is not the copy of .* that was kept there"):
        stage.undo()


@pytest.mark.parametrize("content", [b"", b"{", b'{"number": "1"}', b"\xff"], ids=["empty", "cut off", "odd", "no text"])
def test_a_damaged_journal_is_named(stage: Stage, content: bytes) -> None:
    stage.run()
    (journal.folder(stage.places) / "1.json").write_bytes(content)
    for command in (stage.undo, stage.run):
        with pytest.raises(UserError, match=r"1\.json cannot be read") as caught:
            command()
        kept = journal.folder(stage.places) / "1"
        assert caught.value.fix == f"move it away, then try again; the files from before that migration are kept in {kept}"
    (journal.folder(stage.places) / "1.json").rename(journal.folder(stage.places) / "1.json.damaged")
    assert stage.run().exit_code == 0


def test_a_config_that_did_not_exist_goes_again(places: Places) -> None:
    (places.state_dir / "extensions" / "tool-guard").mkdir(parents=True)
    assert migrate.run(places, yes=True, openclaw=()).data["changed"] is True
    assert config_tree.read(places.config).get("plugins", "entries", "tool-guard") == {"enabled": False}
    migrate.undo_last(places, yes=False, dry_run=False)
    assert not places.config.exists()


class Killed(BaseException):
    """In the place of a kill: nothing catches it."""


def cut_off(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """The process ends when it is about to put its `at`-th file in place, counted from 0."""
    real, count = atomic.replace, [0]

    def replace(*arguments: Any, **options: Any) -> None:
        if count[0] == at:
            raise Killed
        count[0] += 1
        real(*arguments, **options)

    monkeypatch.setattr(atomic, "replace", replace)


WRITES = ["kept", "kept", "kept", "kept", "journal", "backup", "config", "backup", "config", "end of the journal"]
each_write = pytest.mark.parametrize("at", range(len(WRITES)), ids=[f"{at} {name}" for at, name in enumerate(WRITES)])


def test_the_table_of_writes_is_whole(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch, len(WRITES))
    stage.run()


def interrupted(stage: Stage, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    with monkeypatch.context() as patch:
        cut_off(patch, at)
        with pytest.raises(Killed):
            stage.run()


@each_write
def test_interrupted_then_run_again(stage: Stage, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    interrupted(stage, monkeypatch, at)
    stage.run(dry_run=True)
    stage.run()
    assert stage.is_migrated()
    stage.undo()
    assert stage.is_as_before()


@each_write
def test_interrupted_then_taken_back(stage: Stage, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    interrupted(stage, monkeypatch, at)
    stage.undo()
    assert stage.is_as_before()


def test_an_undo_that_was_interrupted_goes_on(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.run()
    for at in (2, 1, 2):
        with monkeypatch.context() as patch:
            cut_off(patch, at)
            with pytest.raises(Killed):
                stage.undo()
    stage.undo()
    assert stage.is_as_before()


def test_interrupted_and_changed_since_is_left_to_the_person(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(stage, monkeypatch, len(WRITES) - 1)
    text = changed_since(stage)
    with pytest.raises(UserError, match="was changed since") as caught:
        stage.run()
    assert caught.value.fix == "check what was changed, or run: toolguard migrate --undo --yes"
    assert stage.plugins.read_text() == text
    stage.undo(yes=True)
    assert stage.is_as_before()


def test_a_write_that_fails_takes_all_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., None] = atomic.replace

    def replace(path: Path, *arguments: Any, **options: Any) -> None:
        if path.name == "plugins.json5.toolguard.bak":
            raise OSError(28, "No space left on device")
        real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "replace", replace)
        with pytest.raises(UserError, match="No space left"):
            stage.run()
    assert stage.is_as_before()
    stage.run()
    assert stage.is_migrated()


KILLED = """
import os, signal, sys
from pathlib import Path
from toolguard_cli.commands import migrate
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import atomic

real, left = atomic.replace, [int(sys.argv[2])]

def replace(*arguments, **options):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    real(*arguments, **options)

atomic.replace = replace
state = Path(sys.argv[1])
migrate.run(Places(state, state / "openclaw.json"), yes=True, openclaw=())
"""


def test_killed_for_real(stage: Stage) -> None:
    command = [sys.executable, "-c", KILLED, str(stage.places.state_dir), str(WRITES.index("config") + 2)]
    done = subprocess.run(command, env=os.environ, timeout=LIMIT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not stage.is_as_before()
    stage.undo()
    assert stage.is_as_before()
