"""Every example of every pack: a rule speaks about what it says it does, and what passes is held by no rule at all."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.programs import principles
from toolguard_engine.layers import rubric, rule_examples
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules.rulebook import Example, Rulebook, rule_from

_CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "commands.jsonl"
_PACKS = rulepacks.packs()
_RULES = [rule for pack in _PACKS.values() for rule in pack]
_BOOK = Rulebook(_RULES)
_HOST = Host(home="/home/ada", state_dir="/home/ada/.openclaw")


def _judged(example: Example) -> str:
    tool, params = ("exec", {"command": example}) if isinstance(example, str) else (example["tool"], example["params"])
    judgement = rubric.weighed(CallReading(Call(tool, params, cwd="/home/ada/work"), _HOST), Config(), _BOOK)
    return judgement.decision if judgement.decision == "allow" else f"{judgement.code}: {judgement.reason}"


def test_matches() -> None:
    cases = [(rule, example) for rule in _RULES for example in rule.matches]
    assert [(rule.id, example) for rule, example in cases if not rule_examples.speaks(rule, example)] == []


def test_passes() -> None:
    cases = [(rule.id, example) for rule in _RULES for example in rule.passes]
    assert [(name, example, found) for name, example in cases if (found := _judged(example)) != "allow"] == []


def test_a_rule_shows_what_it_means() -> None:
    assert [rule.id for rule in _RULES if not (rule.matches and rule.passes)] == []


def test_ids_are_unique() -> None:
    assert len({rule.id for rule in _RULES}) == len(_RULES)


def test_the_file_for_the_engine_has_the_same_rules() -> None:
    assert files("toolguard_manifests").joinpath("rules.json").read_text("utf-8") == rulepacks.encode(_RULES)
    assert [rule.id for rule in rulepacks.load().rules] == [rule.id for rule in _RULES]


@each_row("name", _PACKS)
def test_a_pack_reads_back_as_its_rules(name: str) -> None:
    tables = tomllib.loads(files("toolguard_manifests").joinpath("rules", f"{name}.toml").read_text("utf-8"))
    assert all(table.pop(principles.KEY)["price"] >= 0 for table in tables["rule"] if principles.KEY in table)
    assert [rule_from(table, name).id for table in tables["rule"]] == [rule.id for rule in _PACKS[name]]


@pytest.mark.skipif(not _CORPUS.exists(), reason="the development set is not here")
def test_no_example_is_a_row_of_the_development_set() -> None:
    rows = {" ".join(json.loads(line)["command"].split()) for line in _CORPUS.read_text("utf-8").splitlines()}
    examples = {" ".join(one.split()) for rule in _RULES for one in (*rule.matches, *rule.passes) if isinstance(one, str)}
    assert sorted(rows & examples) == []
