"""How an agent stands, call by call: what is only reported, what is held, what a person gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import msgspec
import pytest

from tables import each_row
from toolguard_engine.approvals import standing
from toolguard_engine.approvals.standing import IDLE_SECONDS, Standing
from toolguard_engine.config.settings import (
    AgentBudget,
    AgentConfig,
    BudgetConfig,
    Config,
    DriftConfig,
    LoopDetection,
    Mode,
    RiskCosts,
)
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.guard import Guard
from toolguard_engine.layers.autonomy import agent_standings as module
from toolguard_engine.layers.autonomy.agent_standings import CHECKPOINT, Autonomy
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Rulebook
from toolguard_engine.server import tool_hints

NOON = 1_700_000_000.0
CALL = Call("message", {}, agent="main", session="s", run="r", at=NOON)
QUIET = DriftConfig(escalating_access=0, outward_calls=0, calls_per_minute=0, same_resource=0, warnings=0, minutes_alone=0)
STAKES = {"SAFE": 1, "LOW": 3, "MEDIUM": 6, "HIGH": 8, "CRITICAL": 10}
MODES: tuple[Mode, ...] = get_args(Mode)


def settings(mode: Mode = "enforce", general: Mode = "enforce", **budget: Any) -> Config:
    return Config(mode=general, budget=BudgetConfig(mode=mode, **{"drift": QUIET, **budget}))


def weighed(level: str, *effects: Effect) -> Judgement:
    return Judgement("allow", "allow", 1, STAKES[level], effects)


def goes(agents: Autonomy, level: str, config: Config, call: Call = CALL, *effects: Effect) -> str:
    """As the guard does it: judged, and let through where nothing holds it. The code that holds it."""
    found = weighed(level, *effects)
    if asks := agents.judge(CallReading(call), found, config):
        assert asks.decision == "hold"
        return asks.code
    agents.let_through(CallReading(call), found, config)
    return ""


def of(agents: Autonomy, call: Call = CALL) -> Standing:
    found = agents._standings.find(call.agent, call.session)
    assert found is not None
    return found


def signals(agents: Autonomy) -> list[tuple[str, bool]]:
    return [(each.signal.code, each.held) for each in agents.take_signals()]


@each_row(
    ("general", "own", "held"),
    [
        ("enforce", "enforce", ["LOW", "MEDIUM", "HIGH", "CRITICAL"]),
        ("enforce", "soft", ["HIGH", "CRITICAL"]),
        ("soft", "enforce", ["HIGH", "CRITICAL"]),
        ("soft", "soft", ["HIGH", "CRITICAL"]),
        ("enforce", "shadow", []),
        ("soft", "shadow", []),
        ("shadow", "enforce", []),
        ("shadow", "soft", []),
        ("enforce", "disabled", []),
        ("shadow", "disabled", []),
        ("disabled", "enforce", []),
    ],
)
def test_what_each_mode_holds_when_the_budget_is_used_up(general: Mode, own: Mode, held: list[str]) -> None:
    config = settings(own, general)
    agents = Autonomy()
    if "disabled" not in (general, own):
        agents.remember([Standing("main", "s", 1.0, spent=1.0)])
    assert [level for level in STAKES if goes(agents, level, config)] == held
    counts = bool(agents.take_changed())
    assert counts is ("disabled" not in (general, own))
    assert bool(signals(agents)) is counts


def test_nothing_is_counted_where_it_is_disabled() -> None:
    agents, config = Autonomy(), settings("disabled")
    goes(agents, "CRITICAL", config)
    for context in (agents.clean, agents.warned, agents.violated):
        context(CALL, config)
    agents.approved(CALL, "rubric", config)
    agents.person("main", "s", NOON, config)
    assert agents.take_changed() == {}
    agents.remember([Standing("main", "s", 0.5, spent=0.9)])
    assert agents.checkpoint("", NOON, config) == []


def test_twenty_low_calls_fit_and_the_next_one_asks() -> None:
    agents, config = Autonomy(), settings()
    assert [goes(agents, "LOW", config) for _ in range(21)] == [""] * 20 + ["budget.exhausted"]
    assert of(agents).spent == 1.0
    asked = agents.judge(CallReading(CALL), weighed("LOW"), config)
    assert asked == Verdict(
        "hold",
        "budget.exhausted",
        reason="The budget of agent main in this session is used up: 1.00 of 1.00 spent, and "
        f"this call (message, LOW) costs 0.05. {CHECKPOINT}",
    )
    assert goes(agents, "SAFE", config) == ""


def test_what_is_held_is_not_paid_for() -> None:
    agents, config = Autonomy(), settings()
    goes(agents, "HIGH", config)
    assert [goes(agents, "CRITICAL", config) for _ in range(3)] == ["budget.exhausted"] * 3
    assert of(agents).spent == 0.4


def test_an_approval_is_a_checkpoint_where_one_was_asked_for() -> None:
    agents, config = Autonomy(), settings()
    for _ in range(3):
        goes(agents, "HIGH", config)
    goes(agents, "HIGH", config, replace(CALL, session="other"))
    trust = of(agents).trust
    agents.approved(replace(CALL, at=NOON + 5), "budget.exhausted", config)
    after = of(agents)
    assert (after.spent, after.epoch, after.reported, after.trust) == (0.0, 1, [], round(trust + 0.1, 9))
    assert of(agents, replace(CALL, session="other")).epoch == 0
    assert of(agents, replace(CALL, session="other")).spent == 0.4
    assert goes(agents, "HIGH", config) == ""


def test_another_approval_only_earns_trust() -> None:
    agents, config = Autonomy(), settings()
    goes(agents, "HIGH", config)
    agents.approved(CALL, "rule.network.upload", config)
    assert (of(agents).spent, of(agents).epoch, of(agents).trust) == (0.4, 0, 0.8)


def test_too_little_trust_asks_until_it_is_earned() -> None:
    agents, config = Autonomy(), settings(initial_trust=0.55)
    assert goes(agents, "HIGH", config) == "budget.trust"
    assert goes(agents, "MEDIUM", config) == ""
    agents.person("main", "s", NOON, config)
    assert goes(agents, "HIGH", config) == ""
    agents.violated(CALL, config)
    assert goes(agents, "HIGH", config) == "budget.trust"
    agents.approved(CALL, "budget.trust", config)
    assert (of(agents).trust, of(agents).spent) == (0.5, 0.0)
    assert goes(agents, "HIGH", config) == "budget.trust"  # the next one may ask again; the approved one runs


def test_how_trust_moves() -> None:
    agents, config = Autonomy(), settings()
    agents.clean(CALL, config)
    assert of(agents).trust == 0.705
    agents.warned(CALL, config)
    assert (of(agents).trust, of(agents).streak, of(agents).seen.warnings) == (0.685, 0, 1)
    agents.violated(CALL, config)
    assert of(agents).trust == 0.485
    agents.person("main", "s", NOON, config)
    assert of(agents).trust == 0.535


def test_a_signal_is_told_once_until_a_checkpoint() -> None:
    agents, config = Autonomy(), settings()
    agents.remember([Standing("main", "s", 0.1, spent=1.0)])
    for _ in range(3):
        assert goes(agents, "HIGH", config) == "budget.exhausted"
    assert signals(agents) == [("budget.exhausted", True), ("budget.trust", False)]
    agents.checkpoint("s", NOON, config)
    assert goes(agents, "HIGH", config) == "budget.trust"
    assert signals(agents) == [("budget.trust", True)]


def test_shadow_tells_and_lets_through() -> None:
    agents, config = Autonomy(), settings("shadow")
    assert [goes(agents, "HIGH", config) for _ in range(5)] == [""] * 5
    agents.settle()
    assert signals(agents) == [("budget.exhausted", False)]
    assert of(agents).spent == 2.0
    assert not agents.has_spent


def test_what_must_not_wait_to_be_written() -> None:
    agents, config = Autonomy(), settings()
    goes(agents, "SAFE", config)
    agents.clean(CALL, config)
    assert not agents.has_spent
    goes(agents, "LOW", config)
    assert agents.has_spent
    taken = agents.take_changed()
    assert list(taken) == [("main", "s")]
    assert (agents.has_spent, agents.take_changed()) == (False, {})
    agents.keep_changed(taken, has_spent=False)
    assert agents.take_changed() == taken


def test_a_level_may_be_free() -> None:
    agents, config = Autonomy(), settings(risk_costs=RiskCosts(low=0.0))
    assert [goes(agents, "LOW", config) for _ in range(100)] == [""] * 100
    assert (of(agents).spent, agents.has_spent) == (0.0, False)


def test_a_restart_does_not_give_the_budget_back() -> None:
    agents, config = Autonomy(), settings()
    while not goes(agents, "LOW", config):
        pass
    saved = msgspec.json.encode(list(agents.take_changed().values()))
    later = Autonomy()
    later.remember(msgspec.json.decode(saved, type=list[Standing]))
    assert goes(later, "LOW", config) == "budget.exhausted"
    assert signals(later) == []  # it was reported before


def test_a_checkpoint_in_another_process_is_taken_over() -> None:
    agents, config = Autonomy(), settings()
    while not goes(agents, "LOW", config):
        pass
    agents.remember([Standing("main", "s", 0.8, epoch=1)])
    assert (signals(agents), agents.take_changed()) == ([], {})
    assert goes(agents, "LOW", config) == ""
    agents.remember([Standing("main", "s", 0.1, spent=1.0, epoch=1)])  # no newer than what is known
    assert (of(agents).trust, of(agents).spent) == (0.8, 0.05)


def test_of_too_many_the_ones_used_last_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "MAX_STANDINGS", 2)
    agents = Autonomy()
    agents.remember([Standing("main", str(n), spent=1.0, touched=NOON - n) for n in range(5)])
    codes = {n: goes(agents, "LOW", settings(), replace(CALL, session=str(n))) for n in (0, 1, 4)}
    assert codes == {0: "budget.exhausted", 1: "budget.exhausted", 4: ""}


def test_a_persons_checkpoint() -> None:
    agents = Autonomy()
    config = replace_agent(settings(), "off", "disabled")
    for agent, session in (("main", "a"), ("helper", "a"), ("main", "b")):
        goes(agents, "HIGH", config, replace(CALL, agent=agent, session=session))
    agents.remember([Standing("off", "a", spent=1.0)])
    agents.take_changed()
    assert {each.key for each in agents.checkpoint("a", NOON, config)} == {("main", "a"), ("helper", "a")}
    assert set(agents.take_changed()) == {("main", "a"), ("helper", "a")}
    assert len(agents.checkpoint("", NOON, config)) == 3
    assert [each.epoch for each in agents.checkpoint("b", NOON, config)] == [2]
    assert agents.checkpoint("unknown", NOON, config) == []


def replace_agent(config: Config, agent: str, mode: Mode) -> Config:
    return msgspec.structs.replace(config, agents={agent: AgentConfig(budget=AgentBudget(mode=mode))})


def test_calls_of_no_known_session_stand_together() -> None:
    agents, config = Autonomy(), settings()
    nobody = Call("message", {}, agent="main", at=NOON)
    assert goes(agents, "HIGH", config, nobody) == ""
    assert [goes(agents, "HIGH", config, replace(nobody, run=f"r{n}")) for n in range(2)] == ["", "budget.exhausted"]
    assert goes(agents, "HIGH", config, replace(nobody, agent="other")) == ""
    assert set(agents.take_changed()) == {("main", ""), ("other", "")}


def test_a_hundred_subagents_have_one_budget() -> None:
    agents, config = Autonomy(), settings()
    calls = [replace(CALL, session=f"agent:main:subagent:{n}") for n in range(100)]
    assert [goes(agents, "MEDIUM", config, call) for call in calls].count("") == 6
    assert [each.session for each in agents.checkpoint("agent:main:main", NOON, config)] == ["agent:main:subagent"]
    assert goes(agents, "MEDIUM", config, calls[0]) == ""


def test_a_person_in_the_chat_ends_the_drift_of_subagents() -> None:
    agents, config = Autonomy(), settings(drift=DriftConfig(warnings=1))
    call = replace(CALL, session="agent:main:subagent:1")
    agents.warned(call, config)
    assert goes(agents, "LOW", config, call) == "drift.warnings"
    agents.person("main", "agent:main:main", NOON, config)
    assert goes(agents, "LOW", config, call) == ""


def test_what_is_untaken_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STANDINGS", 3)
    monkeypatch.setattr(standing, "MAX_STANDINGS", 3)
    agents = Autonomy()
    for n in range(10):
        goes(agents, "LOW", settings(), replace(CALL, session=str(n)))
    assert [session for _, session in agents.take_changed()] == ["7", "8", "9"]


def test_the_idle_begin_anew() -> None:
    agents, config = Autonomy(), settings()
    goes(agents, "HIGH", config)
    agents.sweep(NOON + IDLE_SECONDS)
    assert of(agents).spent == 0.4
    agents.sweep(NOON + IDLE_SECONDS + 1)
    goes(agents, "SAFE", config)
    assert of(agents).spent == 0.0


def test_the_owner_forgets_drift_but_not_the_budget() -> None:
    agents, config = Autonomy(), settings(drift=DriftConfig(warnings=2))
    agents.warned(CALL, config)
    agents.warned(CALL, config)
    goes(agents, "HIGH", config, CALL)
    assert signals(agents) == [("drift.warnings", True)]
    agents.person("main", "s", NOON, config)
    assert of(agents).reported == []
    assert goes(agents, "HIGH", config) == ""
    agents.person("main", "s", NOON, config)
    assert of(agents).spent == 0.4


def test_a_run_that_nobody_writes_to_is_asked_after_two_hours() -> None:
    agents, config = Autonomy(), settings(drift=DriftConfig())
    assert goes(agents, "LOW", config) == ""
    late = replace(CALL, at=NOON + 7_300)
    assert goes(agents, "SAFE", config, late) == ""
    assert signals(agents) == [("drift.alone", False)]
    assert goes(agents, "LOW", config, late) == "drift.alone"
    agents.approved(late, "drift.alone", config)
    assert goes(agents, "LOW", config, late) == ""


@each_row("mode", MODES)
def test_three_thousand_harmless_calls_are_never_held(mode: Mode) -> None:
    agents, config = Autonomy(), settings(mode, drift=DriftConfig())
    for n in range(3_000):
        call = replace(CALL, tool="read", at=NOON + n * 0.01)
        assert goes(agents, "SAFE", config, call, Effect("read", "a.py", "in-workspace")) == ""
        agents.clean(call, config)
    assert {code for code, _ in signals(agents)} == (set() if mode == "disabled" else {"drift.speed", "drift.resource"})


def test_creeping_from_reads_to_writes_to_sends_asks() -> None:
    agents, config = Autonomy(), settings(drift=DriftConfig())
    asked = []
    for n, level in enumerate(["SAFE"] * 30 + ["LOW"] * 8 + ["MEDIUM"] * 2 + ["HIGH"] * 3):
        call = replace(CALL, at=NOON + n * 5)
        asked.append(
            (level, goes(agents, level, config, call, Effect("message", "bob") if level == "HIGH" else Effect("x")))
        )
        agents.clean(call, config)
    assert [code for level, code in asked if level != "HIGH"] == [""] * 40
    assert [code for level, code in asked if level == "HIGH"] == ["budget.exhausted"] * 3
    assert signals(agents) == [("budget.exhausted", True), ("drift.escalation", False)]


HOME = "/home/ada"
WORKSPACE = f"{HOME}/.openclaw/workspace"
BOOK = Rulebook(rule for rules in rulepacks.packs().values() for rule in rules)
CAME = Outcome(1)


def guard(mode: Mode, general: Mode = "enforce") -> Guard:
    config = Config(mode=general, budget=BudgetConfig(mode=mode), loop_detection=LoopDetection(enabled=False))
    return Guard(config, tool_hints.load(), Host(HOME, f"{HOME}/.openclaw"), BOOK)


def calls(*told_as: tuple[str, dict[str, Any]], every: float) -> Iterator[Call]:
    for n, (tool, params) in enumerate(told_as):
        yield Call(tool, params, agent="main", session="s", run="r", cwd=WORKSPACE, at=NOON + n * every)


@pytest.mark.thorough
@pytest.mark.parametrize("general", ["enforce", "soft", "shadow"])
@pytest.mark.parametrize("mode", MODES)
def test_the_guard_never_holds_three_thousand_harmless_calls(mode: Mode, general: Mode) -> None:
    owner = guard(mode, general)
    harmless: list[tuple[str, dict[str, Any]]] = [
        ("read", {"path": "README.md"}),
        ("exec", {"command": "ls -la src"}),
    ] * 1_500
    for call in calls(*harmless, every=0.01):
        assert owner.judge(call).decision == "allow"
        owner.on_result(call, CAME)


CREEPS: list[tuple[str, dict[str, Any]]] = [
    *[("read", {"path": f"src/{n}.py"}) for n in range(20)],
    *[("write", {"path": f"src/{n}.py", "content": "x"}) for n in range(6)],
    *[("write", {"path": f"{HOME}/notes/{n}.txt", "content": "x"}) for n in range(2)],
    *[("message", {"action": "send", "target": "bob", "message": f"{n}"}) for n in range(3)],
]


def test_the_guard_asks_an_agent_that_creeps_to_sending() -> None:
    owner = guard("enforce")
    verdicts = []
    for call in calls(*CREEPS, every=5):
        verdicts.append((call.tool, owner.judge(call)))
        owner.on_result(call, CAME)
    assert {verdict.decision for tool, verdict in verdicts if tool != "message"} == {"allow"}
    sends = [verdict for tool, verdict in verdicts if tool == "message"]
    assert [(verdict.decision, verdict.code) for verdict in sends] == [("hold", "drift.escalation")] * 3
    assert "from MEDIUM to HIGH; this is increase number 3" in sends[0].reason
    assert CHECKPOINT in sends[0].reason
    assert [each.signal.code for each in owner.autonomy.take_signals()] == ["drift.escalation"]


@pytest.mark.parametrize(("mode", "general"), [("shadow", "enforce"), ("enforce", "shadow")])
def test_the_guard_that_watches_only_tells(mode: Mode, general: Mode) -> None:
    owner = guard(mode, general)
    assert {owner.judge(call).decision for call in calls(*CREEPS, every=5)} == {"allow"}
    assert [(each.signal.code, each.held) for each in owner.autonomy.take_signals()] == [
        ("drift.escalation", False),
        ("budget.exhausted", False),
    ]


def test_what_a_rule_would_have_blocked_is_paid_for_where_the_guard_watches() -> None:
    owner = guard("enforce", "shadow")
    (call,) = calls(("exec", {"command": "rm -rf /"}), every=1)
    assert owner.judge(call).code.startswith("shadow.")
    assert owner.autonomy.take_changed()["main", "s"].spent == 1.0
    assert [each.signal.code for each in owner.autonomy.take_signals()] == ["budget.trust"]


def test_what_nobody_judges_earns_no_trust() -> None:
    owner = guard("enforce")
    for call in calls(*[("memory_search", {})] * 40, every=1):
        assert owner.judge(call).code == "allow.exempt"
        owner.on_result(call, CAME)
    assert owner.autonomy.take_changed() == {}
