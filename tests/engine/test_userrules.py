"""A person's own rules: read as the packs are, and explained by file, line and column where one is wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolguard_engine
from tables import each_row
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.layers import rule_examples, sample_packs
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules import vocabulary
from toolguard_engine.rules.rulebook import Rule
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import toml_file
from toolguard_engine.stores.files import user_rules
from toolguard_engine.stores.files.grants_file import PolicyFiles
from toolguard_engine.stores.files.user_rules import UserRules
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.toml_file import At, TomlPositions
from toolguard_engine.stores.values import InvalidRulesError

GOOD = """\
# mine
[[grant]]
id = "g-1"
tool = "exec"
pattern = "make"

[[rule]]
id = "no-deploy"
run = ["make deploy"]
clarity = 2
stakes = 3
reason = "It publishes the site."

[[rule]]
id = "house.wipe"
run = ["wipe"]
verdict = "block"
reason = "Never."
"""
BASE = 'id = "a"\nrun = ["x"]\nreason = "r"\n'
SEVERE = """\
id = "no-prod-writes"
severity = "required"
reason = "Production is changed by people only."
run = ["kubectl"]
tool = ["exec", "write"]
params = { command = "prod", job.name = "x" }
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
DECIDES = 'id = "a"\nseverity = "mandatory"\nreason = "r"\n'


@pytest.fixture
def own(tmp_path: Path) -> UserRules:
    rules = UserRules(tmp_path)
    rules.path.parent.mkdir()
    return rules


def test_nothing_yet(tmp_path: Path) -> None:
    assert UserRules(tmp_path).rules() == ()
    assert list(tmp_path.iterdir()) == []


def test_rules(own: UserRules) -> None:
    own.path.write_text(GOOD)
    assert own.rules() == (
        Rule("user.no-deploy", "It publishes the site.", run=("make deploy",), clarity=2, stakes=3),
        Rule("house.wipe", "Never.", run=("wipe",), verdict="block"),
    )
    assert [placed.at for placed in own.placed()] == [At(7, 1), At(14, 1)]


@pytest.mark.parametrize("table", ["rule", "constraint"])
def test_a_rule_with_a_severity(own: UserRules, table: str) -> None:
    own.path.write_text(f"{GOOD}\n[[{table}]]\n{SEVERE}")
    assert own.rules()[2] == Rule(
        "constraint.no-prod-writes",
        "Production is changed by people only.",
        run=("kubectl",),
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
        severity="required",
    )
    assert (own.rules()[2].name, own.rules()[2].code) == ("no-prod-writes", "constraint.no-prod-writes")


def test_both_tables_in_the_order_of_the_file(own: UserRules) -> None:
    own.path.write_text(f"[[constraint]]\n{SEVERE}[[rule]]\n{BASE}stakes = 1\n[[constraint]]\n{DECIDES}tool = ['*']\n")
    assert [rule.code for rule in own.rules()] == ["constraint.no-prod-writes", "rule.user.a", "constraint.a"]


def test_what_is_beside_a_fault_can_be_understood(own: UserRules) -> None:
    own.path.write_text(f"[[rule]]\n{BASE}[[rule]]\n{DECIDES}tool = ['*']\n[[constraint]]\nid = 'b'\n")
    found = own.look()
    assert [placed.rule.code for placed in found.good] == ["constraint.a"]
    assert "changes nothing" in str(found.fault)
    assert own.look() is found


def test_a_policy_without_rules(own: UserRules) -> None:
    own.path.write_text("[settings]\nx = 1\n")
    assert own.rules() == ()


def test_it_is_read_again_only_when_it_changed(own: UserRules, monkeypatch: pytest.MonkeyPatch) -> None:
    own.path.write_text(GOOD)
    first = own.rules()
    with monkeypatch.context() as patch:
        patch.setattr(toml_file, "text_of", lambda path: pytest.fail(f"{path} was read again"))
        assert own.rules() is first
    own.path.write_text(GOOD.partition('[[rule]]\nid = "house')[0])
    assert [rule.id for rule in own.rules()] == ["user.no-deploy"]
    own.path.write_text("[[rule]]\n")
    for _ in range(2):
        with pytest.raises(InvalidRulesError):
            own.rules()
    own.path.unlink()
    assert own.rules() == ()
    own.path.write_text(GOOD)
    assert len(own.rules()) == 2


