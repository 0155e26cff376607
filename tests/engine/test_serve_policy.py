"""What a person changes while the engine runs counts for the calls that follow."""

from __future__ import annotations

import itertools
import json
import tomllib
from pathlib import Path
from typing import Any

from engine_talk import Talk
from toolguard_engine.stores.files.last_good import LastGood

RUNS = itertools.count()


def verdict(talk: Talk, command: str, logs: list[str]) -> Any:
    """The verdict on a command, in a run of its own; what the engine says meanwhile goes to `logs`."""
    run = f"r{next(RUNS)}"
    return talk.answer(logs, id=7, type="judge", tool="exec", params={"command": command}, run=run, session="s")


def test_own_rules_count_soon_after_they_are_written(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    talk.hello(state, {})
    policy = state / "toolguard" / "policy.toml"
    assert verdict(talk, "deploy --now", logs)["decision"] == "allow"
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"]\nverdict = "block"\nreason = "Not on my watch."\n')
    talk.later(1)
    assert "Not on my watch." in verdict(talk, "deploy --now", logs)["text"]
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"\n')
    talk.later(1)
    assert verdict(talk, "deploy --now", logs)["decision"] == "block"
    assert any("policy.toml, line 4" in text for text in logs)


def test_rules_count_soon_after_they_are_written_whatever_is_wrong_with_another(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    talk.hello(state, {})
    policy = state / "toolguard" / "policy.toml"
    assert verdict(talk, "ls prod", logs)["decision"] == "allow"
    said = 'id = "no-prod"\nseverity = "mandatory"\nreason = "Not there."\nparams = { command = "prod" }\n'
    policy.write_text(f'[[rule]]\nid = "broken"\n[[constraint]]\n{said}')
    talk.later(1)
    assert verdict(talk, "ls prod", logs)["code"] == "constraint.no-prod"
    assert any("your rules in policy.toml" in text for text in logs)
    policy.write_text(f'[[constraint]]\n{said}hour = "1"\n')
    talk.later(1)
    assert verdict(talk, "ls prod", logs)["decision"] == "block"
    assert any("your rules in policy.toml" in text and "did you mean hours?" in text for text in logs)


def test_an_engine_that_starts_with_a_faulty_policy_goes_by_the_last_good_one(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    rule = '[[rule]]\nid = "no-deploy"\nrun = ["deploy"]\nverdict = "block"\nreason = "Not on my watch."\n'
    policy = state / "toolguard" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text(rule)
    LastGood(state).keep({"rule": tomllib.loads(rule)["rule"], "constraint": []})
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"\n')
    talk.hello(state, {})
    assert verdict(talk, "deploy --now", logs)["code"] == "rule.user.no-deploy"
    assert verdict(talk, "touch notes.txt", logs)["decision"] == "allow"
    assert len([text for text in logs if "the last valid versions stay in force" in text]) == 1


def test_where_no_good_policy_is_known_what_is_not_safe_is_held_until_it_is_mended(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    policy = state / "toolguard" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = 1\n')
    talk.hello(state, {})
    held = verdict(talk, "touch notes.txt", logs)
    assert (held["decision"], "Some of your own rules in policy.toml cannot be read" in held["text"]) == ("hold", True)
    entry = json.loads((state / "toolguard" / "nonces.json").read_text())["entries"][0]
    assert entry["code"] == "policy.unread"
    assert verdict(talk, "ls", logs)["decision"] == "allow"
    assert any("CANNOT BE READ ARE NOT IN FORCE" in text for text in logs)
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"]\nverdict = "block"\nreason = "Not on my watch."\n')
    talk.later(1)
    assert verdict(talk, "deploy --now", logs)["code"] == "rule.user.no-deploy"
    assert verdict(talk, "touch notes.txt", logs)["decision"] == "allow"
    assert "no-deploy" in (state / "toolguard" / "policy.last-good.toml").read_text()


def test_rules_may_be_switched_off(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    talk.hello(state, {"rulesOff": ["users", "nosuchrule"]})
    assert verdict(talk, "useradd -m guest", logs)["decision"] == "allow"
    assert verdict(talk, "rm -rf ~/x", logs)["decision"] == "hold"
    assert ["nosuchrule" in text for text in logs] == [True]


def test_a_file_that_the_config_takes_in_later_is_guarded_too(talk: Talk, state: Path, tmp_path: Path) -> None:
    config, elsewhere = tmp_path / "openclaw.json", tmp_path / "elsewhere" / "part.json5"
    config.write_text("{}")
    talk.hello(state, configPath=str(config))
    writing = {"type": "judge", "tool": "write", "params": {"path": str(elsewhere), "content": "{}"}, "run": "r"}
    assert talk.ask(id=1, **writing)["decision"] == "allow"
    config.write_text('{ "plugins": { "$include": "./elsewhere/part.json5" } }')
    said = talk.ask(id=2, **writing)
    assert (said["decision"], said["code"]) == ("block", "rule.self-protection")
