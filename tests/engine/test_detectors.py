"""The detectors of repetition as tables: see `loop_play` for how a run is written."""

from __future__ import annotations

from typing import Any

import msgspec

from loop_play import Play, config, play
from tables import each_row
from toolguard_engine.config.settings import parse
from toolguard_engine.effects.calls.outcomes import Outcome, outcome
from toolguard_engine.guard import Guard
from toolguard_engine.layers import repetition
from toolguard_engine.layers.repetition import after_compaction, uniform_errors
from toolguard_engine.layers.repetition.identical_errors import ErrorCounters
from toolguard_engine.layers.repetition.unknown_tool import MissingToolCounters
from toolguard_engine.model.call import Call, Run
from toolguard_engine.stores.files.counters import to_plain

NO_ERRORS = {
    "warningThreshold": 3,
    "criticalThreshold": 5,
    "globalCircuitBreakerThreshold": 50,
    "identicalErrors": {"warn": 0, "stop": 0},
}
ALL_OFF = {"detectors": {"genericRepeat": False, "knownPollNoProgress": False, "pingPong": False}}
NO_GENERIC = {"detectors": {"genericRepeat": False}}
NO_POLL = {"detectors": {"knownPollNoProgress": False}}
NO_PING_PONG = {"detectors": {"pingPong": False}}


def own(warning: int = 3, critical: int = 5, breaker: int = 50, **more: Any) -> dict[str, Any]:
    """Settings of `loopDetection` with low thresholds, and without `identicalErrors`."""
    thresholds = {"warningThreshold": warning, "criticalThreshold": critical, "globalCircuitBreakerThreshold": breaker}
    return NO_ERRORS | thresholds | more


def errors(warn: int, stop: int) -> dict[str, Any]:
    return {"identicalErrors": {"warn": warn, "stop": stop}}


def spelled(did: dict[int, str]) -> str:
    """`3 note repeat; 6 block repeat`: what the guard did, by the number of the call."""
    return "; ".join(f"{number} {what.replace('loop.', '')}" for number, what in sorted(did.items()))


