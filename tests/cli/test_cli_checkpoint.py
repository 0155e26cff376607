"""`toolguard checkpoint`, and the budgets in `toolguard status`."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from cli_stage import envelope, texts, toolguard

from toolguard_cli.approvals import budgets
from toolguard_cli.commands import show_status as status
from toolguard_cli.operations import refill_budgets
from toolguard_cli.operations.refill_budgets import Chosen
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import LAPSED, Decision, HeldCall, RefusedError
from toolguard_engine.approvals.standing import Seen, Standing
from toolguard_engine.config.settings import Config
from toolguard_engine.layers.autonomy.budget import NO_STORE
from toolguard_engine.layers.autonomy.drift import alone, cautioned, escalation, outward, resource, speed
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.locked import corrupt_files
from toolguard_engine.stores.sqlite.standings import FileStandings

MAIN, OTHER = "agent:main:main", "agent:main:other"
DEAR = " of 1.00 left, too little for HIGH and CRITICAL calls"
TRUST = "trust 0.72, too little for CRITICAL calls"
OF = f"budget of main in {MAIN}"
NONE = "no budget was used since the last checkpoint: nothing to refill"


def put(places: Places, *each: Standing) -> None:
    store = FileStandings(places.state_dir)
    store.save({standing.key: standing for standing in each})
    store.close()


def used(session: str = MAIN, agent: str = "main", **more: Any) -> Standing:
    usual: dict[str, Any] = {"trust": 0.72, "spent": 0.65, "touched": time.time(), "reported": ["budget.exhausted"]}
    return Standing(agent, session, **usual | more)


def known(places: Places) -> dict[str, Standing]:
    return {each.session: each for each in FileStandings(places.state_dir).look()}


def run(places: Places, agent: str = "", session: str = "", *, dry_run: bool = False) -> Result:
    return refill_budgets.run(places, Chosen(agent, session), dry_run=dry_run)


def config(places: Places, value: Any) -> None:
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"config": value}}}}))


def test_it_refills_what_was_used(places: Places) -> None:
    put(places, used(seen=Seen(outward=4)), used(OTHER, spent=0.0, reported=[], trust=0.7))
    result = run(places)
    assert texts(result) == [f"{OF}: 0.35 left, now 1.00; trust 0.72, now 0.82"]
    after = known(places)
    assert (after[MAIN].spent, after[MAIN].epoch, after[MAIN].reported, after[MAIN].seen.outward) == (0.0, 1, [], 0)
    assert (after[OTHER].epoch, after[OTHER].trust) == (0, 0.7)
    (changed,) = result.data["changed"]
    assert (changed["agent"], changed["leftBefore"], changed["left"], changed["checkpoints"]) == ("main", 0.35, 1.0, 1)
    (event,) = AuditLog(places.state_dir).events()
    assert (event["event"], event["code"], event["where"], event["reason"]) == (
        "checkpoint", "budget.checkpoint", "cli", "checkpoint: 1 budget refilled",
    )  # fmt: skip
    assert event["by"]
    assert texts(run(places)) == [NONE]
    assert len(list(AuditLog(places.state_dir).events())) == 1


@pytest.mark.parametrize(
    ("agent", "session", "refilled"),
    [
        ("main", "", {MAIN, OTHER}),
        ("", OTHER, {OTHER}),
        ("main", MAIN, {MAIN}),
        ("ops", "", {"x"}),
        ("", "", {MAIN, OTHER, "x"}),
    ],
)
def test_only_those_that_are_meant(places: Places, agent: str, session: str, refilled: set[str]) -> None:
    put(places, used(), used(OTHER), used("x", "ops"))
    run(places, agent, session)
    assert {name for name, each in known(places).items() if each.epoch} == refilled


def test_one_that_is_named_is_refilled_though_nothing_was_spent(places: Places) -> None:
    put(places, used(spent=0.0, reported=[], trust=0.1))
    assert texts(run(places)) == [NONE]
    run(places, session=MAIN)
    assert known(places)[MAIN].trust == 0.2


def hold(places: Places, code: str, session: str = MAIN, call: str = "call") -> str:
    now = time.time()
    request = HeldCall("", call, "write", "main", session, "r", code, "Why.", "write({})", now, now + 300)
    return FileNonces(places.state_dir).present(request, now).entry.nonce


def test_held_calls_that_waited_for_it_wait_no_more(places: Places) -> None:
    put(places, used(), used("agent:main:subagent"), used(OTHER, spent=0.0, reported=[]))
    spent, drifted = hold(places, "budget.exhausted"), hold(places, "drift.speed", "agent:main:subagent:1-2-3", "b")
    others = {hold(places, "rule.user.x", MAIN, "c"), hold(places, "budget.trust", OTHER, "d")}
    assert len(texts(run(places, dry_run=True))) == 2
    assert texts(run(places))[-1] == f"2 held calls are no longer waiting: {replies.GO_ON}"
    found = {entry.nonce: entry for entry in FileNonces(places.state_dir).entries()}
    assert {nonce for nonce, entry in found.items() if entry.status == "pending"} == others
    for nonce in (spent, drifted):
        assert (found[nonce].status, found[nonce].where, found[nonce].why) == ("expired", "cli", LAPSED)
        with pytest.raises(RefusedError) as refused:
            FileNonces(places.state_dir).approve(nonce, Decision("ann", "cli"), time.time(), 30)
        assert replies.explain(refused.value).fix == replies.GO_ON
    said = [(line["event"], line["why"]) for line in AuditLog(places.state_dir).events() if line["event"] == "expire"]
    assert said == [("expire", LAPSED)] * 2


def test_held_calls_that_cannot_be_closed_keep_no_budget_down(places: Places) -> None:
    put(places, used())
    hold(places, "budget.exhausted")
    store = places.state_dir / "toolguard" / "nonces.json"
    store.unlink()
    store.mkdir()
    result = run(places)
    assert (result.lines[-1].kind, replies.NOT_LAPSED in result.lines[-1].text) == ("warn", True)
    assert known(places)[MAIN].spent == 0


@pytest.mark.parametrize(("agent", "session"), [("nobody", ""), ("", "nowhere"), ("main", "nowhere")])
def test_nobody_of_that_name(places: Places, agent: str, session: str) -> None:
    put(places, used())
    with pytest.raises(UserError, match="there is no budget for") as raised:
        run(places, agent, session)
    assert "toolguard status" in raised.value.fix
    assert known(places)[MAIN].epoch == 0


def test_dry_run_changes_nothing(places: Places) -> None:
    put(places, used())
    result = run(places, dry_run=True)
    assert texts(result)[0].startswith(f"would refill the budget of main in {MAIN}: 0.35 left, now 1.00")
    assert result.data["dryRun"] is True
    assert known(places)[MAIN] == used(touched=known(places)[MAIN].touched)
    assert list(AuditLog(places.state_dir).events()) == []


def test_nothing_is_made_where_nothing_is(places: Places) -> None:
    with pytest.raises(UserError, match="toolguard has never run in"):
        run(places)
    assert list(places.state_dir.iterdir()) == []
    places.own.mkdir()
    assert texts(run(places)) == [NONE]
    assert list(places.own.iterdir()) == []


def test_a_damaged_store_is_said_with_its_mend(places: Places) -> None:
    put(places, used())
    FileStandings(places.state_dir).path.write_bytes(b"")
    done = toolguard("checkpoint", "--state-dir", places.state_dir)
    assert done.returncode == 1
    assert "-> toolguard doctor --fix" in done.stderr
    assert corrupt_files(FileStandings(places.state_dir).path) == []
    shown = toolguard("status", "--state-dir", places.state_dir)
    assert shown.returncode == 0
    assert "standings.db is damaged" in shown.stdout


def test_the_command(places: Places) -> None:
    put(places, used())
    done = toolguard("checkpoint", "--agent", "main", "--json", "--state-dir", places.state_dir)
    assert done.returncode == 0
    assert [each["session"] for each in envelope(done)["data"]["changed"]] == [MAIN]
    assert "Examples:" in toolguard("checkpoint", "--help").stdout


# --- status -------------------------------------------------------------------------------------------------------------


def budget_lines(places: Places) -> list[str]:
    return [text for text in texts(status.run(places)) if "budget" in text]


@pytest.mark.parametrize(
    ("settings", "standing", "line"),
    [
        ({}, used(), f"{OF}: 0.35{DEAR}; {TRUST}; shadow (would ask: too little budget was left for a call)"),
        ({"budget": {"mode": "enforce", "size": 2}}, used(reported=[]), f"{OF}: 1.35 of 2.00 left; {TRUST}; enforce"),
        (
            {"budget": {"mode": "enforce", "drift": {"callsPerMinute": 50}}},
            used(reported=["drift.speed", "drift.odd"]),
            f"{OF}: 0.35{DEAR}; {TRUST}; enforce (asked: more than 50 calls a minute, drift.odd)",
        ),
        (
            {"budget": {"mode": "enforce"}, "agents": {"main": {"mode": "soft"}}},
            used(spent=5.0, reported=[]),
            f"{OF}: 0.00 of 1.00 left, too little for LOW, MEDIUM, HIGH and CRITICAL calls; {TRUST}; soft",
        ),
        (
            {},
            used(spent=0.0, reported=[], trust=0.5),
            f"{OF}: 1.00 of 1.00 left; trust 0.50, too little for HIGH and CRITICAL calls; shadow",
        ),
    ],
)  # fmt: skip
def test_a_line_for_each_that_is_worth_a_look(places: Places, settings: Any, standing: Standing, line: str) -> None:
    config(places, settings)
    put(places, standing, used(OTHER, spent=0.0, reported=[], trust=0.7))
    assert budget_lines(places)[0] == line


@pytest.mark.parametrize(
    ("mode", "standing", "kind"),
    [
        ("enforce", used(spent=0.65, reported=[]), "warn"),
        ("enforce", used(spent=0.0, trust=0.5, reported=[]), "warn"),
        ("enforce", used(spent=0.2, reported=[]), "info"),
        ("enforce", used(spent=0.0, trust=0.69, reported=[]), "info"),
        ("soft", used(spent=0.65, reported=[]), "warn"),
        ("soft", used(spent=0.0, trust=0.69, reported=[]), "info"),
        ("shadow", used(spent=0.65, reported=[]), "info"),
        ("shadow", used(), "warn"),
    ],
)
def test_a_budget_that_makes_calls_wait_is_a_warning(places: Places, mode: str, standing: Standing, kind: str) -> None:
    config(places, {"budget": {"mode": mode, "riskCosts": {"CRITICAL": 0.9}}})
    put(places, standing)
    (line,) = [line for line in status.run(places).lines if line.text.startswith("budget of")]
    assert line.kind == kind


def test_every_signal_has_plain_words() -> None:
    codes = [module.CODE for module in (alone, cautioned, escalation, outward, resource, speed)]
    for code in (*codes, NO_STORE, "budget.exhausted", "budget.trust"):
        assert code not in budgets.describe(used(reported=[code]), Config())


def test_only_so_many_lines_the_gravest_first(places: Places) -> None:
    put(places, *(used(f"s{at:02}", spent=at / 100, reported=[]) for at in range(1, 16)), used("last", spent=0.0))
    lines = budget_lines(places)
    assert len(lines) == budgets.SHOWN + 1
    assert lines[0].startswith("budget of main in last: 1.00 of 1.00 left")
    assert lines[1].startswith("budget of main in s15: 0.85")
    assert lines[-1] == "and 6 more budgets that were used"
    assert len(status.run(places).data["budgets"]) == 16


def test_a_hostile_name_stays_one_line(places: Places) -> None:
    put(places, used("\x1b[2J\n" + "x" * 500, "\u202eagent", reported=["a\nb"]))
    (line,) = budget_lines(places)
    assert line.isprintable()
    assert len(line) < 400
