"""Texts that are built while a call is read (joined, copied, repeated, filled in, decoded) are in proportion to it."""

from __future__ import annotations

import shlex
import tracemalloc

import pytest

from hostile_texts import SEQUENCES
from test_run_files import WORK, guard
from toolguard_engine.effects.calls.made_files import changes
from toolguard_engine.effects.commands import interpreters, runner_files
from toolguard_engine.effects.languages.code_values import Either
from toolguard_engine.effects.languages.script_run import MAX_CHOICES, MAX_DEEDS, MAX_STEPS, distributed
from toolguard_engine.model.call import Call
from toolguard_engine.model.work_limit import BASE, BUILT, MOST

LETTERS = ", ".join(f"'v{number}'" for number in range(MAX_CHOICES))
CHOICES = f"for (const i of [{LETTERS}]) {{ x += i }}\nx = x + x;\n"
JAVASCRIPT = "const fs = require('fs'); let x = 'a';\n" + CHOICES * 200
PYTHON = "import os\nx = 'a'\n" + f"for i in [{LETTERS}]:\n    x += i\nx = x + x\n" * 150
MOST_OF_ONE = 65_536 * MAX_CHOICES / BUILT
"""Steps of the last operation before it is noticed that there is no room any more."""

BUILDERS = {
    "copies of everything": "echo abc > a; cp * c; cat * > d; ",
    "appended to itself": "cat y >> y; echo x >> y; ",
    "doubled": "A=$A$A; ",
    "doubled under a condition": 'if test -f q; then A="$A$A y"; fi; ',
    "doubled by a pipe": "cat y y y y | tee y > z; ",
    "doubled by a loop": "for i in 1 2 3 4; do cat y; done > y; ",
    "moved by wildcards": "echo x > y; mv * b; ",
    "in unknown files": 'T=$(mktemp); echo x > $T; cp "$T" "$U"; ',
    "put in by sed": "sed -i s/a/aaaaaaaa/g y; ",
    "printed": "printf %s%s $A $A > y; A=$(cat y); ",
    "substituted": "A=${A//a/aaaaaaaa}a; ",
}


def peak(command: str) -> float:
    """The most memory in MB that judging this takes at once, with what is done behind the answer."""
    one = guard({"y": "a" * 9_000})[0]
    call = Call("exec", {"command": command}, agent="main", session="s", run="r", cwd=WORK)
    tracemalloc.start()
    try:
        reading = one.read(call)
        if one.judge_reading(reading).decision == "allow":
            changes(reading)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("times", [28, 400])
def test_commands_that_multiply_texts_take_little_memory(name: str, times: int) -> None:
    assert peak("A=aaaaaaaaaaaaaaaa; " + BUILDERS[name] * times) < 40


@pytest.mark.parametrize("steps", [steps for steps in SEQUENCES if steps[0][0] == "exec"])
def test_what_a_search_began_with_takes_little_memory(steps: list[tuple[str, str]]) -> None:
    assert peak(steps[0][1]) < 40


@pytest.mark.parametrize(("language", "code"), [("javascript", JAVASCRIPT), ("python", PYTHON)])
def test_code_that_doubles_texts_is_left_when_there_is_no_room(language: str, code: str) -> None:
    found = interpreters.reading(code, language)
    assert found is not None
    assert not found.whole
    assert found.steps <= MAX_STEPS + MOST_OF_ONE


@pytest.mark.parametrize("command", [f"node -e {shlex.quote(JAVASCRIPT)}", f"python3 -c {shlex.quote(PYTHON)}"])
def test_it_is_held_and_paid_for(command: str) -> None:
    one = guard({})[0]
    reading = one.read(Call("exec", {"command": command}, session="s", cwd=WORK))
    assert one.judge_reading(reading).decision == "hold"
    assert BASE < reading.work.spent <= MOST + BASE + MAX_STEPS


FOLDERS = "const {execSync} = require('child_process');\nlet d = 'dist';\n" + "d = d + '/a';\nexecSync('ls ' + d);\n" * 40
NAMES = "import os\n" + "".join(f"name{n} = f'part{n}' + '.txt'\nprint(name{n})\n" for n in range(300))


@pytest.mark.parametrize(("language", "code"), [("javascript", FOLDERS), ("python", NAMES)])
def test_ordinary_texts_cost_nothing_to_speak_of(language: str, code: str) -> None:
    found = interpreters.reading(code, language)
    assert found is not None
    assert found.whole


def test_of_many_pairs_of_values_only_the_first_are_worked_out() -> None:
    values = Either(tuple(map(str, range(MAX_CHOICES))))
    asked: list[object] = []
    distributed(lambda one, other: asked.append((one, other)), values, values)
    assert len(asked) == MAX_CHOICES


def test_code_that_does_more_than_is_kept_is_not_read_to_its_end() -> None:
    def steps(calls: int) -> int:
        found = interpreters.reading("BEGIN {" + "".join(f'system("a{n}");' for n in range(calls)) + "}", "awk")
        assert found is not None
        assert found.whole == (calls <= MAX_DEEDS)
        return found.steps

    assert steps(4_000) < steps(MAX_DEEDS) + 20


def test_a_file_that_runs_many_times_is_searched_once() -> None:
    runner_files._names_of.cache_clear()
    text = ("a" * 78 + "\n") * 100
    guard({})[0].judge(Call("exec", {"command": f"cat > r <<'E'\n{text}E\n" + "pip install -r r\n" * 20}, cwd=WORK))
    assert runner_files._names_of.cache_info().misses == 1
    assert runner_files._names_of.cache_info().hits > 5