TABLE: list[tuple[str, str, dict[str, Any], str]] = [
    # what is default
    ("repeat", "A1*40", {}, "10 note repeat; 15 note repeat; 20 note repeat; 21 block repeat; 22 stop repeat"),
    ("poll", "P1*40", {}, "10 note poll; 15 note poll; 20 note poll; 21 block poll; 22 stop poll"),
    # warningThreshold, criticalThreshold
    ("below-warning", "A1*2 B1", own(), ""),
    ("at-warning", "A1*3", own(), "3 note repeat"),
    ("above-warning", "A1*4", own(), "3 note repeat"),
    ("at-critical", "A1*5", own(), "3 note repeat"),
    ("above-critical", "A1*6", own(), "3 note repeat; 6 block repeat"),
    ("something-else-goes", "A1*6 B1 C1", own(), "3 note repeat; 6 block repeat"),
    ("second-block", "A1*6 R1 A1", own(), "3 note repeat; 6 block repeat; 8 stop repeat"),
    ("second-block-beside-news", "A1*6 A1+B1", own(), "3 note repeat; 6 block repeat; 7 end repeat"),
    ("second-block-of-another", "A1*6 B1*6", own(), "3 note repeat; 6 block repeat; 9 note repeat; 12 stop repeat"),
    ("every-fifth", "A1*14", own(critical=40), "3 note repeat; 8 note repeat; 13 note repeat"),
    ("something-between", "A1 R@nn R@nn A1 R@nn A1", own(**NO_PING_PONG), "6 note repeat"),
    # progress
    ("progress", "An*60", own(), ""),
    ("progress-of-a-poll", "Pn*60", own(), ""),
    ("progress-in-between", "A1*2 A2 A1*2 A2", own(), ""),
    ("good-calls", "B@n1*50", own(), ""),
    ("edit-and-test", "E!1.n W@nn " * 25, own(), ""),
    ("edit-and-test-in-the-same-words", "E!1 W@n1 " * 50, own(warning=4, historySize=100), ""),
    ("edits-and-test", "E!1 R1 W@nn W@nn R1 " * 30, own(warning=5, critical=7, historySize=100), ""),
    ("tests-between-edits", "E!1*3 W@n1 " * 20, own(warning=5, critical=7, historySize=100), ""),
    ("tests-behind-an-edit", "W1 E!1*4 W@n1 E!1*5", own(warning=5), "11 note repeat"),
    ("looks-are-no-progress", "E!1 R@nn " * 5, own(**NO_PING_PONG), "5 note repeat"),
    ("failures-are-no-progress", "E!1 W@n!n " * 5, own(**NO_PING_PONG), "5 note repeat"),
    ("two-writes-in-turn", "W@1n W@2n " * 9, own(), ""),
    ("known-writes-in-turn", "W@11 W@21 " * 9, own(**NO_GENERIC), "3 note ping-pong; 6 block ping-pong; 7 stop ping-pong"),
    ("one-write-over-and-over", "W1*9", own(), "3 note repeat; 6 block repeat; 7 stop repeat"),
    (
        "four-writes-in-turn",
        "W@11 W@21 W@31 W@41 " * 9,
        own(breaker=100),
        "9 note breaker; 12 note repeat; 13 note repeat; 14 note repeat; 15 note repeat; 24 block repeat; 25 stop repeat",
    ),
    # failures
    ("failure", "E!1*5", own(), "3 note repeat"),
    ("failure-with-a-counter", "E@n!1.n*7", own(), "3 note repeat; 6 block repeat; 7 stop repeat"),
    ("failure-that-may-pass", "E@n?1.n*5", own(), "3 note repeat"),
    ("other-words", "E@n!n*30", own(), ""),
    ("success-with-a-counter", "E@n1*30", own(), ""),
    # freely varying failures
    ("varying", "T@n;1*9", own(), "3 note repeat; 6 block repeat; 7 stop repeat"),
    ("varying-and-told-nothing", "T@n?1*25", own(), ""),
    ("varying-in-other-words", "T@n;n*25", own(), ""),
    ("varying-between-news", "T@n;1 R@nn " * 25, own(**NO_PING_PONG), ""),
    ("varying-between-the-known", "T@n;1 R1 " * 4, own(**NO_PING_PONG), "6 note repeat; 7 note repeat; 8 note breaker"),
    ("varying-between-other-failures", "T@n;1 R@n!n " * 4, own(**NO_PING_PONG), "5 note repeat"),
    ("the-very-same-between-news", "T@1;1 R@nn " * 3, own(**NO_PING_PONG), "5 note repeat"),
    ("one-call-says-nothing-of-another", "T@1;1*5 T@2;1 T@3;1", own(), "3 note repeat; 6 note breaker"),
    ("the-very-same-with-other-numbers", "T@1;1.n*30", own(), ""),
    ("breaker-of-varying", "T@n;1*9", own(warning=8, critical=4, breaker=6, **ALL_OFF), "5 note breaker; 7 end breaker"),
    ("success-ends-it", "E!1*2 E1 E!1*2 E1", own(), ""),
    # pingPong
    ("ping-pong", "A1 B1 " * 5, own(**NO_GENERIC), "3 note ping-pong; 6 block ping-pong; 7 stop ping-pong"),
    (
        "ping-pong-default",
        "A1 B1 " * 20,
        NO_GENERIC,
        "10 note ping-pong; 15 note ping-pong; 20 note ping-pong; 21 block ping-pong; 22 stop ping-pong",
    ),
    ("ping-pong-of-failures", "E@n!1 R@n!2 " * 2, own(**NO_GENERIC), "3 note ping-pong"),
    ("ping-pong-with-progress", "A1 Bn " * 15, own(warning=16, critical=20), ""),
    ("one-call-two-results", "A1 A2 " * 15, own(breaker=100), "7 note breaker"),
    ("not-strict", "A1 B1 B1 A1 B1 B1 A1", own(warning=4, critical=9, **NO_GENERIC), ""),
    # detectors off, one by one
    ("no-generic", "A1*12", own(**NO_GENERIC), "6 note breaker"),
    ("no-poll", "P1*12", own(**NO_POLL), "6 note breaker"),
    ("no-poll-but-generic", "P1*2 A1*3", own(**NO_POLL), "5 note repeat"),
    ("no-generic-but-poll", "A1*2 P1*3", own(**NO_GENERIC), "5 note poll"),
    ("no-ping-pong", "A1 B1 " * 2, own(**NO_PING_PONG), ""),
    # historySize
    ("short-history", "A1*60", own(historySize=2, breaker=100), "6 note breaker"),
    ("history-as-long", "A1*6", own(historySize=5), "3 note repeat; 6 block repeat"),
    ("history-between", "A1*4 A1*20", own(historySize=4, breaker=100), "3 note repeat; 6 note breaker"),
    ("out-of-history", "A1 B@n1*3 A1 B@n1*3 A1", own(historySize=3), ""),
    ("in-history", "A1 R@n1 A1 R@n1 A1", own(historySize=5, **NO_PING_PONG), "5 note repeat"),
    # globalCircuitBreakerThreshold
    (
        "breaker-of-three",
        "A1 B1 C1 " * 20,
        {},
        "23 note breaker; 28 note repeat; 29 note repeat; 30 note repeat; 33 end breaker",
    ),
    ("breaker-of-eight", "A1 B1 C1 D1 F1 G1 H1 I1 " * 8, {}, "28 note breaker; 38 end breaker"),
    ("breaker-below", "A1 B1 C1 " * 3, own(warning=9, critical=20, breaker=7), "9 note breaker"),
    ("breaker-at", "A1 B1 C1 " * 4, own(warning=9, critical=20, breaker=7), "9 note breaker; 10 end breaker"),
    ("breaker-progress", "A1 B1 C1 A1 B1 C1 Dn " * 20, {"warningThreshold": 30}, ""),
    ("breaker-with-all-off", "A1*40", ALL_OFF, "21 note breaker; 31 end breaker"),
    ("breaker-of-polls", "P1*40", ALL_OFF, "21 note breaker; 31 end breaker"),
    (
        "breaker-of-failures",
        "E@n?1 R@n?2 A@n?3 " * 5,
        own(critical=4, breaker=6, warning=20),
        "7 note breaker; 9 end breaker",
    ),
    ("breaker-first", "A1 A1", own(breaker=1), "2 end breaker"),
    # identicalErrors
    ("errors", "R!1*9", {}, "3 note same-error; 6 end same-error"),
    ("errors-below", "R!1*2 R!2*2", {}, ""),
    ("errors-own", "R!1*9", errors(1, 2), "1 note same-error; 2 end same-error"),
    ("errors-no-note", "R!1*9", errors(0, 4), "4 end same-error"),
    ("errors-no-end", "R!1*9", errors(4, 0), "4 note same-error"),
    ("errors-off", "R!1*9", errors(0, 0), ""),
    (
        "errors-noted-and-ended-at-once",
        "T@1!1 T@2!1 T@3!1 T@1!1 T@4!1 T@5!1 T@6!1 T@7!1 T@1!1 T@8!1",
        own(3, 6, 9, **errors(3, 6)),
        "3 note same-error; 9 end same-error",
    ),
    ("errors-with-a-counter", "E@n!1*9", {}, "3 note same-error; 6 end same-error"),
    ("errors-varying", "T@n:1*9", {}, "3 note same-error; 6 end same-error"),
    ("errors-varying-that-name-nothing", "T@n!1*12", {}, "10 note same-error"),
    ("errors-varying-that-may-pass", "T@n?1*12", {}, ""),
    ("errors-varying-in-numbers", "T@n:1.n*9", {}, ""),
    ("errors-varying-between-news", "T@n:1 R@nn " * 9, {}, ""),
    ("errors-varying-between-the-known", "T@n:1 R1 " * 9, NO_PING_PONG, "7 note same-error; 13 end same-error"),
    ("errors-varying-between-writes", "T@n:1 T@n:1 W@n1 " * 9, {}, ""),
    ("errors-varying-in-one-message", "T@n:1+T@n:1+T@n:1+T@n:1+T@n:1+T@n:1", {}, ""),
    ("errors-varying-in-messages", "T@n:1+T@n:1 " * 6, {}, "5 note same-error; 11 end same-error"),
    ("errors-in-other-numbers", "E@n!1.n*9", {}, ""),
    ("errors-that-may-pass", "R?1*9", {}, ""),
    ("errors-of-a-poll", "P!1*9", {}, "3 note same-error; 6 end same-error"),
    ("errors-of-a-poll-that-may-pass", "P?1*9", {}, ""),
    ("errors-in-turn", "R!1 E!2 " * 9, {}, "5 note same-error; 6 note same-error; 10 note ping-pong; 11 end same-error"),
    ("errors-between-reads", "R!1 R@n1 " * 9, {}, "5 note same-error; 11 end same-error"),
    ("errors-between-writes", "R!1 R!1 W@nn " * 4, {}, ""),
    ("errors-between-the-same-write", "R!1 W1 " * 9, NO_PING_PONG, "7 note same-error; 13 end same-error"),
    ("errors-between-two-same-writes", "R!1 W@11 R!1 W@21 " * 9, NO_PING_PONG, "9 note same-error; 15 end same-error"),
    ("errors-between-failing-writes", "R!1 W@n!n " * 6, {}, "5 note same-error; 11 end same-error"),
    # the guard after a compaction
    ("compaction", "~ A1*5", {}, "3 end compaction_loop_persisted"),
    ("compaction-below", "A1*2 ~ A1*2 B1 A1", {}, ""),
    ("compaction-other-result", "~ A1*2 A2*5", {}, ""),
    ("compaction-late", "~ B1 A1*6", {}, ""),
    ("compaction-again", "~ B1 A1 ~ A1*3", {}, "5 end compaction_loop_persisted"),
    ("compaction-own", "~ A1*5", {"postCompactionGuard": {"windowSize": 5}}, "5 end compaction_loop_persisted"),
    ("compaction-one", "~ A1 B1 B1", {"postCompactionGuard": {"windowSize": 1}}, ""),
    ("compaction-one-again", "~ A1 A1", {"postCompactionGuard": {"windowSize": 1}}, "2 end compaction_loop_persisted"),
    ("compaction-of-failures", "~ E?1*5", {}, "3 end compaction_loop_persisted"),
    ("compaction-other-numbers", "~ E@n?1*5", {}, ""),
    ("compaction-of-one-message", "~ A1+A1+A1 A1 B1", {}, ""),
    ("compaction-of-messages", "~ A1+A1+A1 A1 A1", {}, "5 end compaction_loop_persisted"),
    # calls of one message
    ("batch", "A1+A1+A1+A1+A1+A1+A1+A1+A1", own(), ""),
    ("batches", "A1+A1 A1+A1 A1+A1", own(), "5 note repeat"),
    ("batch-at-critical", "A1*5 A1+A1+A1", own(), "3 note repeat; 6 block repeat"),
    ("batch-after-critical", "A1*6 A1+A1", own(), "3 note repeat; 6 block repeat; 7 stop repeat"),
    ("batch-of-errors", "R!1+R!1+R!1+R!1+R!1+R!1", {}, ""),
    ("batches-of-errors", "R!1+R!1 " * 6, {}, "5 note same-error; 11 end same-error"),
    ("batch-of-counters", "E@n!1+E@n!1+E@n!1+E@n!1+E@n!1+E@n!1", {}, ""),
    ("batch-of-known", "A1+B1+C1+D1+F1+G1 " * 2, own(warning=20, critical=3, breaker=5), "9 note breaker"),
    ("batches-of-known", "A1+B1+C1+D1+F1+G1 " * 3, own(warning=20, critical=3, breaker=5), "9 note breaker; 13 end breaker"),
    ("batches-in-turn", "A1+B1 " * 4, own(**NO_GENERIC), "3 note ping-pong; 7 block ping-pong"),
]


