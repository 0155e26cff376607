"""The engine's modules come from one file where there is one that fits, and from their sources otherwise."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources import nodes, parsed

ROOT = Path(__file__).parents[2]
ASKED = frozenset({"__doc__", "__annotations__", "get_type_hints", "getdoc", "get_annotations", "singledispatch"})
"""How code asks for docstrings, and for annotations of functions."""

PACK = "from toolguard_cli.setup import engine_code; print(engine_code.pack())"
LOADED = """
import sys
from toolguard_engine import __main__
from toolguard_engine.server import preload
preload.load()
from toolguard_engine import packed_code
ours = {name for name in sys.modules if name.startswith("toolguard_engine.")}
packed = {name for name in ours if type(sys.modules[name].__loader__) is packed_code.PackedCode}
print(len(packed) > 300, *sorted(ours - packed))
"""
FROM_FILE = "True toolguard_engine.packed_code"
SLIM = """
from toolguard_engine.effects.facts import places
from toolguard_engine.model import call
print(places.__doc__, places.normal.__doc__, places.normal.__annotations__)
print("docstring" if call.Call.__doc__ else "", call.Call.__annotations__["tool"], call.__file__)
"""
FAILING = """
from toolguard_engine.layers import later_runs
class Given:
    judge_command = None
list(later_runs._harmful(Given(), *[None] * (later_runs._harmful.__code__.co_argcount - 1)))
"""


class Installed:
    """A copy of the package in a folder, as an installer makes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("plugin/toolguard_engine", "manifests/toolguard_manifests"):
            shutil.copytree(ROOT / name, folder / Path(name).name, ignore=shutil.ignore_patterns("__pycache__"))
        self.package = folder / "toolguard_engine"
        self.file = self.package / "__pycache__" / f"packed.{sys.implementation.cache_tag}.code"
        assert self.says(PACK) == "True"
        self._data = self.file.read_bytes()

    def says(self, program: str, **more: str) -> str:
        paths = os.pathsep.join([str(self.folder), str(ROOT / "cli")])
        env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "", **more}
        command = [sys.executable, "-P", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=self.folder)
        return (done.stdout + done.stderr[-1_000:]).strip()

    def restore(self) -> None:
        self.file.write_bytes(self._data)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("site"))


@pytest.fixture
def site(installed: Installed) -> Iterator[Installed]:
    """One whose file a test may change."""
    yield installed
    installed.restore()


def test_all_modules_come_from_the_file(site: Installed) -> None:
    assert site.says(LOADED) == FROM_FILE


def test_what_nothing_asks_for_is_left_out(site: Installed) -> None:
    call = site.package / "model" / "call.py"
    assert site.says(SLIM).splitlines() == ["None None {}", f"docstring str {call}"]


def test_nothing_asks_for_it() -> None:
    asking = {
        f"{path.name}: {name}"
        for path in (ROOT / "plugin" / "toolguard_engine").rglob("*.py")
        for node in nodes(parsed(path))
        for name in _names(node)
        if name in ASKED
    }
    assert asking == {"lazy.py: __doc__"}, "a lazy attribute hands on the docstring of its function"


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute():
            yield node.attr
        case ast.Name():
            yield node.id
        case ast.ImportFrom():
            yield from (alias.name for alias in node.names)


def test_assertions_and_lines_of_tracebacks_are_kept(site: Installed) -> None:
    said = site.says(FAILING)
    assert said.splitlines()[-1] == "AssertionError"
    assert str(site.package / "layers" / "later_runs.py") in said
    assert "assert given.judge_command is not None" in said


def test_a_changed_source_counts(site: Installed) -> None:
    source = site.package / "model" / "call.py"
    before, status = source.read_bytes(), source.stat()
    source.write_bytes(before + b"\nCHANGED = 1\n")
    try:
        assert site.says("from toolguard_engine.model import call; print(call.CHANGED)") == "1"
        assert site.says(LOADED) == f"{FROM_FILE.replace(' ', ' toolguard_engine.model.call ', 1)}"
        assert site.says(PACK) == "True"
        assert site.says(LOADED) == FROM_FILE
    finally:
        source.write_bytes(before)
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("cut", [0, 3, 8, 5_000, -1])
def test_half_a_file_counts_for_nothing(site: Installed, cut: int) -> None:
    site.file.write_bytes(site.file.read_bytes()[:cut])
    assert site.says(LOADED).startswith("False toolguard_engine.__main__ ")


def test_nor_does_one_with_anything_else_in_it(site: Installed) -> None:
    site.file.write_bytes(b"\x05\0\0\0\0\0\0\0hello" * 1_000)
    assert site.says(LOADED).startswith("False ")


def test_nor_one_of_another_python(site: Installed) -> None:
    site.file.write_bytes(site.file.read_bytes().replace(sys.hexversion.to_bytes(4, "little"), b"\1\0\0\0", 1))
    assert site.says(LOADED).startswith("False ")


def test_nor_one_of_another_folder(site: Installed, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(site.folder, moved)
    env = {"PYTHONPATH": os.pathsep.join([str(moved), str(ROOT / "cli")])}
    assert site.says(LOADED, **env).startswith("False ")


def test_a_file_that_fits_stays(site: Installed) -> None:
    before = site.file.stat().st_ino
    assert site.says(PACK) == "True"
    assert site.file.stat().st_ino == before


def test_it_can_be_removed_again(site: Installed) -> None:
    assert site.file.exists()
    site.says("from toolguard_cli.setup import engine_code; engine_code.remove(); engine_code.remove(); print(True)")
    assert not site.file.exists()


def test_without_a_place_for_the_file_nothing_else_changes(site: Installed) -> None:
    site.file.unlink()
    assert site.says(PACK, PYTHONDONTWRITEBYTECODE="1") == "False"
    site.file.mkdir()
    try:
        assert site.says(PACK) == "False"
        assert site.says(LOADED).startswith("False ")
    finally:
        site.file.rmdir()


def test_the_engine_answers(site: Installed, tmp_path: Path) -> None:
    hello = f'{{"id": 0, "type": "hello", "v": 1, "stateDir": "{tmp_path}", "config": {{}}, "gateway": "g"}}\n'
    judge = '{"id": 1, "type": "judge", "tool": "exec", "params": {"command": "rm -rf ~"}, "agent": "a", "session": "s"}\n'
    env = {**os.environ, "PYTHONPATH": str(site.folder)}
    command = [sys.executable, "-P", "-m", "toolguard_engine"]
    done = subprocess.run(command, input=hello + judge, capture_output=True, text=True, check=True, env=env, cwd=tmp_path)
    assert '"type":"ready"' in done.stdout
    assert '"decision":"block"' in done.stdout or '"decision":"hold"' in done.stdout
    assert done.stderr == ""
