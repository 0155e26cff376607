"""State that other versions wrote: today's engine and command line use it without loss.

Version 0.1.0 is recorded in `tests/recorded`, the databases as SQL. A newer version is the same recording with members that
today's version does not know, signed as it would sign them. The clock stands where the recording ended, so its held calls
have not expired.
"""

from __future__ import annotations

import hmac
import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cli_stage import envelope, toolguard

from engine_talk import Talk
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.strictness import StrictnessChange
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import Newer

RECORDED = Path(__file__).parent.parent / "recorded"
STATE = "/srv/gateway/.openclaw"
"""The state directory of the recording."""

NOW = datetime(2026, 9, 6, 12, 0, 20, tzinfo=UTC).timestamp()
PENDING, APPROVED, DENIED, USED = "47faa24f", "5b58608a", "1d2f15fa", "12491131"


MORE = "ofALaterVersion"
MORE_VALUE = {"with": ["parts"]}


def written_later(own: Path) -> None:
    """Adds what a newer version may add."""
    key = (own / "key").read_bytes()
    calls = json.loads((own / "nonces.json").read_bytes())
    for entry in [calls, *calls["entries"]]:
        entry[MORE] = MORE_VALUE
    for entry in calls["entries"]:
        entry["mac"] = hmac.digest(key, msgspec.json.encode({**entry, "mac": ""}), "sha256").hex()
    accepted = json.loads((own / "accepted-settings.json").read_bytes())
    (known,) = accepted["configs"].values()
    for part in (accepted, known, known["accepted"]):
        part[MORE] = MORE_VALUE
    proof = b"accepted settings " + msgspec.json.encode({**accepted, "mac": ""}, order="sorted")
    accepted["mac"] = hmac.digest(key, proof, "sha256").hex()
    counters = json.loads((own / "counters.json").read_bytes())
    for part in (counters, *counters["runs"].values()):
        part[MORE] = MORE_VALUE
    for name, value in (("nonces", calls), ("accepted-settings", accepted), ("counters", counters)):
        (own / f"{name}.json").write_bytes(msgspec.json.encode(value))