def test_the_law() -> None:
    found = {name: spelled(play(text, settings)) for name, text, settings, _ in TABLE}
    assert found == {name: expected for name, _, _, expected in TABLE}
    assert len(found) == len(TABLE)


ABSENT = [
    ("repeat", "A1*60", ""),
    ("poll", "P1*60", ""),
    ("ping-pong", "A1 B1 " * 30, ""),
    ("errors", "R!1*9", "3 note same-error; 6 end same-error"),
    ("compaction", "~ A1*9", "3 end compaction_loop_persisted"),
]


@each_row(("text", "expected"), [row[1:] for row in ABSENT], ids=[row[0] for row in ABSENT])
def test_enabled_is_absent(text: str, expected: str) -> None:
    low = {"warningThreshold": 2, "criticalThreshold": 3, "globalCircuitBreakerThreshold": 4}
    for settings in ({}, {"loopDetection": low}):
        assert spelled(Play(parse(settings)).play(text)) == expected


@each_row("text", [row[1] for row in ABSENT], ids=[row[0] for row in ABSENT])
def test_enabled_is_false(text: str) -> None:
    played = Play(parse({"loopDetection": {"enabled": False}}))
    assert played.play(text) == {}
    assert played.guard.compacted("r", "") == 0


def test_an_agent_has_settings_of_its_own() -> None:
    agents = {
        "patient": {"loopDetection": {"warningThreshold": 20, "criticalThreshold": 25}},
        "off": {"loopDetection": {"enabled": False}},
        "some": {"loopDetection": {"detectors": {"genericRepeat": False}, "globalCircuitBreakerThreshold": 7}},
    }
    settings = config(own(), agents=agents)
    did = {agent: spelled(Play(settings, agent).play("A1*9")) for agent in ("", *agents)}
    assert did == {
        "": "3 note repeat; 6 block repeat; 7 stop repeat",
        "patient": "",
        "off": "",
        "some": "6 note breaker; 8 end breaker",
    }
    assert Play(settings, "patient").play("A1*20") == {20: "note loop.repeat"}


