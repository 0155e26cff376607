"""What Git has no change of to lose, compared with what Git itself says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tables import each_row
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call
from toolguard_engine.model.files import NoFiles
from toolguard_engine.server.git_index import is_unchanged

LONG_AGO = 1_000_000_000


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    for name in ("a.txt", "src/b.txt", "src/ä b.txt", "x" * 200):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("one\n")
        os.utime(top / name, (LONG_AGO, LONG_AGO))
    git(top, "init", "-q")
    git(top, "add", ".")
    return top


def git(top: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words]
    return subprocess.run(command, cwd=top, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", ["a.txt", "src/b.txt", "src/ä b.txt", "x" * 200])
def test_a_file_is_as_git_wrote_it_until_it_changes(repository: Path, name: str) -> None:
    path = repository / name
    assert is_unchanged(str(path))
    path.write_text("two\n")
    assert not is_unchanged(str(path))
    os.utime(path, (LONG_AGO, LONG_AGO))
    path.write_text("longer\n")
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert not is_unchanged(str(path))


def new(top: Path) -> Path:
    (top / "new.txt").write_text("mine")
    return top / "new.txt"


def wanted_later(top: Path) -> Path:
    """Its entry has two more bytes of flags, for which Git writes version 3."""
    (top / "later.txt").write_text("mine")
    git(top, "add", "--intent-to-add", "later.txt")
    return top / "later.txt"


def linked_worktree(top: Path) -> Path:
    git(top, "commit", "-qm", "x")
    git(top, "worktree", "add", "-q", "../other")
    (top.parent / "other" / "a.txt").write_text("two\n")
    return top.parent / "other" / "a.txt"


def short_names(top: Path) -> Path:
    git(top, "update-index", "--index-version", "4")
    return top / "src" / "b.txt"


def racy(top: Path) -> Path:
    path, index = top / "a.txt", top / ".git" / "index"
    written = index.stat().st_mtime_ns
    os.utime(path, ns=(written, written))
    git(top, "add", "a.txt")
    os.utime(index, ns=(written, written))
    return path


def broken(top: Path) -> Path:
    (top / ".git" / "index").write_bytes(b"DIRC")
    return top / "a.txt"


def split_index(top: Path) -> Path:
    """Most entries are in another file."""
    git(top, "update-index", "--split-index")
    (top / "a.txt").write_text("two\n")
    return top / "a.txt"


def in_linked_folder(top: Path) -> Path:
    (top.parent / "link").symlink_to(top / "src")
    (top / "src" / "b.txt").write_text("two\n")
    return top.parent / "link" / "b.txt"


def beside_no_repository(top: Path) -> Path:
    """Git passes over a folder with this name that is none of its own."""
    (top / "src" / ".git").mkdir()
    (top / "src" / "b.txt").write_text("two\n")
    return top / "src" / "b.txt"


@pytest.mark.parametrize(
    ("state", "is_safe"),
    [
        (lambda top: top / "gone.txt", True),
        (lambda top: top.parent / "elsewhere.txt", True),
        (new, False),
        (split_index, False),
        (in_linked_folder, False),
        (beside_no_repository, False),
        (wanted_later, False),
        (linked_worktree, False),
        (short_names, False),
        (racy, False),
        (broken, False),
        (lambda top: top / "a\ud800.txt", False),
        (lambda top: top / "a\0.txt", False),
        (lambda top: top / "src", False),
    ],
)
def test_what_is_not_known_counts_as_changed(repository: Path, state: Callable[[Path], Path], *, is_safe: bool) -> None:
    assert is_unchanged(str(state(repository))) is is_safe


class Clean(NoFiles):
    def is_unchanged(self, path: str) -> bool:
        return path == "/w/a.txt"


@each_row(
    ("command", "asked"),
    [
        ("git restore a.txt", False),
        ("git checkout -- a.txt", False),
        ("git checkout a.txt", False),
        ("cd src && git restore ../a.txt", False),
        ("git restore a.txt b.txt", True),
        (f"git restore {'a.txt ' * 9}", True),
        ("git restore a.txt; " * 8, False),
        ("git restore a.txt; " * 9, True),
        ("git restore .", True),
        ("git restore '*.txt'", True),
        ("git checkout -- .", True),
        ("git checkout main -- b.txt", True),
        ("git -C elsewhere restore a.txt", True),
        ("git -c a.b=c -c d.e=f -c g.h=i -c j.k=l restore a.txt", True),
        ("GIT_DIR=/other/.git GIT_WORK_TREE=. git restore a.txt", True),
        ("export GIT_WORK_TREE=/w GIT_DIR=/other/.git; git restore a.txt", True),
        ("git restore --source=HEAD~3 a.txt", True),
        ("git restore $F", True),
        ("git restore --pathspec-from-file=f", True),
    ],
)
def test_discarding_is_looked_up_for_plain_names(command: str, *, asked: bool) -> None:
    (found,) = CallReading(Call("exec", {"command": command}, cwd="/w"), files=Clean()).command_effects
    discards = [effect for effect in found if effect.kind == "discard"]
    assert discards
    assert any("unchanged" not in effect.flags for effect in discards) is asked
