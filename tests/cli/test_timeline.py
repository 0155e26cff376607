"""`toolguard timeline`: a night of three agents, told by session and run, and found again by what was asked and answered."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_stage import texts

from toolguard_cli.commands import timeline
from toolguard_cli.status import timeline_lines
from toolguard_cli.system.errors import WrongOptionError
from toolguard_cli.system.paths import Places
from toolguard_engine.metrics import queries
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.queries import TimelineFilter, timelines
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.transactions import transaction
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.stores.undo.undo_entry import UndoCause
from toolguard_engine.stores.undo.undo_folder import UndoFolder
from toolguard_engine.wording import printable

NOW = 1_750_000_000_000
MINUTE = 60_000
AGENTS = ("main", "coder", "night")


@pytest.fixture
def path(places: Places, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(places.state_dir.parent))
    monkeypatch.delenv("OPENCLAW_HOME", raising=False)
    monkeypatch.setattr(time, "time_ns", lambda: NOW * 1_000_000)
    configure(places, enabled=True)
    return places.state_dir / "metrics.db"


def configure(places: Places, **metrics: Any) -> None:
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"config": {"metrics": metrics}}}}}))


def put(path: Path, *rows: CallRecord | VerdictRecord) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, [row for row in rows if isinstance(row, CallRecord)])
        record_verdicts(connection, [row for row in rows if isinstance(row, VerdictRecord)])


def asked(agent: str, at: int, cost: float | None = 0.01) -> CallRecord:
    return CallRecord(
        NOW - at, "home", agent, f"agent:{agent}:main", "", "p", "big", 10, 5, 0, 0, 15, cost, 0, 900, "completed"
    )


def decided(agent: str, at: int, kind: str = "allow", **more: Any) -> VerdictRecord:
    decision = {"hold": "hold", "block": "block"}.get(kind, "allow")
    usual = {"run": f"{agent}-run", "tool": "exec", "decision": decision, "kind": kind}
    return VerdictRecord(NOW - at, "home", agent, f"agent:{agent}:main", **usual | more)


def night() -> list[CallRecord | VerdictRecord]:
    """400 model calls, 900 tool calls, 12 held calls and their answers, a loop and a cap."""
    rows: list[CallRecord | VerdictRecord] = [
        *(asked(AGENTS[number % 3], 400 * MINUTE - number * MINUTE) for number in range(400)),
        *(decided(AGENTS[number % 3], 400 * MINUTE - number * 26_000) for number in range(900)),
    ]
    for number in range(12):
        at, nonce = (390 - 30 * number) * MINUTE, f"{number:08x}"
        shown = f'exec({{ command: "rm -rf ~/old-{number}" }})'
        rows.append(
            decided("night", at, "hold", nonce=nonce, shown=shown, reason="It deletes a folder.", event=f"h{number}")
        )
        answer = "approve" if number % 2 else "deny"
        rows.append(decided("night", at - 1_000, answer, nonce=nonce, person="ana", shown=shown, event=f"a{number}"))
    rows.append(decided("coder", 100 * MINUTE, "loop", reason="the same call failed 3 times", shown="read({ path: 1 })"))
    rows.append(decided("main", 90 * MINUTE, "stop", reason="the limit of 219 turns is reached", event="s"))
    return rows


def told(places: Places, **options: Any) -> list[str]:
    return texts(timeline.run(places, **{"since": "8h"} | options))


def test_a_night_is_found_in_one_command(places: Places, path: Path) -> None:
    put(path, *night())
    data = timeline.run(places, since="8h", as_json=True).data
    assert (len(data["events"]), data["isCut"], data["totals"]["calls"]) == (400 + 900 + 26, False, 400)
    of_night = told(places, agent="night", find="old-3")
    held = next(line for line in of_night if "  held  " in line)
    answered = next(line for line in of_night if "  approved  " in line)
    assert "rm -rf ~/old-3" in held
    assert "(00000003)" in held
    assert "It deletes a folder." in held
    assert "by ana" in answered
    assert any("219 turns" in line for line in told(places, find="219"))
    assert any("loop corrected" in line for line in told(places, agent="coder", find="failed 3 times"))


def test_sessions_and_runs_have_their_sums(places: Places, path: Path) -> None:
    put(path, decided("main", 9_000), asked("main", 8_000), asked("main", 7_500, None), decided("main", 7_000, run="r2"))
    lines = told(places)
    assert lines[0] == "main, agent:main:main: 2 model calls, 2 tool calls allowed, $0.0100"
    begins = [printable.moment((NOW - at) / 1000) for at in (9_000, 7_000)]
    assert lines[1] == f"  run main-run, {begins[0]}: 2 model calls, 1 tool call allowed, $0.0100"
    assert [line for line in lines if line.startswith("  run r2")] == [f"  run r2, {begins[1]}: 1 tool call allowed"]
    assert lines[-1].startswith("1 session, 2 model calls, ")


def test_equal_events_are_one_line(places: Places, path: Path) -> None:
    put(path, *(decided("main", 9_000 - at) for at in range(50)))
    assert [line for line in told(places) if "(x 50)" in line]
    assert len(told(places)) == 4


def test_what_is_left_out_is_said(places: Places, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "SEARCHED", 20)
    put(path, *(decided("main", 100_000 - at * 1_000) for at in range(60)), asked("main", 99_000))
    with closing(connect(path)) as connection:
        first = queries.timeline(connection, 0, NOW, TimelineFilter(), 200)
        assert (len(first.events), first.is_cut) == (20, True)
        rest = queries.timeline(connection, 0, first.since, TimelineFilter(), 200)
    assert rest.events[0].at < first.events[-1].at
    monkeypatch.setattr(timeline, "SHOWN", 30)
    assert any("earlier events are left out" in line for line in told(places))


def test_the_sums_count_all_that_is_listed(places: Places, path: Path) -> None:
    kinds = (*timeline_lines.WORDS, "something new")
    put(path, *(decided("main", 9_000 - at, kind, event=kind) for at, kind in enumerate(kinds)), asked("main", 9_500, 0.001))
    first, *_, last = told(places)
    numbers = [int(part.split()[0]) for part in first.partition(": ")[2].split(", ") if not part.startswith("$")]
    assert sum(numbers) == len(kinds) + 1
    assert first.endswith(", $0.0010")
    assert last == "1 session, 1 model call, $0.0010"


def test_gateways_have_their_names_if_there_are_several(places: Places, path: Path) -> None:
    put(path, decided("main", 9_000), decided("main", 8_000)._replace(gateway="office"))
    heads = [line for line in told(places) if line.startswith("main, ")]
    assert [("home" in head, "office" in head) for head in heads] == [(True, False), (False, True)]
    assert len([line for line in told(places, gateway="office") if line.startswith("main, ")]) == 1


@pytest.mark.parametrize("size", [10, 3_000])
def test_who_approved_what_and_why_is_there_however_long_the_call(places: Places, path: Path, size: int) -> None:
    call = {"nonce": "0badcafe", "shown": "echo a; " * size + "rm -rf ~/photos"}
    put(
        path,
        decided("main", 9_000, "hold", reason="It deletes a folder.", event="h", **call),
        *(decided("main", 8_000, "approve", person="ana", event=f"a{number}", **call) for number in range(2)),
    )
    held, approved = (line for line in told(places) if "0badcafe" in line)
    assert "It deletes a folder." in held
    assert "by ana" in approved
    assert approved.endswith(" (x 2)")
    assert all(len(line) <= timeline_lines.WIDTH for line in (held, approved))


def test_long_calls_that_differ_are_not_one_line(places: Places, path: Path) -> None:
    put(path, *(decided("main", 9_000, "block", shown="x" * 900 + end, event=end) for end in "ab"))
    assert len([line for line in told(places) if "  blocked " in line]) == 2


def test_each_day_has_its_date(places: Places, path: Path) -> None:
    """Also within a run, and where equal events follow each other."""
    day = 24 * 60 * MINUTE
    put(path, *(decided("main", at) for at in (3 * day, 3 * day - 1, day, day - 1)))
    dates = [printable.moment((NOW - at) / 1000)[:10] for at in (3 * day, day)]
    lines = told(places, since="7d")
    assert [next(number for number, line in enumerate(lines) if date in line) for date in dates] == [1, 3]
    assert len([line for line in lines if line.endswith(" (x 2)")]) == 2


def test_one_moment_is_told_in_its_order(places: Places, path: Path) -> None:
    put(path, *(decided("main", 9_000, kind, nonce="0badcafe", event=kind) for kind in ("hold", "approve", "consume")))
    words = [timeline_lines.WORDS[kind] for kind in ("hold", "approve", "consume")]
    for line, word in zip((line for line in told(places) if "0badcafe" in line), words, strict=True):
        assert word in line


def test_a_rare_event_is_found_behind_many(places: Places, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "SEARCHED", 20)
    put(path, decided("rare", 200_000, "hold", nonce="deadbeef", event="h"), asked("rare", 190_000))
    put(path, *(decided("busy", 100_000 - at * 1_000) for at in range(90)))
    for wanted in ({"find": "DEADBEEF"}, {"agent": "rare"}, {"session": "agent:rare:main"}, {"run_id": "rare-run"}):
        assert any("deadbeef" in line for line in told(places, **wanted)), wanted
    monkeypatch.setattr(timelines, "MOST_PAGES", 2)
    first, following = told(places, find="deadbeef")
    assert first.startswith("nothing fits among the newest events, back to ")
    until = following.partition("--until ")[2].split()[0]
    assert not any("deadbeef" in line for line in told(places, find="deadbeef", until="1s"))
    assert any("deadbeef" in line for line in told(places, find="deadbeef", until=until))


def test_an_end_before_the_beginning_is_a_usage_error(places: Places, path: Path) -> None:
    put(path, decided("main", 9_000))
    with pytest.raises(WrongOptionError, match="--until 1d"):
        told(places, since="8h", until="1d")


def test_what_is_newer_is_left_out(places: Places, path: Path) -> None:
    put(path, decided("main", 3 * MINUTE, tool="first"), decided("main", MINUTE, tool="second"))
    assert [name for name in ("first", "second") if any(name in line for line in told(places, until="2m"))] == ["first"]


@pytest.mark.parametrize("wanted", [{}, {"run": "main-run"}])
def test_a_model_call_that_was_searched_for_has_its_run(path: Path, wanted: dict[str, str]) -> None:
    put(path, decided("main", 9_000), asked("main", 8_000), decided("main", 7_000, run="other"))
    with closing(connect(path)) as connection:
        events = queries.timeline(connection, 0, NOW, TimelineFilter(text="big", **wanted), 200).events
    assert [(event.run, event.call is not None) for event in events] == [("main-run", True)]


@pytest.mark.parametrize("option", ["find", "agent", "session", "gateway", "run_id", "until"])
@pytest.mark.parametrize("value", ["x" * 60_000, "\udcff"])
def test_what_no_event_has_is_a_usage_error(places: Places, path: Path, option: str, value: str) -> None:
    put(path, decided("main", 9_000))
    with pytest.raises(WrongOptionError):
        told(places, **{option: value})


def pages(path: Path, limit: int, most: int = 1_000) -> list[str]:
    """All events in pages of this size, by the keys of the answers."""
    events, before = list[str](), ""
    with closing(connect(path)) as connection:
        for _ in range(most):
            page = queries.timeline(connection, 0, NOW, TimelineFilter(), limit, before)
            events += [f"c{each.call.id}" if each.call else f"d{each.decision and each.decision.id}" for each in page.events]
            if not page.next:
                return events
            before = page.next
    raise AssertionError("the pages never end")


@pytest.mark.parametrize("limit", [1, 3, 7, 200])
def test_pages_have_each_event_once_even_of_one_moment(path: Path, limit: int) -> None:
    """Imported calls have the time of a second: many of them, and decisions, share one."""
    calls = [asked("main", at) for at in (5_000,) * 5 + (4_000,) * 4]
    put(path, *calls, *(decided("main", at) for at in (5_000,) * 6 + (4_000,) * 5))
    events = pages(path, limit)
    assert len(events) == len(set(events)) == 20
    assert events == pages(path, 200)


@pytest.mark.parametrize("searched", [4, 20])
def test_pages_end_where_many_share_a_moment(path: Path, monkeypatch: pytest.MonkeyPatch, searched: int) -> None:
    monkeypatch.setattr(timelines, "SEARCHED", searched)
    put(path, *(decided("main", 5_000) for _ in range(15)), decided("main", 9_000), asked("main", 9_500))
    events = pages(path, 3)
    assert len(events) == len(set(events))
    assert events[-1] == "c1"


@pytest.mark.parametrize("wanted", [{"text": "OLD-3"}, {"run": "night-run", "text": "00000003"}, {"session": "x"}])
def test_filters(path: Path, wanted: dict[str, str]) -> None:
    put(path, *night())
    with closing(connect(path)) as connection:
        events = queries.timeline(connection, 0, NOW, TimelineFilter(**wanted), 200).events
    assert len(events) == (0 if "session" in wanted else 2)


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing(places: Places, path: Path, *, enabled: bool) -> None:
    configure(places, enabled=enabled)
    first, *_ = told(places)
    assert first.startswith("nothing was recorded in the last 8h")
    assert not path.exists()


def test_what_came_from_a_call_is_printable(places: Places, path: Path) -> None:
    put(path, decided("ma\u202ein", 1_000, "block", shown="a\x1b[2Jb", reason="c\nd", event="x"))
    assert all(line.isprintable() for line in told(places))


def test_a_run_is_found_behind_pages_without_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its model calls too, and not those of another run of its session."""
    monkeypatch.setattr(timelines, "SEARCHED", 10)
    own = [
        decided("main", 90_000, run="old"),
        asked("main", 89_000),
        decided("main", 88_000, run="new"),
        asked("main", 87_000),
    ]
    put(path, *own, *(decided("coder", 80_000 - at * 1_000) for at in range(30)))
    events, before = list[Any](), ""
    with closing(connect(path)) as connection:
        while True:
            page = queries.timeline(connection, 0, NOW, TimelineFilter(run="old"), 200, before)
            events += page.events
            if not page.next:
                break
            before = page.next
    assert [NOW - event.at for event in events] == [89_000, 90_000]


