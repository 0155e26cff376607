"""Who can change the trusted signers, asked as the gateway's user: an ordinary user, also when the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolguard_engine.stores.fleet import trust_root
from toolguard_engine.stores.fleet.trust_root import ALLOWED, REVOKED, problem

ROOT = os.geteuid() == 0
NOBODY, GROUP = 65_534, 54_321
CODE = (
    "import sys; from pathlib import Path; sys.path.insert(0, {0!r}); "
    "from toolguard_engine.stores.fleet.trust_root import problem; print(problem(Path(sys.argv[1])))"
)
needs_root = pytest.mark.skipif(not ROOT, reason="only root can make files of another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Below `/`, where root owns each parent folder; readable for everybody."""
    base = Path(tempfile.mkdtemp(prefix="toolguard-trust-", dir="/var/lib" if ROOT else None))
    base.chmod(0o755)
    trust = base / "trust"
    trust.mkdir(mode=0o755)
    (trust / ALLOWED).write_text("anna ssh-ed25519 AAAA\n")
    (trust / ALLOWED).chmod(0o644)
    yield trust
    shutil.rmtree(base)


def as_user(trust: Path, *groups: int) -> str:
    """The problem as an ordinary user sees it."""
    source = Path(trust_root.__file__).read_text()
    command = [sys.executable, "-I", "-", str(trust)]
    if not os.access(sys.executable, os.X_OK) or not _reachable(Path(sys.executable)):
        command[0] = "/usr/bin/python3"
    done = subprocess.run(
        command, input=source, capture_output=True, text=True, cwd="/", check=True,
        user=NOBODY, group=NOBODY, extra_groups=list(groups),
    )  # fmt: skip
    return done.stdout.strip()


def _reachable(program: Path) -> bool:
    return all(each.stat().st_mode & 0o001 for each in (program.resolve(), *program.resolve().parents))


@needs_root
def test_a_folder_of_root_can_be_trusted(folder: Path) -> None:
    assert as_user(folder) == ""
    (folder / REVOKED).write_text("")
    assert as_user(folder) == ""


@needs_root
@pytest.mark.parametrize(
    "change",
    [
        lambda folder: os.chown(folder / ALLOWED, NOBODY, 0),
        lambda folder: (folder / ALLOWED).chmod(0o666),
        lambda folder: os.chown(folder, NOBODY, 0),
        lambda folder: folder.chmod(0o777),
        lambda folder: folder.chmod(0o1777),
        lambda folder: os.chown(folder.parent, NOBODY, 0),
        lambda folder: folder.parent.chmod(0o777),
        lambda folder: ((folder / REVOKED).touch(), (folder / REVOKED).chmod(0o666)),
        lambda folder: (os.chown(folder / ALLOWED, 0, GROUP), (folder / ALLOWED).chmod(0o664)),
        lambda folder: (os.chown(folder.parent, 0, GROUP), folder.parent.chmod(0o775)),
    ],
    ids=[
        "owns the file", "writes the file", "owns the folder", "writes the folder", "adds to a sticky folder",
        "owns the parent", "writes the parent", "writes the revocation list", "group of the file", "group of the parent",
    ],
)  # fmt: skip
def test_whoever_can_change_it_is_not_bound_by_it(folder: Path, change: object) -> None:
    assert callable(change)
    change(folder)
    found = as_user(folder, GROUP)
    assert "can be changed by the gateway's own user" in found
    assert "fleet.trustWritable" in found
    assert problem(folder, may_be_writable=True) == ""


@needs_root
def test_other_groups_and_a_sticky_parent_do_not_matter(folder: Path) -> None:
    os.chown(folder / ALLOWED, 0, GROUP)
    (folder / ALLOWED).chmod(0o664)
    folder.parent.chmod(0o1777)
    assert as_user(folder) == ""
    assert "can be changed" in as_user(folder, GROUP)


@needs_root
@pytest.mark.skipif(not shutil.which("setfacl"), reason="setfacl is not installed")
def test_access_lists_count(folder: Path) -> None:
    done = subprocess.run([shutil.which("setfacl") or "", "-m", f"u:{NOBODY}:rw", folder / ALLOWED], check=False)
    if done.returncode:
        pytest.skip("the file system has no access lists")
    assert "can be changed" in as_user(folder)


@needs_root
def test_each_link_on_the_way_counts(folder: Path) -> None:
    """A link that the user could point elsewhere, though both ends are root's."""
    own = folder.parent / "own"
    own.mkdir()
    (own / "middle").symlink_to(folder)
    entry = folder.parent / "entry"
    entry.symlink_to("own/middle")
    assert as_user(entry) == ""
    os.chown(own, NOBODY, NOBODY)
    assert f"{own} can be changed" in as_user(entry)
    (folder.parent / "loop").symlink_to("loop")
    assert "loop" in as_user(folder.parent / "loop")


@needs_root
def test_a_gateway_that_runs_as_root_is_told(folder: Path) -> None:
    assert "runs as root" in problem(folder)


def test_what_is_not_there_is_no_trust(folder: Path) -> None:
    (folder / ALLOWED).unlink()
    for given in (folder, folder / "none", Path("/proc/none"), Path("/nul\0")):
        assert "put the allowed signers there" in problem(given)
        assert "put the allowed signers there" in problem(given, may_be_writable=True)
    (folder / ALLOWED).mkdir()
    assert "is not a file" in problem(folder)


@pytest.mark.skipif(ROOT, reason="for an ordinary user")
def test_ones_own_folder_is_not_trusted(folder: Path) -> None:
    assert "can be changed by the gateway's own user" in problem(folder)
    assert problem(folder, may_be_writable=True) == ""