def test_exempt_tools_are_neither_counted_nor_noted() -> None:
    exempt = {"neverBlock": ["tool_a", "read"]}
    assert play("A1*60 R!1*60", own(breaker=15), **exempt) == {}
    assert Play(parse(exempt)).play("R!1*60") == {}
    guard = Guard(config(own(), **exempt), {})
    guard.compacted("r", "")
    call = Call("read", {"path": "a"}, run="r")
    assert [guard.wanted(call, guard.config_for("")), guard.on_result(call, Outcome(1)).code] == ["tell", ""]
    assert [guard.on_result(call, Outcome(1)).code for _ in range(9)] == [""] * 9


def test_what_an_exempt_tool_may_have_changed_is_progress() -> None:
    exempt = {"neverBlock": ["write"]}
    assert play("E!1 W@nn " * 25, own(), **exempt) == {}
    assert spelled(play("E!1 W1 " * 4, own(), **exempt)) == "7 note repeat"
    assert play("R!1 W@nn " * 25, **exempt) == {}


def test_shadow_only_tells() -> None:
    shadow = Play(config(own(), mode="shadow")).play("A1*5")
    assert shadow == {3: "note loop.repeat"}
    guard = Play(config(own(), mode="disabled"))
    assert guard.play("A1*30") == {}


