"""What counts of a person's own rules while `policy.toml` has a fault, also for an engine that starts so."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config.settings import Config, Mode
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import unreadable_policy
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Call
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Rulebook
from toolguard_engine.stores.files import last_good
from toolguard_engine.stores.files.last_good import LastGood
from toolguard_engine.stores.files.policy_watch import OwnPolicy
from toolguard_engine.stores.locked import StoreError

RULE = '[[rule]]\nid = "no-deploy"\nrun = ["deploy"]\nverdict = "block"\nreason = "Not \\u0007 \\"here\\" 🦀."\n'
LIMIT = '[[constraint]]\nid = "no-prod"\nseverity = "mandatory"\nreason = "No."\nparams = { "job.command" = "prod" }\n'
GRANT = '[[grant]]\nid = "g-1"\ntool = "exec"\npattern = "make"\n'
BAD_RULE = '[[rule]]\nid = "x"\n'
BAD_LIMIT = '[[constraint]]\nid = "x"\n'
NO_TOML = "[[rule]\n"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    folder = tmp_path / "toolguard"
    folder.mkdir()
    return folder / "policy.toml"


def started(policy: Path, text: str | None = None) -> OwnPolicy:
    """What an engine that starts now goes by."""
    if text is not None:
        policy.write_text(text)
    own = OwnPolicy(policy.parent.parent)
    own.look()
    return own


def counted(own: OwnPolicy) -> list[str]:
    return [rule.name for rule in own.rules]


def test_without_a_policy_nothing_is_written(policy: Path) -> None:
    own = started(policy)
    assert (counted(own), own.unread, own.faults) == ([], "", [])
    assert list(policy.parent.iterdir()) == []


def test_the_good_version_is_kept_for_its_owner_only_without_grants_and_examples(policy: Path) -> None:
    timed = 'matches = [{ tool = "exec", params = { "job.command" = "prod" }, at = 2026-11-23T23:00:00 }]\n'
    own = started(policy, GRANT + RULE + LIMIT + timed)
    kept = policy.parent / last_good.NAME
    assert (stat.S_IMODE(kept.stat().st_mode), own.faults) == (0o600, [])
    said, meant = tomllib.loads(kept.read_text()), tomllib.loads(RULE + LIMIT)
    assert said == {"known": ["rule", "constraint"], "rule": meant["rule"] + meant["constraint"]}


@pytest.mark.parametrize("fault", [NO_TOML, BAD_RULE + BAD_LIMIT, "rule = 1\nconstraint = 1\n", "\0"])
def test_an_engine_that_starts_with_a_faulty_policy_goes_by_the_last_good_one(policy: Path, fault: str) -> None:
    before = started(policy, RULE + LIMIT)
    own = started(policy, fault)
    assert (own.rules, own.unread) == (before.rules, "")
    assert ["the last valid versions stay in force" in text for text in own.faults] == [True]


def test_a_policy_that_cannot_be_read_at_all_is_a_faulty_one(policy: Path) -> None:
    started(policy, RULE + LIMIT)
    policy.unlink()
    policy.mkdir()
    assert counted(started(policy)) == ["no-deploy", "no-prod"]


def test_a_fault_in_one_rule_loses_nothing_of_the_others(policy: Path) -> None:
    running = started(policy, RULE + LIMIT)
    policy.write_text(BAD_RULE + LIMIT.replace("mandatory", "advisory") + LIMIT.replace("no-prod", "no-test"))
    running.look()
    for own in (running, started(policy)):
        assert counted(own) == ["no-prod", "no-test", "no-deploy"]
        assert (own.rules[0].severity, own.unread, len(own.faults)) == ("advisory", "", 1)


def test_what_counted_beside_a_fault_counts_on_when_it_becomes_faulty(policy: Path) -> None:
    running = started(policy, RULE)
    for text in (BAD_RULE + LIMIT, BAD_RULE + LIMIT.replace("mandatory", "mandatoy")):
        policy.write_text(text)
        running.look()
        assert counted(running) == counted(started(policy)) == ["no-prod", "no-deploy"]


def test_where_nothing_good_is_known_what_can_be_understood_counts(policy: Path) -> None:
    own = started(policy, BAD_RULE + LIMIT)
    assert (counted(own), own.unread) == (["no-prod"], "own rules")
    assert ["CANNOT BE READ ARE NOT IN FORCE" in text for text in own.faults] == [True]
    policy.write_text(NO_TOML)
    own.look()
    assert (counted(own), own.unread) == (["no-prod"], "own rules")
    assert (counted(started(policy)), started(policy).unread) == ([], "own rules")
    policy.write_text(RULE)
    own.look()
    assert (counted(own), own.unread, own.faults) == (["no-deploy"], "", [])


def test_no_rules_at_all_are_a_good_version(policy: Path) -> None:
    started(policy, GRANT)
    own = started(policy, NO_TOML)
    assert (counted(own), own.unread) == ([], "")


def test_the_kept_version_is_not_used_while_the_policy_is_good(policy: Path) -> None:
    started(policy, RULE + LIMIT)
    assert counted(started(policy, LIMIT)) == ["no-prod"]
    assert counted(started(policy, NO_TOML)) == ["no-prod"]


def test_a_version_that_was_kept_by_kinds_counts(policy: Path) -> None:
    (policy.parent / last_good.NAME).write_text('known = ["rule", "constraint"]\n' + RULE + LIMIT)
    own = started(policy, NO_TOML)
    assert (counted(own), own.unread) == (["no-deploy", "no-prod"], "")


@pytest.mark.parametrize("damage", ["", "known", 'known = "rule"', "known = [1]", 'known = ["rule"]\nrule = [2]', "\0"])
def test_a_damaged_kept_version_says_nothing(policy: Path, damage: str) -> None:
    started(policy, RULE + LIMIT)
    (policy.parent / last_good.NAME).write_text(damage)
    assert started(policy, NO_TOML).unread == "own rules"


@pytest.mark.parametrize(("old", "new"), [("verdict", "sentence"), ('["rule", "constraint"]', '["rule"]')])
def test_a_kept_version_that_is_not_all_of_it_counts_as_far_as_it_goes(policy: Path, old: str, new: str) -> None:
    started(policy, RULE + LIMIT)
    kept = policy.parent / last_good.NAME
    kept.write_text(kept.read_text().replace(old, new, 1))
    own = started(policy, NO_TOML)
    assert ("no-prod" in counted(own), own.unread) == (True, "own rules")


def test_what_is_the_same_is_not_written_again(policy: Path) -> None:
    started(policy, RULE)
    kept = policy.parent / last_good.NAME
    first = kept.stat().st_ino
    started(policy, "# said again\n" + RULE)
    assert kept.stat().st_ino == first
    started(policy, LIMIT)
    assert kept.stat().st_ino != first


def test_what_cannot_be_kept_counts_and_is_tried_again(policy: Path) -> None:
    kept = policy.parent / last_good.NAME
    kept.mkdir()
    own = started(policy, RULE)
    assert counted(own) == ["no-deploy"]
    assert ["no copy of the valid version can be stored" in text for text in own.faults] == [True]
    kept.rmdir()
    own.look()
    assert own.faults == []
    assert counted(started(policy, NO_TOML)) == ["no-deploy"]


values = st.recursive(
    st.text(st.characters(codec="utf-8")) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(st.characters(codec="utf-8")), values, max_size=3), max_size=3))
def test_whatever_is_kept_reads_back(tmp_path_factory: pytest.TempPathFactory, tables: list[dict[str, object]]) -> None:
    state = tmp_path_factory.mktemp("state")
    (state / "toolguard").mkdir()
    LastGood(state).keep({"rule": tables})
    assert LastGood(state).tables("rule") == tables
    assert LastGood(state).tables("constraint") is None


def test_what_would_not_read_back_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "toolguard").mkdir()
    kept = LastGood(tmp_path)
    with pytest.raises(StoreError, match="read back"):
        kept.keep({"rule": [{"at": tomllib.loads("x = 2026-01-01")["x"]}]})
    assert not kept.path.exists()


@each_row(
    ("mode", "command", "code"),
    [
        ("enforce", "touch a.txt", unreadable_policy.CODE),
        ("soft", "touch a.txt", unreadable_policy.CODE),
        ("shadow", "touch a.txt", None),
        ("disabled", "touch a.txt", None),
        ("enforce", "ls", None),
    ],
)
def test_every_call_above_safe_is_held(mode: Mode, command: str, code: str | None) -> None:
    stakes = 1 if command == "ls" else 5
    reading = CallReading(Call("exec", {"command": command}), config=Config(mode=mode))
    given = LayerInput(reading, Rulebook(()), unreadable_policy="own rules")
    verdict = unreadable_policy.judge(given, Judgement("allow", "", stakes=stakes))
    assert (verdict.code if verdict else None) == code
    if verdict:
        assert (verdict.decision, "Some of your own rules in policy.toml" in verdict.reason) == ("hold", True)
