"""The first call of a tool that acts is held, once for each agent; an answer lasts as long as the tool stays the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine_talk import Talk
from toolguard_engine.approvals import tool_answer
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.tool_answer import ToolAnswer, ToolAnswers
from toolguard_engine.layers import seen_tools
from toolguard_engine.layers.seen_tools import SeenTools
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.server.tool_trust import ToolTrust
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import signing_key
from toolguard_engine.stores.files import signing_key_file, tool_answers_file
from toolguard_engine.stores.files.tool_answers_file import ToolAnswerFile
from toolguard_engine.stores.locked import Damaged, Newer

ACTS = "shop__fulfil_basket"
ARGS = {"basket": 7}


class Desk:
    """An engine, an agent and a person."""

    def __init__(self, start: Callable[[], Talk], state: Path, **config: Any) -> None:
        self._start, self.state, self._config = start, state, config
        self._number = 1
        self.talk = self.again()

    def again(self) -> Talk:
        """Another engine takes over."""
        self.talk = self._start()
        self.talk.hello(self.state, config=self._config)
        return self.talk

    def call(self, tool: str = ACTS, params: Any = None, agent: str = "main") -> Any:
        self._number += 1
        given = ARGS if params is None else params
        message = {"type": "judge", "tool": tool, "params": given, "agent": agent, "session": "s", "run": "r"}
        return self.talk.answer([], id=self._number, **message)

    def code(self, *args: Any, **more: Any) -> str:
        code: str = self.call(*args, **more)["code"]
        return code

    def nonce(self, *args: Any, **more: Any) -> str:
        answer = self.call(*args, **more)
        assert answer["code"] == "approval.pending", answer
        return stores.held_calls(self.state).entries()[-1].nonce

    def approve(self, *args: Any, **more: Any) -> None:
        """A person lets a held call run, and it runs."""
        store = stores.held_calls(self.state)
        store.approve(self.nonce(*args, **more), Decision("ann", "cli"), self.talk.clock.time(), 600)
        assert self.code(*args, **more) == "approval.consumed"
        self.talk.later(2)
        self.talk.said()

    def reason(self) -> str:
        return stores.held_calls(self.state).entries()[-1].reason

    def shows(self, description: str, tool: str = ACTS, agent: str = "main", **more: Any) -> None:
        shown = {"id": f"mcp:shop:{tool}", "name": tool, "words": description, "about": description, **more}
        self.talk.send(type="heard", tool="tool_describe", text=json.dumps(shown), agent=agent, session="s", run="r")

    def log(self) -> list[dict[str, Any]]:
        path = self.state / "toolguard" / "audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def desk(start: Callable[[], Talk], state: Path) -> Desk:
    return Desk(start, state)


def test_once_for_a_tool_and_an_agent(desk: Desk) -> None:
    desk.approve()
    assert [desk.code(params={"basket": number}) for number in range(3)] == ["allow"] * 3
    assert desk.code(agent="other") == "approval.pending"
    assert desk.code("shop__void_basket") == "approval.pending"
    desk.again()
    assert desk.code(params={"basket": 9}) == "allow"
    assert [line["event"] for line in desk.log() if line.get("code") == "tool.answer"] == ["grant"]


def test_the_reason_says_what_a_yes_means(desk: Desk) -> None:
    desk.shows("Ships a basket.")
    desk.nonce()
    assert desk.reason() == (
        "This agent has not used the tool shop__fulfil_basket before; a yes lets it from now on. "
        'It says of itself: "Ships a basket."'
    )


@pytest.mark.parametrize(
    "tool",
    ["exec", "read", "write", "message", "tool_call", "web_fetch", "memory_search", "shop__get_basket", "list_issues"],
)
def test_tools_of_the_gateway_and_tools_that_read_are_not_asked_about(desk: Desk, tool: str) -> None:
    params = {"command": "ls", "path": "a", "content": "x", "url": "https://a.example", "query": "q", "action": "read"}
    assert desk.call(tool, params)["decision"] == "allow"


@pytest.mark.parametrize(
    "tool", ["shop__löschen", "shop__送信する", "shop__supprimer_panier", "shop__удалить", "panier", "shop__borrar", "do_it"]
)
def test_in_whatever_language_it_is_named(desk: Desk, tool: str) -> None:
    assert desk.code(tool) == "approval.pending"
    desk.approve(tool, {"other": 1})
    assert desk.code(tool) == "allow"


def test_parameters_are_judged_as_before(desk: Desk) -> None:
    desk.approve("shop__run_query", {"sql": "select 1"})
    assert desk.code("shop__run_query", {"sql": "select 2"}) == "allow"
    assert desk.code("shop__run_query", {"sql": "drop table users"}) == "approval.pending"
    assert "before" not in desk.reason()


def test_an_approved_call_that_a_rule_holds_is_a_first_use_too(desk: Desk) -> None:
    tool = "shop__delete_basket"
    desk.approve(tool, {"id": "a", "path": "/etc/passwd"})
    assert [line["reason"].partition(": ")[2] for line in desk.log() if line.get("code") == "tool.answer"] == [
        f"trust {tool}, agent main"
    ]


def test_a_denied_tool_is_asked_about_again(desk: Desk) -> None:
    nonce = desk.nonce()
    stores.held_calls(desk.state).deny(nonce, Decision("ann", "cli"), desk.talk.clock.time(), 600)
    assert desk.code() == "approval.denied"
    assert desk.code(params={"basket": 8}) == "approval.pending"


@pytest.mark.parametrize("changed", [{"words": "b"}, {"schema": "b"}])
def test_a_tool_that_changed_asks_again(desk: Desk, changed: dict[str, str]) -> None:
    desk.shows("", words="a", schema="a")
    desk.approve()
    desk.shows("", words="a", schema="a")
    assert desk.code() == "allow"
    desk.shows("", **{"words": "a", "schema": "a", **changed})
    desk.nonce(params={"basket": 8})
    assert "describes itself differently" in desk.reason()
    desk.approve(params={"basket": 8})
    assert desk.code() == "allow"
    desk.shows("", words="a", schema="a")
    assert desk.code() == "approval.pending"


def test_a_change_between_question_and_answer_is_asked_about(desk: Desk) -> None:
    desk.shows("a")
    nonce = desk.nonce()
    desk.shows("b")
    stores.held_calls(desk.state).approve(nonce, Decision("ann", "cli"), desk.talk.clock.time(), 600)
    assert desk.code() == "approval.consumed"
    desk.talk.later(2)
    assert desk.code() == "approval.pending"


@pytest.mark.parametrize("lost", ["restart", "eviction"])
@pytest.mark.parametrize("changed", [{"words": "b"}, {"schema": "b"}])
def test_a_change_is_remembered(desk: Desk, lost: str, changed: dict[str, str]) -> None:
    desk.shows("", words="a", schema="a")
    desk.approve()
    desk.shows("", **{"words": "a", "schema": "a", **changed})
    desk.talk.later(2)
    desk.talk.said()
    if lost == "restart":
        desk.again()
    else:
        listed = [{"name": f"shop__do_{number}", "words": "w"} for number in range(seen_tools.MAX_TOOLS)]
        for at in range(0, len(listed), seen_tools.MAX_LISTED):
            text = json.dumps({"tools": listed[at : at + seen_tools.MAX_LISTED]})
            desk.talk.send(type="heard", tool="tool_search", text=text, agent="main")
    desk.nonce(params={"basket": 8})
    assert "describes itself differently" in desk.reason()
    desk.shows("", words="a", schema="a")
    assert desk.code(params={"basket": 9}) == "allow"


def test_a_change_before_the_answer_is_remembered(desk: Desk) -> None:
    desk.shows("a")
    nonce = desk.nonce()
    desk.shows("b")
    stores.held_calls(desk.state).approve(nonce, Decision("ann", "cli"), desk.talk.clock.time(), 600)
    assert desk.code() == "approval.consumed"
    desk.talk.later(2)
    assert desk.code("shop__get_basket") == "allow"
    desk.talk.said()
    desk.again()
    assert desk.code(params={"basket": 8}) == "approval.pending"


def test_an_answer_after_a_restart_is_about_what_was_asked(desk: Desk) -> None:
    desk.shows("a")
    nonce = desk.nonce()
    desk.again()
    stores.held_calls(desk.state).approve(nonce, Decision("ann", "cli"), desk.talk.clock.time(), 600)
    assert desk.code() == "approval.consumed"
    desk.shows("b")
    desk.talk.later(2)
    assert desk.code(params={"basket": 8}) == "approval.pending"


def test_what_was_allowed_unseen_is_bound_when_it_is_first_seen(desk: Desk) -> None:
    desk.approve()
    desk.shows("a")
    desk.talk.later(2)
    assert desk.code() == "allow"
    desk.again()
    assert desk.code() == "allow"
    desk.shows("b")
    assert desk.code() == "approval.pending"


def test_what_a_list_shows_does_not_change_what_is_known_of_the_parameters(desk: Desk) -> None:
    desk.shows("a", schema="a")
    desk.approve()
    listed = {"tools": [{"id": f"mcp:shop:{ACTS}", "name": ACTS, "words": "a"}]}
    desk.talk.send(type="heard", tool="tool_search", text=json.dumps(listed), agent="main")
    assert desk.code() == "allow"
    listed["tools"][0]["words"] = "b"
    desk.talk.send(type="heard", tool="tool_search", text=json.dumps(listed), agent="main")
    assert desk.code() == "approval.pending"


@pytest.mark.parametrize(("answers", "codes"), [
    ({"shop": "trust"}, ["approval.pending", "allow"]),
    ({"evil": "trust"}, ["approval.pending", "approval.pending"]),
    ({"shop": "trust", "evil": "refuse"}, ["tool.refused", "allow"]),
    ({"shop": "refuse", "evil": "trust"}, ["tool.refused", "tool.refused"]),
])  # fmt: skip
def test_the_name_of_another_server_is_no_trust(desk: Desk, answers: dict[str, Any], codes: list[str]) -> None:
    for server, answer in answers.items():
        put(desk.state, ToolAnswer(answer, server=server))
    desk.talk.later(2)
    desk.shows("a", id=f"openclaw:evil:{ACTS}")
    desk.shows("a", tool="shop__void_basket")
    assert [desk.code(), desk.code("shop__void_basket")] == codes


def test_a_tool_whose_server_is_contested_can_be_allowed(desk: Desk) -> None:
    desk.shows("a", id=f"openclaw:evil:{ACTS}")
    desk.approve()
    assert desk.code() == "allow"


@pytest.mark.parametrize("server", ["my-shop.example", "My Shop.Example", "my_shop_example"])
def test_other_signs_in_the_name_make_no_other_server(desk: Desk, server: str) -> None:
    tool = "my_shop_example__fulfil"
    put(desk.state, ToolAnswer("trust", server="my_shop_example"))
    desk.talk.later(2)
    desk.shows("a", tool=tool, id=f"mcp:{server}:{tool}")
    assert desk.code(tool) == "allow"


LONG = "pay_" + 200 * "x"


def test_a_long_name_is_asked_about_like_any_other(desk: Desk) -> None:
    tool, twin = f"evil__{LONG}", f"evil__{LONG}y"
    desk.shows("a", tool)
    desk.approve(tool)
    assert [desk.code(tool), desk.code(twin)] == ["allow", "approval.pending"]
    desk.shows("b", tool)
    assert desk.code(tool) == "approval.pending"


@pytest.mark.parametrize("server", ["evil", "evil" + 400 * "l"])
def test_a_long_name_is_refused_with_its_server(desk: Desk, server: str) -> None:
    put(desk.state, ToolAnswer("refuse", server=seen_tools.known_name(server)))
    desk.talk.later(2)
    assert desk.code(f"{server}__{LONG}") == "tool.refused"


def put(state: Path, answer: ToolAnswer) -> None:
    stores.tool_answers(state).put(answer, lambda _: None)


def test_a_whole_server_is_trusted_for_what_it_becomes(desk: Desk) -> None:
    put(desk.state, ToolAnswer("trust", server="shop"))
    desk.talk.later(2)
    desk.shows("a")
    assert desk.code() == "allow"
    desk.shows("b")
    assert [desk.code(), desk.code("shop__other", agent="b"), desk.code("shops__x")] == [
        "allow",
        "allow",
        "approval.pending",
    ]


@pytest.mark.parametrize("tool", [ACTS, "shop__get_basket"])
@pytest.mark.parametrize("refused", [{"server": "shop"}, {"server": "shop", "agent": "main"}])
def test_a_refused_server_is_blocked(desk: Desk, tool: str, refused: dict[str, str]) -> None:
    put(desk.state, ToolAnswer("trust", tool=tool))
    put(desk.state, ToolAnswer("refuse", **refused))
    desk.talk.later(2)
    answer = desk.call(tool)
    assert (answer["decision"], answer["code"]) == ("block", "tool.refused")
    stores.tool_answers(desk.state).remove(lambda each: each.answer == "refuse", lambda _: None)
    desk.talk.later(2)
    assert desk.code(tool) == "allow"


def test_an_answer_counts_for_the_next_call(desk: Desk) -> None:
    desk.nonce()
    put(desk.state, ToolAnswer("trust", tool=ACTS))
    assert desk.code() == "allow"
    put(desk.state, ToolAnswer("refuse", tool=ACTS))
    assert desk.code() == "tool.refused"
    stores.tool_answers(desk.state).remove(lambda each: each.answer == "refuse", lambda _: None)
    assert desk.code() == "approval.pending"


def test_it_can_be_switched_off(start: Callable[[], Talk], state: Path) -> None:
    desk = Desk(start, state, toolTrust={"firstUse": "allow"})
    assert desk.code() == "allow"
    put(state, ToolAnswer("refuse", tool=ACTS))
    desk.talk.later(2)
    assert desk.code() == "tool.refused"


def test_shadow_mode_only_tells(start: Callable[[], Talk], state: Path) -> None:
    desk = Desk(start, state, mode="shadow")
    assert desk.code() == "shadow.tool.first-use"
    put(state, ToolAnswer("trust", tool=ACTS))
    desk.talk.later(2)
    assert desk.code() == "allow"


def test_in_the_gateways_own_prompt(start: Callable[[], Talk], state: Path) -> None:
    desk = Desk(start, state, approval={"mode": "native"})
    message = {"type": "judge", "tool": ACTS, "params": ARGS, "agent": "main", "session": "s", "run": "r", "native": True}
    asked = desk.talk.answer([], id=50, **message)
    assert "a yes lets it from now on" in asked["prompt"]["description"]
    desk.talk.answer([], id=51, type="resolved", nonce=asked["prompt"]["nonce"], outcome="used")
    desk.talk.later(2)
    assert desk.code(params={"basket": 8}) == "allow"


def test_with_signers_a_yes_counts_until_it_is_taken_back_or_the_engine_ends(tmp_path: Path) -> None:
    (tmp_path / "toolguard").mkdir()
    store, use = stores.tool_answers(tmp_path), ToolUse(ACTS, "shop", "main")
    trust, other = (ToolTrust(store, stores.audit_log(tmp_path), lambda: 1.0, lambda _: False) for _ in range(2))
    trust.follow(Verdict("allow", "approval.consumed"), HELD, use)
    assert [trust.standing(use), other.standing(use)] == ["trusted", "new"]
    assert store.remove(lambda answer: answer.tool == ACTS, lambda _: None)
    assert trust.standing(use) == "new"


def test_with_signers_a_signed_answer_is_bound_too(tmp_path: Path) -> None:
    (tmp_path / "toolguard").mkdir()
    store = stores.tool_answers(tmp_path)
    store.put(ToolAnswer("trust", tool=ACTS), lambda _: None)
    trust = ToolTrust(store, stores.audit_log(tmp_path), lambda: 1.0, lambda _: True)
    trust.note(ToolUse(ACTS, "shop", "main", "w", "s"))
    assert trust.standing(ToolUse(ACTS, "shop", "main", "x", "s")) == "changed"


def test_with_signers_an_answer_without_a_signature_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "toolguard").mkdir()
    store = stores.tool_answers(tmp_path)
    store.put(ToolAnswer("trust", tool=ACTS), lambda _: None)
    trust = ToolTrust(store, stores.audit_log(tmp_path), lambda: 1.0, lambda _: False)
    assert trust.standing(ToolUse(ACTS)) == "new"
    store.put(ToolAnswer("refuse", tool="x"), lambda _: None)
    assert trust.standing(ToolUse("x")) == "refused"


HELD = HeldCall("1a2b3c4d", "b", ACTS, "main", "s", "r", "tool.first-use", "new", "shown", 1.0, 2.0, by="ann", where="cli")


class Hurried(ToolAnswerFile):
    """Between what is read and what is written, somebody refuses the tool in another process."""

    def known(self) -> tuple[ToolAnswer, ...]:
        known = super().known()
        self.refuse()
        return known

    def add(self, *args: Any) -> ToolAnswer | None:
        self.refuse()
        return super().add(*args)

    def refuse(self) -> None:
        ToolAnswerFile(self.path.parents[1]).put(ToolAnswer("refuse", tool=ACTS, agent="main"), lambda _: None)


@pytest.mark.parametrize("change", ["note", "follow"])
def test_a_refusal_meanwhile_is_not_overwritten(tmp_path: Path, change: str) -> None:
    (tmp_path / "toolguard").mkdir()
    store, use = Hurried(tmp_path), ToolUse(ACTS, "shop", "main", "w", "s")
    trust = ToolTrust(store, stores.audit_log(tmp_path), lambda: 1.0)
    if change == "note":
        stores.tool_answers(tmp_path).put(ToolAnswer("trust", tool=ACTS, agent="main"), lambda _: None)
        trust.note(use)
    else:
        trust.follow(Verdict("allow", "approval.consumed"), HELD, use)
    assert stores.tool_answers(tmp_path).known()[-1].answer == "refuse"
    assert trust.standing(use) == "refused"


USES = {
    "what the name says": (Call("a__get_x", None), {}, True),
    "a hint where the name says nothing": (Call("a__weather", None), {"reads": True}, True),
    "a hint against the name": (Call("a__get_x", None), {"reads": False}, False),
    "a hint that the name contradicts": (Call("a__delete_x", None), {"reads": True}, False),
    "the name of its server again": (Call("slack__slack_list_channels", None), {}, True),
    "only the name of its server": (Call("fetch__fetch", None), {}, True),
    "the name of its server, which is a verb": (Call("get__delete_x", None), {}, False),
    "nothing": (Call("a__weather", None), {}, False),
}


@pytest.mark.parametrize("case", USES)
def test_what_only_reads(case: str) -> None:
    call, shown, reads = USES[case]
    tools = SeenTools()
    tools.described("", json.dumps({"id": f"mcp:a:{call.tool}", "name": call.tool, "words": "w", "schema": "s", **shown}))
    use = tools.use_of(call)
    assert use is not None
    assert use.reads is reads


@pytest.mark.parametrize(
    "text", ["", "[", "7", "[]", '{"tools": 7}', '{"tools": [7, {}]}', '{"name": 7}', '{"name": "x", "words": 7, "id": []}']
)
def test_odd_descriptions(text: str) -> None:
    SeenTools().described("", text)


def test_what_is_kept_of_tools_is_bounded() -> None:
    tools = SeenTools()
    for number in range(seen_tools.MAX_TOOLS + 5):
        tools.described("", json.dumps({"name": f"t{number}", "words": "x" * 1_000}))
    first, last = (tools.use_of(Call(f"t{number}", None)) for number in (0, seen_tools.MAX_TOOLS + 4))
    assert first is not None
    assert last is not None
    assert (first.words, len(last.words)) == ("", seen_tools.MAX_DIGEST)


UNREADABLE = {"": Damaged, "[": Damaged, '{"v": 2}': Newer, '{"v": 2, "answers": 7}': Newer, "\udcff": Damaged}


def put_in(store: ToolAnswerFile) -> None:
    store.put(ToolAnswer("trust", tool="b"), lambda _: None)


@pytest.mark.parametrize("text", ["[", '{"v": 2}'])
@pytest.mark.parametrize("first_use", ["ask", "allow"])
def test_answers_that_cannot_be_read(start: Callable[[], Talk], state: Path, text: str, first_use: str) -> None:
    desk = Desk(start, state, toolTrust={"firstUse": first_use})
    put(state, ToolAnswer("refuse", server="evil"))
    put(state, ToolAnswer("trust", tool=ACTS))
    desk.talk.later(2)
    assert desk.code("evil__get_x") == "tool.refused"
    stores.tool_answers(state).path.write_text(text)
    desk.talk.later(2)
    assert [desk.code("evil__get_x"), desk.code(), desk.code("shop__get_x")] == [
        "tool.refused",
        "approval.pending",
        "allow",
    ]
    assert "cannot be read" in desk.reason()
    desk.again()
    assert [desk.code("evil__pay"), desk.code("evil__get_x", {"n": 3})] == ["approval.pending", "allow"]
    stores.tool_answers(state).path.unlink()
    put(state, ToolAnswer("trust", tool=ACTS))
    desk.talk.later(2)
    assert desk.code(params={"basket": 9}) == "allow"


class TestFile:
    @pytest.fixture
    def store(self, tmp_path: Path) -> ToolAnswerFile:
        (tmp_path / "toolguard").mkdir()
        return ToolAnswerFile(tmp_path)

    def test_the_last_answer_about_the_same_counts(self, store: ToolAnswerFile) -> None:
        for answer in (ToolAnswer("trust", tool="a"), ToolAnswer("refuse", tool="a"), ToolAnswer("trust", tool="b")):
            store.put(answer, lambda _: None)
        assert [(each.answer, each.tool) for each in store.known()] == [("refuse", "a"), ("trust", "b")]

    def test_what_nobody_signed_does_not_count(self, store: ToolAnswerFile) -> None:
        store.put(ToolAnswer("refuse", tool="a"), lambda _: None)
        store.path.write_text(text := store.path.read_text().replace("refuse", "trust"))
        with pytest.raises(Damaged, match="not signed with"):
            store.known()
        with pytest.raises(Damaged, match="not signed with"):
            put_in(store)
        assert store.path.read_text() == text

    def test_a_missing_key_is_said(self, store: ToolAnswerFile) -> None:
        store.put(ToolAnswer("refuse", tool="a"), lambda _: None)
        key = signing_key_file.path(store.path.parents[1])
        moved = key.rename(key.with_name("aside"))
        with pytest.raises(Damaged, match="is missing"):
            store.known()
        moved.rename(key)
        assert [answer.tool for answer in store.known()] == ["a"]

    @pytest.mark.parametrize("text", UNREADABLE)
    def test_what_cannot_be_read_is_not_overwritten(self, store: ToolAnswerFile, text: str) -> None:
        store.put(ToolAnswer("refuse", tool="a"), lambda _: None)
        store.path.write_bytes(data := text.encode(errors="surrogateescape"))
        for use in (store.known, lambda: put_in(store), lambda: store.remove(lambda _: True, lambda _: None)):
            with pytest.raises(UNREADABLE[text]):
                use()
        assert store.path.read_bytes() == data

    @pytest.mark.parametrize(("answer", "counts"), [("refuse", True), ("trust", False)])
    def test_what_a_newer_version_added_to_an_answer(self, store: ToolAnswerFile, answer: Any, counts: bool) -> None:  # noqa: FBT001
        store.put(ToolAnswer(answer, tool="a"), lambda _: None)
        stored = json.loads(store.path.read_bytes())
        members = {**stored["answers"][0], "mac": "", "hours": 7}
        proof = tool_answers_file.PURPOSE + msgspec.json.encode(members, order="sorted")
        stored["answers"] = [{**members, "mac": signing_key.sign(signing_key_file.load(store.path.parents[1]), proof)}]
        store.path.write_text(json.dumps(stored))
        put_in(store)
        assert [each.tool for each in store.known()] == ["a"] * counts + ["b"]
        assert json.loads(store.path.read_bytes())["answers"][0]["hours"] == 7

    def test_nothing_begins_twice(self, store: ToolAnswerFile) -> None:
        assert not store.exists()
        assert len(store.begin([ToolAnswer("trust", tool="a")], lambda _: None)) == 1
        assert store.begin([ToolAnswer("trust", tool="b")], lambda _: None) == []
        assert store.remove(lambda each: each.tool == "a", lambda _: None)
        assert store.begin([ToolAnswer("trust", tool="b")], lambda _: None) == []
        assert store.exists()

    def test_what_cannot_be_logged_is_not_stored(self, store: ToolAnswerFile) -> None:
        def full(_: ToolAnswer) -> None:
            raise OSError("no space")

        with pytest.raises(OSError, match="no space"):
            store.put(ToolAnswer("trust", tool="a"), full)
        assert store.known() == ()


def test_refusal_wins_and_more_than_one_answer_may_trust() -> None:
    use = ToolUse("s__t", "s", "main", "w", "d")
    trusted = ToolAnswer("trust", "s__t", "s", "main", "other", "d")
    everywhere = ToolAnswer("trust", "s__t", "s", "", "w", "d")
    refused = ToolAnswer("refuse", server="s")
    assert [
        ToolAnswers(answers).standing(use)
        for answers in ([], [trusted], [trusted, everywhere], [trusted, everywhere, refused])
    ] == ["new", "changed", "trusted", "refused"]
    assert tool_answer.as_grant(trusted) == tool_answer.as_grant(tool_answer.bound(trusted, use))


@pytest.mark.parametrize("kept", [{}, {"words": "a" * 16}, {"schema": "b" * 16}, {"words": "a" * 16, "schema": "b" * 16}])
def test_an_answer_keeps_how_the_tool_described_itself_and_learns_the_rest(kept: dict[str, str]) -> None:
    use = ToolUse(ACTS, "shop", "main", words="c" * 16, schema="d" * 16)
    answer = tool_answer.bound(ToolAnswer("trust", tool=ACTS, **kept), use)
    assert (answer.words, answer.schema) == (kept.get("words", use.words), kept.get("schema", use.schema))
    unknown = tool_answer.bound(ToolAnswer("trust", tool=ACTS, **kept), ToolUse(ACTS, "shop", "main"))
    assert (unknown.words, unknown.schema) == (kept.get("words", ""), kept.get("schema", ""))
