"""The changes of a rehearsed command are made all or not at all, whenever the process is killed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from effort import ALL
from toolguard_engine.containment.rehearsed_changes import After, Before, RehearsedChange
from toolguard_engine.server import overlay_changes, present_state, rehearsal_commit
from toolguard_engine.server.rehearsal_commit import IncompleteError, StaleError

ENTRIES = frozenset({"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.symlink", "os.chmod", "os.utime"})
"""What changes files, as Python's audit hooks name it: the moments at which the process is killed."""

LEAST_MOMENTS = 150


def _tree(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = f"{path.lstat().st_mode:o}"
        text = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
        found[str(path.relative_to(folder))] = f"{mode} {text}"
    return found


def _real(folder: Path) -> Path:
    real = folder / "real"
    for name in ("gone/inner/a", "gone/b", "same", "changed", "becomes-folder", "becomes-file/a", "read-only/a"):
        (real / name).parent.mkdir(parents=True, exist_ok=True)
        (real / name).write_text(name)
    (real / "link").symlink_to("same")
    (real / "read-only").chmod(0o555)
    return real


def _changes(real: Path, made: Path) -> list[RehearsedChange]:
    made.mkdir()

    def gone(name: str) -> RehearsedChange:
        return RehearsedChange(str(real / name), present_state.before(str(real / name)), After())

    def file(name: str, text: str, mode: int = 0o640) -> RehearsedChange:
        kept = made / name.replace("/", "-")
        kept.write_text(text)
        after = After("file", mode, len(text), 1_700_000_000_000_000_000, kept=str(kept))
        return RehearsedChange(str(real / name), present_state.before(str(real / name)), after)

    def folder(name: str, mode: int) -> RehearsedChange:
        return RehearsedChange(str(real / name), present_state.before(str(real / name)), After("folder", mode))

    link = RehearsedChange(str(real / "link"), present_state.before(str(real / "link")), After("link", link="changed"))
    return [
        gone("gone/inner/a"), gone("gone/inner"), gone("gone/b"), gone("gone"), gone("read-only/a"), link,
        file("changed", "new text"), folder("new", 0o555), file("new/x", "x", 0o755), folder("becomes-folder", 0o700),
        file("becomes-folder/y", "y"), gone("becomes-file/a"), file("becomes-file", "z"),
    ]  # fmt: skip


@pytest.fixture
def scene(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The folder of the rehearsals, the real files, and the changes that are kept."""
    real, folder = _real(tmp_path), tmp_path / "rehearsals"
    kept = folder / "kept"
    kept.mkdir(parents=True)
    rehearsal_commit.keep(_changes(real, tmp_path / "made"), kept)
    return folder, real, kept


def _expected(before: dict[str, str]) -> set[str]:
    return {name for name in before if not name.startswith(("gone", "becomes-file/", "read-only/"))} | {
        "new", "new/x", "becomes-folder/y", "read-only",
    }  # fmt: skip


def test_all_changes_are_made(scene: tuple[Path, Path, Path]) -> None:
    folder, real, kept = scene
    before = _tree(real)
    with rehearsal_commit.locked(folder):
        assert rehearsal_commit.commit(folder, kept) == 13
    after = _tree(real)
    assert set(after) == _expected(before)
    assert after["changed"] == "100640 new text"
    assert after["new"].startswith("40555")
    assert after["read-only"].startswith("40555")
    assert after["becomes-folder"].startswith("40700")
    assert after["becomes-file"].endswith(" z")
    assert after["link"].endswith(" changed")
    assert after["same"] == before["same"]
    assert list((folder / "committing").iterdir()) == list((folder / "done").iterdir()) == []
    assert not kept.exists()


def _killed(folder: Path, kept: Path, moment: int) -> bool:
    """Commits in a process that kills itself when it is about to do its next step. Whether it got so far."""
    pid = os.fork()
    if pid == 0:
        left = [moment]

        def hook(event: str, _: object) -> None:
            if event in ENTRIES:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            with rehearsal_commit.locked(folder):
                rehearsal_commit.commit(folder, kept)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_killed_at_every_step(tmp_path: Path) -> None:
    outcomes, moment, is_killed = [], 0, True
    expected: dict[str, str] = {}
    while is_killed:
        here = tmp_path / str(moment)
        here.mkdir()
        real, folder = _real(here), here / "rehearsals"
        (folder / "kept").mkdir(parents=True)
        rehearsal_commit.keep(_changes(real, here / "made"), folder / "kept")
        before = _tree(real)
        is_killed = _killed(folder, folder / "kept", moment)
        with rehearsal_commit.locked(folder):  # as the next command does
            after = _tree(real)
        outcomes.append((after, before))
        expected = after
        for path in here.rglob("*/"):
            path.chmod(0o700)  # else only root could remove what is in it
        shutil.rmtree(here)
        moment += 1 if ALL else 7
    assert moment > LEAST_MOMENTS
    between = [number for number, (after, before) in enumerate(outcomes) if after not in (before, expected)]
    assert between == []
    assert outcomes[0][0] == outcomes[0][1] != expected


@pytest.mark.parametrize(
    "meddle",
    [
        lambda real: (real / "changed").write_text("by another"),
        lambda real: (real / "new").mkdir(),
        lambda real: (real / "gone/b").unlink(),
        lambda real: (real / "link").unlink(),
        lambda real: (real / "becomes-file/a").chmod(0o600),
        lambda real: (real.rename(real.with_name("moved")), real.symlink_to("moved")),
    ],
)
def test_what_was_changed_meanwhile_is_left(scene: tuple[Path, Path, Path], meddle: object) -> None:
    folder, real, kept = scene
    meddle(real)  # type: ignore[operator]
    before = _tree(real)
    with rehearsal_commit.locked(folder), pytest.raises(StaleError):
        rehearsal_commit.commit(folder, kept)
    assert _tree(real) == before
    assert kept.exists()


def test_what_was_changed_while_it_ran_is_left(scene: tuple[Path, Path, Path]) -> None:
    folder, real, kept = scene
    began = (real / "changed").stat().st_ctime_ns
    with pytest.raises(StaleError):
        rehearsal_commit.commit(folder, kept, began)


def test_a_link_put_in_the_way_leads_nowhere(tmp_path: Path) -> None:
    """A folder that a command replaces by a link while the changes are made."""
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    secret.mkdir()
    folder.symlink_to(secret)
    made = tmp_path / "made"
    made.write_text("x")
    change = RehearsedChange(str(folder / "new"), Before(), After("file", 0o600, 1, 1, kept="made"))
    rehearsal_commit._apply(change, tmp_path)
    assert list(secret.iterdir()) == []


@pytest.mark.parametrize("name", [b"\xff\xe9", ("\u4e2d" * 83).encode(), b"a" * 255])
def test_any_name_can_be_made(tmp_path: Path, name: bytes) -> None:
    folder, kept, made = tmp_path / "rehearsals", tmp_path / "rehearsals/kept", tmp_path / "made"
    kept.mkdir(parents=True)
    made.write_text("x")
    file, link = tmp_path / os.fsdecode(name), tmp_path / "link"
    changes = [
        RehearsedChange(str(file), Before(), After("file", 0o600, 1, 1, kept=str(made))),
        RehearsedChange(str(link), Before(), After("link", link=os.fsdecode(name))),
    ]
    rehearsal_commit.keep(changes, kept)
    with rehearsal_commit.locked(folder):
        assert rehearsal_commit.commit(folder, kept) == 2
    assert file.read_text() == "x"
    assert link.readlink() == Path(file.name)


def test_a_step_that_fails_is_reported(scene: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _, kept = scene

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(rehearsal_commit, "_put", refused)
    with rehearsal_commit.locked(folder), pytest.raises(IncompleteError, match="real/changed: Operation not permitted"):
        rehearsal_commit.commit(folder, kept)


def _whiteout(path: Path) -> None:
    try:
        os.mknod(path, 0o20000, 0)
    except PermissionError:
        pytest.skip("only root may make the sign of a removed file here")


def test_an_upper_folder_is_read(tmp_path: Path) -> None:
    real, upper = _real(tmp_path), tmp_path / "upper"
    (upper / "read-only").mkdir(parents=True)
    (upper / "read-only").chmod(0o555)
    _whiteout(upper / "gone")
    (upper / "changed").write_text("new")
    (upper / "same").write_text("same")
    (upper / "fresh").mkdir()
    (upper / "fresh/link").symlink_to("x")
    os.mkfifo(upper / "fresh/pipe")
    (upper / "same").chmod(0o600)
    found = {each.path.removeprefix(f"{real}/"): each for each in overlay_changes.changes(str(real), str(upper))}
    assert list(found) == ["changed", "fresh", "fresh/link", "gone/b", "gone/inner/a", "gone/inner", "gone", "same"]
    assert found["same"].is_same
    assert not found["changed"].is_same
    assert found["fresh/link"].after == After("link", link="x")
    assert {found[name].after.what for name in found if name.startswith("gone")} == {"nothing"}


def test_too_many_changes_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay_changes, "MAX_CHANGES", 2)
    upper = tmp_path / "upper"
    upper.mkdir()
    for name in "abc":
        (upper / name).write_text(name)
    with pytest.raises(overlay_changes.TooMuchError):
        overlay_changes.changes(str(tmp_path / "real"), str(upper))