def known_gateway(path: Path, state_dir: Path) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        connection.execute(
            "INSERT INTO toolguard_gateways (id, state_dir, config_path, nonces, host, version, mode, pid, seen)"
            " VALUES ('home', ?, '', '', '', '', '', 0, 0)",
            (str(state_dir),),
        )


def test_what_can_be_undone_says_with_which_command(places: Places, path: Path) -> None:
    """A surface that says it must not go on saying it when what was kept is gone."""
    notes = places.state_dir.parent / "notes.txt"
    notes.write_text("old")
    folder = UndoFolder(places.state_dir)
    entry = folder.save(UndoCause(1.0), lambda saving: saving.present(str(notes)), lambda _: False)
    code, reason = undo_notes.recorded(entry.id, "")
    put(path, decided("main", 9_000, "kept", code=code, reason=reason, shown="rm notes.txt", event="k"))
    known_gateway(path, places.state_dir)
    [line] = [line for line in told(places) if "rm notes.txt" in line]
    assert line.endswith(f"can be undone: toolguard undo {entry.id}")
    folder.remove(entry.id)
    [line] = [line for line in told(places) if "rm notes.txt" in line]
    assert "can be undone" not in line
    assert timeline.run(places, since="8h", as_json=True).data["events"][0]["decision"]["reason"] in line
