"""A person's own rules: read as the packs are, and explained by file, line and column where one is wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolguard_engine
from toolguard_engine import rulenames, rulepacks
from toolguard_engine.rulebook import Rule
from toolguard_engine.stores import tomlfile, userrules
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.tomlfile import At, Places
from toolguard_engine.stores.userrules import BadRules, UserRules

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


def test_a_policy_without_rules(own: UserRules) -> None:
    own.path.write_text("[settings]\nx = 1\n")
    assert own.rules() == ()


def test_it_is_read_again_only_when_it_changed(own: UserRules, monkeypatch: pytest.MonkeyPatch) -> None:
    own.path.write_text(GOOD)
    first = own.rules()
    with monkeypatch.context() as patch:
        patch.setattr(tomlfile, "text_of", lambda path: pytest.fail(f"{path} was read again"))
        assert own.rules() is first
    own.path.write_text(GOOD.partition('[[rule]]\nid = "house')[0])
    assert [rule.id for rule in own.rules()] == ["user.no-deploy"]
    own.path.write_text("[[rule]]\n")
    for _ in range(2):
        with pytest.raises(BadRules):
            own.rules()
    own.path.unlink()
    assert own.rules() == ()
    own.path.write_text(GOOD)
    assert len(own.rules()) == 2


@pytest.mark.parametrize(
    ("text", "at", "said", "mend"),
    [
        pytest.param("x = 1\ny = [1,,2]\n", (2, 8), "it is not valid TOML", "mend that line", id="no TOML"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 3\nstake = 3\n", (6, 1), "unknown key 'stake'", "stakes", id="unknown key"),
        pytest.param(f"[[rule]]\n{BASE}  stakes =  12\n", (5, 13), "stakes must be", "stakes = 3", id="number"),
        pytest.param(f"[[rule]]\n{BASE}clarity = true\n", (5, 11), "clarity must be a whole number", "", id="no number"),
        pytest.param('[[rule]]\nrun = ["x"]\nreason = "r"\n', (1, 1), "rule 1: it has no id", "add an id", id="no id"),
        pytest.param(f"[[rule]]\n{BASE}\n\n [[rule]]\n{BASE}", (1, 1), "changes nothing", "stakes = 3", id="no effect"),
        pytest.param('[[rule]]\nid = "a"\nreason = "r"\nstakes = 1\n', (2, 6), "one of run, effect", "run", id="about"),
        pytest.param('[[rule]]\nid = "a"\nrun = ["x"]\nstakes = 1\n', (1, 1), "no reason", "add a reason", id="no reason"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\neffect = ['write', 'delet']\n", (6, 21), "mean 'delete'?", "", id="kind"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nplace = ['hom']\n", (6, 11), "mean 'home'", "place =", id="place"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nno_place = ['xyzzy']\n", (6, 14), "known are: art", "", id="no place"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nvia = ['sudoo']\n", (6, 9), "mean 'sudo'", "via =", id="via"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nflags = ['recursiv']\n", (6, 11), "mean 'recursive'", "", id="flag"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nno_flags = ['x y']\n", (6, 14), "has no 'x y'", "", id="no flag"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nverdict = 'block'\n", (6, 11), "mean nothing", "take them", id="both"),
        pytest.param(f"[[rule]]\n{BASE}verdict = 'hold'\n", (5, 11), 'only verdict is "block"', "stakes = 3", id="verdict"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\narg = '('\n", (6, 7), "arg", "regular expression", id="pattern"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\nany = '-f'\n", (6, 7), "any must be a list", 'any = ["', id="no list"),
        pytest.param(f"[[rule]]\n{BASE}stakes = 1\n[rule.params]\np = 1\n", (6, 1), "params must be", "", id="part"),
        pytest.param(
            f"[[rule]]\n{BASE}stakes = 1\n[[rule]]\n{BASE}stakes = 2\n", (7, 6), "in line 1 already", "another id", id="2"
        ),
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
    with pytest.raises(BadRules) as caught:
        own.rules()
    assert (caught.value.at.line, caught.value.at.column) == at
    told = str(caught.value)
    where = f", line {at[0]}, column {at[1]}" if at[0] else ""
    assert told.startswith(f"{own.path}{where}: ")
    assert said in told
    assert mend in caught.value.mend
    assert caught.value.mend in told


@pytest.mark.parametrize(
    "text", ["curl | sh", "curl |sh", "a| b", "(a)", "a && b", "a; b", "a > b", "$(a)", "'a b'", "*", "**", "* *"]
)
def test_what_is_no_program(own: UserRules, text: str) -> None:
    own.path.write_text(f'[[rule]]\nid = "a"\nreason = "r"\nstakes = 1\nrun = ["make", "{text}"]\n')
    with pytest.raises(BadRules) as caught:
        own.rules()
    assert caught.value.at.line == 5
    assert repr(text) in caught.value.said


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
            rulenames.check(rule)


def test_all_kinds_of_effects_are_known() -> None:
    made = re.compile(r"\bEffect\(\s*\"([a-z-]+)\"")
    found = {
        kind for path in Path(toolguard_engine.__file__).parent.rglob("*.py") for kind in made.findall(path.read_text())
    }
    assert found <= rulenames.KINDS


GUIDE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()


def test_the_rules_of_the_guide_are_good(own: UserRules) -> None:
    own.path.write_text("\n".join(re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)))
    found = own.placed(rulepacks.speaks)
    assert len(found) == 5
    assert all(placed.rule.matches for placed in found)


def test_the_guide_has_all_names() -> None:
    prose = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
    told = {name.strip('"') for name in re.findall(r"`([^`]*)`", prose)}
    assert {*rulenames.KINDS, *rulenames.PLACES, *rulenames.FLAGS, *Rule.__struct_fields__} <= told


def test_examples_are_tried_where_somebody_asks(own: UserRules) -> None:
    own.path.write_text(f'[[rule]]\n{BASE}stakes = 1\nmatches = ["x 1",\n  "y 2"]\n')
    assert len(own.rules()) == 1
    with pytest.raises(BadRules, match="does not match its own example 'y 2'") as caught:
        own.placed(lambda rule, example: str(example).split()[0] in rule.run)
    assert caught.value.at == At(7, 4)


def test_too_many(own: UserRules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(userrules, "MAX_RULES", 1)
    own.path.write_text(GOOD)
    with pytest.raises(BadRules, match="line 14, column 1: there are more than 1 rules"):
        own.rules()


def test_no_text(own: UserRules) -> None:
    own.path.write_bytes(b"# fine\n\xff\n")
    with pytest.raises(BadRules, match="line 2: it is not UTF-8 text"):
        own.rules()


def test_unreadable(own: UserRules) -> None:
    own.path.mkdir()
    with pytest.raises(StoreError, match="it is no file"):
        own.rules()


def test_the_error_shows_nothing_that_plays_tricks(own: UserRules) -> None:
    own.path.write_text('[[rule]]\n"\\u001b[2J" = 1\n')
    with pytest.raises(BadRules) as caught:
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


@pytest.mark.parametrize(
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
    tomlfile.load(KEYS)
    assert Places(KEYS, "rule").key(number, key) == found


@given(st.text(alphabet="[]{}\"'#=.\n\\ arule1", max_size=60))
def test_any_text(text: str) -> None:
    places = Places(text, "rule")
    assert places.key(0, "a").line <= text.count("\n") + 1


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    tables = "[[rule]]\n" * 2_000
    for text in (f"# {QUOTES}\n", f"x = '''{QUOTES}'''", f"x = [{'[],' * 50_000}]", "# \n" * 60_000, tables):
        tomlfile.load(text)
        Places(text, "rule")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_forbidden(own: UserRules) -> None:
    own.path.write_text(GOOD)
    own.path.chmod(0)
    with pytest.raises(StoreError, match="ermission"):
        own.rules()
