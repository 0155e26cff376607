"""`toolguard pending`, and what `toolguard status` says about held calls, grants and the audit log."""

from __future__ import annotations

import time

import pytest
from cli_stage import envelope, texts, toolguard
from held_stage import hold

from toolguard_cli.commands import approve, deny, grant, pending
from toolguard_cli.commands import show_status as status
from toolguard_cli.status import overview
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import repeatable_calls
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.held_details import ExactCall, HeldDetails, HeldEffect, HeldRule
from toolguard_engine.stores.files.grants_file import PolicyFiles
from toolguard_engine.stores.files.nonces import FileNonces


def yes(places: Places, held: HeldCall) -> None:
    approve.run(places, held.nonce, yes=True, reason="", as_json=False)


def test_nothing(places: Places) -> None:
    places.own.mkdir()
    assert texts(pending.run(places, everything=False)) == ["no call is waiting"]
    assert texts(pending.run(places, everything=True)) == ["no call was held in the last 24 hours"]
    assert pending.run(places, everything=False).data == {"pending": []}
    assert list(places.own.iterdir()) == []


def test_where_toolguard_has_never_been(places: Places) -> None:
    result = pending.run(places, everything=True)
    assert [(line.kind, line.text) for line in result.lines] == [
        ("warn", f"toolguard has never run in {places.state_dir} (--state-dir, TOOLGUARD_STATE_DIR)")
    ]
    assert (result.data, result.exit_code, list(places.state_dir.iterdir())) == ({"pending": []}, 0, [])


def test_more_than_one_waits(places: Places) -> None:
    hold(places)
    hold(places)
    assert texts(pending.run(places, everything=False))[-1] == "toolguard approve (asks which one, and shows it first)"


def test_table(places: Places, standing_clock: float) -> None:
    old = hold(places, now=standing_clock - 60, lasts=3_660)
    ready = hold(places, now=standing_clock - 30, lasts=3_660, tool="message", agent="", shown="{ text: 'a\nb' }")
    yes(places, ready)
    lines = texts(pending.run(places, everything=False))
    assert [line.split() for line in lines[:1]] == [["NONCE", "STATE", "AGE", "TOOL", "AGENT", "CALL"]]
    assert lines[1].split("  ")[0] == old.nonce
    assert "  1h00m left" in lines[1]
    assert "  1m00s  " in lines[1]
    assert lines[1].endswith('exec     main   { command: "make release" }')
    assert "approved, 10m00s left" in lines[2]  # no engine runs
    assert lines[2].endswith("message  -      { text: 'a<U+000A>b' }")
    assert lines[3:] == [
        "held: alwaysBlock names exec (hold.always)",
        "1 danger:",
        " 1 does something that the guard cannot name: read the call itself",
        "command: make release",
        f"toolguard approve {old.nonce}, or toolguard deny {old.nonce}",
    ]


def test_each_of_several_calls_is_listed_with_its_effects_and_dangers(places: Places) -> None:
    effects = {name: HeldDetails((HeldEffect("delete", f"~/{name}"),)) for name in ("Documents", "Pictures")}
    held = {name: hold(places, details=details, reason=f"It deletes {name}.") for name, details in effects.items()}
    lines = texts(pending.run(places, everything=False))
    for name, entry in held.items():
        at = lines.index(f"{entry.nonce}  1 effect: make release")
        assert [line.strip() for line in lines[at + 1 : at + 3]] == [
            f"held: It deletes {name}. (hold.always)",
            f"deletes ~/{name}",
        ]


def test_each_of_several_calls_says_why_it_waits_again(places: Places) -> None:
    again = hold(places, changes=("it would also delete ~/b",))
    hold(places)
    text = " ".join(" ".join(texts(pending.run(places, everything=False))).split())
    assert "new: it would also delete ~/b" in text
    assert f"held: {again.reason}" in text
    assert "held: alwaysBlock names exec" in text


def test_the_effects_of_many_calls_are_bounded(places: Places) -> None:
    many = HeldDetails(tuple(HeldEffect("delete", f"~/f{number}") for number in range(12)))
    for _ in range(pending.MAX_DETAILED + 2):
        hold(places, details=many)
    lines = texts(pending.run(places, everything=False))
    assert sum("   deletes ~/f" in line for line in lines) == pending.MAX_DETAILED * len(many.effects)
    assert "2 more calls are waiting; toolguard approve NONCE shows what one would do" in lines


