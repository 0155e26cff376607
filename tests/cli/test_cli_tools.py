"""`toolguard tools`, and what `install` takes for known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_stage import envelope, texts, toolguard
from judged_stage import transcript

from toolguard_cli.commands import known_tools
from toolguard_cli.operations import answer_about_tools
from toolguard_cli.policy import used_tools
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.tool_answer import USED_BEFORE, ToolAnswer, ToolAnswers
from toolguard_engine.config.settings import parse
from toolguard_engine.layers.seen_tools import SeenTools
from toolguard_engine.model.call import Call
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.audit_log_file import AuditLog


def run(places: Places, *arguments: str) -> dict[str, Any]:
    done = toolguard("tools", *arguments, "--state-dir", places.state_dir, "--json")
    return {"code": done.returncode, **envelope(done)}


def answers(places: Places) -> list[tuple[str, ...]]:
    return [(each.answer, each.tool, each.server, each.agent) for each in stores.tool_answers(places.state_dir).known()]


def test_answers_about_tools_and_servers(places: Places) -> None:
    run(places, "trust", "GitHub__create_issue", "--agent", "main", "--reason", "triage")
    run(places, "trust", "github", "--server")
    run(places, "refuse", "pay")
    assert answers(places) == [
        ("trust", "github__create_issue", "github", "main"),
        ("trust", "", "github", ""),
        ("refuse", "pay", "", ""),
    ]
    assert [(line["event"], line["code"], line.get("why")) for line in AuditLog(places.state_dir).events()] == [
        ("grant", "tool.answer", "triage"),
        ("grant", "tool.answer", None),
        ("revoke", "tool.answer", None),
    ]
    assert [each["answer"] for each in run(places)["data"]["answers"]] == ["trust", "trust", "refuse"]
    shown = "\n".join(texts(known_tools.listing(places)))
    assert "github (server)" in shown
    assert "mac" not in shown


def test_the_last_answer_counts(places: Places) -> None:
    run(places, "trust", "pay")
    run(places, "refuse", "pay")
    assert answers(places) == [("refuse", "pay", "", "")]


def test_forgetting_a_server_forgets_its_tools(places: Places) -> None:
    for given in (("github__a",), ("github__b", "--agent", "x"), ("github", "--server"), ("pay",)):
        run(places, "trust", *given)
    assert run(places, "forget", "github", "--server", "--dry-run")["data"]["dryRun"] is True
    assert len(answers(places)) == 4
    assert len(run(places, "forget", "github", "--server")["data"]["forgotten"]) == 3
    assert answers(places) == [("trust", "pay", "", "")]
    assert run(places, "forget", "other")["code"] == 1


def test_only_the_answer_for_an_agent(places: Places) -> None:
    run(places, "trust", "pay")
    run(places, "trust", "pay", "--agent", "x")
    run(places, "forget", "pay", "--agent", "x")
    assert answers(places) == [("trust", "pay", "", "")]


@pytest.mark.parametrize("name", ["exec", "openclaw:core:message", "", "a\nb"])
def test_names_that_no_such_tool_has(places: Places, name: str) -> None:
    assert run(places, "trust", name)["code"] == 1
    assert answers(places) == []


def test_a_trial_changes_nothing(places: Places) -> None:
    assert texts(known_tools.trust(places, "pay", dry_run=True)) == ["would trust pay, every agent"]
    assert answers(places) == []


def called(number: int, tool: str, **params: Any) -> dict[str, Any]:
    part = {"type": "toolCall", "id": f"c{number}", "name": tool, "arguments": params}
    return {"type": "message", "message": {"role": "assistant", "content": [part]}}


def came(number: int, text: str = "done", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": "toolResult", "toolCallId": f"c{number}", "content": content, **more}}


def used(places: Places) -> None:
    """What an agent has done so far: some of it ran."""
    blocked = '{"tool":{},"result":{"details":{"status":"blocked"}}}'
    transcript(
        places,
        *(called(1, "shop__fulfil", basket=1), came(1)),
        *(called(2, "tool_call", id="mcp:shop:shop__ship", args={}), came(2)),
        *(called(3, "shop__pay"), came(3, isError=True)),
        *(called(4, "tool_call", id="shop__void", args={}), came(4, blocked)),
        *(called(5, "shop__get_basket"), came(5)),
        *(called(6, "exec", command="ls"), came(6)),
        called(7, "shop__late"),
    )


def test_what_agents_have_used(places: Places) -> None:
    used(places)
    transcript(places, called(1, "shop__ship"), came(1), name="s2", agent="other")
    found = used_tools.count(places.state_dir)
    assert {(use.agent, use.tool, use.server) for use in found} == {
        ("main", "shop__fulfil", "shop"),
        ("main", "shop__ship", "shop"),
        ("other", "shop__ship", "shop"),
    }


def test_an_installation_takes_what_was_used_for_known(places: Places) -> None:
    used(places)
    (line,) = answer_about_tools.begin(places)
    assert line.text.startswith("2 tools of servers and plugins that agents used before will not be asked about")
    assert {each.where for each in stores.tool_answers(places.state_dir).known()} == {USED_BEFORE}
    transcript(places, called(1, "shop__new"), came(1), name="s2")
    assert answer_about_tools.begin(places) == []
    assert len(answers(places)) == 2


def test_with_signers_an_installation_says_that_answers_are_to_be_signed(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(places)
    signed = parse({"approval": {"signers": "/etc/signers"}})
    monkeypatch.setattr(answer_about_tools.gateway_stores, "settings", lambda _: signed)
    (line,) = answer_about_tools.begin(places)
    assert "will not be asked" not in line.text
    assert "run toolguard tools review to sign them" in line.text


def test_an_installation_without_transcripts_begins_with_none(places: Places) -> None:
    assert answer_about_tools.begin(places) == []
    used(places)
    assert answer_about_tools.begin(places) == []
    assert answers(places) == []


def test_review_trusts_what_was_used_and_what_would_be_asked(places: Places) -> None:
    used(places)
    answer_about_tools.begin(places)
    transcript(places, called(1, "shop__new"), came(1), called(2, "shop__bad"), came(2), name="s2")
    stores.tool_answers(places.state_dir).put(ToolAnswer("refuse", "shop__bad"), lambda _: None)
    with pytest.raises(UserError, match="no terminal"):
        known_tools.review(places)
    run(places, "review", "--yes")
    known = stores.tool_answers(places.state_dir).known()
    assert {(each.answer, each.tool, each.where) for each in known} == {
        ("trust", "shop__fulfil", "cli"),
        ("trust", "shop__ship", "cli"),
        ("trust", "shop__new", "cli"),
        ("refuse", "shop__bad", ""),
    }
    assert texts(known_tools.review(places)) == ["there is nothing to decide"]


def test_review_trusts_only_what_it_shows(places: Places) -> None:
    number = known_tools.MOST_SHOWN + 3
    many = [call for each in range(number) for call in (called(each, f"shop__ship_{each}"), came(each))]
    transcript(places, *many)
    trusted = [len(run(places, "review", "--yes")["data"]["trusted"]) for _ in range(2)]
    assert trusted == [known_tools.MOST_SHOWN, 3]


def test_a_long_name_is_stored_as_the_engine_looks_it_up(places: Places) -> None:
    tool = "evil__" + 300 * "x"
    assert run(places, "refuse", tool)["code"] == 0
    use = SeenTools().use_of(Call(tool, None))
    assert use is not None
    assert ToolAnswers(stores.tool_answers(places.state_dir).known()).standing(use) == "refused"


def test_the_list_says_what_does_not_count(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stores.tool_answers(places.state_dir).put(ToolAnswer("trust", tool="a", words="w", changed=True), lambda _: None)
    signed = parse({"approval": {"signers": str(tmp_path / "signers")}})
    monkeypatch.setattr(known_tools.gateway_stores, "settings", lambda _: signed)
    assert "trust, changed, unsigned" in known_tools.listing(places).lines[-1].text
