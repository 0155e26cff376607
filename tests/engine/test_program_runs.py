"""What is known of a program's words by their positions goes along when the words change."""

from __future__ import annotations

import ast
from pathlib import Path

import toolguard_engine
from test_run_files import weighed
from toolguard_engine.effects.facts.command import ProgramRun, StdinSource

FEED = StdinSource(None, ("cat",))
SED = ProgramRun(("sed", "-i", "-e", "s/a/b/", "-e", "?", "f"), "sed", given=((5, FEED),), unset=(6,))


def test_facts_of_words_that_stay_move_with_them() -> None:
    places = (0, 2, 3, 4, 5)
    moved = SED.with_words(tuple(SED.argv[at] for at in places), places=places)
    assert (moved.argv, moved.name) == (("sed", "-e", "s/a/b/", "-e", "?"), "sed")
    assert (moved.given, moved.unset) == (((4, FEED),), ())


def test_new_words_have_no_facts() -> None:
    moved = SED.with_words(("nice", *SED.argv), "nice", range(-1, len(SED.argv)))
    assert (moved.name, moved.given, moved.unset) == ("nice", ((6, FEED),), (7,))
    assert SED.with_words(("sed",)).given == ()


def test_an_edit_by_what_another_program_prints_is_judged() -> None:
    """`sed -i` is read as a filter without its option and its file, so its words stand elsewhere."""
    made = "echo 'rm -rf ~' > f; sed -i -e s/a/b/ -e \"$(cat g)\" f"
    assert weighed(made, {}, {}).decision == "allow"
    assert weighed(f"{made}; sh f", {}, {}).decision == "block"


def test_words_are_replaced_in_one_way() -> None:
    root = Path(next(iter(toolguard_engine.__path__)))
    calls = [
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] == "replace"
        and any(keyword.arg == "argv" for keyword in node.keywords)
    ]
    assert calls == ["effects/facts/command.py"]
