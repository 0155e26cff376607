"""What was counted in a run outlives the engine that counted it, and a store that is lost costs patience only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk
from tables import each_row
from toolguard_engine.config.settings import parse
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.guard import Guard
from toolguard_engine.layers.repetition.after_compaction import CompactionCounters
from toolguard_engine.layers.repetition.identical_errors import ErrorCounters
from toolguard_engine.layers.repetition.loop_counters import BlockCounters
from toolguard_engine.layers.repetition.unknown_tool import MissingToolCounters
from toolguard_engine.model import run_counters
from toolguard_engine.model.call import Call, Failure, Identical, ParameterProblem, Run, Stop
from toolguard_engine.model.history import Count, Past
from toolguard_engine.model.run_counters import CounterSet
from toolguard_engine.stores.files import counters
from toolguard_engine.stores.files.counters import Counters
from toolguard_engine.stores.locked import Damaged

STARTED = 1_000_000.0
RUN = Run(
    3,
    1,
    {
        b"read\0{}": Identical(Failure("validation", (ParameterProblem("path", missing=True, detail="is required"),)), 2, 3),
        bytes(range(64)): Identical(Failure("held", expected="e"), 1, 2, searched=True, nonce="a3f8c1d2"),
    },
    Stop("loop.identical", "text\nof \u202e it"),
    Past([2**63 - 1, 1], [0, 2], [3, 4], [3, 5], stale=1),
    9.5,
)
RUN.counters.get(ErrorCounters).errors[2**60 - 1] = Count(2, 7)
RUN.counters.get(MissingToolCounters).missing["no such"] = Count(1)


class Clock:
    def __init__(self) -> None:
        self.now = STARTED

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(counters, "time", made)
    return made


def test_what_is_kept_comes_back_whole(tmp_path: Path) -> None:
    Counters(tmp_path).save({"r": RUN, "nothing": Run()})
    assert Counters(tmp_path).load() == {"r": RUN, "nothing": Run()}
    assert (tmp_path / "toolguard" / "counters.json").stat().st_mode & 0o777 == 0o600


def test_what_an_earlier_version_counted_goes_on(tmp_path: Path, clock: Clock) -> None:
    """It had one struct for the steps and the counters of all detectors, and had what other versions counted as well."""
    past = {"calls": [5], "families": [0], "results": [6], "series": [6], "stale": 2, "errors": {"7": [3, 4]},
            "criticals": [1, 2], "armed": 3, "noted_at": 9, "frobs": {"1": 2}}  # fmt: skip
    saved = {"at": clock.now, "run": {"failures": 1, "stop": None, "past": past, "used": 2.5, "session": "s"}}
    place = tmp_path / "toolguard" / "counters.json"
    place.parent.mkdir()
    place.write_text(json.dumps({"v": 1, "runs": {"r": saved}}))
    run = Counters(tmp_path).load()["r"]
    assert (run.past, run.failures, run.used) == (Past([5], [0], [6], [6], stale=2), 1, 2.5)
    assert run.counters.get(ErrorCounters).errors == {7: Count(3, 4)}
    assert run.counters.get(BlockCounters).criticals == Count(1, 2)
    Counters(tmp_path).save({"r": run})
    kept = json.loads(place.read_text())["runs"]["r"]["run"]["past"]
    assert kept == past


def test_counters_that_no_engine_wrote_are_dropped() -> None:
    counters = CounterSet({"errors": "many", "armed": 2})
    assert counters.get(ErrorCounters) == ErrorCounters()
    assert counters.get(CompactionCounters).armed == 2


def test_only_what_this_version_counts_says_that_a_run_matters() -> None:
    others = {"frobs": {"1": 2}}
    assert not CounterSet(others).matters
    assert CounterSet(others).stored() == others
    assert CounterSet({**others, "criticals": [1, 2]}).matters
    assert not CounterSet({**others, "criticals": [0, 0]}).matters


def test_no_two_detectors_count_under_one_name() -> None:
    kinds = list(_kinds(run_counters.DetectorCounters))
    names = [name for kind in kinds for name in kind.__struct_fields__]
    assert len(kinds) > 8
    assert len(names) == len({*names, *Past.__struct_fields__}) - len(Past.__struct_fields__)


def _kinds(kind: type[run_counters.DetectorCounters]) -> Iterator[type[run_counters.DetectorCounters]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def test_nothing_was_kept(tmp_path: Path) -> None:
    assert Counters(tmp_path).load() == {}
    assert list(tmp_path.iterdir()) == []


def test_two_engines_merge(tmp_path: Path) -> None:
    one, other = Counters(tmp_path), Counters(tmp_path)
    one.save({"a": Run(1), "shared": Run(1)})
    other.save({"b": Run(2), "shared": Run(2)})
    one.save({"a": None, "c": Run(3), "never": None})
    assert Counters(tmp_path).load() == {"b": Run(2), "shared": Run(2), "c": Run(3)}


def test_old_runs_are_dropped(tmp_path: Path, clock: Clock) -> None:
    store = Counters(tmp_path)
    store.save({"old": Run(1)})
    clock.now = STARTED + 1_800
    store.save({"new": Run(2)})
    clock.now = STARTED + 3_600
    assert store.load() == {"old": Run(1), "new": Run(2)}
    clock.now = STARTED + 3_601
    assert store.load() == {"new": Run(2)}
    store.save({})
    assert "old" not in (tmp_path / "toolguard" / "counters.json").read_text()


def test_the_newest_runs_are_kept(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MAX_RUNS", 3)
    store = Counters(tmp_path)
    for number in range(5):
        clock.now += 1
        store.save({f"r{number}": Run(number)})
    assert sorted(store.load()) == ["r2", "r3", "r4"]


DAMAGES: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("cut", lambda data: data[:-10]),
    ("empty", lambda data: b""),  # noqa: ARG005
    ("garbage", lambda data: b"\xff" + data),
    ("other-shape", lambda data: b'{"v":1,"runs":{"r":{"at":"now"}}}'),  # noqa: ARG005
]


@pytest.mark.parametrize("damage", [row[1] for row in DAMAGES], ids=[row[0] for row in DAMAGES])
def test_a_damaged_file_is_kept(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    store = Counters(tmp_path)
    store.save({"r": RUN})
    place = tmp_path / "toolguard" / "counters.json"
    broken = damage(place.read_bytes())
    place.write_bytes(broken)
    with pytest.raises(Damaged, match="was damaged and is kept as"):
        store.load()
    with pytest.raises(Damaged, match="is what is left of a damaged store"):
        store.save({"r": Run()})
    (kept,) = place.parent.glob("counters.json.corrupt-*")
    assert kept.read_bytes() == broken
    kept.unlink()
    store.save({"r": RUN})
    assert store.load() == {"r": RUN}


TOUCHES = [
    ("failure", ["failed"], True),
    ("success", ["failed", "taken", "done"], True),
    ("success-of-nothing", ["done"], False),
    ("loop", ["done", "taken", "done"], True),
    ("stopped-message", ["failed", "failed", "taken", "message"], True),
    ("message", ["failed", "taken", "message"], False),
    ("question", ["failed", "taken", "judge"], False),
    ("unknown-end", ["ended"], False),
]


@each_row(("events", "touched"), [row[1:] for row in TOUCHES], ids=[row[0] for row in TOUCHES])
def test_what_changes_a_run_is_saved(events: list[str], *, touched: bool) -> None:
    config = parse({"loopDetection": {"enabled": True}})
    guard, call = Guard(config, {}), Call("read", {}, run="r")
    acts: dict[str, Callable[[], object]] = {
        "failed": lambda: guard.failed(call, "Tool read not found", judged=False),
        "done": lambda: guard.on_result(call, Outcome(1)),
        "message": lambda: guard.message("r", "", [call]),
        "judge": lambda: guard.judge(call),
        "ended": lambda: guard.ended("r"),
        "taken": guard.take_touched,
    }
    for event in events:
        acts[event]()
    assert list(guard.take_touched()) == (["r"] if touched else [])
    assert guard.take_touched() == {}


# --- with an engine ------------------------------------------------------------------------------------------------------


@pytest.fixture
def engines(start: Callable[[], Talk], state: Path) -> Callable[..., Talk]:
    """Starts engines of one state directory."""

    def greeted(config: Any = None) -> Talk:
        talk = start()
        assert talk.hello(state, config)["type"] == "ready"
        return talk

    return greeted


def kill(talk: Talk) -> None:
    """A second after the last message: what is written behind the answers is on the disk by then."""
    talk.later(1.5)
    talk.kill()


def test_a_kill_in_the_middle_of_a_run_forgets_nothing(engines: Callable[[], Talk]) -> None:
    first = engines()
    assert first.failed(request=1)["text"].startswith("[TOOL ERROR]")
    assert first.failed(request=2)["text"].startswith("[LOOP DETECTED]")
    kill(first)
    second = engines()
    third = second.failed(request=3)
    assert third["stop"].startswith("[TOOL ERROR LIMIT]")
    stopped = second.ask(id=4, type="message", run="r", calls=[{"tool": "write", "params": {}}])
    assert stopped == {"type": "stopped", "id": 4, "stop": third["stop"]}
    kill(second)
    asked = engines().ask(id=5, type="judge", run="r", tool="write", params={})
    assert (asked["decision"], asked["stop"]) == ("block", third["stop"])


def test_held_calls_are_counted_on_too(tmp_path: Path, engines: Callable[[Any], Talk]) -> None:
    question = {"id": 1, "type": "judge", "tool": "exec", "params": {"command": "ls"}, "run": "r", "session": "s"}
    config = {"alwaysBlock": ["exec"]}
    first = engines(config)
    held = first.ask(**question)
    assert "already waiting" in first.ask(**question)["text"]
    kill(first)
    nonce = held["text"].split("|")[1]
    message = {"id": 2, "type": "message", "run": "r", "calls": [{"tool": "exec", "params": {"command": "ls"}}]}
    assert engines(config).ask(**message)["stop"].splitlines() == [
        "This turn ends here: a call is waiting for approval.",
        f"Approve with `toolguard approve {nonce}` in a terminal or `/toolguard approve {nonce}` in chat.",
    ]


def test_a_success_is_kept_too(tmp_path: Path, engines: Callable[[], Talk]) -> None:
    first = engines()
    first.failed(request=1)
    first.send(type="came", tool="read", params={}, run="r")
    kill(first)
    assert engines().failed(request=3)["text"].startswith("[TOOL ERROR]")


def test_the_end_of_a_run_is_kept_too(tmp_path: Path, engines: Callable[[], Talk]) -> None:
    first = engines()
    first.failed(request=1)
    first.failed(request=2)
    first.failed(request=1, run="another")
    first.send(type="run-end", run="r", session="s")
    assert first.end() == []
    assert list(Counters(tmp_path / "state").load()) == ["another"]


def test_a_damaged_file_is_told_once_and_stops_nothing(tmp_path: Path, engines: Callable[[], Talk]) -> None:
    place = tmp_path / "state" / "toolguard" / "counters.json"
    place.parent.mkdir(parents=True)
    place.write_bytes(b'{"v":1,"runs":{"r"')
    talk = engines()
    reported = talk.read()
    (kept,) = place.parent.glob("counters.json.corrupt-*")
    assert kept.read_bytes() == b'{"v":1,"runs":{"r"'
    text = f"the counts of an earlier engine are lost: {place} was damaged and is kept as {kept.name}; "
    assert reported == {"type": "log", "level": "warn", "text": f"{text}run `toolguard doctor --fix`"}
    seen: list[Any] = []
    for number in range(1, 4):  # each time it tries to save
        answers = [talk.failed(number, run=f"r{number}", request=request) for request in (1, 2, 3)]
        seen += [answer for answer in answers if answer["type"] == "log"]
        talk.later(1.5)
        seen += talk.said()
    logs = [said["text"] for said in [*seen, *talk.end()] if said["type"] == "log"]
    assert logs == [f"counts cannot be saved: {kept} is what is left of a damaged store; run `toolguard doctor --fix`"]
    assert not place.exists()
