"""What counts of a person's own rules and constraints while `policy.toml` has a fault, also for an engine that starts so."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.config import Config, Mode
from toolguard_engine.judgement import Judgement
from toolguard_engine.layers import unread
from toolguard_engine.model import Call
from toolguard_engine.stores import lastgood
from toolguard_engine.stores.lastgood import LastGood
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ownpolicy import OwnPolicy

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


def counted(own: OwnPolicy) -> tuple[list[str], list[str]]:
    return [rule.id for rule in own.rules], [each.id for each in own.constraints]


def test_without_a_policy_nothing_is_written(policy: Path) -> None:
    own = started(policy)
    assert (counted(own), own.unread, own.faults) == (([], []), "", [])
    assert list(policy.parent.iterdir()) == []


def test_the_good_version_is_kept_for_its_owner_only_and_without_grants(policy: Path) -> None:
    started(policy, GRANT + RULE + LIMIT)
    kept = policy.parent / lastgood.NAME
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    said, meant = tomllib.loads(kept.read_text()), tomllib.loads(policy.read_text())
    assert said == {"known": ["rule", "constraint"], "rule": meant["rule"], "constraint": meant["constraint"]}


@pytest.mark.parametrize("fault", [NO_TOML, BAD_RULE + BAD_LIMIT, "rule = 1\nconstraint = 1\n", "\0"])
def test_an_engine_that_starts_with_a_faulty_policy_goes_by_the_last_good_one(policy: Path, fault: str) -> None:
    before = started(policy, RULE + LIMIT)
    own = started(policy, fault)
    assert (own.rules, own.constraints, own.unread) == (before.rules, before.constraints, "")
    assert ["the last good ones count" in text for text in own.faults] == [True, True]


def test_a_policy_that_cannot_be_read_at_all_is_a_faulty_one(policy: Path) -> None:
    started(policy, RULE + LIMIT)
    policy.unlink()
    policy.mkdir()
    assert counted(started(policy)) == (["user.no-deploy"], ["no-prod"])


def test_a_fault_in_one_kind_loses_nothing_of_the_other(policy: Path) -> None:
    started(policy, RULE + LIMIT)
    own = started(policy, BAD_RULE + LIMIT.replace("no-prod", "no-test"))
    assert counted(own) == (["user.no-deploy"], ["no-test"])
    assert len(own.faults) == 1
    assert counted(started(policy, BAD_RULE + BAD_LIMIT)) == (["user.no-deploy"], ["no-test"])


def test_where_nothing_good_is_known_none_count_until_it_is_mended(policy: Path) -> None:
    own = started(policy, BAD_RULE + LIMIT)
    assert (counted(own), own.unread) == (([], ["no-prod"]), "own rules")
    assert ["NONE of your own rules count" in text for text in own.faults] == [True]
    policy.write_text(NO_TOML)
    own.look()
    assert (counted(own), own.unread) == (([], ["no-prod"]), "own rules")
    assert started(policy).unread == "own rules"
    policy.write_text(RULE)
    own.look()
    assert (counted(own), own.unread, own.faults) == ((["user.no-deploy"], []), "", [])


def test_a_running_engine_and_one_that_starts_go_by_the_same(policy: Path) -> None:
    own = started(policy)
    policy.write_text(BAD_RULE + BAD_LIMIT)
    own.look()
    assert own.unread == started(policy).unread == "own rules and constraints"


def test_no_rules_at_all_are_a_good_version(policy: Path) -> None:
    started(policy, GRANT)
    own = started(policy, NO_TOML)
    assert (counted(own), own.unread) == (([], []), "")


def test_the_kept_version_is_not_used_while_the_policy_is_good(policy: Path) -> None:
    started(policy, RULE + LIMIT)
    assert counted(started(policy, LIMIT)) == ([], ["no-prod"])
    assert counted(started(policy, NO_TOML)) == ([], ["no-prod"])


@pytest.mark.parametrize("damage", ["", "known", 'known = "rule"', "known = [1]", 'known = ["rule"]\nrule = [2]', "\0"])
def test_a_damaged_kept_version_says_nothing(policy: Path, damage: str) -> None:
    started(policy, RULE + LIMIT)
    (policy.parent / lastgood.NAME).write_text(damage)
    assert started(policy, NO_TOML).unread == "own rules and constraints"


def test_a_kept_version_that_this_engine_does_not_understand_says_nothing(policy: Path) -> None:
    started(policy, RULE + LIMIT)
    kept = policy.parent / lastgood.NAME
    kept.write_text(kept.read_text().replace("verdict", "sentence"))
    own = started(policy, NO_TOML)
    assert (counted(own), own.unread) == (([], ["no-prod"]), "own rules")


def test_what_is_the_same_is_not_written_again(policy: Path) -> None:
    started(policy, RULE)
    kept = policy.parent / lastgood.NAME
    first = kept.stat().st_ino
    started(policy, "# said again\n" + RULE)
    assert kept.stat().st_ino == first
    started(policy, LIMIT)
    assert kept.stat().st_ino != first


def test_what_cannot_be_kept_counts_and_is_tried_again(policy: Path) -> None:
    kept = policy.parent / lastgood.NAME
    kept.mkdir()
    own = started(policy, RULE)
    assert counted(own) == (["user.no-deploy"], [])
    assert ["cannot be kept aside" in text for text in own.faults] == [True]
    kept.rmdir()
    own.look()
    assert own.faults == []
    assert counted(started(policy, NO_TOML)) == (["user.no-deploy"], [])


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


@pytest.mark.parametrize(
    ("mode", "command", "code"),
    [
        ("enforce", "touch a.txt", unread.CODE),
        ("soft", "touch a.txt", unread.CODE),
        ("shadow", "touch a.txt", None),
        ("disabled", "touch a.txt", None),
        ("enforce", "ls", None),
    ],
)
def test_every_call_above_safe_is_held(mode: Mode, command: str, code: str | None) -> None:
    stakes = 1 if command == "ls" else 5
    verdict = unread.judge(
        Call("exec", {"command": command}), Judgement("allow", "", stakes=stakes), Config(mode=mode), "own rules"
    )
    assert (verdict.code if verdict else None) == code
    if verdict:
        assert (verdict.decision, "Your own rules in policy.toml" in verdict.reason) == ("hold", True)
