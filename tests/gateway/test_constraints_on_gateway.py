"""The person's own rules with a severity, written while the gateway runs: what they block, hold and note, and for whom."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway_stage import NEW_HOST, Stage, audit, once, toolguard
from operator_client import OWNER, WRITER, Operator
from standings_seen import BLOCK, ESCALATE, command, events, held, refused, results, writing
from toolguard_cli.rig import scripted_model
from toolguard_engine.server.loop import RULES_EVERY
from toolguard_engine.stores.files.grants_file import NAME

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only")


@pytest.fixture
def stage(stage: Stage) -> Iterator[Stage]:
    """No rule is left of a test before, and none is left to others."""
    yield stage
    policy(stage).unlink(missing_ok=True)
    time.sleep(RULES_EVERY)


def policy(stage: Stage) -> Path:
    return stage.home.state_dir / "toolguard" / NAME


def constrain(stage: Stage, *tables: str) -> None:
    """As a person writes it in an editor. It counts within a second after it was saved."""
    policy(stage).parent.mkdir(exist_ok=True)
    policy(stage).write_text("\n".join(f"[[rule]]\n{table}\n" for table in tables))
    time.sleep(RULES_EVERY)


def in_chat(stage: Stage, script: scripted_model.Script, session: str, scopes: tuple[str, ...] = OWNER) -> list[str]:
    """Somebody writes in the gateway's own chat; the tool results of that run."""
    stage.server.play(script)
    with Operator(stage.home, scopes) as operator:
        operator.chat(session, "go")
    return stage.server.requests[-1].texts("tool")


@pytest.mark.thorough
def test_mandatory_blocks_required_asks_and_advisory_tells(stage) -> None:
    session, workspace = "agent:main:three", stage.home.workspace_dir
    (workspace / "prod").mkdir()
    assert refused(stage.play(once(writing("prod/before.txt")), session)) == []
    constrain(
        stage,
        'id = "no-prod"\nseverity = "mandatory"\nreason = "Production is for people."\npath = ["**/prod/**"]',
        'id = "ask-notes"\nseverity = "required"\nreason = "Notes are looked at first."\nparams = { path = "^notes" }',
        'id = "short"\nseverity = "advisory"\nreason = "Keep the draft short."\nparams = { path = "^draft", content = "." }',
    )
    calls = [writing("prod/after.txt"), writing("notes.txt"), writing("draft.txt"), writing("other.txt")]
    played = stage.play(once(*calls, command("cat prod/before.txt")), session)
    blocked, asked, noted, plain, seen = results(played)
    assert blocked.startswith(f"{BLOCK}Production is for people.\n")
    assert asked.startswith(ESCALATE)
    assert "Notes are looked at first." in asked
    assert noted.startswith("Successfully wrote")
    assert noted.endswith("\n\n[TOOLGUARD NOTE] Keep the draft short. (rule short)")
    assert "TOOLGUARD" not in plain
    assert seen.startswith(BLOCK)
    assert [path.name for path in (workspace / "prod").iterdir()] == ["before.txt"]
    assert not (workspace / "notes.txt").exists()
    assert (workspace / "draft.txt").exists()
    assert {("block", "constraint.no-prod"), ("hold", "constraint.ask-notes")} <= set(events(stage, session))
    (line,) = [line for line in audit(stage.home) if line.get("session") == session and line["event"] == "note"]
    assert line["reason"] == "[TOOLGUARD NOTE] Keep the draft short. (rule short)"


@pytest.mark.thorough
def test_what_one_requires_can_be_approved(stage, wait) -> None:
    session = "agent:main:required"
    constrain(stage, 'id = "ask"\nseverity = "required"\nreason = "Ask first."\ntool = ["write"]')
    stage.play(once(writing("asked.txt")), session)
    (entry,) = held(stage, session)
    assert entry.code == "constraint.ask"
    stage.server.play(once(writing("asked.txt"), closing="Written."), entry.nonce)
    done = toolguard(stage.home, "approve", entry.nonce, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    wait(lambda: stage.server.last_answer == "Written.")
    assert (stage.home.workspace_dir / "asked.txt").exists()
    assert held(stage, session) == []


@pytest.mark.thorough
def test_a_broken_file_leaves_the_last_good_ones(stage) -> None:
    good = 'id = "no-exec"\nseverity = "mandatory"\nreason = "No commands."\ntool = ["exec"]'
    constrain(stage, good)
    assert len(refused(stage.play(once(command("echo hi"))))) == 1
    for broken in (good.replace("mandatory", "mandatoy"), f"{good}\nreason = = 1"):
        constrain(stage, broken)
        assert len(refused(stage.play(once(command("echo hi"))))) == 1
    log = stage.gateway.log_text()
    assert "your rules in policy.toml contain errors; for the invalid ones, the last valid versions stay in force" in log
    assert "did you mean mandatory?" in log
    constrain(stage, good.replace("exec", "write"))
    assert refused(stage.play(once(command("echo hi")))) == []


@pytest.mark.thorough
def test_for_whom_and_from_where(stage, wait) -> None:
    """In the gateway's own chat by its owner and by somebody else, over HTTP, and by nobody: in the run after a yes."""
    session = "agent:main:whom"

    def law(name: str, condition: str, file: str) -> str:
        return f'id = "{name}"\nseverity = "mandatory"\nreason = "{name}"\n{condition}\nparams = {{ path = "^whom-{file}" }}'

    constrain(
        stage,
        law("is-owner", 'requester = ["owner"]', "a"),
        law("is-not-owner", 'requester = ["!owner"]', "b"),
        law("is-webchat", 'channel = ["webchat"]', "c"),
        law("is-not-webchat", 'channel = ["!webchat"]', "d"),
        law("is-somebody", 'requester = ["webchat:?*"]', "e"),
        'id = "ask"\nseverity = "required"\nreason = "Ask."\nparams = { path = "^whom-waits" }',
    )
    calls = [writing(f"whom-{letter}.txt") for letter in "abcde"]

    def laws(answers: list[str]) -> list[str]:
        return [text.partition("|")[2].partition("\n")[0] for text in answers if text.startswith(BLOCK)]

    owners = ["is-owner", "is-webchat", "is-somebody"]
    assert laws(in_chat(stage, once(*calls), "agent:main:owner")) == owners
    assert laws(results(stage.play(once(*calls)))) == owners
    strangers = ["is-not-owner", "is-webchat", "is-somebody"]
    assert laws(in_chat(stage, once(*calls), "agent:main:stranger", WRITER)) == strangers

    stage.play(once(writing("whom-waits.txt")), session)
    (entry,) = held(stage, session)
    before = len(stage.server.requests[-1].texts("tool"))
    stage.server.play(once(writing("whom-waits.txt"), *calls[:2], closing="Went on."), entry.nonce)
    assert toolguard(stage.home, "approve", entry.nonce, "--yes").returncode == 0
    wait(lambda: stage.server.last_answer == "Went on.")
    first, *rest = stage.server.requests[-1].texts("tool")[before:]
    assert first.startswith("Successfully wrote")
    assert laws(rest) == ["is-owner", "is-not-owner"], "who it is is not known, so both may speak of it"
