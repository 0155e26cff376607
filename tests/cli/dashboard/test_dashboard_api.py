"""What the API says about a machine, and what it changes there: as the commands do, in the same stores."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli_stage import SCRIPT
from dashboard_stage import NAMES, OWN, Answer, Machine, Served, machine, served

import metrics_seed
from tables import each_row
from toolguard_cli.hostconfig import gateway_stores
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.config.settings import parse
from toolguard_engine.config.strictness import settings_of
from toolguard_engine.stores.files.accepted_settings_file import AcceptedSettings
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.sqlite.standings import FileStandings

GETS = (
    "/api/overview", "/api/timeseries", "/api/gateways", f"/api/gateway/{NAMES[0]}", "/api/models",
    "/api/decisions", "/api/timeline", "/api/guard", "/api/state", "/api/pending", "/api/settled", "/api/spending",
)  # fmt: skip


def audited(made: Machine, name: str = NAMES[0]) -> list[dict[str, Any]]:
    return list(AuditLog(made.places(name).state_dir).events())


def state_of(server: Served, name: str = NAMES[0]) -> dict[str, Any]:
    return next(each for each in server.get("/api/state")["gateways"] if each["id"] == name)


def test_totals_are_those_of_the_file(shared: Served) -> None:
    for span in ("24h", "7d", "30d"):
        found = shared.get(f"/api/overview?range={span}")
        assert found["range"] == span
        parts = shared.get(f"/api/timeseries?range={span}&by=gateway")["series"]
        assert sum(sum(each["calls"]) for each in parts) == found["totals"]["calls"] > 0
        assert sum(each["totals"]["calls"] for each in found["gateways"]) == found["totals"]["calls"]


def test_a_timeline_in_pages(shared: Served) -> None:
    """Each page continues where the one before ended, and a filter holds for all of them."""
    first = shared.get("/api/timeline?since=0&limit=5&agent=agent-0")
    second = shared.get(f"/api/timeline?since=0&limit=5&agent=agent-0&before={first['next']}")
    events = [*first["events"], *second["events"]]
    times = [each["at"] for each in events]
    assert (len(times), times) == (10, sorted(times, reverse=True))
    assert {each["agent"] for each in events} == {"agent-0"}
    assert len({(bool(each["call"]), (each["call"] or each["decision"])["id"]) for each in events}) == 10
    assert shared.get("/api/timeline?since=0&until=1")["events"] == []
    ended = shared.get(f"/api/timeline?before={'9' * 19}.{'9' * 19}.0")
    assert ended["events"] == shared.get("/api/timeline")["events"]


def test_series_of_one(shared: Served) -> None:
    of_one = shared.get(f"/api/timeseries?gateway={NAMES[0]}&model=big&by=agent")
    assert {each["name"] for each in of_one["series"]} <= {"agent-0", "agent-1", ""}
    first = shared.get("/api/decisions?limit=5")
    older = shared.get(f"/api/decisions?limit=5&before={first['next']}")
    assert max(each["id"] for each in older["decisions"]) < min(each["id"] for each in first["decisions"])
    assert {each["kind"] for each in shared.get("/api/decisions?kind=block")["decisions"]} == {"block"}


@each_row(
    "path",
    [
        "/api/overview?range=1y", "/api/overview?range=24h&range=7d", "/api/overview?rang=7d", "/api/timeseries?by=session",
        "/api/decisions?limit=0", "/api/decisions?limit=201", "/api/decisions?limit=1.5", "/api/decisions?limit=",
        "/api/decisions?before=-1",
        "/api/decisions?before=null", f"/api/guard?gateway={'x' * 201}", "/api/state?x=1", "/api/hello?nonce=zz",
        f"/api/decisions?before={2**63}", "/api/timeline?before=1.2", "/api/timeline?before=-1.0.0",
        "/api/timeline?limit=201", "/api/timeline?since=x", f"/api/timeline?until={2**53}",
    ],
)  # fmt: skip
def test_parameters_that_are_none(shared: Served, path: str) -> None:
    answer = shared.ask(path)
    assert (answer.status, answer.code) == (422, "values")


def test_an_unknown_gateway(shared: Served) -> None:
    for name in ("nobody", "a/b", "%00", "..%2f..", "x" * 200):
        answer = shared.ask(f"/api/gateway/{name}")
        assert (answer.status, answer.code) == (404, "gateway"), name
    answer = shared.post("/api/approve", {"gateway": "nobody", "nonce": "00000000"})
    assert (answer.status, answer.code) == (404, "gateway")


def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    made = machine(tmp_path, hostile=True)
    made.hold(agent=metrics_seed.MARKUP, session=metrics_seed.CONTROL, tool=metrics_seed.SQL, shown=metrics_seed.MARKUP)
    with served(made) as server:
        for path in (*GETS, "/api/timeseries?by=model&range=30d", "/api/decisions?limit=200"):
            assert server.ask(path).headers["content-type"] == "application/json"
            json.dumps(server.get(path))
        events = server.get("/api/timeline?since=0")["events"]
        assert {each["call"]["model"] for each in events if each["call"]} >= {metrics_seed.MARKUP, metrics_seed.SQL}
        assert server.ask(f"/api/gateway/{metrics_seed.SQL.replace(' ', '%20')}").status in (200, 404)
        assert server.ask("/metrics").headers["content-type"].startswith("text/plain")
        (held,) = server.get("/api/pending")["pending"]
        assert (held["agent"], held["session"]) == (metrics_seed.MARKUP, metrics_seed.CONTROL)


def test_where_nothing_was_recorded(tmp_path: Path) -> None:
    made = Machine(tmp_path, tmp_path / "none" / "metrics.db")
    made.places(OWN).state_dir.mkdir()
    with served(made) as server:
        for path in GETS:
            assert server.ask(path).status == (404 if "/gateway/" in path else 200), path
        assert server.get("/api/overview")["totals"]["calls"] == 0
        assert [each["id"] for each in server.get("/api/state")["gateways"]] == [OWN]
        assert not made.db.exists()


def test_a_metrics_file_that_is_none(tmp_path: Path) -> None:
    made = machine(tmp_path)
    made.db.write_bytes(b"no database" * 1_000)
    held = made.hold(OWN)
    with served(made) as server:
        answer = server.ask("/api/overview")
        assert (answer.status, answer.code) == (503, "metrics.unavailable")
        found = server.get("/api/state")
        assert "is not a SQLite database" in " ".join(found["gateways"][0]["problems"])
        assert server.post("/api/deny", {"gateway": OWN, "nonce": held.nonce}).status == 200


def test_state(shared: Served) -> None:
    found = shared.get("/api/state")
    assert not found["mayChange"]
    assert [each["id"] for each in found["gateways"]] == [*sorted(NAMES), OWN]
    with_token = shared.ask("/api/state", token=shared.token).value
    assert with_token["mayChange"]


def test_yes(server: Served) -> None:
    held = server.machine.hold()
    (shown,) = server.get("/api/pending")["pending"]
    assert (shown["nonce"], shown["gateway"], shown["status"]) == (held.nonce, NAMES[0], "pending")
    answer = server.post("/api/approve", {"gateway": NAMES[0], "nonce": held.nonce, "why": "release\nday"})
    text = answer.value["text"]
    assert text.startswith(f"approved {held.nonce}: agent main may run exec once, until ")
    assert "no gateway runs here, so the agent is not woken" in text
    line = audited(server.machine)[-1]
    assert {name: line[name] for name in ("event", "where", "by", "why")} == {
        "event": "approve", "where": "dashboard", "by": gateway_stores.who(), "why": "release day",
    }  # fmt: skip
    again = server.post("/api/approve", {"gateway": NAMES[0], "nonce": held.nonce})
    assert (again.status, again.code) == (409, "approved")


def test_no(server: Served) -> None:
    held = server.machine.hold()
    answer = server.post("/api/deny", {"gateway": NAMES[0], "nonce": held.nonce})
    assert answer.value["text"] == f"denied {held.nonce}: the agent is instructed not to repeat this call"
    assert server.machine.status(held.nonce) == "denied"
    assert server.post("/api/deny", {"gateway": NAMES[0], "nonce": held.nonce}).code == "denied"
    assert server.post("/api/deny", {"gateway": NAMES[0], "nonce": "0" * 8}).code == "unknown"


def test_too_late(server: Served) -> None:
    held = server.machine.hold()
    server.post("/api/approve", {"gateway": NAMES[0], "nonce": held.nonce})
    server.machine.hold(binding=held.binding)
    answer = server.post("/api/deny", {"gateway": NAMES[0], "nonce": held.nonce})
    assert (answer.status, answer.code) == (409, "used")
    assert answer.value["error"]["message"].startswith(f"too late: {held.nonce} ran at ")


def test_a_yes_is_for_what_was_seen(server: Served) -> None:
    held = server.machine.hold(whole=False)
    word = {"gateway": NAMES[0], "nonce": held.nonce}
    assert server.post("/api/approve", word).code == "unseen"
    assert server.post("/api/approve", word | {"unseen": True}).status == 200


def test_nobody_approves_with_two_voices(server: Served) -> None:
    """The command line and the page at once: one of them says yes."""
    places = server.machine.places(OWN)
    for _ in range(5):
        held = server.machine.hold(OWN)
        order = [SCRIPT, "approve", held.nonce, "--yes", "--state-dir", str(places.state_dir)]
        with subprocess.Popen(order, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
            with ThreadPoolExecutor(8) as pool:
                word = {"gateway": OWN, "nonce": held.nonce}
                answers = list(pool.map(server.post, ["/api/approve"] * 8, [word] * 8))
            won = [other.wait() == 0, *(answer.status == 200 for answer in answers)]
        assert sum(won) == 1
        assert {answer.status for answer in answers} <= {200, 409}
        assert [line["event"] for line in audited(server.machine, OWN) if line["nonce"] == held.nonce] == ["hold", "approve"]


def test_kill_switch(server: Served) -> None:
    answer = server.post("/api/state", {"gateway": NAMES[0], "killSwitch": True, "why": "it mails\x1beverybody"})
    assert answer.status == 200, answer
    switch = state_of(server)["killSwitch"]
    assert (switch["by"], switch["why"]) == (gateway_stores.who(), "it mails<U+001B>everybody")
    assert KillSwitchFile(server.machine.places(NAMES[0]).state_dir).thrown()
    assert state_of(server, NAMES[1])["killSwitch"] is None
    assert [(line["event"], line["where"]) for line in audited(server.machine)] == [("kill-switch", "dashboard")]
    server.post("/api/state", {"gateway": NAMES[0], "killSwitch": False})
    assert state_of(server)["killSwitch"] is None
    assert [line["code"] for line in audited(server.machine)] == ["kill-switch.on", "kill-switch.off"]


def test_checkpoint(server: Served) -> None:
    places = server.machine.places(NAMES[0])
    store = FileStandings(places.state_dir, patient=True)
    used = [
        Standing("main", f"agent:main:{name}", spent=0.9, touched=2_000_000_000, reported=["drift.speed"]) for name in "ab"
    ]
    store.save({each.key: each for each in used})
    store.close()
    first, second = state_of(server)["standings"]
    assert (first["session"], first["left"], first["signals"]) == ("agent:main:a", 0.1, ["more than 60 calls a minute"])
    server.post("/api/state", {"gateway": NAMES[0], "checkpoint": {"agent": "main", "session": "agent:main:a"}})
    left, full = state_of(server)["standings"]
    assert (left["session"], full["session"]) == (second["session"], first["session"])
    assert (full["left"], full["signals"]) == (1.0, [])
    assert (
        server.post("/api/state", {"gateway": NAMES[0], "checkpoint": {"agent": "main", "session": "nobody"}}).status == 409
    )
    server.post("/api/state", {"gateway": NAMES[0], "checkpoint": {"all": True}})
    assert [each["left"] for each in state_of(server)["standings"]] == [1.0, 1.0]
    assert [line["where"] for line in audited(server.machine)] == ["dashboard"] * 2


def test_mode(server: Served) -> None:
    places = server.machine.places(OWN)
    entry = {"enabled": True, "config": {"mode": "enforce"}}
    text = json.dumps({"gateway": {"mode": "local"}, "plugins": {"entries": {"toolguard": entry}}})
    places.config.write_text(text)
    answer = server.post("/api/state", {"gateway": OWN, "mode": "shadow"})
    assert answer.status == 200, answer
    assert state_of(server, OWN)["mode"] == "shadow"
    assert '"mode": "shadow"' in places.config.read_text()
    assert places.config.with_name("openclaw.json.toolguard.bak").read_text() == text
    places.config.write_text("{ broken")
    broken = server.post("/api/state", {"gateway": OWN, "mode": "soft"})
    assert broken.status == 409
    assert "is not valid JSON5" in broken.value["error"]["message"]
    assert places.config.read_text() == "{ broken"


def test_weaker_settings(server: Served) -> None:
    places = server.machine.places(NAMES[0])
    store, log = AcceptedSettings(places.state_dir), AuditLog(places.state_dir).append
    assert (state_of(server)["weakened"], state_of(server)["weakenedMark"]) == ([], "")
    for number, mode in enumerate(("enforce", "soft")):
        store.ran(str(places.config), settings_of(parse({"mode": mode})), 1_000.0 + number, log)
    seen = state_of(server)
    text = "mode changed from enforce to soft"
    assert seen["weakened"] == [{"setting": "mode", "text": text, "since": 1_001_000}]
    assert state_of(server, NAMES[1])["weakened"] == []

    store.ran(str(places.config), settings_of(parse({"mode": "shadow"})), 1_003.0, log)
    wish = {"gateway": NAMES[0], "accept": seen["weakenedMark"], "why": "a quiet\x1bweek"}
    late = server.post("/api/state", wish)
    assert (late.status, late.code) == (409, "changed")
    store.ran(str(places.config), settings_of(parse({"mode": "soft"})), 1_004.0, log)
    assert server.post("/api/state", wish, token="").status == 401
    assert server.post("/api/state", wish, token="x" * 43).status == 401
    assert state_of(server)["weakened"] != []
    answer = server.post("/api/state", wish)
    assert answer.status == 200, answer
    assert state_of(server)["weakened"] == []
    line = audited(server.machine)[-1]
    assert (line["event"], line["where"], line["by"]) == ("accepted", "dashboard", gateway_stores.who())
    assert (line["reason"], line["why"]) == (text, "a quiet<U+001B>week")

    store.path.write_bytes(b"{")
    assert any("cannot check for weaker settings" in each for each in state_of(server)["problems"])
    assert server.post("/api/state", wish).status == 409


@each_row(
    "wish",
    [
        {},
        {"mode": "soft", "killSwitch": True},
        {"killSwitch": False, "checkpoint": {"all": True}},
        {"accept": "", "killSwitch": True},
    ],
)
def test_one_change_at_a_time(shared: Served, wish: dict[str, Any]) -> None:
    answer = shared.post("/api/state", {"gateway": NAMES[0]} | wish)
    assert (answer.status, answer.code) == (422, "values")


def test_what_others_decided(server: Served) -> None:
    replied = {
        "gateway": NAMES[0], "tool": "exec\n", "decision": "block", "code": "bridge.x", "agent": "main",
        "reason": "password=hunter2secret", "shown": "curl -H 'Authorization: Bearer sk-abcdefghijklmnop1234'",
    }  # fmt: skip
    assert server.post("/api/decision", replied).status == 200
    (line,) = audited(server.machine)
    assert (line["event"], line["tool"], line["code"], line["why"]) == ("external", "exec ", "bridge.x", "block")
    assert "hunter2" not in json.dumps(line)
    assert "abcdefghijk" not in json.dumps(line)


def test_a_gateway_that_is_gone(server: Served) -> None:
    held = server.machine.hold()
    state = server.machine.places(NAMES[0]).state_dir
    state.rename(state.with_name("elsewhere"))
    found = server.get("/api/pending")
    assert (found["pending"], found["unread"]) == ([], [NAMES[0]])
    assert "is gone" in found["problems"][0]
    assert "is gone" in " ".join(state_of(server)["problems"])
    word = {"gateway": NAMES[0], "nonce": held.nonce}
    refused = [server.post(path, word) for path in ("/api/approve", "/api/deny")]
    refused += [
        server.post("/api/state", {"gateway": NAMES[0], **wish})
        for wish in ({"killSwitch": True}, {"checkpoint": {"all": True}})
    ]
    refused.append(server.post("/api/decision", {"gateway": NAMES[0], "tool": "exec", "decision": "allow"}))
    assert [answer.status for answer in refused] == [409] * 5
    assert not state.exists()


def test_a_damaged_store_is_said_in_words(server: Served) -> None:
    (server.machine.places(NAMES[0]).state_dir / "pending.json").write_bytes(b"{ broken")
    (server.machine.places(NAMES[0]).state_dir / "toolguard" / "standings.db").write_bytes(b"broken" * 1_000)
    kept = server.machine.hold(NAMES[1])
    found = server.get("/api/pending")
    assert [each["nonce"] for each in found["pending"]] == [kept.nonce]
    assert "damaged" in found["problems"][0]
    assert found["unread"] == [NAMES[0]]
    assert server.get("/api/pending") | {"now": 0} == found | {"now": 0}
    assert (server.machine.places(NAMES[0]).state_dir / "pending.json").read_bytes() == b"{ broken"
    assert "damaged" in " ".join(state_of(server)["problems"])


@pytest.mark.thorough
def test_many_ask_at_once(shared: Served) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers: list[Answer] = list(pool.map(shared.ask, GETS * 12))
    assert {answer.status for answer in answers} == {200}


def test_a_checkpoint_is_of_one_agent_in_one_session(server: Served) -> None:
    store = FileStandings(server.machine.places(NAMES[0]).state_dir, patient=True)
    keys = [("main", "all"), ("other", "all"), ("main", "")]
    used = [Standing(agent, session, spent=0.5, touched=2_000_000_000) for agent, session in keys]
    store.save({each.key: each for each in used})
    store.close()
    for agent, session in keys:
        answer = server.post("/api/state", {"gateway": NAMES[0], "checkpoint": {"agent": agent, "session": session}})
        assert answer.status == 200, answer
        left = {(each["agent"], each["session"]) for each in state_of(server)["standings"] if each["left"] < 1}
        assert left == set(keys[keys.index((agent, session)) + 1 :])
    assert server.post("/api/state", {"gateway": NAMES[0], "checkpoint": {}}).status == 409


def test_what_a_change_has_to_say_is_told(server: Served) -> None:
    answer = server.post("/api/state", {"gateway": NAMES[0], "killSwitch": True})
    assert "nothing is stopped" in " ".join(answer.value["notes"])
    assert server.get("/api/state")["notes"] == []
