"""What calls change is saved before they run, and can be brought back; a restore can be undone as well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk
from toolguard_engine.config.undo_settings import UndoConfig
from toolguard_engine.effects.calls.replaced_content import ReplacedContent
from toolguard_engine.model.call import Call
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints, uncommitted_work, undo_saver
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.server.undo_saver import NOTHING_SAVED, Saved, UndoSaver
from toolguard_engine.stores import system_calls
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.undo import undo_notes, undo_restoring, undo_saving
from toolguard_engine.stores.undo.undo_entry import UndoCause, UndoEntry
from toolguard_engine.stores.undo.undo_folder import UndoFolder
from toolguard_engine.stores.undo.undo_restoring import RestoreStep
from toolguard_engine.stores.undo.undo_saving import UndoSaving
from toolguard_engine.wire import messages

NOW = datetime(2026, 9, 6, 12, 0, tzinfo=UTC)
CAUSE = UndoCause(1.0)
LATER = NOW.timestamp() + 60

STEPS = frozenset(
    {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.symlink", "os.chmod", "os.utime", "os.link"}
)
"""What changes files, as Python's audit hooks name it: the moments at which a restore is killed."""

COMMANDS = (
    "rm -rf docs",
    "rm notes.txt link",
    "rm *.txt",
    "unlink notes.txt",
    "find docs -name '*.md' -delete",
    "find . -name '*.txt' -exec rm {} +",
    "rm -rf docs && mkdir docs && echo new > docs/b.md",
    "echo a > notes.txt",
    "tee notes.txt < other.txt > /dev/null",
    "truncate -s 0 notes.txt",
    "sed -i s/a/b/ notes.txt",
    "dd if=/dev/zero of=notes.txt bs=1 count=3 status=none",
    "shred -u notes.txt",
    "cat other.txt > notes.txt; rm notes.txt",
    "echo new > link",
    "cp other.txt notes.txt",
    "cp -r src/. docs",
    "cp -rT src docs",
    "ln -sf other.txt notes.txt",
    "mv other.txt notes.txt",
    "mv notes.txt docs/",
    "mv notes.txt docs/b.md",
    "mv docs papers",
    "mv -f docs/*.md .",
    "mv docs old; mv src docs",
    "mv notes.txt x.txt; mv x.txt y.txt",
    "mv notes.txt /dev/shm/toolguard-undo-test; rm /dev/shm/toolguard-undo-test",
    "python3 -c 'import os; os.remove(\"notes.txt\")'",
    'python3 -c \'open("notes.txt", "w").write("x")\'',
)


class Desk:
    """A session of an engine in a home folder with files of a person."""

    def __init__(self, home: Path, wait: float = 60.0, config: dict[str, Any] | None = None) -> None:
        self.home, self.work, self.state = home, home / "work", home / ".openclaw"
        for name, text in {"notes.txt": "a\nb\n", "other.txt": "other", "docs/a.md": "A", "docs/b.md": "B",
                           "docs/inner/c": "C", "src/a.md": "new A"}.items():  # fmt: skip
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_text(text)
        (self.work / "notes.txt").chmod(0o640)
        (self.work / "link").symlink_to("notes.txt")
        self.saver = UndoSaver(wait)
        setup = Setup(
            tool_hints.load(), lambda: NOW, 42, packs.load(), home=str(home), files=FileReader(wait=60), undo=self.saver
        )
        self.session = Session(setup)
        hello = messages.Hello(0, messages.VERSION, str(self.state), config=config or {"mode": "shadow"})
        self.session.answer(hello)
        self.count = 0

    def asks(self, tool: str, **params: Any) -> list[tuple[str, str]]:
        """Makes a call that runs, and returns what the audit log says about undo where something is not kept."""
        return [(code, reason) for code, reason in self.tells(tool, **params) if code != undo_notes.KEPT]

    def tells(self, tool: str, **params: Any) -> list[tuple[str, str]]:
        """Makes a call that runs, and returns what the audit log says about undo."""
        self.count += 1
        self.session.answer(
            messages.Judge(self.count, tool, params, agent="main", session="s", call=f"c{self.count}", cwd=str(self.work))
        )
        self.session.settle()
        events = self.session.outbox.take_events()
        return [(event.code, event.reason) for event in events if event.code.startswith("undo.")]

    def runs(self, command: str) -> None:
        self.asks("exec", command=command)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        subprocess.run(["/usr/bin/env", "bash", "-c", command], cwd=self.work, env=env, check=True)

    def ended(self) -> None:
        params: dict[str, Any] = {}
        self.session.answer(messages.ToolResult("exec", params, "", 0, agent="main", session="s", call=f"c{self.count}"))
        self.session.settle()

    @property
    def folder(self) -> UndoFolder:
        return UndoFolder(self.state)

    def seen(self) -> dict[str, tuple[object, ...]]:
        """All that the person has, without the times of folders and links."""
        found: dict[str, tuple[object, ...]] = {}
        for path in sorted(self.work.rglob("*")):
            name, status = str(path.relative_to(self.work)), path.lstat()
            if path.is_symlink():
                found[name] = (path.readlink(),)
            elif path.is_dir():
                found[name] = (status.st_mode,)
            else:
                found[name] = (status.st_mode, path.read_bytes(), status.st_mtime_ns)
        return found