@pytest.mark.parametrize("rules", [("files.delete",), ("files.delete", "vcs.push-force")], ids=["one", "two"])
def test_all_rules_of_the_only_call_are_listed(places: Places, rules: tuple[str, ...]) -> None:
    details = HeldDetails(rules=tuple(HeldRule(rule, f"Reason of {rule}.") for rule in rules))
    hold(places, details=details)
    lines = texts(pending.run(places, everything=False))
    for number, rule in enumerate(rules, 1):
        at = lines.index(f" {number} Reason of {rule}")
        assert lines[at + 1] == f"   {rule}"


def test_all(places: Places) -> None:
    denied = hold(places)
    deny.run(places, denied.nonce, reason="")
    hold(places, now=time.time() - 400, binding="over")
    assert texts(pending.run(places, everything=False)) == ["no call is waiting"]
    result = pending.run(places, everything=True)
    assert [call["status"] for call in result.data["pending"]] == ["expired", "denied"]
    assert [call["left"] for call in result.data["pending"]] == [0, 0]


def test_for_scripts(places: Places) -> None:
    held = hold(places)
    reported = envelope(toolguard("pending", "--state-dir", places.state_dir, "--json"))
    (call,) = reported["data"]["pending"]
    assert set(call) == (set(HeldCall.__struct_fields__) - {"mac", "binding", "signatures", "meaning"}) | {
        "left",
        "createdAt",
        "expiresAt",
        "decidedAt",
        "latestAt",
    }
    assert (call["nonce"], call["shown"], call["status"]) == (held.nonce, held.shown, "pending")
    assert 0 < call["left"] <= 300


def test_a_damaged_store(places: Places) -> None:
    hold(places)
    FileNonces(places.state_dir).path.write_text("{")
    with pytest.raises(UserError, match="damaged") as caught:
        pending.run(places, everything=False)
    assert caught.value.fix == "toolguard doctor --fix"


def test_status(places: Places, standing_clock: float) -> None:
    assert status.run(places).data["held"] == {
        "pending": 0, "approvedUnused": 0, "oldest": None, "missed": 0, "lapsed": 0,
        "grants": 0, "sessionGrants": 0, "damaged": [], "notificationsFailing": [],
        "auditToday": {},
    }  # fmt: skip
    first, second, third = hold(places, now=standing_clock - 1, lasts=7_201), hold(places), hold(places)
    yes(places, third)
    grant.run(places, grant.GrantRequest("make", "exec"), yes=False, dry_run=False)
    result = status.run(places)
    assert result.data["held"] == {
        "pending": 2, "approvedUnused": 1, "oldest": first.nonce, "missed": 0, "lapsed": 0,
        "grants": 1, "sessionGrants": 0, "damaged": [], "notificationsFailing": [],
        "auditToday": {"approve": 1, "grant": 1, "hold": 3},
    }  # fmt: skip
    assert second.nonce
    first_line, *others = texts(result)
    assert first_line == f"2 calls are waiting for approval; the oldest is {first.nonce}, 2h00m left (toolguard pending)"
    assert {"1 grant in force (toolguard grants)", "audit log today: approve 1, grant 1, hold 3"} <= set(others)


def test_status_of_damaged_stores(places: Places) -> None:
    hold(places)
    FileNonces(places.state_dir).path.write_text("{")
    PolicyFiles(places.state_dir).path.write_text("x = ")
    result = status.run(places)
    assert result.exit_code == 0
    assert len(result.data["held"]["damaged"]) == 2
    assert "-> toolguard doctor --fix" in texts(result)
    assert any("policy.toml, line 1: it is not valid TOML" in text for text in texts(result))


def test_only_what_was_written_today_counts(places: Places) -> None:
    hold(places)
    assert overview.look(places, time.time() + 3 * 86_400).today == {}
    log = places.own / "audit.jsonl"
    log.write_bytes(b'{"time":"' + time.strftime("%Y-%m-%d", time.gmtime()).encode() + b"\n" + log.read_bytes())
    assert overview.look(places, time.time()).today == {"hold": 1}


@pytest.mark.parametrize(("effect", "offered"), [("listen", True), ("delete", False)])
def test_what_destroys_is_not_proposed_for_longer(places: Places, effect: str, offered: bool) -> None:  # noqa: FBT001
    rule = HeldRule("mine.asks", "the owner wants to be asked")
    entry = hold(
        places,
        code="rule.mine.asks",
        cwd="/srv/work",
        details=HeldDetails((HeldEffect(effect, "/home/ann/old", "/home/ann/old", (), "in-home"),), (rule,)),
        exact=ExactCall("tidy /home/ann/old", {}, "/srv/work"),
    )
    assert repeatable_calls.narrow_grant(entry).grant is not None
    assert any(f"{entry.nonce} --for 1d" in text for text in texts(pending.run(places))) is offered
