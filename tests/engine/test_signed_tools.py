"""Where the settings name signers, only the store knows who trusts a tool. What else holds its calls does so there too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk
from ssh_signers import SshRoom, sign
from toolguard_engine.approvals import signed_decision, tool_answer
from toolguard_engine.approvals.signed_decision import GRANT_NAMESPACE
from toolguard_engine.approvals.tool_answer import ToolAnswer
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import open as stores

ACTS = "shop__fulfil_basket"
SMALL = {"budget": {"mode": "enforce", "size": 0.1}}
BROKEN = "[[rule]\n"


class Shop:
    """An agent that uses a tool which a person trusts; `signed`: with a signature, which the settings then ask for."""

    def __init__(self, start: Callable[[], Talk], folder: Path, *, signed: bool, **config: Any) -> None:
        self.state, self.start = folder / "state", start
        (self.state / "toolguard").mkdir(parents=True, exist_ok=True)
        self.room = SshRoom(folder / "keys")
        self.config = {**config, **({"approval": {"signers": str(self.room.allowed)}} if signed else {})}
        self.question = 0
        self.trust()
        self.again()

    def again(self) -> None:
        """Another engine takes over."""
        self.talk = self.start()
        self.talk.hello(self.state, config=self.config)

    def trust(self) -> None:
        ann = self.room.key("ann")
        self.room.allow("ann@example.com", ann)
        answer = ToolAnswer("trust", ACTS, "shop", created=1.0, by="ann")
        signers, grant = stores.signers(self.state, str(self.room.allowed), ""), tool_answer.as_grant(answer)
        body = signed_decision.grant_body(grant, signers.issuer)
        signers.keep_grant(grant, SignedBody(body.decode(), sign(body, ann, GRANT_NAMESPACE)))
        stores.tool_answers(self.state).put(answer, lambda _: None)

    def use(self, basket: int = 0) -> str:
        self.question += 1
        message = {"type": "judge", "tool": ACTS, "params": {"basket": basket}, "agent": "main", "session": "s", "run": "r"}
        answer = self.talk.answer([], id=self.question, **message)
        return str(answer["code"]).replace("tool.trusted", "allow")


@pytest.fixture
def shops(start: Callable[[], Talk], tmp_path: Path) -> Callable[..., list[Shop]]:
    """The same shop without and with signatures."""

    def open_both(**config: Any) -> list[Shop]:
        return [Shop(start, tmp_path / str(signed), signed=signed, **config) for signed in (False, True)]

    return open_both


def test_a_trusted_tool_uses_up_the_budget(shops: Callable[..., list[Shop]]) -> None:
    without, signed = ([shop.use(number) for number in range(12)] for shop in shops(**SMALL))
    assert signed == without
    assert signed[0] == "allow"
    assert "approval.pending" in signed


def test_rules_that_cannot_be_read_hold_a_trusted_tool(shops: Callable[..., list[Shop]]) -> None:
    codes = []
    for shop in shops():
        (shop.state / "toolguard" / "policy.toml").write_text(BROKEN)
        shop.again()
        codes.append(shop.use())
    assert codes == ["policy.bad"] * 2


def test_what_is_spent_on_a_trusted_tool_is_kept(shops: Callable[..., list[Shop]]) -> None:
    codes = []
    for shop in shops(**SMALL):
        assert [shop.use(number) for number in range(12)][-1] != "allow"
        shop.again()
        codes.append(shop.use(99))
    assert codes == ["approval.pending"] * 2


def test_a_kill_switch_stops_a_trusted_tool(shops: Callable[..., list[Shop]]) -> None:
    codes = []
    for shop in shops():
        assert shop.use() == "allow"
        stores.kill_switch(shop.state).set(on=True, by="ann", why="enough")
        shop.talk.later(2)
        codes.append(shop.use(1))
    assert codes == ["kill-switch.on"] * 2
