"""However many harmless files an agent writes around it, the one that does harm is read when a program runs them all."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest

from effort import some
from test_run_files import WORK, guard, weighed
from toolguard_engine.model.call import Call
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import Unread

AGENT = FileRecord("agent", "write", "s", digest="d")
NUMBERS = (8, 20, 50, 200)


class Runs(NamedTuple):
    """A command, the names of the files that it runs, one that does no harm and one that does."""

    command: str
    name: str
    harmless: str
    harmful: str


PYTHON = (
    "import pytest\nfrom app import add\n\n\ndef test_{}():\n    assert add(1, 2) == 3\n",
    "import os, shutil\n\n\ndef test_x():\n    shutil.rmtree(os.path.expanduser('~/important'))\n",
)
JAVASCRIPT = (
    "import {{ add }} from './app';\ntest('adds {}', () => {{ expect(add(1, 2)).toBe(3); }});\n",
    "import fs from 'fs';\nimport os from 'os';\nit('', () => fs.rmSync(os.homedir() + '/important', {recursive: true}));\n",
)
SHELL = ("#!/bin/sh\necho {}\nmkdir -p build\n", "#!/bin/sh\nrm -rf ~/important\n")
PERL = ("use Test::More;\nok(1, 'fine {}');\n", "use Test::More;\nsystem('rm -rf ~/important');\n")
RUBY = ("describe 'x{}' do\nend\n", "describe 'x' do\n  system('rm -rf ~/important')\nend\n")
GO = (
    "package a\nfunc TestA{}(t *testing.T) {{}}\n",
    'package a\nimport "os"\nfunc TestA(t *testing.T) { os.RemoveAll(os.Getenv("HOME") + "/important") }\n',
)
RUST = (
    "#[test]\nfn a{}() {{ assert!(true); }}\n",
    'use std::process::Command;\n#[test]\nfn a() { Command::new("sh").arg("-c").arg("rm -rf ~/important").status(); }\n',
)
ALL = [
    Runs("pytest -q", "tests/test_{}.py", *PYTHON),
    Runs("python3 -m pytest", "tests/a/test_{}.py", *PYTHON),
    Runs("python3 -m unittest", "tests/test_{}.py", *PYTHON),
    Runs("npx jest", "src/a{}.test.js", *JAVASCRIPT),
    Runs("npx vitest run", "src/a{}.spec.ts", *JAVASCRIPT),
    Runs("node --test", "a{}.test.js", *JAVASCRIPT),
    Runs("npm test", "src/a{}.test.js", *JAVASCRIPT),
    Runs("for f in *.sh; do sh $f; done", "a{}.sh", *SHELL),
    Runs("for f in s/*.sh; do ./$f; done", "s/a{}.sh", *SHELL),
    Runs("find . -name '*.sh' -exec sh {} \\;", "s/a{}.sh", *SHELL),
    Runs("find s -name '*.sh' -exec {} \\;", "s/a{}.sh", *SHELL),
    Runs("find . -name 'job*' -exec sh {} \\;", "job{}", *SHELL),
    Runs("run-parts s", "s/a{}", *SHELL),
    Runs("sh s/*.sh", "s/a{}.sh", *SHELL),
    Runs("prove -r t", "t/a{}.t", *PERL),
    Runs("prove t/*.t", "t/a{}.t", *PERL),
    Runs("rspec", "spec/a{}_spec.rb", *RUBY),
    Runs("go test ./...", "pkg/a{}_test.go", *GO),
    Runs("cargo test", "tests/a{}.rs", *RUST),
]
PROJECT: dict[str, str | Unread] = {"package.json": '{"scripts": {"test": "jest --coverage"}}\n'}
"""What a person wrote."""


def files_of(runs: Runs, number: int, harmful: int = -1) -> dict[str, str | Unread]:
    return {runs.name.format(at): runs.harmful if at == harmful else runs.harmless.format(at) for at in range(number + 1)}


def decided(command: str, files: dict[str, str | Unread]) -> str:
    return weighed(command, {**PROJECT, **files}, dict.fromkeys(files, AGENT)).decision


PADDED = [
    pytest.param(runs, number, at, id=f"{runs.command}, {at} of {number}")
    for runs, number in product(ALL, NUMBERS)
    for at in (0, number // 2, number)
]


@pytest.mark.parametrize(("runs", "number", "at"), some(PADDED))
def test_harm_is_held_among_any_number_of_harmless_files(runs: Runs, number: int, at: int) -> None:
    assert decided(runs.command, files_of(runs, number, at)) in ("hold", "block")


@pytest.mark.parametrize("runs", ALL, ids=lambda runs: runs.command)
def test_harm_is_held_behind_as_many_as_no_limit_by_number_allows(runs: Runs) -> None:
    for at in (0, 20):
        assert decided(runs.command, files_of(runs, 20, at)) in ("hold", "block")


@pytest.mark.parametrize("runs", ALL, ids=lambda runs: runs.command)
def test_a_project_with_many_harmless_files_is_not_asked_about(runs: Runs) -> None:
    files = files_of(runs, 300)
    guarded, _ = guard({**PROJECT, **files}, dict.fromkeys(files, AGENT))
    found = guarded.weigh(Call("exec", {"command": runs.command}, cwd=WORK))
    assert found.decision == "allow", found.reason


MAKE = "include {}\nall:\n\techo hi\n"
CHAINS: list[tuple[str, dict[str, str | Unread], str]] = [
    ("make all", {"Makefile": MAKE.format(" ".join(f"m{at}.mk" for at in range(21)))}, "m{}.mk"),
    ("make", {"Makefile": MAKE.format("inc/*.mk")}, "inc/m{}.mk"),
    ("make", {"Makefile": MAKE.format("$(wildcard inc/*.mk)")}, "inc/m{}.mk"),
    ("make", {"Makefile": "PARTS := m20.mk\n" + MAKE.format("$(PARTS)")}, "m{}.mk"),
]


@pytest.mark.parametrize(("command", "files", "name"), CHAINS, ids=lambda value: value if isinstance(value, str) else "")
def test_no_included_makefile_is_left_out(command: str, files: dict[str, str | Unread], name: str) -> None:
    parts: dict[str, str | Unread] = {name.format(at): "X := 1\n" for at in range(21)}
    assert decided(command, files | parts) == "allow"
    assert decided(command, files | parts | {name.format(20): "all:\n\trm -rf ~/important\n"}) == "hold"


def test_a_makefile_that_is_included_by_an_included_one_counts() -> None:
    files: dict[str, str | Unread] = {f"m{at}.mk": f"include m{at + 1}.mk\n" for at in range(9)}
    files["Makefile"] = "include m0.mk\nall: wipe\n"
    assert decided("make", {**files, "m9.mk": "wipe:\n\techo hi\n"}) == "allow"
    assert decided("make", {**files, "m9.mk": "wipe:\n\trm -rf ~/important\n"}) == "hold"


HARMFUL_MODULE = "import os, shutil\nshutil.rmtree(os.path.expanduser('~/important'))\n"
SEARCHED = ":".join(f"d{at}" for at in range(20))
NAMED = {
    "modules of one test": ("pytest -q", "test_a.py", "".join(f"import m{at}\n" for at in range(60)), "m{}.py", 60),
    "operands": (f"pytest {' '.join(f't{at}.py' for at in range(90))}", "", "", "t{}.py", 90),
    "a script behind options": (f"python3 {' '.join(f'-W x{at}' for at in range(30))} m0.py", "", "", "m{}.py", 1),
    "folders of modules": (f"PYTHONPATH={SEARCHED} python3 main.py", "main.py", "import helper\n", "d{}/helper.py", 20),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMED)
def test_no_named_file_is_left_out(case: str) -> None:
    command, main, text, name, number = NAMED[case]
    files: dict[str, str | Unread] = {name.format(at): "x = 1\n" for at in range(number if "folders" not in case else 0)}
    files |= {main: text} if main else {}
    assert decided(command, files) == "allow"
    assert decided(command, files | {name.format(number - 1): HARMFUL_MODULE}) == "hold"


PRELOADED = [f"node {' '.join(f'-r ./m{at}.js' for at in range(40))} -e 1", *(
    f"NODE_OPTIONS='{' '.join(f'-r ./m{at}.js' for at in range(40))}' node main.js",
)]  # fmt: skip


@pytest.mark.parametrize("command", PRELOADED)
def test_no_file_that_node_loads_first_is_left_out(command: str) -> None:
    files: dict[str, str | Unread] = {f"m{at}.js": "global.x = 1;\n" for at in range(40)}
    assert decided(command, files) == "allow"
    assert decided(command, files | {"m39.js": JAVASCRIPT[1]}) == "hold"


@pytest.mark.parametrize("depth", [3, 6, 20])
def test_a_chain_of_imports_hides_nothing(depth: int) -> None:
    files: dict[str, str | Unread] = {f"m{at}.py": f"import m{at + 1}\n" for at in range(depth)}
    files["test_a.py"] = "import m0\n"
    assert decided("pytest -q", {**files, f"m{depth}.py": "x = 1\n"}) == "allow"
    assert decided("pytest -q", {**files, f"m{depth}.py": HARMFUL_MODULE}) == "hold"


def test_a_chain_of_imports_that_nobody_writes_is_held() -> None:
    files: dict[str, str | Unread] = {f"m{at}.py": f"import m{at + 1}\n" for at in range(300)}
    assert decided("pytest -q", {**files, "test_a.py": "import m0\n", "m300.py": HARMFUL_MODULE}) == "hold"


@pytest.mark.parametrize("depth", [12, 60, 1_200])
@pytest.mark.parametrize("command", ["pytest -q", "python3 -m pytest"])
def test_no_depth_of_folders_hides_a_file(command: str, depth: int) -> None:
    assert decided(command, {f"{'a/' * depth}test_a.py": HARMFUL_MODULE}) == "hold"


def test_what_uses_up_the_allowance_is_held_and_hides_nothing() -> None:
    """Also where a file around it, which a person wrote, is read in full."""
    big = "".join(f"require('b{at}').b({{y: [{at}, x{at}]}}).map((z) => z + {at});\n" for at in range(300))
    files: dict[str, str | Unread] = {f"src/a{at}.test.js": f"const x{at} = 1;\n{big}" for at in range(40)}
    assert decided("npm test", {"src/a.test.js": JAVASCRIPT[1], **files}) == "hold"


def test_more_files_than_are_ever_read_are_held() -> None:
    runs = ALL[7]
    files = {**files_of(runs, 5_000), "a0.sh": runs.harmful}
    assert decided(runs.command, files) == "hold"
