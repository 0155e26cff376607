"""An audience of everybody among the options of any program, and lists of what a tool is to change."""

from __future__ import annotations

from typing import Any

import pytest

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.tools.listed_items import MOST
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.rules.judgement import Judgement

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ())


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard(Config(), {}, HOST, packs.load())


def judged(guard: Guard, tool: str, params: dict[str, Any]) -> Judgement:
    return guard.weigh(Call(tool, params, agent="main", session="s", cwd="/home/u/work"))


PUBLISHED = {
    "acme share a.pdf --type anyone": "acme: --type anyone",
    "acme share a.pdf --access=everyone": "acme: --access everyone",
    "acme site update --make-public": "acme: --make-public",
    "acme doc permissions add X --role reader --with anyone_with_link": "acme: --with anyone_with_link",
    "acme bucket create b --default-acl public-read-write": "acme: --default-acl public-read-write",
    "acme storage set-permission --public-access container": "acme: --public-access",
    "acme run deploy --allow-unauthenticated": "acme: --allow-unauthenticated",
    "sudo -u ada acme upload x --visibility PUBLIC": "acme: --visibility public",
}


@pytest.mark.parametrize("command", PUBLISHED)
def test_what_everybody_may_see_is_held_with_its_audience(guard: Guard, command: str) -> None:
    judgement = judged(guard, "exec", {"command": command})
    assert (judgement.decision, judgement.code) == ("hold", "rule.publishing.audience")
    assert judgement.reason == f"It lets everybody see or use something. ({PUBLISHED[command]})"


@pytest.mark.parametrize(
    "command",
    [
        "acme share a.pdf --type user --with ada@here.example",
        "acme build public",
        "acme build --dir public",
        "acme update --public=no",
        "acme update --visibility internal",
        "acme list --public",
        "acme search --visibility public x",
        "acme create --public --help",
        "cp -r public dist/public",
        "git commit -m 'make it public for everyone'",
        "echo acme share a.pdf --type anyone",
        "psql -c 'create schema public'",
        "docker run -e VISIBILITY=public app",
        "aws s3 ls s3://public",
        "npm config set access public",
        "rails generate model Post public:boolean",
    ],
)
def test_other_words_for_it_are_free(guard: Guard, command: str) -> None:
    assert judged(guard, "exec", {"command": command}).decision == "allow"


def several(count: int) -> list[str]:
    return [f"i{number}" for number in range(count)]


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ("linear__update_issues", "ids"),
        ("crm__merge_contacts", "contactIds"),
        ("mail__archive", "messages"),
        ("files__move", "file_paths"),
    ],
)
def test_many_things_at_once_are_held_with_their_number(guard: Guard, tool: str, key: str) -> None:
    judgement = judged(guard, tool, {key: several(MOST + 1), "to": "x"})
    assert (judgement.decision, judgement.code) == ("hold", "rule.publishing.many")
    assert f"{tool}: {MOST + 1} {key}" in judgement.reason
    assert judged(guard, tool, {key: several(MOST), "to": "x"}).decision == "allow"


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("linear__get_issues", {"ids": several(50)}),
        ("notes__create_note", {"tags": several(50), "lines": several(50)}),
        ("sheets__append_rows", {"rows": [[1]] * 50}),
        ("mail__modify_message", {"id": "1", "addLabelIds": ["TRASH"]}),
        ("mail__modify_messages", {"query": "x", "addLabelIds": ["WORK"]}),
        ("mail__add_label", {"ids": several(50), "label": "work"}),
    ],
)
def test_reading_writing_rows_and_labels_are_free(guard: Guard, tool: str, params: dict[str, Any]) -> None:
    assert judged(guard, tool, params).decision == "allow"


@pytest.mark.parametrize(
    "params",
    [
        {"query": "older_than:1y", "addLabelIds": ["TRASH"]},
        {"messageIds": several(2), "folder": "Trash"},
        {"filter": {"from": "x"}, "destination": "spam"},
    ],
)
def test_what_a_search_finds_does_not_go_to_the_trash(guard: Guard, params: dict[str, Any]) -> None:
    judgement = judged(guard, "mail__modify_messages", params)
    assert (judgement.decision, judgement.code) == ("hold", "rule.publishing.many")
    assert "the trash, " in judgement.reason


@pytest.mark.parametrize(
    "params", [{"name": "n", "private": False}, {"name": "n", "visibility": "public"}, {"name": "n", "isPublic": True}]
)
def test_a_public_repository(guard: Guard, params: dict[str, Any]) -> None:
    assert judged(guard, "github__create_repository", params).code == "rule.tools.share-with-everyone"
    assert judged(guard, "github__create_repository", {"name": "n", "private": True}).decision == "allow"