def without_times(seen: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    return {name: state[:2] for name, state in seen.items()}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_undone_and_the_undo_as_well(desk: Desk, command: str) -> None:
    before = desk.seen()
    desk.runs(command)
    after = desk.seen()
    assert after != before
    [entry] = desk.folder.entries()
    first = undo_restoring.restore(desk.folder, entry, LATER)
    assert first.failed == ()
    left = desk.seen()
    assert {name: left.get(name) for name in before} == before
    again = next(each for each in desk.folder.entries() if each.id == first.undo)
    assert again.cause.restores == entry.id
    assert undo_restoring.restore(desk.folder, again, LATER + 1).failed == ()
    assert without_times(desk.seen()) == without_times(after)


def test_file_tools_are_undone(desk: Desk) -> None:
    notes = desk.work / "notes.txt"
    desk.asks("write", path=str(notes), content="all new")
    notes.write_text("all new")
    assert desk.asks("write", path=str(desk.work / "docs/a.md"), content="x") == []
    assert len(desk.folder.entries()) == 2
    entry = next(each for each in desk.folder.entries() if each.cause.call == "c1")
    undo_restoring.restore(desk.folder, entry, LATER)
    assert notes.read_text() == "a\nb\n"


@pytest.mark.parametrize(
    "command",
    [
        "ls docs",
        "cat notes.txt",
        "echo more >> notes.txt",
        "echo new > never-there.txt",
        "rm -rf node_modules",
        "rm -rf /tmp/anything",
        "rm ~/.ssh/id_ed25519",
        "rm .env",
    ],
)
def test_what_destroys_nothing_of_a_person_is_not_saved(desk: Desk, command: str) -> None:
    (desk.home / ".ssh").mkdir()
    (desk.home / ".ssh/id_ed25519").write_text("key")
    (desk.work / ".env").write_text("TOKEN=x")
    (desk.work / "node_modules").mkdir()
    (desk.work / "node_modules/x").write_text("x")
    assert desk.asks("exec", command=command) == []
    assert desk.folder.entries() == []


def test_no_credential_is_saved_with_the_folder_that_it_is_in(desk: Desk) -> None:
    (desk.home / ".ssh").mkdir()
    (desk.home / ".ssh/id_ed25519").write_text("key")
    (desk.home / ".netrc").write_text("password x")
    desk.asks("exec", command="rm -rf ~")
    [entry] = desk.folder.entries()
    names = {Path(each.path).name for each in entry.paths}
    assert "notes.txt" in names
    assert not names & {"id_ed25519", ".netrc", "toolguard"}


def test_what_the_agent_made_in_this_session_is_not_saved(desk: Desk) -> None:
    desk.asks("write", path=str(desk.work / "own.txt"), content="x")
    (desk.work / "own.txt").write_text("x")
    desk.ended()
    assert desk.asks("exec", command="rm own.txt") == []


def test_nothing_is_to_be_saved_where_nothing_is(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[str] = []

    def before(_: UndoSaver, __: object, ___: object, changes: tuple[ReplacedContent, ...], ____: str) -> Saved:
        saved.extend(change.path for change in changes)
        return NOTHING_SAVED

    monkeypatch.setattr(UndoSaver, "before", before)
    desk.runs("echo a > new.txt; mkdir -p d; echo b > d/new.txt; ln -s d there")
    desk.asks("write", path="another.txt", content="x")
    assert saved == []
    desk.runs("echo c > notes.txt; echo d > last.txt")
    desk.asks("write", path="link", content="x")
    assert saved == [f"{desk.work}/notes.txt", f"{desk.work}/link"]


def test_what_git_has_is_not_saved(desk: Desk) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(desk.home)}
    for step in (["init", "-q"], ["add", "notes.txt"]):
        subprocess.run(["/usr/bin/env", "git", *step], cwd=desk.work, env=env, check=True)
    index = desk.work / ".git/index"
    old = desk.work.joinpath("notes.txt").stat().st_mtime + 10
    os.utime(index, (old, old))  # Git itself would not trust a file that was written in the same moment
    assert desk.asks("exec", command="echo x > notes.txt") == []
    (desk.work / "notes.txt").write_text("changed since")
    desk.asks("exec", command="echo x > notes.txt")
    assert len(desk.folder.entries()) == 1


def git(desk: Desk, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(desk.home)}
    name = ("-c", "user.name=ada", "-c", "user.email=ada@here.example")
    subprocess.run(["/usr/bin/env", "git", *name, *words], cwd=desk.work, env=env, check=True, capture_output=True)


@pytest.fixture
def edited(desk: Desk) -> Desk:
    """Work of a person in a repository: changed, added to the index, new, and what the last commit has."""
    for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        git(desk, *step)
    old = desk.work.joinpath("notes.txt").stat().st_mtime + 10
    for name in ("index", "logs/HEAD"):
        os.utime(desk.work / ".git" / name, (old, old))  # a minute later
    for name, text in {"notes.txt": "edited", "docs/a.md": "added", "docs/new.md": "new"}.items():
        (desk.work / name).write_text(text)
        os.utime(desk.work / name, (old + 10, old + 10))
    git(desk, "add", "docs/a.md")
    return desk


@pytest.mark.parametrize(
    ("command", "lost"),
    [
        ("git reset --hard", {"notes.txt", "docs/a.md"}),
        ("git reset --hard HEAD", {"notes.txt", "docs/a.md"}),
        ("cd docs && git reset --hard", {"notes.txt", "docs/a.md"}),
        ("git -C docs reset --hard", {"notes.txt", "docs/a.md"}),
        ("git checkout -f", {"notes.txt", "docs/a.md"}),
        ("git checkout -- .", {"notes.txt"}),
        ("git checkout notes.txt", {"notes.txt"}),
        ("git restore .", {"notes.txt"}),
        ("git clean -fdq", {"docs/new.md"}),
        ("git reset -q --hard && git clean -fdq", {"notes.txt", "docs/a.md", "docs/new.md"}),
    ],
)
def test_what_no_commit_has_is_saved_from_git(edited: Desk, command: str, lost: set[str]) -> None:
    before = {name: (edited.work / name).read_bytes() for name in ("notes.txt", "docs/a.md", "docs/new.md", "other.txt")}
    edited.runs(command)
    now = {name: (edited.work / name) for name in before}
    assert {name for name, path in now.items() if not path.exists() or path.read_bytes() != before[name]} == lost
    [entry] = edited.folder.entries()
    assert undo_restoring.restore(edited.folder, entry, LATER).failed == ()
    assert {name: path.read_bytes() for name, path in now.items()} == before
    assert "other.txt" not in {Path(saved.path).name for saved in entry.paths}


@pytest.mark.parametrize("command", ["git stash drop", "git stash clear", "git stash pop"])
def test_a_stash_comes_back(edited: Desk, command: str) -> None:
    git(edited, "stash")
    stash = (edited.work / ".git/refs/stash").read_bytes()
    edited.runs(command)
    assert not (edited.work / ".git/refs/stash").exists()
    [entry] = edited.folder.entries()
    undo_restoring.restore(edited.folder, entry, LATER)
    assert (edited.work / ".git/refs/stash").read_bytes() == stash
    git(edited, "checkout", "-qf")
    git(edited, "stash", "pop")
    assert (edited.work / "notes.txt").read_text() == "edited"


@pytest.mark.parametrize(
    "command", ["git", "git --version", "git reset", "git stash", "git clean -nd", "git status", "git checkout -b x"]
)
def test_what_git_does_not_discard_is_not_saved(edited: Desk, command: str) -> None:
    assert edited.asks("exec", command=command) == []
    assert edited.folder.entries() == []


def test_an_index_that_cannot_be_read_is_said(edited: Desk) -> None:
    (edited.work / ".git/index").write_bytes(b"DIRC\0\0\0\5\0\0\0\1")
    [(code, reason)] = edited.asks("exec", command="git reset --hard")
    assert code in ("undo.skipped", "undo.partial")
    assert "index" in reason


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_the_index_is_read(edited: Desk, version: str) -> None:
    folder = edited.work / "docs" / ("long" * 50)
    folder.mkdir()
    for name in ("a.md", "b.md", "z"):
        (folder / name).write_text(name)
    git(edited, "add", str(folder))
    (folder / "new.md").write_text("new")
    (edited.work / "z.md").write_text("tracked, with a short name behind a long one")
    git(edited, "add", "z.md")
    git(edited, "commit", "-qm", "second")
    git(edited, "update-index", "--index-version", version)
    edited.asks("exec", command="git clean -fdq")
    [entry] = edited.folder.entries()
    assert {Path(saved.path).name for saved in entry.paths} == {"new.md"}


def test_what_can_be_built_again_does_not_count(edited: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncommitted_work, "MAX_UNTRACKED", 8)
    for folder in ("node_modules", "node_modules/deep"):
        (edited.work / folder).mkdir()
        for name in range(20):
            (edited.work / folder / f"{name}.js").touch()
    for name in range(20):
        (edited.work / f"tracked{name}").touch()
    git(edited, "add", "tracked*")
    assert edited.asks("exec", command="git clean -fdq") == []
    [entry] = edited.folder.entries()
    assert {Path(saved.path).name for saved in entry.paths} == {"new.md"}


def test_of_too_many_files_some_are_saved(edited: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncommitted_work, "MAX_UNTRACKED", 8)
    for name in range(20):
        (edited.work / f"new{name}").touch()
    [(code, reason)] = edited.asks("exec", command="git clean -fdq")
    assert (code, "more than 8 files" in reason) == ("undo.partial", True)
    assert len(edited.folder.entries()[0].paths) > 4


def test_an_index_that_is_a_pipe_is_not_opened(edited: Desk) -> None:
    (edited.work / ".git/index").unlink()
    os.mkfifo(edited.work / ".git/index")
    [(_, reason)] = edited.asks("exec", command="git reset --hard")
    assert "no file" in reason


@pytest.mark.parametrize("data", [b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff", b"DIRC\0\0\0\2\0\0\0\2" + b"x" * 70])
def test_a_broken_index_is_no_error(edited: Desk, data: bytes) -> None:
    (edited.work / ".git/index").write_bytes(data)
    for command in ("git reset --hard", "git clean -fd"):
        edited.asks("exec", command=command)
    assert edited.asks("exec", command="rm notes.txt") == []


def test_nothing_is_saved_if_it_is_switched_off(tmp_path: Path) -> None:
    desk = Desk(tmp_path, config={"mode": "shadow", "undo": {"enabled": False}})
    assert desk.asks("exec", command="rm -rf docs") == []
    assert not desk.folder.path.exists()


def test_a_disk_that_hangs_delays_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit log says that nothing could be saved, and the next call does not wait at all."""
    desk = Desk(tmp_path, wait=0)
    goes_on, begun = threading.Event(), threading.Event()
    save = UndoFolder.save

    def hangs(*args: Any, **kwargs: Any) -> UndoEntry:
        begun.set()
        goes_on.wait()
        return save(*args, **kwargs)

    monkeypatch.setattr(UndoFolder, "save", hangs)
    [(code, reason)] = desk.asks("exec", command="rm notes.txt")
    assert (code, undo_saver.LATE in reason) == ("undo.skipped", True)
    begun.wait()
    [(code, reason)] = desk.asks("exec", command="rm other.txt")
    assert (code, undo_saver.BUSY in reason) == ("undo.skipped", True)
    goes_on.set()


def test_what_is_saved_after_the_call_may_have_begun_is_not_kept(desk: Desk) -> None:
    changes = tuple(ReplacedContent("replaced", str(desk.work / name)) for name in ("notes.txt", "other.txt"))
    begun: list[UndoSaving] = []

    def fill(saving: UndoSaving) -> None:
        begun.append(saving)
        saving.save(changes)

    entry = desk.folder.save(CAUSE, fill, lambda _: False, lambda: bool(begun and begun[0].paths))
    assert [Path(each.path).name for each in entry.paths] == ["notes.txt"]
    assert entry.left_out != ()
    assert sorted(each.name for each in (desk.folder.path / entry.id).iterdir()) == ["1", "entry.json", "incomplete"]
    assert {(desk.folder.path / entry.id / name).stat().st_mode & 0o777 for name in ("entry.json", "incomplete")} == {0o600}


def test_limits_leave_out_what_is_too_large(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo_saving, "MAX_COPIED", 4)
    monkeypatch.setattr(system_calls, "NAME", "none")  # a file system that cannot share blocks
    changes = tuple(ReplacedContent("replaced", str(desk.work / name)) for name in ("other.txt", "notes.txt"))
    entry = desk.folder.save(CAUSE, lambda saving: saving.save(changes), lambda _: False)
    assert [Path(each.path).name for each in entry.paths] == ["notes.txt"]
    assert "other.txt" in entry.left_out[0]
    monkeypatch.setattr(undo_saving, "MAX_PATHS", 2)
    entry = desk.folder.save(
        CAUSE, lambda saving: saving.save((ReplacedContent("removed", str(desk.work)),)), lambda _: False
    )
    assert len(entry.paths) == 2
    assert entry.left_out != ()


def test_a_name_that_looks_like_a_pattern_is_a_name(desk: Desk) -> None:
    for name in ("[id]", "i"):
        (desk.work / name).write_text(name)
    desk.asks("write", path=str(desk.work / "[id]"), content="new")
    [entry] = desk.folder.entries()
    assert [Path(each.path).name for each in entry.paths] == ["[id]"]


def test_a_pattern_that_finds_nothing_is_given_up_with_the_call(desk: Desk) -> None:
    looked: list[int] = []

    def is_over() -> bool:
        looked.append(1)
        return len(looked) > 3

    change = ReplacedContent("removed", "/usr/*/*/*/*/no-such-file*")
    entry = desk.folder.save(CAUSE, lambda saving: saving.save((change,)), lambda _: False, is_over)
    assert (entry.paths, len(entry.left_out), len(looked)) == ((), 1, 4)


def test_hidden_files_match_only_a_hidden_pattern(desk: Desk) -> None:
    (desk.work / ".hidden.txt").write_text("x")
    desk.asks("exec", command="rm *.txt")
    [entry] = desk.folder.entries()
    assert {Path(each.path).name for each in entry.paths} == {"notes.txt", "other.txt"}


def test_what_is_no_file_is_not_replaced(desk: Desk) -> None:
    desk.runs("rm notes.txt")
    os.mkfifo(desk.work / "notes.txt")
    [entry] = desk.folder.entries()
    done = undo_restoring.restore(desk.folder, entry, LATER)
    assert (done.done, len(done.failed), done.undo) == (0, 1, "")
    assert (desk.work / "notes.txt").is_fifo()


def test_credentials_behind_a_link_are_not_saved(tmp_path: Path) -> None:
    real = tmp_path / "disk/ada"
    real.mkdir(parents=True)
    (tmp_path / "home").symlink_to(real)
    desk = Desk(tmp_path / "home")
    (real / ".aws").mkdir()
    (real / ".aws/credentials").write_text("secret")
    (real / "work/server.key").write_text("secret")
    desk.asks("exec", command="rm -rf ~/* ~/.aws")
    [entry] = desk.folder.entries()
    names = {Path(each.path).name for each in entry.paths}
    assert "notes.txt" in names
    assert not names & {"credentials", "server.key", "entry.json"}


def test_one_name_or_one_folder_that_cannot_be_saved_hides_no_other(desk: Desk) -> None:
    odd = os.fsencode(desk.work / "docs") + b"/caf\xe9"
    Path(os.fsdecode(odd)).write_text("x")
    deep = desk.work / "docs" / "/".join("d" * 150)
    deep.mkdir(parents=True)
    changes = (ReplacedContent("removed", str(desk.work / "docs")), ReplacedContent("removed", str(desk.work / "notes.txt")))
    entry = desk.folder.save(CAUSE, lambda saving: saving.save(changes), lambda _: False)
    assert {"a.md", "c", "notes.txt"} <= {Path(each.path).name for each in entry.paths}
    assert len(entry.left_out) == 2


def test_one_call_does_not_push_out_all_others(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("12345")
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    folder = UndoFolder(tmp_path / "state", max_bytes=100_000, days=1)
    for at, name in ((1.0, "file"), (2.0, "large")):
        change = ReplacedContent("removed", str(tmp_path / name))
        folder.save(UndoCause(at), lambda saving, change=change: saving.save((change,)), lambda _: False)
    folder.prune(3.0)
    assert [each.cause.at for each in folder.entries()] == [1.0]


def test_a_file_that_was_not_removed_and_then_changed_is_not_restored_as_what_it_was(desk: Desk) -> None:
    """The second name of a file shows what is written into it later."""
    desk.asks("exec", command="rm notes.txt")
    with (desk.work / "notes.txt").open("r+") as file:
        file.write("changed since")
    (desk.work / "notes.txt").rename(desk.work / "elsewhere.txt")
    [entry] = desk.folder.entries()
    done = undo_restoring.restore(desk.folder, entry, LATER)
    assert (done.done, len(done.failed)) == (0, 1)


def test_nothing_gets_the_right_to_run_as_its_owner(desk: Desk) -> None:
    (desk.work / "notes.txt").chmod(0o4755)
    desk.runs("rm notes.txt")
    [entry] = desk.folder.entries()
    undo_restoring.restore(desk.folder, entry, LATER)
    assert (desk.work / "notes.txt").stat().st_mode & 0o7777 == 0o755


def test_a_large_restore_can_be_undone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.runs("rm -rf docs")
    [entry] = desk.folder.entries()
    first = undo_restoring.restore(desk.folder, entry, LATER)
    again = next(each for each in desk.folder.entries() if each.id == first.undo)
    monkeypatch.setattr(undo_saving, "MAX_COPIED", 0)
    assert undo_restoring.restore(desk.folder, again, LATER + 1).failed == ()
    assert not (desk.work / "docs").exists()


def test_the_audit_log_says_what_is_not_saved(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo_saving, "MAX_COPIED", 4)
    monkeypatch.setattr(system_calls, "NAME", "none")
    [(code, reason)] = desk.asks("exec", command="echo x > notes.txt; echo y > other.txt")
    [entry] = desk.folder.entries()
    assert (code, entry.id in reason, "other.txt" in reason) == ("undo.partial", True, True)


def test_a_fault_in_saving_changes_no_verdict(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.saver, "before", lambda *_: 1 / 0)
    [(code, reason)] = desk.asks("exec", command="rm notes.txt")
    assert (code, "ZeroDivisionError" in reason) == ("undo.skipped", True)


def test_what_is_too_old_goes_when_the_engine_begins(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.folder.save(CAUSE, lambda saving: saving.present(str(desk.work / "notes.txt")), lambda _: False)
    saver = UndoSaver(60)
    saver.begin(desk.state, UndoConfig(enabled=False), str(desk.home))
    while desk.folder.entries():
        pass


def test_a_file_with_another_name_is_copied(desk: Desk) -> None:
    """Its content may be changed by that name later."""
    (desk.home / "other-name").hardlink_to(desk.work / "notes.txt")
    desk.runs("rm notes.txt; echo changed > ~/other-name")
    entry = desk.folder.entries()[-1]
    undo_restoring.restore(desk.folder, entry, LATER)
    assert (desk.work / "notes.txt").read_text() == "a\nb\n"


def test_a_link_on_the_way_is_not_followed(desk: Desk) -> None:
    """A program that puts one there between the call and the restore gets nothing written elsewhere."""
    desk.runs("rm -rf docs")
    elsewhere = desk.home / "elsewhere"
    elsewhere.mkdir()
    (desk.work / "docs").symlink_to(elsewhere)
    [entry] = desk.folder.entries()
    done = undo_restoring.restore(desk.folder, entry, LATER)
    assert list(elsewhere.iterdir()) == []
    assert [each.path for each in done.failed if each.path.endswith("a.md")] != []


def test_what_cannot_come_back_is_said(desk: Desk) -> None:
    desk.runs("mv docs papers")
    (desk.work / "papers").rename(desk.home / "gone")
    [entry] = desk.folder.entries()
    docs = str(desk.work / "docs")
    papers = desk.work / "papers"
    assert undo_restoring.plan(entry) == [RestoreStep(docs, "impossible", f"it is no longer at {papers}")]
    assert undo_restoring.restore(desk.folder, entry, LATER).done == 0


def test_old_entries_and_those_that_are_too_much_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("12345")
    folder = UndoFolder(tmp_path / "state", max_bytes=50_000, days=1)
    changes = (ReplacedContent("replaced", str(tmp_path / "file")),)
    for at in (1.0, 2.0, 3.0):
        folder.save(UndoCause(at), lambda saving: saving.save(changes), lambda _: False)
    folder.prune(3.0)
    assert [each.cause.at for each in folder.entries()] == [3.0, 2.0]
    folder.prune(86_403.0)
    assert folder.entries() == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    folder = UndoFolder(tmp_path, max_bytes=1_000, days=1)
    left = folder.path / "new-0a1b2c"
    left.mkdir(parents=True)
    (left / "0").write_text("half")
    os.utime(left, (1, 1))
    folder.prune(3.0)
    assert not left.exists()


def test_an_entry_that_names_a_file_elsewhere_is_refused(desk: Desk) -> None:
    """The description is in a folder of ours, and yet it is only a file."""
    desk.runs("rm notes.txt")
    [entry] = desk.folder.entries()
    bad = UndoEntry(entry.id, entry.cause, tuple(each.__class__(each.path, "file", kept="../x") for each in entry.paths))
    done = undo_restoring.restore(desk.folder, bad, LATER)
    assert (done.done, len(done.failed)) == (0, 1)


def test_the_saver_says_what_it_saved(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    saver = UndoSaver(60)
    saver.begin(tmp_path / "state", UndoConfig(), str(tmp_path))
    call = Call("exec", {}, call_id="c", at=1.0)
    saved = saver.before(call, lambda: "rm a", (ReplacedContent("removed", str(tmp_path / "a")),))
    [entry] = UndoFolder(tmp_path / "state").entries()
    assert (saved.name, saved.why, entry.cause.shown) == (entry.id, "", "rm a")
    assert saver.before(call, lambda: "rm b", (ReplacedContent("removed", str(tmp_path / "b")),)).name == ""


def killed_while_restoring(desk: Desk, entry: UndoEntry, moment: int) -> bool:
    """Restores in a process that kills itself when it is about to do its next step. Whether it got so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: the other thread has nothing to do
        pid = os.fork()
    if pid == 0:
        left = [moment]

        def hook(event: str, _: object) -> None:
            if event in STEPS:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            undo_restoring.restore(desk.folder, entry, LATER)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_a_restore_that_is_killed_at_any_step_leaves_whole_files_and_can_be_repeated(tmp_path: Path) -> None:
    moment, is_killed = 0, True
    while is_killed:
        desk = Desk(tmp_path / str(moment))
        before = desk.seen()
        desk.runs("mv notes.txt docs/b.md; echo new > docs/a.md; rm -r docs/inner")
        after = desk.seen()
        [entry] = desk.folder.entries()
        is_killed = killed_while_restoring(desk, entry, moment)
        present = desk.seen()
        for name in ("notes.txt", "docs/a.md", "docs/b.md", "docs/inner/c"):
            contents = [state[name][1] for state in (before, after) if name in state]
            assert name not in present or present[name][1] in contents
        undo_restoring.restore(desk.folder, entry, LATER + 1)
        assert {name: desk.seen().get(name) for name in before} == before
        moment += 1
    assert moment > 20


def test_what_is_recorded_is_true_as_long_as_it_is_kept(desk: Desk) -> None:
    [(code, reason)] = desk.tells("exec", command="rm notes.txt")
    [entry] = desk.folder.entries()
    assert (code, reason) == (undo_notes.KEPT, f"can be undone: toolguard undo {entry.id}")
    assert undo_notes.current(desk.state, code, reason) == reason
    desk.folder.remove(entry.id)
    gone = f"could be undone, but what was kept under {entry.id} is gone"
    assert undo_notes.current(desk.state, code, reason) == gone


def test_a_call_of_which_a_part_is_kept_says_so_until_that_is_gone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo_saving, "MAX_COPIED", 4)
    monkeypatch.setattr(system_calls, "NAME", "none")
    [(code, reason)] = desk.asks("exec", command="echo x > notes.txt; echo y > other.txt")
    [entry] = desk.folder.entries()
    assert reason.startswith(f"only a part of it can be undone: toolguard undo {entry.id} (")
    assert undo_notes.current(desk.state, code, reason) == reason
    desk.folder.remove(entry.id)
    assert "can be undone" not in undo_notes.current(desk.state, code, reason)


@pytest.mark.parametrize("why", ["it is too large", undo_saver.LATE])
def test_what_was_not_kept_cannot_be_undone(tmp_path: Path, why: str) -> None:
    code, reason = undo_notes.recorded("", why)
    assert code == undo_notes.SKIPPED
    assert why in undo_notes.current(tmp_path, code, reason)


@pytest.mark.parametrize(
    "text", ["can be undone: toolguard undo ../../etc", "can be undone: toolguard undo 3fa9c1/x", "rm x"]
)
def test_no_other_text_names_an_entry(tmp_path: Path, text: str) -> None:
    assert undo_notes.current(tmp_path, undo_notes.KEPT, text) == text
    assert undo_notes.current(tmp_path, "rule.rm-home", "can be undone: toolguard undo 3fa9c1") == (
        "can be undone: toolguard undo 3fa9c1"
    )


def test_a_call_that_changes_nothing_of_the_person_says_nothing(desk: Desk) -> None:
    assert desk.tells("exec", command="ls") == []
    assert desk.tells("exec", command="rm /tmp/x") == []


@pytest.mark.parametrize("nonce", ["3fa9c1d2", "0123456789abcdef"])
def test_the_entry_of_a_held_call_has_its_nonce_as_its_name(desk: Desk, nonce: str) -> None:
    assert undo_notes.offer(desk.state, nonce) == ""
    cause = UndoCause(1.0, nonce=nonce)
    for _ in range(2):  # a second one must not take the place of the first
        desk.folder.save(cause, lambda saving: saving.present(str(desk.work / "notes.txt")), lambda _: False)
    assert len(desk.folder.entries()) == 2
    assert undo_notes.offer(desk.state, nonce) == f"toolguard undo {nonce} undoes it"


def test_a_held_call_of_which_a_part_is_kept_is_not_said_to_be_undone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each surface asks `offer`; that of the audit log asks `current`."""
    monkeypatch.setattr(undo_saving, "MAX_COPIED", 4)
    monkeypatch.setattr(system_calls, "NAME", "none")
    nonce = "3fa9c1d2"
    changes = tuple(ReplacedContent("replaced", str(desk.work / name)) for name in ("other.txt", "notes.txt"))
    entry = desk.folder.save(UndoCause(1.0, nonce=nonce), lambda saving: saving.save(changes), lambda _: False)
    assert (entry.id, len(entry.paths), len(entry.left_out)) == (nonce, 1, 1)
    assert undo_notes.offer(desk.state, nonce) == f"toolguard undo {nonce} undoes a part of it"
    code, reason = undo_notes.recorded(nonce, entry.left_out[0])
    assert undo_notes.current(desk.state, code, reason) == reason
    desk.folder.remove(nonce)
    assert undo_notes.offer(desk.state, nonce) == ""
    gone = f"a part of it could be undone, but what was kept under {nonce} is gone"
    assert undo_notes.current(desk.state, code, reason) == gone


@pytest.mark.parametrize("nonce", ["../escape", "3f/a9c1", "", "UPPER123", "3f"])
def test_what_is_no_nonce_is_no_name(desk: Desk, nonce: str) -> None:
    entry = desk.folder.save(
        UndoCause(1.0, nonce=nonce), lambda saving: saving.present(str(desk.work / "notes.txt")), lambda _: False
    )
    assert undo_notes.is_name(entry.id)
    assert undo_notes.offer(desk.state, nonce) == ""


@pytest.mark.parametrize("outcome", ["used", "denied", "expired"])
def test_what_the_gateways_own_prompt_asks_about_is_told_when_it_has_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    """The files are kept when the prompt appears; that they can be brought back is news only if the call has run."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(undo_saver, "WAIT", 60.0)
    state, folder = tmp_path / ".openclaw", tmp_path / "Documents"
    (state / "toolguard").mkdir(parents=True, mode=0o700)
    folder.mkdir()
    (folder / "thesis.txt").write_text("old")
    talk = Talk()
    talk.hello(state, {"approval": {"mode": "native"}})
    place = {"agent": "main", "session": "agent:main:main", "run": "r", "callId": "c", "native": True}
    talk.send(id=1, type="judge", tool="exec", params={"command": f"rm -rf {folder}"}, **place)
    (prompt,) = [each["prompt"] for each in talk.said() if each["type"] == "verdict"]

    def told() -> list[tuple[str, str, str]]:
        talk.later(5)
        events = list(AuditLog(state).events())
        return [(each["event"], each["nonce"], each["reason"]) for each in events if each.get("code") == undo_notes.KEPT]

    assert told() == []
    talk.send(id=2, type="resolved", nonce=prompt["nonce"], outcome=outcome, by="anna")
    expected = [("kept", prompt["nonce"], f"can be undone: toolguard undo {prompt['nonce']}")]
    assert told() == (expected if outcome == "used" else [])
    talk.kill()
