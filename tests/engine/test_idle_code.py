"""Code that has no effects is known by all that effects depend on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from toolguard_engine.effects.commands import idle_code
from toolguard_engine.effects.commands.effects import effects
from toolguard_engine.effects.facts.command import Effect, FilePlace, ProgramRun, Reading, Redirect, StdinSource
from toolguard_engine.effects.facts.places import Where

CODES = (
    "x = 1\n",
    "import os\nos.remove('notes.txt')\n",
    "http = require('http'); stripe.customers.del(customer.id); db.users.deleteMany({})\n",
    "open('.openclaw/workspace/x', 'w').write(y)\n",
    "print(open('/home/u/.ssh/id_rsa').read())\n",
)
HOMES = (Where("/home/u", "/home/u/work"), Where("/home/v", "/srv"))


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    idle_code._known.clear()
    yield
    idle_code._known.clear()


def run_of(code: str, name: str, *, made: bool, **more: object) -> ProgramRun:
    file = FilePlace("t", "/home/u/work/t", code, made=made)
    return ProgramRun((name, "-"), name, stdin=StdinSource(code), origin=file, **more)  # type: ignore[arg-type]


def test_what_is_known_of_one_program_changes_nothing_for_another() -> None:
    asked = [
        (run_of(code, name, made=made, cwd=cwd, assigns=assigns, redirects=redirects), where)
        for code, name, made, cwd, assigns, redirects, where in product(
            CODES, ("python3", "node", "perl"), (True, False), ("", "/home/u/.openclaw"),
            ((), (("LD_PRELOAD", "/tmp/x.so"),)), ((), (Redirect("truncate", "/etc/passwd"),)), HOMES,
        )
    ]  # fmt: skip
    alone = list[tuple[Effect, ...]]()
    for run, where in asked:
        idle_code._known.clear()
        alone.append(effects(Reading((run,)), where))
    for _ in range(2):
        assert [effects(Reading((run,)), where) for run, where in asked] == alone
    assert any(alone)
    assert not all(alone)
    plain = {
        (run.name, run.stdin, where, run.origin is not None and run.origin.made): found
        for (run, where), found in zip(asked, alone, strict=True)
        if not (run.assigns or run.redirects or run.cwd)
    }
    assert any(found and not plain[*rest, not made] for (*rest, made), found in plain.items())


def test_code_without_effects_is_known_afterwards() -> None:
    idle, busy = run_of(CODES[0], "python3", made=True), run_of(CODES[4], "python3", made=True)
    assert not effects(Reading((idle,)), HOMES[0])
    assert effects(Reading((busy,)), HOMES[0])
    assert idle_code.is_idle(idle, HOMES[0])
    assert not idle_code.is_idle(busy, HOMES[0])
    assert not idle_code.is_idle(idle, HOMES[1])


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_code, "KEPT", 3)
    for number in range(9):
        effects(Reading((run_of(f"x = {number}\n", "python3", made=True),)), HOMES[0])
    assert len(idle_code._known) == 3
