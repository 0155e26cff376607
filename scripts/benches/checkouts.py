"""Measures what starting the tests and builds of real projects costs, right after an agent has edited files there.

Five projects with their tests: two from PyPI, two from npm, and a small one of Rust; and one in which an agent has written
300 tests. Each is a Git repository of its own in a temporary folder. In each round, an agent edits some
files and then starts the project's programs; nothing of them is run. A cost is the processor time of a whole answer. What
the engine does while it waits (`code_ahead`) is done between the edits and the programs, and counted apart.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from answer_worker import parts
from figures import Figure, options, report
from reference_worker import warm_up

from toolguard_cli.rig import downloads
from toolguard_engine.model.call import Call

GIT = shutil.which("git") or "git"
PYTHON_PACKAGES = ("click==8.1.8", "packaging==24.2")
NODE_PACKAGES = ("qs@6.13.0", "resolve@1.22.8")
MOST = 30.0
"""Milliseconds of one answer."""

LONGEST = 60_000
"""Bytes of a file that an agent edits."""

EDITED = 6
"""Files that an agent edits before it starts the programs."""

PYTHON = (
    "pytest -q", "python3 -m pytest -x tests", "pytest -q {} --maxfail=3", "tox -e py311", "make test", "python3 -m build",
    "pip install -e .", "pre-commit run -a", "ruff check . && mypy .",
)  # fmt: skip
NODE = (
    "npm test", "npm run tests-only", "npx tape 'test/**/*.js'", "npx mocha test", "npx jest", "npx vitest run",
    "node --test", "npm run lint", "npm run build", "npm ci && npm test", "node {}",
)  # fmt: skip
RUST = (
    "cargo test",
    "cargo build --release",
    "cargo check --all-targets",
    "cargo clippy -- -D warnings",
    "cargo run",
    "make",
)


RUST_MODULE = """\
pub fn sum(of: &[i64]) -> i64 {{
    of.iter().sum::<i64>() + {0}
}}

#[cfg(test)]
mod tests {{
    use super::*;