@pytest.fixture(params=["older", "newer"])
def state(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recorded state directory."""
    state = tmp_path / ".openclaw"
    shutil.copytree(RECORDED, state)
    own = state / "toolguard"
    own.chmod(0o700)
    for path in (state / "openclaw.json", own / "install.json"):
        path.write_text(path.read_text().replace(STATE, str(state)))
    (state / "extensions" / "toolguard").mkdir(parents=True)
    for path in own.iterdir():
        path.chmod(0o600)
    for script in own.glob("*.sql"):
        with closing(sqlite3.connect(script.with_suffix(".db"))) as database:
            database.executescript(script.read_text("utf-8"))
        script.unlink()
        script.with_suffix(".db").chmod(0o600)
    if request.param == "newer":
        written_later(own)
    (own / "accepted-settings.json.lock").touch()
    monkeypatch.setattr(time, "time", lambda: NOW)
    monkeypatch.setattr(time, "time_ns", lambda: int(NOW) * 1_000_000_000)
    return state


@pytest.fixture
def engine(state: Path) -> Iterator[Talk]:
    """An engine that begins with this state, with the settings of the recording."""
    talk = begun(state)
    yield talk
    talk.kill()


def begun(state: Path) -> Talk:
    talk = Talk()
    talk.clock._start = datetime.fromtimestamp(NOW, UTC)
    config = json.loads((state / "openclaw.json").read_text())["plugins"]["entries"]["toolguard"]["config"]
    config["metrics"] = {"enabled": False}
    config["alwaysBlock"] = ["deploy", "exec"]
    ready = talk.hello(state, config, configPath=f"{STATE}/openclaw.json")
    assert (ready["type"], ready["configError"]) == ("ready", "")
    return talk


def judged(talk: Talk, run: str, tool: str, **params: Any) -> tuple[str, str]:
    """The verdict on a call of this run."""
    place = {"agent": "main", "session": "agent:main:main", "run": run}
    talk.send(id=1, type="judge", tool=tool, params=params, callId=run, **place)
    (answer,) = [each for each in talk.said() if each["type"] == "verdict"]
    return answer["decision"], answer["code"]


def run(state: Path, *arguments: str) -> dict[str, Any]:
    """The data of a command that succeeds."""
    done = toolguard(*arguments, "--state-dir", state, "--json")
    found = envelope(done)
    assert (done.returncode, found["ok"]) == (0, True), done.stdout
    data: dict[str, Any] = found["data"]
    return data


def test_held_calls_keep_their_state(state: Path) -> None:
    listed = run(state, "pending")["pending"]
    assert [(each["nonce"], each["status"], each["shown"]) for each in listed] == [
        (PENDING, "pending", 'deploy({ target: "pending" })'),
        (APPROVED, "approved", 'deploy({ target: "approved" })'),
    ]
    trusted, others = stores.held_calls(state).look()
    assert {entry.nonce: entry.status for entry in trusted} == {
        PENDING: "pending", APPROVED: "approved", DENIED: "denied", USED: "used",
    }  # fmt: skip
    assert others == []


def test_the_audit_log_is_whole_and_is_continued(state: Path) -> None:
    whole = {"lines": 14, "error": "", "file": "", "line": 0, "recovered": 0, "gaps": 0}
    assert run(state, "audit", "verify") == whole
    run(state, "approve", PENDING, "--yes")
    assert run(state, "audit", "verify") == {**whole, "lines": 15}


def test_grants_rules_and_constraints_count(state: Path) -> None:
    grants = run(state, "grants")["grants"]
    assert [(each["id"], each["pattern"], each["signed"], each["expired"]) for each in grants] == [
        ("g-be38", "make *", True, False), ("g-54af", "docs/**", True, False),
    ]  # fmt: skip
    assert [each["wordsOnly"] for each in grants] == [True, True]
    own = run(state, "rules", "test")
    assert ([each["id"] for each in own["rules"]], own["problems"]) == (["user.no-publish", "constraint.no-prod-writes"], [])
    assert [table["id"] for table in stores.last_good(state).tables("rule") or []] == ["no-publish"]


def test_a_grant_is_revoked_and_the_rest_of_the_file_stays(state: Path) -> None:
    before = stores.grants(state).path.read_text()
    run(state, "revoke", "g-be38")
    after = stores.grants(state).path.read_text()
    assert [grant.id for grant in stores.grants(state).grants()] == ["g-54af"]
    assert after.endswith(before[before.index("# The site is published by people.") :])


def test_status_knows_all_of_it(state: Path) -> None:
    found = run(state, "status")
    assert found["held"] == {
        "pending": 1, "approvedUnused": 1, "oldest": PENDING, "missed": 0, "lapsed": 0,
        "grants": 2, "sessionGrants": 0, "damaged": [], "notificationsFailing": [],
        "auditToday": {
            "approve": 2, "block": 2, "consume": 1, "deny": 1, "grant": 2, "hold": 4, "kill-switch": 1, "stop": 1,
        },
    }  # fmt: skip
    assert (found["killSwitch"]["on"], found["killSwitch"]["why"]) == (True, "a person looks into it")
    assert found["weakened"] == {"weaker": [], "problem": ""}
    (budget,) = found["budgets"]
    assert (budget["agent"], budget["session"], budget["spent"], budget["left"]) == ("main", "agent:main:main", 0.6, 0.4)
    assert found["lastEngine"]["gateway"] == "gw-recorded"
    assert [(each["tool"], each["action"]) for each in found["log"]["recent"]] == [("read", "corrected")]
    assert (found["usage"]["today"]["calls"], found["usage"]["today"]["costUsd"]) == (1, 0.006)


def test_the_metrics_are_kept(state: Path) -> None:
    (row,) = run(state, "usage")["usage"]
    assert (row["provider"], row["name"]) == ("anthropic", "claude-sonnet-4-5")
    assert (row["totals"]["calls"], row["totals"]["total"], row["totals"]["durationMs"]) == (1, 1200, 1200)


def test_doctor_finds_the_stores_in_order(state: Path) -> None:
    checks = {
        each["id"]: each["status"]
        for each in envelope(toolguard("doctor", "--state-dir", state, "--json"))["data"]["checks"]
    }
    wanted = ("state-files", "stores", "standings", "key", "audit", "log", "clock", "metrics", "policy", "rules", "weakened")
    assert {each: checks[each] for each in wanted} == dict.fromkeys(wanted, "ok")
    assert checks["kill-switch"] == "warn"


def test_an_engine_goes_on_with_it(engine: Talk, state: Path) -> None:
    assert judged(engine, "a", "deploy", target="approved") == ("block", "kill-switch.on")
    run(state, "kill-switch", "off")
    engine.later(2)
    assert engine.said() == []
    assert judged(engine, "b", "deploy", target="approved") == ("allow", "approval.consumed")
    assert judged(engine, "c", "deploy", target="denied") == ("block", "approval.denied")
    assert judged(engine, "d", "deploy", target="pending") == ("hold", "approval.pending")
    assert [entry.nonce for entry in stores.held_calls(state).entries() if entry.status == "pending"] == [PENDING]
    run(state, "approve", PENDING, "--yes")
    assert judged(engine, "e", "deploy", target="pending") == ("allow", "approval.consumed")
    assert judged(engine, "f", "write", path="/srv/prod/x", content="x") == ("block", "constraint.no-prod-writes")
    assert judged(engine, "g", "exec", command="make all") == ("allow", "grant.g-be38")
    assert run(state, "audit", "verify")["error"] == ""


def test_an_engine_knows_what_was_spent(engine: Talk, state: Path) -> None:
    run(state, "kill-switch", "off")
    run(state, "tools", "trust", "note_down")
    engine.later(2)
    assert judged(engine, "a", "note_down", text="5") == ("allow", "allow")
    assert judged(engine, "b", "note_down", text="6") == ("allow", "allow")
    assert judged(engine, "c", "note_down", text="7") == ("hold", "approval.pending")
    engine.end()
    (standing,) = stores.standings(state).look()
    assert (standing.agent, standing.session) == ("main", "agent:main:main")
    assert standing.spent > 0.6


@pytest.mark.parametrize("state", ["newer"], indirect=True)
def test_what_is_not_known_is_kept(engine: Talk, state: Path) -> None:
    own = state / "toolguard"
    run(state, "kill-switch", "off")
    engine.later(2)
    run(state, "approve", PENDING, "--yes")
    assert judged(engine, "a", "deploy", target="approved") == ("allow", "approval.consumed")
    run(state, "deny", PENDING)
    config = str(state / "openclaw.json")
    change = [StrictnessChange("mode", "enforce", "shadow")]
    stores.accepted_settings(state).take(config, change, Decision("anna", "cli"), NOW, lambda _: None)
    engine.end()
    calls = json.loads((own / "nonces.json").read_bytes())
    assert {entry["nonce"]: entry["status"] for entry in calls["entries"]} == {
        PENDING: "denied", APPROVED: "used", DENIED: "denied", USED: "used",
    }  # fmt: skip
    assert [part[MORE] for part in (calls, *calls["entries"])] == [MORE_VALUE] * 5
    assert stores.held_calls(state).look()[1] == []
    accepted = json.loads((own / "accepted-settings.json").read_bytes())
    assert accepted["revision"] > 1
    assert (accepted[MORE], stores.accepted_settings(state).pending()) == (MORE_VALUE, [])
    counters = json.loads((own / "counters.json").read_bytes())
    assert (counters[MORE], counters["runs"]["run-90"][MORE]) == (MORE_VALUE, MORE_VALUE)


def test_an_older_version_takes_what_today_s_writes(state: Path) -> None:
    """0.1.0 compares the signature with that of the members that it knows, in their order."""
    run(state, "approve", PENDING, "--yes")
    held = stores.held_calls(state)
    (entry,) = [entry for entry in held.look()[0] if entry.nonce == PENDING]
    stored = json.loads(held.path.read_bytes())
    if MORE not in stored:
        proof = msgspec.json.encode(msgspec.structs.replace(entry, mac=""))
        assert entry.mac == hmac.digest((state / "toolguard" / "key").read_bytes(), proof, "sha256").hex()
    assert stored["v"] == 1


@pytest.mark.parametrize("state", ["older"], indirect=True)
@pytest.mark.parametrize("name", ["nonces.json", "accepted-settings.json", "counters.json"])
def test_a_form_that_is_not_known_is_left_alone(state: Path, name: str) -> None:
    path = state / "toolguard" / name
    newer = json.dumps({"v": 3, "entries": {"another": "form"}, "runs": 7, "configs": []}).encode()
    path.write_bytes(newer)
    run(state, "kill-switch", "off")
    engine = begun(state)
    engine.said()
    held = name == "nonces.json"
    found = judged(engine, "a", "deploy", target="approved")
    assert found == (("block", "store.newer") if held else ("allow", "approval.consumed"))
    engine.later(5)
    engine.end()
    done = toolguard("approve", PENDING, "--yes", "--state-dir", state, "--json")
    assert (done.returncode, "written by a newer toolguard" in done.stdout) == ((1, True) if held else (0, False))
    with pytest.raises(Newer, match=r"was written by a newer toolguard; update toolguard"):
        _ = {
            "nonces.json": stores.held_calls(state).entries,
            "accepted-settings.json": stores.accepted_settings(state).pending,
            "counters.json": stores.counters(state).load,
        }[name]()
    assert path.read_bytes() == newer
    assert list(path.parent.glob("*.corrupt-*")) == []
