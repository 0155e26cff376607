"""A person's constraints in policy.toml: what they say, and what is told of one that is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine import constraintpacks
from toolguard_engine.constraintform import Constraint
from toolguard_engine.layers.grants import Grant
from toolguard_engine.stores import key, userconstraints
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import Policies
from toolguard_engine.stores.userconstraints import BadRules, UserConstraints
from toolguard_engine.stores.userrules import UserRules

GOOD = """\
# mine
[[rule]]
id = "no-deploy"
run = ["make deploy"]
clarity = 2
stakes = 3
reason = "It publishes the site."

[[constraint]]
id = "no-prod-writes"
severity = "required"
reason = "Production is changed by people only."
tool = ["exec", "write"]
params = { command = "prod", "job.name" = "x" }
path = ["~/prod/**"]
not_path = ["~/prod/tmp/**"]
effect = ["delete", "message"]
agent = ["main"]
channel = ["telegram", "discord:*"]
requester = ["!owner"]
hours = "22:00-06:00"
days = ["mon", "sun"]
timezone = "UTC"
"""
BASE = '[[constraint]]\nid = "a"\nseverity = "mandatory"\nreason = "r"\n'


@pytest.fixture
def own(tmp_path: Path) -> UserConstraints:
    found = UserConstraints(tmp_path)
    found.path.parent.mkdir()
    return found


def test_nothing_yet(tmp_path: Path) -> None:
    assert UserConstraints(tmp_path).constraints() == ()
    assert list(tmp_path.iterdir()) == []


def test_all_keys(own: UserConstraints) -> None:
    own.path.write_text(GOOD)
    assert own.constraints() == (
        Constraint(
            "no-prod-writes",
            "required",
            "Production is changed by people only.",
            tool=("exec", "write"),
            params=(("command", "prod"), ("job.name", "x")),
            path=("~/prod/**",),
            not_path=("~/prod/tmp/**",),
            effect=("delete", "message"),
            agent=("main",),
            channel=("telegram", "discord:*"),
            requester=("!owner",),
            hours="22:00-06:00",
            days=("mon", "sun"),
            timezone="UTC",
        ),
    )
    assert own.placed()[0].at.line == 9


def test_the_same_tuple_until_the_file_changes(own: UserConstraints) -> None:
    own.path.write_text(GOOD)
    found = own.constraints()
    assert own.constraints() is found
    own.path.write_text(GOOD + "\n" + BASE + 'tool = ["x"]\n')
    assert [each.id for each in own.constraints()] == ["no-prod-writes", "a"]
    own.path.unlink()
    assert own.constraints() == ()


def test_rules_beside_them_are_read_too(own: UserConstraints, tmp_path: Path) -> None:
    own.path.write_text(GOOD)
    assert [rule.id for rule in UserRules(tmp_path).rules()] == ["user.no-deploy"]


@pytest.mark.parametrize(
    ("text", "line", "said", "mend"),
    [
        (BASE + 'tol = ["x"]', 5, "unknown key 'tol'", "did you mean tool?"),
        (BASE + "", 1, "no condition", 'tool = ["*"] if you mean all'),
        (BASE + 'timezone = "UTC"', 1, "no condition", "say which calls"),
        (BASE + 'tool = ["x"]\ntimezone = "UTC"', 6, "means nothing without hours or days", "timezone"),
        (BASE + "tool = []", 5, "tool must be a list of texts", 'tool = ["..."]'),
        (BASE + 'tool = "x"', 5, "tool must be a list of texts", 'tool = ["..."]'),
        (BASE + 'tool = [" "]', 5, "empty", "tool"),
        (BASE + 'tool = ["!x"]', 5, "knows no '!'", "tool"),
        (BASE + 'agent = ["!"]', 5, "empty", "agent"),
        (BASE + f'tool = ["{"*a" * 30}"]', 5, "wildcards", "tool"),
        (BASE + 'path = ["../x"]', 5, "'..' means nothing", "path"),
        (BASE + 'effect = ["remove"]', 5, "effect has no 'remove'", "known kinds"),
        (BASE + 'params = { a = "(" }', 5, "no regular expression", "params"),
        (BASE + 'params = { a = "(a*)*b" }', 5, "very long", "params"),
        (BASE + "params = { a = 3 }", 5, "must be a regular expression", "params"),
        (BASE + "params = {}", 5, "must be a table", "params"),
        (BASE + 'hours = "22-6"', 5, "22:00-06:00", "whole day"),
        (BASE + 'hours = "10:00-10:00"', 5, "different times", "whole day"),
        (BASE + 'hours = "25:00-26:00"', 5, "different times", "whole day"),
        (BASE + 'days = ["monday"]', 5, "days are mon, tue", "sat"),
        (BASE + 'days = ["mon"]\ntimezone = "Vienna"', 6, "no time zone 'Vienna'", "Europe/Vienna"),
        (BASE + 'days = ["mon"]\ntimezone = "../../etc/passwd"', 6, "no time zone", "Europe/Vienna"),
        (BASE + 'tool = ["x"]\nmatches = [3]', 6, "list of commands or of calls", "example"),
        (BASE + 'tool = ["x"]\nmatches = [{ tool = "x", params = {}, at = "noon" }]', 6, "list of commands", "example"),
        (BASE.replace('"a"', '"A b"') + 'tool = ["x"]', 2, "small letters", "no-prod-writes"),
        (BASE.replace('id = "a"', "") + 'tool = ["x"]', 1, "no id", "no-prod-writes"),
        (BASE.replace("mandatory", "mandatry") + 'tool = ["x"]', 3, "severity is mandatory", "did you mean mandatory?"),
        (BASE.replace('reason = "r"', "") + 'tool = ["x"]', 1, "no reason", "add a reason"),
        (BASE.replace('"r"', '"a\\nb"') + 'tool = ["x"]', 4, "one line", "add a reason"),
        (BASE + 'tool = ["x"]\n' + BASE + 'tool = ["y"]', 7, "stands in line 1 already", "another id"),
        ("constraint = 3", 0, "not a list of tables", "[[constraint]]"),
        (BASE + "tool = [", 5, "not valid TOML", "mend that line"),
    ],
)
def test_what_is_wrong(own: UserConstraints, text: str, line: int, said: str, mend: str) -> None:
    own.path.write_text(text)
    with pytest.raises(BadRules) as caught:
        own.constraints()
    bad = caught.value
    assert (bad.at.line, said in bad.said, mend in bad.mend) == (line, True, True), str(bad)
    assert str(bad).startswith(str(own.path))
    with pytest.raises(BadRules):  # and is not forgotten
        own.constraints()


def test_too_many(own: UserConstraints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(userconstraints, "MAX_CONSTRAINTS", 1)
    own.path.write_text(BASE + 'tool = ["x"]\n' + BASE.replace('"a"', '"b"') + 'tool = ["x"]\n')
    with pytest.raises(BadRules, match="line 6, column 1: there are more than 1 constraints"):
        own.constraints()


class TestExamples:
    def placed(self, own: UserConstraints, text: str) -> Any:
        own.path.write_text(BASE + text)
        return own.placed(constraintpacks.speaks)

    def test_as_they_should(self, own: UserConstraints) -> None:
        said = 'tool = ["exec"]\nparams = { command = "prod" }\nmatches = ["ls prod"]\npasses = ["ls"]\n'
        assert len(self.placed(own, said)) == 1

    def test_no_match(self, own: UserConstraints) -> None:
        with pytest.raises(BadRules, match=r"line 6, column 13: .* does not speak about its own example 'ls'"):
            self.placed(own, 'tool = ["write"]\nmatches = ["ls"]\n')

    def test_no_pass(self, own: UserConstraints) -> None:
        with pytest.raises(BadRules, match="'ls', which should pass"):
            self.placed(own, 'tool = ["exec"]\npasses = ["ls"]\n')

    def test_on_the_clock_of_the_constraint(self, own: UserConstraints) -> None:
        call = '{ tool = "exec", params = { command = "ls" }, at = 2026-07-01T08:30:00%s }'
        said = f'hours = "08:00-09:00"\ntimezone = "Asia/Tokyo"\nmatches = [{call % ""}]\npasses = [{call % "Z"}]\n'
        assert len(self.placed(own, said)) == 1


@pytest.mark.parametrize("name", constraintpacks.names())
def test_every_pack_with_its_examples(own: UserConstraints, name: str) -> None:
    own.path.write_text(constraintpacks.text(name))
    found = own.placed(constraintpacks.speaks)
    assert 3 <= len(found) <= 6
    assert all(each.rule.matches and each.rule.passes for each in found)


class TestAdd:
    def test_to_no_file(self, own: UserConstraints) -> None:
        added = own.add(constraintpacks.text("personal-data"))
        assert tuple(added) == own.constraints()
        text = own.path.read_text()
        assert text == f"{userconstraints.NEW_FILE}\n{constraintpacks.text('personal-data')}"
        assert own.path.stat().st_mode & 0o777 == 0o600

    def test_what_is_there_stays(self, own: UserConstraints) -> None:
        own.path.write_text(GOOD.rstrip("\n"))
        own.path.chmod(0o640)
        own.add(constraintpacks.text("least-privilege"))
        assert own.path.read_text() == f"{GOOD}\n{constraintpacks.text('least-privilege')}"
        assert own.path.stat().st_mode & 0o777 == 0o640

    def test_all_packs_together_and_grants(self, own: UserConstraints, tmp_path: Path) -> None:
        key.load(tmp_path)
        policies = Policies(tmp_path)
        grant = policies.add(Grant("", "exec", "make *"))
        for name in constraintpacks.names():
            own.add(constraintpacks.text(name))
        assert policies.grants() == (grant,)
        assert policies.revoke(grant.id) == grant
        assert len(own.constraints()) == sum(
            constraintpacks.text(n).count("\n[[constraint]]") for n in constraintpacks.names()
        )

    def test_twice(self, own: UserConstraints) -> None:
        own.add(constraintpacks.text("personal-data"))
        before = own.path.read_bytes()
        with pytest.raises(StoreError, match=r"has the ids personal-data-leaves, .* already, so nothing was added"):
            own.add(constraintpacks.text("personal-data"))
        assert own.path.read_bytes() == before

    def test_dry_run(self, own: UserConstraints) -> None:
        assert len(own.add(constraintpacks.text("personal-data"), dry_run=True)) == 5
        assert not own.path.exists()

    def test_line_ends_of_the_file(self, own: UserConstraints) -> None:
        own.path.write_bytes(GOOD.replace("\n", "\r\n").encode())
        own.add(constraintpacks.text("personal-data"))
        assert b"\n" not in own.path.read_bytes().replace(b"\r\n", b"")
        assert len(own.constraints()) == 6

    def test_behind_a_file_that_is_no_toml(self, own: UserConstraints) -> None:
        own.path.write_text("[[constraint\n")
        with pytest.raises(BadRules, match="line 1"):
            own.add(constraintpacks.text("personal-data"))
        assert own.path.read_text() == "[[constraint\n"

    def test_behind_a_table_that_would_swallow_it(self, own: UserConstraints) -> None:
        own.path.write_text('constraint = [{ id = "a", severity = "advisory", reason = "r", tool = ["x"] }]\n')
        with pytest.raises(StoreError):
            own.add(constraintpacks.text("personal-data"))

    @pytest.mark.skipif(os.geteuid() == 0, reason="root writes everything")
    def test_where_nobody_may_write(self, own: UserConstraints) -> None:
        own.path.parent.chmod(0o500)
        with pytest.raises(StoreError):
            own.add(constraintpacks.text("personal-data"))