UNKNOWN = [
    ("below", ["nosuch"] * 3, {}, None),
    ("at", ["nosuch"] * 4, {}, 4),
    ("others", ["nosuch", "another"] * 3, {}, None),
    ("spelled-otherwise", ["nosuch", "NoSuch"] * 2, {}, 4),
    ("own", ["nosuch"] * 4, {"unknownToolThreshold": 2}, 2),
    ("off", ["nosuch"] * 20, {"enabled": False}, None),
]


@each_row(("tools", "more", "ends"), [row[1:] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN])
def test_unknown_tools(tools: list[str], more: dict[str, Any], ends: int | None) -> None:
    settings, run = config({"unknownToolThreshold": 4, **more}), Run()
    calls = [Call(tool, {"n": number}, run="r", request=number) for number, tool in enumerate(tools, 1)]
    stops = [repetition.on_unknown_tool(call, run, settings) for call in calls]
    assert next((number for number, stop in enumerate(stops, 1) if stop), None) == ends
    assert (run.stop is not None) == (ends is not None)
    if run.stop:
        assert run.stop.code == "loop.unknown-tool"


def test_unknown_tools_of_one_message_are_one_miss() -> None:
    settings, run = config({"unknownToolThreshold": 2}), Run()
    assert not any(repetition.on_unknown_tool(Call("nosuch", {}, request=1), run, settings) for _ in range(9))
    assert repetition.on_unknown_tool(Call("nosuch", {}, request=2), run, settings)