    #[test]
    fn adds() {{
        assert_eq!(sum(&[1, 2]), 3 + {0});
    }}
}}
"""


class Project(NamedTuple):
    """`edited`: the pattern of files that an agent edits; `written`: files that an agent has written before."""

    name: str
    programs: tuple[str, ...]
    edited: str
    fill: Callable[[Path], object]
    written: int = 0


class Costs:
    def __init__(self) -> None:
        self.first: list[float] = []
        self.again: list[float] = []
        self.ahead: list[float] = []
        self.asked: dict[str, str] = {}


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="how often the files are edited (4)")
    parser.add_argument("-v", "--verbose", action="store_true", help="also print each program and what was asked")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-", ignore_cleanup_errors=True) as folder:
        figures = [figure for each in projects() for figure in measured(each, Path(folder), chosen)]
    report(figures, chosen.json)
    return 0


def projects() -> Iterator[Project]:
    for package in PYTHON_PACKAGES:
        yield Project(package, PYTHON, "tests/**/*.py", partial(_python, package))
    for package in NODE_PACKAGES:
        yield Project(package, NODE, "[lt][ie][bs]*/**/*.js", partial(_node, package.partition("@")[0]))
    yield Project("a crate without dependencies", RUST, "**/*.rs", _rust)
    yield Project("300 tests by an agent", PYTHON, "tests/**/*.py", lambda at: (at / "tests").mkdir(), written=300)


# --- projects -------------------------------------------------------------------------------------------------------------


def _python(package: str, at: Path) -> None:
    kept = downloads.cache_dir() / f"checkout-{package.replace('==', '-')}"
    if not kept.exists():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--dest", str(kept)]
        subprocess.run([*pip, package], check=True, capture_output=True)
    with tarfile.open(next(kept.glob("*.tar.gz"))) as archive:
        archive.extractall(at, filter="data")
    (inner,) = at.iterdir()
    for each in inner.iterdir():
        each.rename(at / each.name)


def _node(name: str, at: Path) -> None:
    packages = downloads.npm_packages("checkouts", NODE_PACKAGES, print)
    shutil.copytree(packages / name, at, dirs_exist_ok=True, symlinks=True)


def _rust(at: Path) -> None:
    """What `cargo new --lib` makes, with modules, tests, an example and a build script."""
    for name in ("src", "tests", "benches"):
        (at / name).mkdir()
    (at / "Cargo.toml").write_text('[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n')
    (at / "build.rs").write_text('fn main() {\n    println!("cargo:rerun-if-changed=src/lib.rs");\n}\n')
    (at / "Makefile").write_text("all:\n\tcargo build\n\ntest: all\n\tcargo test --quiet\n")
    (at / "src/main.rs").write_text('fn main() {\n    println!("{}", sums::sum(&[1, 2]));\n}\n')
    (at / "src/lib.rs").write_text(RUST_MODULE.format(0))
    for number in range(12):
        (at / f"src/part_{number}.rs").write_text(RUST_MODULE.format(number))
        (at / f"tests/sums_{number}.rs").write_text(
            f"#[test]\nfn adds() {{\n    assert_eq!(sums::sum(&[{number}]), {number});\n}}\n"
        )


# --- what an agent does ---------------------------------------------------------------------------------------------------


class Agent:
    """Asks one engine, and does what it may."""

    def __init__(self, state: Path, cwd: Path) -> None:
        self._session, self._messages = parts()
        hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(state), "config": {}, "gateway": "bench"}
        self._take(hello)
        warm_up(self._session)
        self._cwd = cwd
        self._calls = 0

    def _take(self, message: dict[str, Any]) -> Any:
        return self._session.answer(self._messages.decode(json.dumps(message).encode()))

    def asks(self, tool: str, params: dict[str, Any], deed: Callable[[], object] = lambda: None) -> tuple[float, str]:
        """Milliseconds of processor time until the answer, and why it is not allowed; empty if it is."""
        self._calls += 1
        call = {
            "tool": tool,
            "params": params,
            "agent": "main",
            "session": "agent:main:main",
            "run": "r",
            "call": f"c{self._calls}",
        }
        question = json.dumps({"id": self._calls, "type": "judge", "cwd": str(self._cwd), **call}).encode()
        begun = time.thread_time()
        answer = self._session.answer(self._messages.decode(question))
        self._messages.encode(answer)
        spent = (time.thread_time() - begun) * 1000
        self._session.settle()
        allowed = answer is not None and answer.decision == "allow"
        if allowed:
            deed()
        self._take({"id": None, "type": "came", "text": "done", **call})
        self._session.settle()
        return spent, "" if allowed else self._reason(tool, params)

    def _reason(self, tool: str, params: dict[str, Any]) -> str:
        found = self._session.guard.weigh(Call(tool, params, cwd=str(self._cwd)))
        return str(found.reason or found.code)

    def writes(self, path: Path, text: str) -> None:
        params = {"path": str(path), "content": text}
        _, why = self.asks("write", params, lambda: path.write_text(text, "utf-8"))
        assert not why, why

    def waits(self) -> float:
        """What the engine does while nothing is asked: milliseconds of processor time."""
        ahead, begun = self._session.files.code_ahead, time.thread_time()
        while ahead.due < math.inf:
            ahead.read_one(max(ahead.due, 0.0))
        return (time.thread_time() - begun) * 1000


def measured(project: Project, folder: Path, chosen: Any) -> Iterator[Figure]:
    at = folder / "".join(each for each in project.name if each.isalnum())
    at.mkdir()
    project.fill(at)
    _tracked(at)
    agent, costs = Agent(folder / f"state-{at.name}", at), Costs()
    for number in range(project.written):
        agent.writes(at / f"tests/test_{number}.py", _test(number))
    names = sorted(each for each in at.glob(project.edited) if each.is_file() and each.stat().st_size < LONGEST)
    for number in range(chosen.rounds):
        edited = [names[(number * EDITED + each) * 7 % len(names)] for each in range(EDITED)]
        for path in dict.fromkeys(edited):
            sign = "#" if path.suffix == ".py" else "//"
            agent.writes(path, f"{path.read_text('utf-8', 'replace')}\n{sign} round {number}\n")
        costs.ahead.append(agent.waits())
        for program in project.programs:
            command = program.replace("{}", os.path.relpath(edited[0], at))
            for found in (costs.first, costs.again):
                spent, why = agent.asks("exec", {"command": command})
                found.append(spent)
                if why:
                    costs.asked[command] = why
                if chosen.verbose:
                    print(f"{project.name:30} {command:40} {spent:7.2f} ms  {why[:100]}")
    yield from _figures(project.name, costs)


def _tracked(at: Path) -> None:
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", "a"],
    ):
        subprocess.run([GIT, "-C", at, *words], check=False, capture_output=True)


def _test(number: int) -> str:
    cases = "".join(
        f"\n\ndef test_case_{each}(client):\n    found = client.get('/items/{number}', params={{'page': {each}}})\n"
        f"    assert found.status_code == 200\n    assert found.json()['items'][{each}]['id'] == {number}\n"
        for each in range(6)
    )
    return f"import pytest\n\nfrom app.models import Item{cases}"


def _figures(name: str, costs: Costs) -> Iterator[Figure]:
    asked = f"{'; '.join(list(costs.asked)[:3])}" if costs.asked else ""
    yield Figure(f"{name}: programs that are asked about", len(costs.asked), "", asked, 0)
    yield Figure(f"{name}: the longest answer", max(costs.first), "ms", f"median {median(costs.first):.2f} ms", MOST)
    yield Figure(f"{name}: again, the longest answer", max(costs.again), "ms", f"median {median(costs.again):.2f} ms", MOST)
    yield Figure(f"{name}: reading the edited files while waiting", median(costs.ahead), "ms")


if __name__ == "__main__":
    sys.exit(main())
