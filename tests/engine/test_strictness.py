"""Which settings guard less: the table of all settings."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config import plugin_manifest
from toolguard_engine.config.settings import parse
from toolguard_engine.config.strictness import (
    CONVERSATION,
    DEFAULTS,
    NEUTRAL,
    ORDERS,
    PLUGIN,
    EffectiveSettings,
    accepting,
    raised,
    settings_of,
    weaker,
)

DEFAULT = settings_of(parse({}))

CASES: list[tuple[str, Any, Any]] = [
    ("enabled", True, False),
    *(("mode", one, other) for one, other in (("enforce", "soft"), ("soft", "shadow"), ("shadow", "disabled"))),
    ("failMode", "closed", "open"),
    ("escalationThreshold", 36, 37),
    ("maxIdenticalFailures", 2, 3),
    ("maxFailuresPerTurn", 5, 6),
    ("neverBlock", [], ["exec"]),
    ("neverBlock", ["a", "b"], ["a", "c"]),
    ("rulesOff", ["vcs"], ["vcs", "databases"]),
    ("alwaysBlock", ["gateway", "nodes"], ["nodes"]),
    ("alwaysBlock", ["gateway"], []),
    ("pendingTimeoutMs", 300_000, 60_000),
    ("approvalWindowMs", 30_000, 30_001),
    ("approval.agentTool", False, True),
    ("approval.answerLinks", False, True),
    ("approval.answerLinkMs", 900_000, 900_001),
    ("metrics.dashboard.hosts", ["box.example"], ["box.example", "http://evil.example"]),
    ("pinParams", "always", "approved"),
    ("redactSecrets", True, False),
    ("audit.durable", True, False),
    *((f"runLimits.{unit}", 3, more) for unit, more in (("calls", 4), ("requests", 0), ("minutes", 4))),
    ("undo.enabled", True, False),
    ("undo.maxMegabytes", 2_000, 1_999),
    ("undo.days", 7, 6),
    ("toolTrust.firstUse", "ask", "allow"),
    ("containment.profile", "offline", "workspace"),
    ("containment.profile", "protect", "off"),
    ("containment.whenUnavailable", "hold", "run"),
    ("containment.unknown", "hold", "rehearse"),
    ("containment.unknown", "rehearse", "allow"),
    ("containment.write", [], ["~/out"]),
    ("logLevel", "warn", "error"),
    ("loopDetection.enabled", True, None),
    ("loopDetection.enabled", None, False),
    ("loopDetection.historySize", 30, 29),
    ("loopDetection.warningThreshold", 10, 11),
    ("loopDetection.criticalThreshold", 20, 21),
    ("loopDetection.unknownToolThreshold", 10, 11),
    ("loopDetection.globalCircuitBreakerThreshold", 30, 31),
    ("loopDetection.sequenceThreshold", 300, 301),
    ("loopDetection.sequenceThreshold", 10_000, 0),
    ("loopDetection.identicalErrors.warn", 3, 0),
    ("loopDetection.identicalErrors.stop", 6, 7),
    ("loopDetection.identicalErrors.stop", 10_000, 0),
    ("loopDetection.detectors.genericRepeat", True, False),
    ("loopDetection.detectors.knownPollNoProgress", True, False),
    ("loopDetection.detectors.pingPong", True, False),
    ("loopDetection.postCompactionGuard.windowSize", 3, 4),
    ("limits", [{"per": "day", "usd": 5, "agent": "main"}], [{"per": "day", "usd": 5.5, "agent": "main"}]),
    ("notify.targets", {"a": {"command": ["x"]}, "b": {"url": "ntfy://h/t"}}, {"b": {"url": "ntfy://h/t"}}),
    ("limits", [{"per": "month", "tokens": 9, "usd": 1}], [{"per": "month", "usd": 1}]),
    ("limits", [{"per": "day", "usd": 1}, {"per": "day", "usd": 2}], [{"per": "day", "usd": 2}]),
    ("fleet.enabled", True, False),
    *((f"fleet.{name}", "/a", "/b") for name in ("dsn", "trust")),
    ("fleet.dsn", "dbname=a", ""),
    ("fleet.team", "ops", "dev"),
    ("fleet.trustWritable", False, True),
    ("fleet.whenAway", "block", "local"),
    ("fleet.whenStale", "stop", "keep"),
    ("fleet.staleSeconds", 60, 61),
    ("fleet.ship.audit", True, False),
    ("approval.signers", "/etc/toolguard/allowed_signers", ""),
    ("approval.revokedSigners", "/etc/toolguard/krl", ""),
    ("budget.mode", "enforce", "shadow"),
    ("budget.size", 1.0, 1.5),
    ("budget.initialTrust", 0.7, 0.8),
    *((f"budget.riskCosts.{level}", 0.5, 0.4) for level in ("SAFE", "LOW", "MEDIUM", "HIGH", "CRITICAL")),
    ("budget.toolRiskMap", {"exec": "HIGH"}, {"exec": "LOW"}),
    ("budget.toolRiskMap", {}, {"exec": "SAFE"}),
    ("budget.toolRiskMap", {"exec": "CRITICAL"}, {}),
    *((f"budget.drift.{signal}", 3, 0) for signal in ("escalatingAccess", "outwardCalls", "callsPerMinute")),
    *((f"budget.drift.{signal}", 3, 4) for signal in ("sameResource", "warnings", "minutesAlone")),
]
"""Setting, a value, and one that guards less."""

NAMES = ("fleet.dsn", "fleet.team", "fleet.trust", "approval.signers", "approval.revokedSigners")
"""Any other value is weaker."""

ALIKE: list[tuple[str, Any, Any]] = [
    ("logLevel", "debug", "warn"),
    ("neverBlock", ["a", "b"], ["b", "a", "a"]),
    ("budget.riskCosts.LOW", 1, 1.0),
    ("limits", [{"per": "day", "usd": 5}], [{"per": "day", "usd": 6}, {"per": "day", "usd": 5.0}]),
]


def nested(name: str, value: Any) -> dict[str, Any]:
    """The setting as it stands in the config; `None` is not written."""
    if value is None:
        return {}
    for step in reversed(name.split(".")):
        value = {step: value}
    found: dict[str, Any] = value
    return found


def under(name: str, value: Any) -> EffectiveSettings:
    return settings_of(parse(nested(name, value)))


@each_row(("name", "strict", "weak"), CASES, ids=str)
def test_the_direction_of_each_setting(name: str, strict: Any, weak: Any) -> None:
    (found,) = weaker(under(name, strict), under(name, weak))
    values = (under(name, each).values.get(name) for each in (strict, weak))
    assert (found.name, found.old, found.new, found.agent) == (name, *values, "")
    assert found.setting == name
    back = weaker(under(name, weak), under(name, strict))
    both = (name, strict) == ("neverBlock", ["a", "b"]) or (name in NAMES and bool(weak))
    assert [each.name for each in back] == ([name] if both else [])


@each_row(("name", "one", "other"), ALIKE, ids=str)
def test_values_that_guard_alike(name: str, one: Any, other: Any) -> None:
    assert weaker(under(name, one), under(name, other)) == weaker(under(name, other), under(name, one)) == ()


def test_another_list_of_signers_is_weaker_in_both_directions() -> None:
    """What is in a file is not known here."""
    one, other = (under("approval.signers", f"/etc/{name}") for name in ("a", "b"))
    assert [each.name for each in weaker(one, other)] == [each.name for each in weaker(other, one)] == ["approval.signers"]


def test_every_setting_has_a_direction_or_is_neutral() -> None:
    def leaves(schema: dict[str, Any], above: str = "") -> set[str]:
        found = set()
        for key, inner in schema.get("properties", {}).items():
            found |= leaves(inner, f"{above}{key}.") if "properties" in inner else {f"{above}{key}"}
        return found

    known = leaves(plugin_manifest.config_schema())
    ours = {name for name in ORDERS if name not in {PLUGIN, CONVERSATION}}
    neutral = {name for name in known if any(name == each or name.startswith(f"{each}.") for each in NEUTRAL)}
    assert known - {"agents"} == ours | neutral
    assert not ours & neutral
    assert {case[0] for case in CASES} == ours
    assert set(DEFAULTS) == set(ORDERS)


def test_the_plugin_and_its_hooks() -> None:
    given = settings_of(parse({}), conversation=True)
    taken = settings_of(parse({}), conversation=False)
    assert [each.name for each in weaker(given, taken)] == [CONVERSATION]
    assert weaker(taken, given) == ()
    assert weaker(given, settings_of(parse({}))) == (), "an older gateway part does not say"
    assert weaker(settings_of(parse({})), taken) == (), "it is off by default"
    (gone,) = weaker(given, settings_of(parse({}), plugin=False, conversation=True))
    assert gone.name == PLUGIN


@each_row(
    ("old", "new", "expected"),
    [
        ({}, {"main": {"mode": "shadow"}}, ["agents.main.mode changed from enforce to shadow"]),
        ({"main": {"mode": "enforce"}}, {"main": {"mode": "soft"}}, ["agents.main.mode changed from enforce to soft"]),
        ({"main": {"alwaysBlock": ["exec"]}}, {}, ["agents.main.alwaysBlock no longer names exec"]),
        ({"main": {"escalationThreshold": 20}}, {}, ["agents.main.escalationThreshold changed from 20 to 36"]),
        ({"main": {"escalationThreshold": 50}}, {}, []),
        ({}, {"main": {"escalationThreshold": 20}}, []),
        (
            {},
            {
                "a": {"loopDetection": {"enabled": False, "detectors": {"pingPong": False}}},
                "b": {"budget": {"mode": "disabled"}},
            },
            [
                "agents.a.loopDetection.enabled changed from not set to false",
                "agents.a.loopDetection.detectors.pingPong changed from true to false",
                "agents.b.budget.mode changed from shadow to disabled",
            ],
        ),
    ],
    ids=str,
)
def test_what_single_agents_have_of_their_own(old: Any, new: Any, expected: list[str]) -> None:
    found = weaker(settings_of(parse({"agents": old})), settings_of(parse({"agents": new})))
    assert [each.text for each in found] == expected


def test_what_an_agent_inherits_is_told_once() -> None:
    own = {"agents": {"main": {"escalationThreshold": 20}}}
    found = weaker(settings_of(parse(own)), settings_of(parse({**own, "mode": "shadow"})))
    assert [each.text for each in found] == ["mode changed from enforce to shadow"]


def test_settings_that_an_older_version_did_not_know_count_as_their_defaults() -> None:
    old = EffectiveSettings({"mode": "enforce"})
    assert weaker(old, DEFAULT) == ()
    assert [each.name for each in weaker(old, under("failMode", "open"))] == ["failMode"]


def test_what_a_newer_version_knows_stays_and_harms_nobody() -> None:
    newer = EffectiveSettings({**DEFAULT.values, "mode": "loudest", "later": 3}, {"main": {"alsoLater": True}})
    assert weaker(newer, DEFAULT) == ()
    assert raised(newer, DEFAULT).values["later"] == 3
    assert raised(newer, DEFAULT).agents == {"main": {"alsoLater": True}}


def test_hostile_names_are_shown_as_text() -> None:
    names = [f"tool\x1b[2J{number}" for number in range(8)]
    (found,) = weaker(DEFAULT, under("neverBlock", [*DEFAULT.values["neverBlock"], *names]))  # type: ignore[misc]
    assert found.text == "neverBlock also names " + ", ".join(f"tool<U+001B>[2J{n}" for n in range(5)) + " and 3 more"
    agent = "a" * 500
    (found,) = weaker(DEFAULT, settings_of(parse({"agents": {agent: {"mode": "soft"}}})))
    assert len(found.text) < 200


OVERRIDES = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["enforce", "soft", "shadow", "disabled"]),
        "escalationThreshold": st.integers(1, 100),
        "alwaysBlock": st.lists(st.sampled_from("abc"), max_size=3),
        "loopDetection": st.fixed_dictionaries(
            {}, optional={"enabled": st.booleans(), "identicalErrors": st.fixed_dictionaries({"warn": st.integers(0, 3)})}
        ),
    },
)
CONFIGS = st.builds(
    lambda general, more, agents: settings_of(parse({**general, **more, "agents": agents})),
    OVERRIDES,
    st.fixed_dictionaries(
        {},
        optional={
            "neverBlock": st.lists(st.sampled_from("abc"), max_size=3),
            "failMode": st.sampled_from(["closed", "open"]),
            "fleet": st.fixed_dictionaries({"team": st.sampled_from(["", "ops", "dev"])}),
            "budget": st.fixed_dictionaries(
                {"toolRiskMap": st.dictionaries(st.sampled_from("ab"), st.sampled_from(["SAFE", "HIGH", "CRITICAL"]))}
            ),
        },
    ),
    st.dictionaries(st.sampled_from(["main", "ops"]), OVERRIDES),
)
SETS = {"neverBlock", "alwaysBlock", "rulesOff", "budget.toolRiskMap", *NAMES}


@given(CONFIGS)
def test_nothing_is_weaker_than_itself(one: EffectiveSettings) -> None:
    assert weaker(one, one) == ()
    assert raised(one, one) == one


@given(CONFIGS, CONFIGS)
def test_only_lists_can_be_weaker_both_ways(one: EffectiveSettings, other: EffectiveSettings) -> None:
    there, back = ({(each.agent, each.name) for each in weaker(*pair)} for pair in ((one, other), (other, one)))
    assert {name for _, name in there & back} <= SETS


@given(CONFIGS, CONFIGS)
def test_the_measure_is_only_raised(one: EffectiveSettings, other: EffectiveSettings) -> None:
    after = raised(one, other)
    assert weaker(one, after) == ()
    assert {(each.agent, each.name) for each in weaker(after, other)} == {(c.agent, c.name) for c in weaker(one, other)}
    assert raised(after, other) == after


@given(CONFIGS, CONFIGS)
def test_what_is_accepted_is_not_weaker_any_more(one: EffectiveSettings, other: EffectiveSettings) -> None:
    assert weaker(accepting(raised(one, other), weaker(one, other)), other) == ()


@given(CONFIGS, CONFIGS)
def test_put_back_it_is_as_before(one: EffectiveSettings, other: EffectiveSettings) -> None:
    """Whatever was weaker meanwhile, the old settings are only weaker in what was stricter then."""
    meanwhile = {(each.agent, each.name) for each in weaker(one, other)}
    assert not meanwhile & {(each.agent, each.name) for each in weaker(raised(one, other), one)}
