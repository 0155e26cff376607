"""What reads the words of command lines outside the manuals of programs; see `scripts/count_word_readers`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from sources import parsed
from tables import each_row

READERS = {
    "effects/commands": 6,
}
OPTION_SETS: dict[str, int] = {}
"""How many there are in each folder. Lower a number when you have removed one; none may grow."""


def _script() -> ModuleType:
    path = Path(__file__).parent.parent / "scripts" / "count_word_readers"
    spec = spec_from_loader("count_word_readers", SourceFileLoader("count_word_readers", str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
SCRIPT.parsed = parsed


@each_row(("count", "known"), [(SCRIPT.readers, READERS), (SCRIPT.option_sets, OPTION_SETS)])
def test_the_numbers_only_fall(count: Callable[[], Iterable[str]], known: dict[str, int]) -> None:
    found: Counter[str] = SCRIPT.by_folder(count())
    assert dict(found) == known, "\n".join(count())


def test_what_reads_no_words_is_still_there() -> None:
    found = (*SCRIPT.readers(others=True), *SCRIPT.option_sets(others=True))
    assert {" ".join((each.partition(":")[0], each.split()[1])) for each in found} == SCRIPT.OTHER_TEXTS.keys()


@each_row(
    ("text", "count"),
    [
        ('def f(word):\n    return word[:1] == "-"', 1),
        ('def f(word):\n    return word[0] != "-"', 1),
        ('def f(word):\n    return word.startswith("--file=")', 1),
        ('def f(word):\n    return word.startswith(("-", "+"))', 1),
        ('def f(words):\n    return words.index("--")', 1),
        ('def f(words):\n    return "--" in words', 1),
        ('def f(word):\n    return word == "-"', 0),
        ('def f(key):\n    return key.startswith("-----")', 0),
        ("def f(words):\n    return words.operands", 0),
    ],
)
def test_what_is_a_reader(text: str, count: int) -> None:
    def own() -> Iterator[ast.AST]:
        yield from (node for each in SCRIPT._functions(ast.parse(text)) for node in SCRIPT._own(each))

    assert any(map(SCRIPT._tests_dash, own())) == bool(count)


@each_row(
    ("text", "count"),
    [
        ("--force", 1),
        ("-a -b -c", 3),
        ("-- run -x -e --exec", 3),
        ("python3 -p -m guard", 0),
        (" -q[a-z] -x", 0),
        ("-x a b", 0),
    ],
)
def test_what_lists_options(text: str, count: int) -> None:
    assert len(list(SCRIPT._options(ast.Constant(text)))) == count
