"""Code on the command line costs what it takes to read it, in each language, before it is read."""

from __future__ import annotations

import shlex

import pytest

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.languages import kept_code
from toolguard_engine.effects.languages.language_catalogue import known
from toolguard_engine.guard import Guard
from toolguard_engine.layers.layer_order import TOO_INTRICATE
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json")
GUARD = Guard(Config(), {}, HOST, packs.load())
STARTS = {
    "awk": ("awk", "awk", 'BEGIN {{ system("a{n}"); }}\n'),
    "gawk": ("gawk", "awk", 'BEGIN {{ print 1 | "b{n}"; }}\n'),
    "node": ("node -e", "javascript", 'require("child_process").execSync("a{n}");\n'),
    "a version of node": ("node@22 -e", "javascript", 'require("child_process").execSync("a{n}");\n'),
    "a version of perl": ("perl5.36 -e", "perl", 'system("a{n}");\n'),
    "perl": ("perl -e", "perl", 'system("a{n}");\n'),
    "ruby": ("ruby -e", "ruby", 'system("a{n}")\n'),
    "php": ("php -r", "php", 'system("a{n}");\n'),
    "lua": ("lua -e", "lua", 'os.execute("a{n}")\n'),
    "powershell": ("pwsh -c", "powershell", "Start-Process a{n}\n"),
    "python": ("python3 -c", "python", 'print("a{n}")\n'),
    "python in a here-document": ("python3 - <<'E'\n{}\nE\n", "python", 'print("a{n}")\n'),
    "awk in a file": ("cat > x.awk <<'E'\n{}\nE\nawk -f x.awk", "", 'BEGIN {{ system("a{n}"); }}\n'),
}


def command(start: str, characters: int) -> str:
    program, _, line = STARTS[start]
    code = "".join(line.format(n=n) for n in range(characters // (len(line) - 2)))
    return program.format(code) if "{}" in program else f"{program} {shlex.quote(code)}"


def call(text: str) -> Call:
    return Call("exec", {"command": text}, cwd="/home/u/work")


def spent(text: str) -> float:
    reading = GUARD.read(call(text))
    GUARD.judge_reading(reading)
    return reading.spent


@pytest.mark.parametrize("start", [start for start, (_, language, _) in STARTS.items() if language])
def test_code_that_costs_more_than_a_call_may_is_not_read(start: str) -> None:
    kept_code.clear()
    before = kept_code.steps()
    assert GUARD.weigh(call(command(start, 62_000))).code == TOO_INTRICATE.code
    assert kept_code.steps() == before


@pytest.mark.parametrize("start", [start for start, (_, language, _) in STARTS.items() if language])
def test_each_character_of_code_costs(start: str) -> None:
    short, long = command(start, 800), command(start, 1_600)
    assert spent(long) - spent(short) >= known(STARTS[start][1]).steps * (len(long) - len(short)) > 0


@pytest.mark.parametrize("start", STARTS)
def test_what_is_not_read_is_held(start: str) -> None:
    assert GUARD.weigh(call(command(start, 62_000))).decision == "hold"
    assert GUARD.weigh(call(f"{command(start, 62_000)}\nrm -rf ~")).decision != "allow"
    assert GUARD.weigh(call(f"rm -rf /\n{command(start, 62_000)}")).decision != "allow"


@pytest.mark.parametrize("start", STARTS)
def test_a_few_lines_are_free(start: str) -> None:
    assert spent(command(start, 600)) < 8_000
