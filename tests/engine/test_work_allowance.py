"""Who sends expensive calls again and again has them held sooner; nobody else notices."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honest_scripts import PYTHON, Author
from hostile_texts import bomb, texts
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.commands.asked_files import LEAST_WORK, WORK
from toolguard_engine.effects.terminal_input.input_languages import Reader
from toolguard_engine.effects.terminal_input.running_programs import RunningProgram
from toolguard_engine.guard import TOO_MANY, Guard
from toolguard_engine.layers import typed_input
from toolguard_engine.model import work_allowance
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.model.work_allowance import FREE, FULL, MAX_SESSIONS, PER_SECOND, WorkAllowance
from toolguard_engine.model.work_limit import BASE, MOST, TooIntricate, WorkLimit
from toolguard_engine.rules import packs

OVER = 2_000
"""Steps that one piece of work may spend before it notices that the budget is used up."""

CALL = Call("exec", {"command": "ls"}, agent="main", session="a", cwd="/home/u/work", at=1_000.0)
LONG = {"coproc": ("f() { coproc a*(a) {a..z}; }; f; " * 2_000)[:65_536], "paths": texts(65_536)["many '../a{} '"]}
ORDINARY = "cd ~/work && git status && " + " && ".join(f"npm run build:{n} -- --out dist/{n}" for n in range(30))
LENGTH = 10_000
FOLDER_WORK = [
    "cd /home/u/shop{n}", "cd /home/u/blog{n}/src", "git status -sb | head -{n}", "git log --oneline | sort -r | tail -n 9",
    "rg -n todo{n} lib --glob '*.ts'", "grep -rl 'class A{n}' app --include=*.py | wc -l", "npm run lint:{n} -- --quiet",
    "python3 -m pytest -q tests/test_{n}.py", "ls -l docs/{n}", "cp conf/{n}.ini conf/{n}.bak", "cat notes/{n}.md",
    "find src -name '*{n}.js' -type f", "docker images shop{n}", "test -d out{n} || mkdir out{n}", "make -j4 part{n}",
    "jq .version package{n}.json", "sed -n '{n}p' log.txt", "curl -sf https://shop.example/{n}", "echo part {n} is done",
]  # fmt: skip


def guard() -> Guard:
    return Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw"), packs.load())


def spent(made: Guard, call: Call) -> tuple[float, str]:
    reading = made.read(call)
    verdict = made.judge_reading(reading)
    assert verdict.decision == ("allow" if call.params["command"] == ORDINARY else "hold")
    return reading.work.spent, verdict.reason


@pytest.mark.parametrize("text", [*LONG.values(), bomb(5, 20)], ids=[*LONG, "functions"])
def test_expensive_calls_in_a_row_are_held_sooner_and_the_reason_says_so(text: str) -> None:
    made, bombs = guard(), replace(CALL, params={"command": text})
    first = spent(made, bombs)
    assert first[0] > BASE
    assert first[1] != TOO_MANY
    while made.allowance.most(bombs) > FREE:
        spent(made, bombs)
    last = spent(made, bombs)
    assert last[0] <= 2 * FREE + OVER
    assert last[1] == TOO_MANY
    assert spent(made, replace(bombs, session="b")) == first
    assert spent(made, replace(bombs, at=CALL.at + FULL / PER_SECOND)) == first


@pytest.mark.parametrize("command", [ORDINARY, "rm -rf ~/Documents"])
def test_ordinary_calls_are_judged_as_before_beside_them(command: str) -> None:
    made, bombs, ordinary = (
        guard(),
        replace(CALL, params={"command": LONG["coproc"]}),
        replace(CALL, params={"command": command}),
    )
    before = spent(made, ordinary)
    for _ in range(20):
        spent(made, bombs)
    assert spent(made, ordinary) == before


def test_certain_harm_is_blocked_all_the_same() -> None:
    made = guard()
    for _ in range(20):
        spent(made, replace(CALL, params={"command": LONG["coproc"]}))
    harm = replace(CALL, params={"command": "rm -rf ~/.openclaw/toolguard; " + bomb(5, 20)})
    assert made.judge(harm).decision == "block"


@pytest.mark.parametrize("seed", range(4))
def test_ten_long_commands_in_a_row_that_change_folders_are_not_held(seed: int) -> None:
    """What stands behind `a && cd b;` is judged in each folder in which the shell may be by then. A second lies between
    them, much less than anybody needs to write one."""
    made, chance = guard(), random.Random(seed)  # noqa: S311 - the same commands in each run
    for number in range(10):
        command = f"echo {number}"
        while len(command) < LENGTH:
            part = chance.choice(FOLDER_WORK).format(n=chance.randrange(10_000))
            command += chance.choice([" && ", "; ", "\n"]) + part
        call = replace(CALL, params={"command": command}, at=CALL.at + number)
        assert made.judge(call).decision == "allow", number


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(-10, 200), st.integers(0, 3 * MOST)), max_size=40))
def test_a_session_never_has_more_than_its_allowance(calls: list[tuple[str, float, int]]) -> None:
    """A clock that is set back gives nothing."""
    allowance, now, used, since = WorkAllowance(), 1_000.0, dict.fromkeys("ab", 0.0), dict.fromkeys("ab", 0.0)
    for session, seconds, steps in calls:
        now += seconds
        call = replace(CALL, session=session, at=now)
        most = allowance.most(call)
        assert FREE <= most <= MOST
        taken = min(float(steps), most)
        allowance.used(call, taken)
        used[session] += max(0.0, taken - FREE)
        since = {name: passed + max(0.0, seconds) for name, passed in since.items()}
        assert used[session] <= FULL + PER_SECOND * since[session] + 1


def test_what_is_remembered_is_bounded() -> None:
    allowance = WorkAllowance()
    for number in range(MAX_SESSIONS + 50):
        allowance.used(replace(CALL, session=f"s{number}"), MOST)
    assert len(allowance._left) == MAX_SESSIONS
    assert allowance.most(replace(CALL, session="s0", at=CALL.at + 9_999)) == MOST


def test_ordinary_calls_are_not_remembered() -> None:
    allowance = WorkAllowance()
    allowance.used(CALL, FREE)
    assert not allowance._left
    assert work_allowance.FREE < BASE


def test_long_calls_that_are_repeated_run_again_with_time() -> None:
    """Calls that are held meanwhile do not put it off."""
    allowance, long = WorkAllowance(), 2 * FREE - 500.0
    allowance.used(CALL, 2 * FULL)
    in_a_row, longest = 0, 0
    for second in range(0, 300, 3):
        call = replace(CALL, at=CALL.at + second)
        most = allowance.most(call)
        in_a_row = in_a_row + 1 if most < long else 0
        longest = max(longest, in_a_row)
        allowance.used(call, min(long, most + OVER / 10), stopped=most < long)
    assert 0 < longest <= 4


def test_a_smaller_budget_is_not_made_larger_by_a_long_text_but_by_files() -> None:
    work = WorkLimit(most=FREE)
    work.admit(65_536)
    with pytest.raises(TooIntricate):
        work.spend(FREE + 1)
    work.reserve()
    assert work.left <= FREE
    work.extend(MOST)
    assert work.limit <= 2 * FREE + MOST
    work.admit(65_536)
    assert work.limit <= 2 * FREE + MOST
    assert work.beside(MOST).limit == MOST


class Scripts:
    """Long code of Python in every file; each one another."""

    def read(self, path: str) -> FileText | Unread:
        if not path.endswith(".py"):
            return Unread("absent")
        return FileText(path, Author(len(path)).code(PYTHON, 60_000), path, (0, 0, 0, 0))

    def resolve(self, path: str) -> str:
        return path

    def is_unchanged(self, path: str) -> bool:  # noqa: ARG002
        return False


def test_long_content_of_files_uses_it_up_until_less_is_read() -> None:
    made = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw"), packs.load(), files=Scripts())
    limits = list[float]()
    while not limits or (limits[-1] == WORK and len(limits) < FULL / (WORK - LEAST_WORK - FREE)):
        begun = 3 * len(limits) + 1  # what was read once costs little
        names = " ".join(f"; python3 {'a' * at}.py" for at in range(begun, begun + 3))
        reading = made.read(replace(CALL, params={"command": f": {len(limits)}{names}"}))
        made.judge_reading(reading)
        assert reading.running.work.spent > LEAST_WORK
        limits.append(reading.running.work.limit)
    assert limits[0] == WORK
    assert limits[-1] == LEAST_WORK


def test_what_is_typed_is_read_once_and_its_files_share_the_budget_of_the_call() -> None:
    made = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw"), packs.load(), files=Scripts())
    reading = made.read(replace(CALL, tool="process", params={"action": "write", "sessionId": "p", "data": "x\n"}))
    commands = [f"python3 {'b' * at}.py; python3 {'b' * at}c.py" for at in (201, 203, 205)]
    for command in commands:
        typed = typed_input.reading_of(reading, RunningProgram((Reader("shell"),)), command)
        assert typed.runs
        assert typed is typed_input.reading_of(reading, RunningProgram((Reader("shell"),)), command)
    assert reading.work.files is not None
    assert reading.work.files.limit == WORK
    assert reading.spent > reading.work.spent + WORK - LEAST_WORK - OVER