def test_what_is_remembered_is_bounded() -> None:
    settings, run = config(own(unknownToolThreshold=10_000, **errors(9, 10))), Run()
    for number in range(500):
        repetition.on_unknown_tool(Call(f"{'n' * 500}{number}", {}), run, settings)
        repetition.on_unknown_tool(Call(f"{number}{'n' * 500}", {}), run, settings)
        repetition.on_outcome(
            Call(f"{number}", {}), Outcome(number, failed=True, wording=number, lasting=True), run, settings
        )
    past, missing = run.past, run.counters.get(MissingToolCounters).missing
    errors_of_run = run.counters.get(ErrorCounters).errors
    assert [len(missing), len(errors_of_run), len(past.calls), len(past.series)] == [200, 200, 30, 30]
    assert len(msgspec.json.encode(to_plain(run))) < 40_000


def test_a_result_that_the_gateway_cut_off_is_the_same_again() -> None:
    """It has such a guard itself, and may be first."""
    call = Call("read", {"path": "a.txt"}, run="r")
    settings = config()

    def codes(*came: Outcome) -> list[str]:
        guard = Guard(settings, {})
        guard.compacted("r", "")
        return [guard.on_result(call, outcome).code for outcome in came]

    same, aborted = Outcome(1, exact=1), outcome("read", call.params, "Aborted", 7, "", None, failed=True)
    assert codes(same, same, aborted) == ["", "", after_compaction.CODE]
    assert codes(same, Outcome(2, exact=2), aborted) == ["", "", ""]
    assert codes(aborted, same, same) == ["", "", ""]


def test_after_a_compaction_only_what_is_identical_in_every_character_is_a_loop() -> None:
    def ends(command: str, *shown: str, rest: tuple[str, ...] = ("", "", "")) -> list[bool]:
        guard = Guard(parse({}), {})
        guard.compacted("r", "")
        calls = [Call("exec", {"command": command.replace("#", str(n))}, run="r", request=n) for n in (1, 2, 3)]
        came = [
            outcome("exec", call.params, text, len(text), "completed", 0, failed=False, rest=more)
            for call, text, more in zip(calls, shown, rest, strict=True)
        ]
        return [guard.on_result(call, each).stop is not None for call, each in zip(calls, came, strict=True)]

    times = [f"2026-11-22T10:00:0{n}+00:00\nrunning" for n in (1, 2, 3)]
    assert ends("date -Is; cat job.state", *times) == [False] * 3
    assert ends("cat job.state", *["running"] * 3) == [False, False, True]
    assert ends("cat job.state", *["running"] * 3, rest=("a", "a", "b")) == [False] * 3
    assert ends("cat /tmp/tmp.abcdefgh0#", *["running"] * 3) == [False] * 3


@each_row(("warn", "stop", "is_on"), [(3, 6, True), (3, 0, True), (0, 6, True), (0, 0, False)])
def test_identical_errors_count_if_anything_comes_of_them(warn: int, stop: int, *, is_on: bool) -> None:
    settings = parse({"loopDetection": {"identicalErrors": {"warn": warn, "stop": stop}}}).loop_detection
    assert uniform_errors.is_on(settings) is is_on