@pytest.mark.parametrize(
    ("text", "at", "said", "mend"),
    [
        pytest.param("x = 1\ny = [1,,2]\n", (2, 8), "it is not valid TOML", "put text in quotes", id="no TOML"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 3\nstake = 3\n", (6, 1), "unknown key 'stake'", "stakes", id="unknown key"),
        pytest.param(f"[[rule]]\n{BASE}  stakes =  12\n", (5, 13), "stakes must be", "stakes = 3", id="number"),
        pytest.param(f"[[rule]]\n{BASE}clarity = true\n", (5, 11), "clarity must be a whole number", "", id="no number"),
        pytest.param('[[rule]]\nrun = ["x"]\nreason = "r"\n', (1, 1), "rule 1: it has no id", "add an id", id="no id"),
        pytest.param(f"[[rule]]\n{BASE}\n\n [[rule]]\n{BASE}", (1, 1), "changes nothing", "stakes = 3", id="no effect"),
        pytest.param('[[rule]]\nid = "a"\nreason = "r"\nstakes = 1\n', (2, 6), "one of run, effect", "run", id="about"),
        pytest.param('[[rule]]\nid = "a"\nrun = ["x"]\nstakes = 1\n', (1, 1), "no reason", "add a reason", id="no reason"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\neffect = ['write', 'delet']\n", (6, 21), "mean 'delete'?", "", id="kind"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nplace = ['hom']\n", (6, 11), "mean 'home'", "place =", id="place"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nno_place = ['xyzzy']\n", (6, 14), "artefact, cred", "", id="no place"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nvia = ['sudoo']\n", (6, 9), "mean 'sudo'", "via =", id="via"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nflags = ['recursiv']\n", (6, 11), "mean 'recursive'", "", id="flag"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nno_flags = ['x y']\n", (6, 14), "support 'x y'", "", id="no flag"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nverdict = 'block'\n", (6, 11), "no effect", "remove them", id="both"),
        pytest.param(f"[[rule]]\n{BASE}verdict = 'hold'\n", (5, 11), 'only verdict is "block"', "stakes = 3", id="verdict"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\narg = '('\n", (6, 7), "arg", "regular expression", id="pattern"),
        pytest.param(f"[[rule]]\n{DECIDES}tool=['x']\nunless='x'", (6, 8), "without arg or effect", "unless", id="unless"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nany = '-f'\n", (6, 7), "any must be a list", 'any = ["', id="no list"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\n[rule.params]\np = 1\n", (6, 1), "params must be", "", id="part"),
        pytest.param(
            f"[[rule]]\n{BASE}stakes = 1\n[[rule]]\n{BASE}stakes = 2\n", (7, 6), "already used", "another id", id="2"
        ),
        pytest.param(f"[[constraint]]\n{BASE}", (1, 1), "the constraint a: it has no severity", "mandatory", id="former"),
        pytest.param(f"[[rule]]\n{DECIDES}", (2, 6), "match every call", 'tool = ["*"] if you mean all', id="severity only"),
        pytest.param(f"[[rule]]\n{DECIDES}run=['x']\nclarity=1", (3, 12), "have no effect", "severity =", id="two effects"),
        pytest.param(f"[[rule]]\n{DECIDES}tool=['x']\nany=['-f']", (6, 5), "any has no effect without run", "", id="any"),
        pytest.param(f"[[rule]]\n{DECIDES}run=['x']\nplace=['home']", (6, 7), "without effect", "place", id="no effect 2"),
        pytest.param(f"[[rule]]\n{DECIDES}tool=['x']\ntimezone='UTC'", (6, 10), "without hours or days", "hours", id="zone"),
        pytest.param(f"[[rule]]\n{DECIDES}tool = []", (5, 8), "must be a list of strings", 'tool = ["..."]', id="no tools"),
        pytest.param(f"[[rule]]\n{DECIDES}tool = ['!x']", (5, 10), "does not support '!'", "tool", id="no tool"),
        pytest.param(f"[[rule]]\n{DECIDES}agent = ['!']", (5, 11), "empty", "agent", id="nobody"),
        pytest.param(f"[[rule]]\n{DECIDES}path = ['{'*a' * 30}']", (5, 10), "wildcards", "path", id="wildcards"),
        pytest.param(f"[[rule]]\n{DECIDES}path = ['../x']", (5, 10), "'..' has no effect", "path", id="path"),
        pytest.param(f"[[rule]]\n{DECIDES}params = {{ a = 'a(?=b)' }}", (5, 10), "look-ahead", "params", id="params"),
        pytest.param(f"[[rule]]\n{DECIDES}params = {{}}", (5, 10), "must be a table", "params", id="no params"),
        pytest.param(f"[[rule]]\n{DECIDES}hours = '22-6'", (5, 9), "22:00-06:00", "whole day", id="hours"),
        pytest.param(f"[[rule]]\n{DECIDES}hours = '10:00-10:00'", (5, 9), "different times", "whole day", id="no hours"),
        pytest.param(f"[[rule]]\n{DECIDES}days = ['monday']", (5, 10), "days are mon, tue", "sat", id="days"),
        pytest.param(
            f"[[rule]]\n{DECIDES}days = ['mon']\ntimezone = '../../x'", (6, 12), "unknown time zone", "Vienna", id="zone 2"
        ),
        pytest.param(f"[[rule]]\n{DECIDES}tool = ['x']\nmatches = [3]", (6, 11), "must be a list", "example", id="example"),
        pytest.param(
            f"[[rule]]\n{DECIDES}tool = ['x']\nmatches = [{{ tool = 'x', params = {{}}, at = 'noon' }}]",
            (6, 11), "list of commands or of calls", "example", id="noon",
        ),
        pytest.param(
            "[[rule]]\n" + DECIDES.replace('"a"', '"A b"') + "run = ['x']", (2, 6), "lowercase letters, digits", "", id="id"
        ),
        pytest.param(
            f"[[rule]]\n{DECIDES.replace('mandatory', 'mandatry')}", (3, 12), "severity is", "did you mean mandatory", id="4"
        ),
        pytest.param(
            "[[rule]]\n" + DECIDES.replace('"r"', '"a\\nb"') + "run = ['x']", (4, 10), "one line", "reason", id="lines"
        ),
        pytest.param(
            f"[[rule]]\n{DECIDES}tool = ['x']\n[[constraint]]\n{DECIDES}tool = ['y']", (7, 6), "in line 1", "another", id="3"
        ),
        pytest.param("constraint = 3", (0, 0), "not a list of tables", "[[rule]]", id="no former table"),
        pytest.param("rule = 3\n", (0, 0), "not a list of tables", "[[rule]]", id="no table"),
        pytest.param("rule = [1]\n", (0, 0), "not a list of tables", "[[rule]]", id="no tables"),
        pytest.param(
            f"x = '''\n[[rule]]\n'''\n[[rule]] # [[rule]]\n{BASE}any = [\n  '[[rule]]', # stakes\n]\nstakes = -1\n",
            (11, 10), "stakes must be", "", id="texts that look like headers",
        ),
        pytest.param(f"[[rule]]\r\n{BASE}stakes = 99\r\n", (5, 10), "stakes must be", "", id="line ends"),
    ],
)  # fmt: skip
def test_bad_rules(own: UserRules, text: str, at: tuple[int, int], said: str, mend: str) -> None:
    own.path.write_bytes(text.encode())
    with pytest.raises(InvalidRulesError) as caught:
        own.rules()
    assert (caught.value.at.line, caught.value.at.column) == at
    reported = str(caught.value)
    where = f", line {at[0]}, column {at[1]}" if at[0] else ""
    assert reported.startswith(f"{own.path}{where}: ")
    assert said in reported
    assert mend in caught.value.fix
    assert caught.value.fix in reported


@pytest.mark.parametrize(
    "text", ["curl | sh", "curl |sh", "a| b", "(a)", "a && b", "a; b", "a > b", "$(a)", "'a b'", "*", "**", "* *"]
)
def test_what_is_no_program(own: UserRules, text: str) -> None:
    own.path.write_text(f'[[rule]]\nid = "a"\nreason = "r"\nstakes = 1\nrun = ["make", "{text}"]\n')
    with pytest.raises(InvalidRulesError) as caught:
        own.rules()
    assert caught.value.at.line == 5
    assert repr(text) in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        'run = ["git push", "docker|podman rm", "* delete|destroy", "aws * delete-*", "x !get|list", "x ** y"]',
        'effect = ["gateway"]\nflags = ["whatever-it-does"]',
        'effect = ["write"]\nplace = [""]\nno_flags = ["each"]\nvia = ["sudo", "xargs", "$()", "()", "python3.11"]',
    ],
)
def test_names_that_are_known(own: UserRules, text: str) -> None:
    own.path.write_text(f'[[rule]]\nid = "a"\nreason = "r"\nstakes = 1\n{text}\n')
    assert len(own.rules()) == 1


def test_all_packs_use_known_names() -> None:
    for rules in rulepacks.packs().values():
        for rule in rules:
            vocabulary.check(rule)


def test_all_kinds_of_effects_are_known() -> None:
    made = re.compile(r"\bEffect\(\s*\"([a-z-]+)\"")
    found = {
        kind for path in Path(toolguard_engine.__file__).parent.rglob("*.py") for kind in made.findall(path.read_text())
    }
    assert found <= vocabulary.KINDS


GUIDE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()


def test_the_rules_of_the_guide_are_good(own: UserRules) -> None:
    own.path.write_text("\n".join(re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)))
    found = own.placed(rule_examples.speaks)
    assert len(found) == 6
    assert all(placed.rule.matches for placed in found)


def test_the_guide_has_all_names() -> None:
    prose = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
    reported = {name.strip('"') for name in re.findall(r"`([^`]*)`", prose)}
    assert {*vocabulary.KINDS, *vocabulary.PLACES, *vocabulary.FLAGS, *Rule.__struct_fields__} <= reported


def test_examples_are_tried_where_somebody_asks(own: UserRules) -> None:
    own.path.write_text(f'[[rule]]\n{BASE}stakes = 1\nmatches = ["x 1",\n  "y 2"]\n')
    assert len(own.rules()) == 1
    with pytest.raises(InvalidRulesError, match="does not match its own example 'y 2'") as caught:
        own.placed(lambda rule, example: str(example).split()[0] in rule.run)
    assert caught.value.at == At(7, 4)


def test_too_many(own: UserRules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_rules, "MAX_RULES", 1)
    own.path.write_text(GOOD)
    with pytest.raises(InvalidRulesError, match="line 14, column 1: there are more than 1 rules"):
        own.rules()


class TestExamples:
    def placed(self, own: UserRules, text: str) -> Any:
        own.path.write_text(f"[[rule]]\n{DECIDES}{text}")
        return own.placed(rule_examples.speaks)

    def test_no_match(self, own: UserRules) -> None:
        with pytest.raises(InvalidRulesError, match=r"line 6, column 13: .* does not match its own example 'ls'"):
            self.placed(own, 'tool = ["write"]\nmatches = ["ls"]\n')

    def test_no_pass(self, own: UserRules) -> None:
        with pytest.raises(InvalidRulesError, match="'ls', which should pass"):
            self.placed(own, 'tool = ["exec"]\npasses = ["ls"]\n')

    def test_on_the_clock_of_the_rule(self, own: UserRules) -> None:
        call = '{ tool = "exec", params = { command = "ls" }, at = 2026-07-01T08:30:00%s }'
        said = f'hours = "08:00-09:00"\ntimezone = "Asia/Tokyo"\nmatches = [{call % ""}]\npasses = [{call % "Z"}]\n'
        assert len(self.placed(own, said)) == 1


class TestSamples:
    @pytest.mark.parametrize("name", sample_packs.names())
    def test_every_pack_with_its_examples(self, own: UserRules, name: str) -> None:
        own.path.write_text(sample_packs.text(name))
        found = own.placed(rule_examples.speaks)
        assert [each.rule.name for each in found] == sample_packs.ids(name)
        assert all(each.rule.matches and each.rule.passes for each in found)
        assert sample_packs.about(name).endswith(".")

    def test_to_no_file(self, own: UserRules) -> None:
        added = own.add(sample_packs.text("personal-data"))
        assert tuple(added) == own.rules()
        assert own.path.read_text() == f"{user_rules.NEW_FILE}\n{sample_packs.text('personal-data')}"
        assert own.path.stat().st_mode & 0o777 == 0o600

    def test_what_is_there_stays(self, own: UserRules) -> None:
        own.path.write_text(GOOD.rstrip("\n"))
        own.path.chmod(0o640)
        own.add(sample_packs.text("least-privilege"))
        assert own.path.read_text() == f"{GOOD}\n{sample_packs.text('least-privilege')}"
        assert own.path.stat().st_mode & 0o777 == 0o640

    def test_all_packs_together_and_grants(self, own: UserRules, tmp_path: Path) -> None:
        stores.signing_key(tmp_path).load()
        policies = PolicyFiles(tmp_path)
        grant = policies.add(Grant("", "exec", "make *"))
        for name in sample_packs.names():
            own.add(sample_packs.text(name))
        assert policies.grants() == (grant,)
        assert policies.revoke(grant.id) == grant
        assert len(own.rules()) == sum(len(sample_packs.ids(name)) for name in sample_packs.names())

    def test_twice(self, own: UserRules) -> None:
        own.add(sample_packs.text("personal-data"))
        before = own.path.read_bytes()
        with pytest.raises(StoreError, match=r"has the ids personal-data-leaves, .* already, so nothing was added"):
            own.add(sample_packs.text("personal-data"))
        assert own.path.read_bytes() == before

    def test_dry_run(self, own: UserRules) -> None:
        assert len(own.add(sample_packs.text("personal-data"), dry_run=True)) == 5
        assert not own.path.exists()

    def test_line_ends_of_the_file(self, own: UserRules) -> None:
        own.path.write_bytes(GOOD.replace("\n", "\r\n").encode())
        own.add(sample_packs.text("personal-data"))
        assert b"\n" not in own.path.read_bytes().replace(b"\r\n", b"")
        assert len(own.rules()) == 7

    @pytest.mark.parametrize("text", ["[[rule\n", "rule = [{ id = 'a', run = ['x'], stakes = 1, reason = 'r' }]\n"])
    def test_behind_what_cannot_be_added_to(self, own: UserRules, text: str) -> None:
        own.path.write_text(text)
        with pytest.raises(StoreError):
            own.add(sample_packs.text("personal-data"))
        assert own.path.read_text() == text

    @pytest.mark.skipif(os.geteuid() == 0, reason="root writes everything")
    def test_where_nobody_may_write(self, own: UserRules) -> None:
        own.path.parent.chmod(0o500)
        with pytest.raises(StoreError):
            own.add(sample_packs.text("personal-data"))


def test_no_text(own: UserRules) -> None:
    own.path.write_bytes(b"# fine\n\xff\n")
    with pytest.raises(InvalidRulesError, match="line 2: it is not UTF-8 text"):
        own.rules()


def test_unreadable(own: UserRules) -> None:
    own.path.mkdir()
    with pytest.raises(StoreError, match="it is not a file"):
        own.rules()


def test_the_error_shows_nothing_that_plays_tricks(own: UserRules) -> None:
    own.path.write_text('[[rule]]\n"\\u001b[2J" = 1\n')
    with pytest.raises(InvalidRulesError) as caught:
        own.rules()
    assert "\x1b" not in str(caught.value)


QUOTES = '"\\' * 50_000
KEYS = """\
a.b = 1
[[ "rule" ]] # one
  id = 1
other = { id = 3 }
text = \"\"\"
id = 2
\"\"\"\"
'odd key' = [ # ]
  "id = 9",
]
[rule.params]
id = "deep"
[x]
id = 4
[[rule]]
"stakes" = 5"""


@each_row(
    ("number", "key", "found"),
    [
        (0, "id", At(3, 3)),
        (0, "other", At(4, 1)),
        (0, "odd key", At(8, 1)),
        (0, "params", At(11, 1)),
        (0, "missing", At(2, 1)),
        (1, "stakes", At(16, 1)),
        (2, "id", At()),
    ],
)
def test_where_a_key_stands(number: int, key: str, found: At) -> None:
    toml_file.load(KEYS)
    assert TomlPositions(KEYS, "rule").key(number, key) == found


@given(st.text(alphabet="[]{}\"'#=.\n\\ arule1", max_size=60))
def test_any_text(text: str) -> None:
    places = TomlPositions(text, "rule")
    assert places.key(0, "a").line <= text.count("\n") + 1


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    tables = "[[rule]]\n" * 2_000
    for text in (f"# {QUOTES}\n", f"x = '''{QUOTES}'''", f"x = [{'[],' * 50_000}]", "# \n" * 60_000, tables):
        toml_file.load(text)
        TomlPositions(text, "rule")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_forbidden(own: UserRules) -> None:
    own.path.write_text(GOOD)
    own.path.chmod(0)
    with pytest.raises(StoreError, match="ermission"):
        own.rules()
