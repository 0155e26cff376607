"""Notifications: what is reported, to whom and in which words, whatever the targets do."""

from __future__ import annotations

import hmac
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cli_stage import toolguard
from held_stage import hold
from msgspec import structs
from notify_stage import LIMIT, Receiver, Stage, serving

from toolguard_cli.notify import message_text, quiet_time, run_notifier, target_worker, url_target
from toolguard_cli.notify.delivery import OutgoingMessage, failed
from toolguard_cli.notify.event_source import kind_of
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import held_view
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config import notify_targets
from toolguard_engine.config.settings import NotifyTarget, QuietHours, parse
from toolguard_engine.model.held_details import HeldDetails, HeldEffect, HeldRule
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_log import AuditEvent
from toolguard_engine.stores.audit_tail import AuditLine
from toolguard_engine.stores.notifications import Notification

NOW = 1_750_000_000.0
ALL = [
    "held",
    "expiring",
    "expired",
    "lapsed",
    "blocked",
    "loop",
    "budget",
    "engineAway",
    "weakened",
    "guardEnded",
    "digest",
]
PERSON = Decision("ann", "cli")


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with serving(Receiver()) as receiver:
        yield receiver


@pytest.fixture
def no_apprise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)


def webhook(receiver: Receiver, **more: Any) -> dict[str, Any]:
    return {"hook": {"webhook": f"http://127.0.0.1:{receiver.port}/secret-path-1", **more}}


def logged(stage: Stage, event: str, number: int = 1, at: float = NOW, **more: Any) -> None:
    stage.log.append([AuditEvent(f"id-{event}-{number}", audit_log.when(at), event, **more)])


EVENTS = [
    ("expire", {}, "expired"),
    ("lapsed", {"by": "ann"}, "lapsed"),
    ("expire", {"by": "ann"}, None),
    ("block", {"code": "rule.net"}, "blocked"),
    ("block", {"code": "kill-switch.on"}, None),
    ("block", {"nonce": "3fa9c1d2"}, None),
    ("stop", {"code": "loop.identical"}, "loop"),
    ("stop", {"code": "compaction_loop_persisted"}, "loop"),
    ("stop", {"code": "approval.waiting"}, None),
    ("budget", {"code": "budget.exhausted"}, "budget"),
    ("drift", {"code": "drift.speed"}, "budget"),
    ("error", {"code": "guard.silent"}, "engineAway"),
    ("weakened", {"code": "settings.weakened"}, "weakened"),
    ("ended", {"code": "guard.unloaded"}, "guardEnded"),
    ("ended", {"code": "guard.uninstalled"}, "guardEnded"),
    ("ended", {"code": "guard.gateway-stopped"}, None),
    ("note", {"code": "limit.near"}, "budget"),
    ("stop", {"code": "limit.reached"}, "budget"),
    ("would-refuse", {"code": "limit.reached"}, None),
    ("hold", {}, None),
    ("approve", {}, None),
    ("notification-lost", {}, None),
]


@pytest.mark.parametrize(("event", "more", "kind"), EVENTS)
def test_what_a_line_of_the_audit_log_reports(event: str, more: dict[str, str], kind: str | None) -> None:
    assert kind_of(AuditLine(1, "id", audit_log.when(NOW), event, **more)) == kind


DETAILS = HeldDetails(
    effects=tuple(
        HeldEffect(kind, target) for kind, target in [("delete", "/p/2021"), ("drop", "prod"), ("push", "origin")]
    ),
    rules=(HeldRule("files.delete-tree", "it deletes a folder"), HeldRule("db.drop", "it drops a database")),
)
CALL = "exec({ command: \"rm -rf /p/2021 && dropdb prod && curl -H 'X-Token: abcdef123456' x.io\" })"


def test_a_held_call_has_all_that_its_approver_needs_and_no_secret(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook, secret="s3cr3t"))
    entry = hold(places, now=NOW, shown=CALL, details=DETAILS, cwd="/work")
    stage.step(NOW)
    ((headers, body),) = hook.received
    assert {
        name: body[name] for name in ("v", "event", "gateway", "nonce", "agent", "whole", "folder", "approve", "expires")
    } == {
        "v": 1,
        "event": "held",
        "gateway": "home",
        "nonce": entry.nonce,
        "agent": "main",
        "whole": True,
        "folder": "/work",
        "approve": f"toolguard approve {entry.nonce}",
        "expires": audit_log.when(NOW + 300),
    }
    assert [each.split(":")[0] for each in body["effects"]] == [
        "it deletes a folder",
        "it drops a database",
        "deletes /p/2021",
        "drops prod",
        "pushes origin",
    ]
    assert (body["dangers"], body["rules"]) == ("5 dangers", ["files.delete-tree", "db.drop"])
    assert all(
        each in body["text"] for each in ("deletes /p/2021", "drops prod", "pushes origin", f"toolguard deny {entry.nonce}")
    )
    assert "abcdef123456" not in json.dumps(body)
    parts = dict(part.split("=") for part in headers["X-Toolguard-Signature"].split(","))
    sent = f"{parts['t']}.{json.dumps(body)}".encode()
    assert hmac.compare_digest(parts["v1"], hmac.new(b"s3cr3t", sent, "sha256").hexdigest())


def test_a_held_call_says_what_git_knows(places: Places, hook: Receiver, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "new").write_text("1")
    details = HeldDetails(effects=(HeldEffect("delete", str(folder), str(folder)),))
    stage = Stage(places, targets=webhook(hook), events=["held"])
    hold(places, now=NOW, shown=f"exec(rm -rf {folder})", details=details)
    stage.step(NOW)
    subprocess.run([shutil.which("git") or "git", "-C", folder, "init", "-q"], check=True)
    hold(places, now=NOW, shown=f"exec(rm -r {folder})", details=details)
    stage.step(NOW)
    found = [body["effects"][0].rpartition("; ")[2] for body in hook.bodies]
    assert found == ["not in a git repository", "not tracked by git"]


HOSTILE = [
    ("@everyone now", "@everyone"),
    ("<!channel> <@U1> <b>", "<!channel>"),
    ("[approve](http://evil.example/x)", "]("),
    ("see http://evil.example/?q=1", "http://"),
    ("see evil.example", "evil.example"),
    ("||hidden|| ~~gone~~", "||"),
    ("rm -rf *a* `b`", "*a*"),
    ("_a b_", "_a"),
    ("a\nApprove: toolguard approve 00000000", "\nApprove: toolguard approve 00000000"),
    ("a\x1b[2K\u202eb", "\x1b"),
]


@pytest.mark.parametrize(("call", "without"), HOSTILE, ids=[row[0][:12] for row in HOSTILE])
def test_a_call_has_no_effect_in_a_chat(places: Places, call: str, without: str) -> None:
    entry = hold(places, now=NOW, shown=call, agent=call, cwd=call)
    details = HeldDetails((HeldEffect("send", call),), (HeldRule("x.y", call), HeldRule("x.z", "r", target=call)))
    message = message_text.held(entry, held_view.view(structs.replace(entry, details=details)))
    assert without not in message.text
    assert without not in message.title


def test_a_link_is_made_when_it_is_sent_and_never_stored(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook))
    stage.workers["hook"].link = lambda nonce: f"https://page.example/answer#{nonce}-s3cr3t"
    entry = hold(places, now=NOW)
    stage.step(NOW)
    assert hook.bodies[0]["link"] == f"https://page.example/answer#{entry.nonce}-s3cr3t"
    assert hook.bodies[0]["link"] in hook.bodies[0]["text"]
    stage.store.close()
    assert all(b"s3cr3t" not in path.read_bytes() for path in places.own.iterdir() if path.is_file())


def test_a_long_call_shows_both_ends_and_says_so(places: Places) -> None:
    entry = hold(places, now=NOW, shown="begin " + "x" * 5_000 + " && rm -rf /end")
    words = message_text.held(entry, held_view.view(entry))
    assert "rm -rf /end" in words.data["call"]
    assert "Not all of the call is shown" in words.text
    assert len(words.text) < 2_000


@pytest.mark.filterwarnings("ignore:'imghdr':DeprecationWarning")
def test_each_target_gets_what_it_asked_for_once(places: Places, hook: Receiver, tmp_path: Path) -> None:
    """By apprise, to an ntfy-compatible server, and to a command; also after a restart."""
    note = [sys.executable, "-c", f"import sys; open({str(tmp_path / 'got')!r}, 'a').write(sys.stdin.read() + '\\n')"]
    targets = {
        "phone": {"url": f"ntfy://127.0.0.1:{hook.port}/topic", "events": ["held"]},
        "desk": {"command": note, "events": ["expired"]},
        "both": {"webhook": f"http://127.0.0.1:{hook.port}/"},
    }
    stage = Stage(places, targets=targets)
    stage.step(NOW)
    entry = hold(places, now=NOW, shown="exec(rm -rf /p)", lasts=300)
    for _ in range(2):
        stage.step(NOW + 1)
        stage.restart()
    assert sorted(body.get("event", body.get("topic")) for body in hook.bodies) == ["held", "topic"]
    (ntfy,) = [body for body in hook.bodies if "topic" in body]
    assert ntfy["title"] == f"toolguard on home: A call is waiting for approval ({entry.nonce})"
    assert f"toolguard approve {entry.nonce}" in ntfy["message"]
    stage.calls.sweep(NOW + 301)
    stage.step(NOW + 302)
    assert [json.loads(line)["event"] for line in (tmp_path / "got").read_text().splitlines()] == ["expired"]


LONG = "first " + "\u200b@" * 3_000 + " toolguard approve 3fa9c1d2"
SENT_TO_NTFY = [
    ("ntfy://{}/a/b?priority=max", "text", ["a", "b"], 5, ""),
    ("ntfy://me:pw@{}/a", "text", ["a"], None, "Basic bWU6cHc="),
    ("ntfy://tk_abc@{}/a", LONG, ["a"], None, "Bearer tk_abc"),
]


@pytest.mark.usefixtures("no_apprise")
@pytest.mark.parametrize(("address", "text", "topics", "priority", "authorization"), SENT_TO_NTFY)
def test_ntfy_is_spoken_without_apprise(
    hook: Receiver, tmp_path: Path, address: str, text: str, topics: list[str], priority: int | None, authorization: str
) -> None:
    """A text that the server would turn into a file is shortened; both of its ends stay."""
    file = tmp_path / "url"
    file.write_text(address.format(f"127.0.0.1:{hook.port}") + "\n")
    sender = run_notifier.sender(NotifyTarget(url_file=str(file)), None)
    assert sender.send(OutgoingMessage("k", "Titel \u00e4", text, {})).error == ""
    assert [(body["topic"], body["title"], body.get("priority")) for body in hook.bodies] == [
        (topic, "Titel \u00e4", priority) for topic in topics
    ]
    assert {headers.get("Authorization", "") for headers, _ in hook.received} == {authorization}
    shown = hook.bodies[0]["message"]
    assert (len(shown.encode()) <= 4_000, shown[:5], shown[-8:]) == (True, text[:5], text[-8:])
    hook.answer = lambda: 403
    refused = sender.send(OutgoingMessage("k", "t", "text", {}))
    assert (refused.error, refused.again) == ("the server answered 403", False)


@pytest.mark.usefixtures("no_apprise")
def test_without_apprise_the_error_of_a_delivery_says_how_to_get_it() -> None:
    done = run_notifier.sender(NotifyTarget(url="tgram://1/2"), None).send(OutgoingMessage("k", "t", "text", {}))
    assert done.error == (
        f"its URL needs apprise, which is not installed; run {sys.executable} -m pip install 'openclaw-toolguard[notify]'"
    )


def test_a_reminder_is_sent_before_the_end_unless_the_call_was_answered(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook), expiringSeconds=60)
    kept, answered = (hold(places, now=NOW, lasts=300) for _ in range(2))
    stage.step(NOW)
    stage.calls.approve(answered.nonce, PERSON, NOW + 10, 30)
    stage.step(NOW + 239)
    assert [body["event"] for body in hook.bodies] == ["held", "held"]
    stage.step(NOW + 241)
    assert [body["nonce"] for body in hook.bodies[2:]] == [kept.nonce]
    assert hook.bodies[2]["event"] == "expiring"
    (first,) = (body for body in hook.bodies[:2] if body["nonce"] == kept.nonce)
    of_both = ("agent", "call", "effects", "rules", "folder", "approve", "deny")
    assert [hook.bodies[2][name] for name in of_both] == [first[name] for name in of_both]


def test_a_target_that_fails_gets_everything_once_when_it_works_again(places: Places, hook: Receiver) -> None:
    """Down, then answering 500, then back; the call that expired meanwhile is reported as lost."""
    stage = Stage(places, targets=webhook(hook), events=["held", "blocked"])
    stage.step(NOW)
    lost = hold(places, now=NOW, lasts=300)
    hook.answer = lambda: 500
    for second in (0, 10, 100, 299):
        stage.step(NOW + second)
    assert {body["nonce"] for body in hook.bodies} == {lost.nonce}
    assert len({headers["Idempotency-Key"] for headers, _ in hook.received}) == 1
    (failing,) = stage.store.health()
    assert (failing.waiting, failing.error) == (1, "the server answered 500")
    stage.store.give_up(stage.workers, NOW + 301)
    stage.source.report_lost(gone := stage.store.unlogged(), NOW + 301)
    stage.store.logged(gone)
    assert [one.nonce for one in gone] == [lost.nonce]
    logged(stage, "block", at=NOW + 302, code="rule.net")
    hook.answer = lambda: 200
    before = len(hook.received)
    for second in (303, 304):
        stage.step(NOW + second)
    assert sorted(body["event"] for body in hook.bodies[before:]) == ["blocked", "undelivered"]
    assert lost.nonce in json.dumps(hook.bodies[before:])
    assert stage.store.health()[0].error == ""


@pytest.mark.parametrize(
    ("status", "state"), [(204, "sent"), (301, "lost"), (404, "lost"), (429, "waiting"), (503, "waiting")]
)
def test_what_an_answer_means(places: Places, hook: Receiver, status: int, state: str) -> None:
    stage = Stage(places, targets=webhook(hook), events=["held"])
    hold(places, now=NOW)
    hook.answer = lambda: status
    stage.step(NOW)
    (health,) = stage.store.health()
    assert {"sent": health.sent, "lost": health.lost, "waiting": health.waiting}[state] == 1


def test_a_message_that_a_slow_target_takes_after_all_is_not_sent_again(
    places: Places, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_worker, "ATTEMPT_SECONDS", 0.02)
    stage, answers = Stage(places, targets=webhook(hook), events=["held"]), threading.Event()
    hook.answer = lambda: 200 if answers.wait(LIMIT) else 500
    hold(places, now=NOW)
    for second in (0, 10, 20):
        stage.step(NOW + second)
    assert stage.store.health()[0].error
    hook.wait()
    answers.set()
    monkeypatch.setattr(target_worker, "ATTEMPT_SECONDS", LIMIT)
    stage.step(NOW + 30)
    assert (stage.store.health()[0].sent, len(hook.received)) == (1, 1)


def test_a_storm_is_summarized_and_the_same_event_is_only_counted(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook), events=ALL)
    stage.step(NOW)
    for number in range(200):
        logged(stage, "block", number, at=NOW + number / 100, code=f"rule.n{number % 50}", agent="main", shown="exec(x)")
    for second in range(2, 300, 7):
        stage.step(NOW + second)
    assert len(hook.received) <= 6
    delivered = [each for body in hook.bodies for each in body.get("events", [body])]
    assert len(delivered) == 50
    assert sum(1 + each.get("repeats", 0) for each in delivered) == 200
    for number in range(0, 180, 3):
        logged(stage, "block", 1_000 + number, at=NOW + 300 + number, code=f"rule.m{number}")
        stage.step(NOW + 300 + number)
    assert 12 <= len(hook.received) <= 6 + 6 * 4  # six a minute


def test_a_storm_of_other_events_does_not_delay_a_held_call(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook), events=ALL, mostPerHour=8)
    stage.step(NOW)
    for number in range(0, 600, 5):
        logged(stage, "block", number, at=NOW + number, code=f"rule.n{number}", agent="main", shown=f"exec(x{number})")
        stage.step(NOW + number)
    assert len(hook.received) == 8
    hold(places, now=NOW + 600)
    stage.step(NOW + 600)
    assert [body["event"] for body in hook.bodies[8:]] == ["held"]
    logged(stage, "block", 1_000, at=NOW + 601, code="rule.other")
    stage.step(NOW + 602)
    assert len(hook.received) == 9


def test_a_summary_leaves_out_no_held_call(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook), events=ALL)
    stage.step(NOW)
    for number in range(40):
        logged(stage, "block", number, at=NOW, code=f"rule.n{number}", agent="main", shown=f"exec(x{number})")
    nonce = hold(places, now=NOW + 1).nonce
    stage.step(NOW + 1)
    assert nonce in hook.bodies[0]["text"]


QUIET = QuietHours("22:00", "07:00")


@pytest.mark.parametrize(
    ("clock", "event", "due"),
    [
        ("2026-11-23 21:59", "blocked", "2026-11-23 21:59"),
        ("2026-11-23 22:00", "blocked", "2026-11-24 07:00"),
        ("2026-11-24 06:59", "blocked", "2026-11-24 07:00"),
        ("2026-11-24 07:00", "blocked", "2026-11-24 07:00"),
        ("2026-11-24 03:00", "held", "2026-11-24 03:00"),
    ],
)
def test_quiet_hours(clock: str, event: Any, due: str) -> None:
    now, then = (time.mktime(time.strptime(text, "%Y-%m-%d %H:%M")) for text in (clock, due))
    assert quiet_time.due(event, now, QUIET) == then
    assert quiet_time.due(event, now, QuietHours()) == now


def test_the_digest_of_a_day_is_sent_once(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook), events=["digest"], digestAt="08:00")
    stage.step(NOW)
    for number in range(3):
        logged(stage, "hold", number)
    for hours in range(1, 26):
        stage.step(NOW + 3_600 * hours)
        stage.restart()
    assert [body["counts"]["hold"] for body in hook.bodies[:1]] == [3]
    assert len(hook.received) in (1, 2)  # by the local time of NOW


def test_an_engine_that_is_away_is_reported_once(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook))
    for second, running in [(0, True), (1, False), (8, False), (9, False), (15, False), (16, True), (17, False), (20, True)]:
        stage.source.engine(running=running, now=NOW + second)
        stage.step(NOW + second)
    assert [body["event"] for body in hook.bodies] == ["engineAway"]


def test_an_engine_that_is_away_while_the_gateway_reloads_has_a_minute(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook))
    for second, running in [(0, True), (1, False), (30, False), (59, False)]:
        stage.source.engine(running=running, now=NOW + second, changed=NOW - 2)
        stage.step(NOW + second)
    assert hook.bodies == []
    stage.source.engine(running=False, now=NOW + 62, changed=NOW + 60)  # no change puts it off any further
    stage.step(NOW + 62)
    assert [body["event"] for body in hook.bodies] == ["engineAway"]


def test_old_lines_and_what_was_there_before_are_not_reported(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook), events=ALL)
    logged(stage, "block", 1, code="rule.old")
    stage.step(NOW)
    logged(stage, "block", 2, at=NOW - 100_000, code="rule.old")
    logged(stage, "block", 3, code="rule.new")
    stage.step(NOW + 1)
    assert [body["code"] for body in hook.bodies] == ["rule.new"]


PROBLEMS = [
    ("phone", {"url": "ntfy://host/topic"}, ""),
    ("phone", {"urlFile": "~/url"}, ""),
    ("hook", {"webhook": "https://host/x", "secretFile": "~/s"}, ""),
    ("desk", {"command": ["notify-send", "x"]}, ""),
    ("chat", {"channel": "telegram", "to": "1", "account": "a"}, ""),
    ("Phone", {"url": "ntfy://h/t"}, "a target's name has"),
    ("x", {}, "set exactly one of"),
    ("x", {"url": "ntfy://h/t", "webhook": "https://h"}, "set exactly one of"),
    ("x", {"url": "ntfy://h/t", "urlFile": "f"}, "url or urlFile"),
    ("x", {"url": "host/topic"}, "not one of ntfy or apprise"),
    ("x", {"webhook": "ftp://h"}, "begins with http"),
    ("x", {"webhook": "https://h/a\r\nX: y"}, "begins with http"),
    ("x", {"webhook": "https://h:99999/"}, "begins with http"),
    ("x", {"channel": "telegram"}, 'channel needs "to"'),
    ("x", {"command": []}, "names no program"),
    ("x", {"command": ["a"], "to": "1"}, "only for a channel"),
    ("x", {"url": "ntfy://h/t", "secret": "s"}, "belong to a webhook"),
]


@pytest.mark.parametrize(("name", "target", "problem"), PROBLEMS)
def test_problems_of_targets(name: str, target: dict[str, Any], problem: str) -> None:
    config = parse({"notify": {"targets": {name: target}}})
    found = notify_targets.problem(name, config.notify.targets[name])
    assert problem in found
    assert bool(found) == bool(problem)
    assert len(notify_targets.usable(config.notify)) == (not problem)


SECRET = "t0psecrettoken99"
MASKED = [
    ({"url": f"tgram://{SECRET}/123456"}, "url tgram://***"),
    ({"webhook": f"https://user:{SECRET}@host.example:8443/{SECRET}?k={SECRET}"}, "webhook https://host.example/***"),
    ({"command": ["notify-send", SECRET]}, "command notify-send"),
]


@pytest.mark.parametrize(("target", "shown"), MASKED)
def test_secrets_of_targets_are_never_shown(places: Places, target: dict[str, Any], shown: str) -> None:
    settings = {"notify": {"targets": {"x": target}}}
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"config": settings}}}}))
    assert notify_targets.masked(parse(settings).notify.targets["x"]) == shown
    given = ("--state-dir", str(places.state_dir))
    shows = [["notify", "status"], *([["config", "show"], ["config", "get", "notify"]] if "command" not in target else [])]
    for words in shows:
        for form in ((), ("--json",)):
            done = toolguard(*words, *given, *form)
            assert (done.returncode, SECRET in done.stdout + done.stderr) == (0, False)


def test_the_words_of_a_service_show_no_part_of_its_address(places: Places) -> None:
    target = NotifyTarget(url=f"ntfy://user:{SECRET}@127.0.0.1:9/{SECRET}")
    done = run_notifier.sender(target, None).send(OutgoingMessage("k", "title", "text", {}))
    assert done.error
    assert done.again
    assert SECRET not in done.error


def test_parts_of_an_address_are_hidden_as_services_decode_them() -> None:
    address = "mailto://me%40there:pass%2Fw%C3%B6rd-1@127.0.0.1:9/x"
    for text in ("pass%2Fw%C3%B6rd-1", "pass/wörd-1", "me@there", address):
        shown = failed(f"refused: {text}!", *url_target._secrets(address)).error
        assert shown == "refused: ***!"


@pytest.fixture(autouse=True)
def all_end() -> Iterator[None]:
    yield
    for process in (started := Notifier.started):
        process.kill()
        process.communicate()
    started.clear()


class Notifier:
    """The process, with a gateway part that sends on no channel."""

    started: ClassVar[list[subprocess.Popen[str]]] = []

    def __init__(self, places: Places, notify: dict[str, Any]) -> None:
        words = [sys.executable, "-m", "toolguard_cli.notify", "--state-dir", str(places.state_dir)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.started.append(self.process)
        self.say(json.dumps({"notify": notify}))

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def end(self) -> int:
        self.process.communicate(timeout=LIMIT)
        return self.process.returncode


def test_a_notifier_that_is_killed_while_it_sends_sends_again_under_the_same_key(places: Places, hook: Receiver) -> None:
    """At least once: between sending and noting it nothing can be known. Nothing else is sent again, and nothing is lost."""
    notify = {"targets": webhook(hook), "events": ["held"]}
    first = Notifier(places, notify)

    def kill() -> int:
        hook.answer = lambda: 200
        os.kill(first.process.pid, signal.SIGKILL)
        return 200

    hook.answer = kill
    before, after = hold(places), None
    hook.wait()
    assert first.end() == -signal.SIGKILL
    after = hold(places)
    second = Notifier(places, notify)
    hook.wait()
    hook.wait()
    assert second.end() == 0
    assert [body["nonce"] for body in hook.bodies] == [before.nonce, before.nonce, after.nonce]
    keys = [headers["Idempotency-Key"] for headers, _ in hook.received]
    assert keys[0] == keys[1] != keys[2]


def test_a_channel_message_goes_through_the_gateway_part(places: Places) -> None:
    notifier = Notifier(places, {"targets": {"chat": {"channel": "telegram", "to": "123"}}, "events": ["held"]})
    entry = hold(places)
    word, _, rest = notifier.line().partition(" ")
    asked = json.loads(rest)
    assert (word, asked["channel"], asked["to"]) == ("send", "telegram", "123")
    assert f"toolguard approve {entry.nonce}" in asked["text"]
    notifier.say(f"sent {json.dumps({'key': asked['key'], 'error': ''})}")
    assert notifier.end() == 0
    (health,) = stores.notifications(places.state_dir).health()
    assert (health.sent, health.lost) == (1, 0)


def test_a_damaged_store_is_kept_and_the_next_held_call_is_reported(places: Places, hook: Receiver) -> None:
    path = stores.notifications(places.state_dir).path
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 100)
    notifier = Notifier(places, {"targets": webhook(hook), "events": ["held"]})
    entry = hold(places)
    hook.wait()
    assert notifier.end() == 0
    assert [body["nonce"] for body in hook.bodies] == [entry.nonce]
    assert len(list(path.parent.glob("notifications.db.corrupt-*"))) == 1
    assert "notify.damaged" in [event.get("code") for event in stores.audit_log(places.state_dir).events()]


def test_a_store_that_another_thread_set_aside_is_left(places: Places) -> None:
    """A worker's connection must not stay with the old file, into which nothing comes any more."""
    first, second = stores.notifications(places.state_dir), stores.notifications(places.state_dir)
    assert first.counts() == second.counts() == {}
    first.set_aside()
    first.take((), counts={"hold": 1})
    assert second.counts() == {"hold": 1}
    first.close()
    second.close()


def test_a_target_that_raises_is_reported_and_tried_again(places: Places, hook: Receiver) -> None:
    stage = Stage(places, targets=webhook(hook, secretFile="~nobody-of-this-name/x"))
    hold(places, now=NOW)
    stage.step(NOW)
    (health,) = stage.store.health()
    assert (health.waiting > 0, "RuntimeError" in health.error) == (True, True)
    assert not stage.workers["hook"]._begun


def test_one_notifier_for_each_state_directory(places: Places, hook: Receiver) -> None:
    first, second = (Notifier(places, {"targets": webhook(hook), "events": ["held"]}) for _ in range(2))
    hold(places)
    hook.wait()
    assert (first.end(), second.end()) == (0, 0)
    assert len(hook.received) == 1


def configured(places: Places, targets: dict[str, Any]) -> tuple[str, str]:
    entry = {"enabled": True, "config": {"notify": {"targets": targets}}}
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": entry}}}))
    return "--state-dir", str(places.state_dir)


def test_the_command_tests_targets(places: Places, hook: Receiver) -> None:
    given = configured(places, {**webhook(hook), "chat": {"channel": "telegram", "to": "1"}, "odd": {"to": "1"}})
    found = toolguard("notify", "test", "hook", *given)
    assert (found.returncode, [body["event"] for body in hook.bodies]) == (0, ["test"])
    found = toolguard("notify", "test", *given)
    assert found.returncode == 1
    assert "only the gateway can send on its channels" in found.stdout
    assert "set exactly one of" in found.stdout
    assert "there is no notification target other" in toolguard("notify", "test", "other", *given).stderr


def test_the_command_counts_what_it_sent_itself_and_is_the_status_alone(places: Places, hook: Receiver) -> None:
    given = configured(places, webhook(hook))
    assert toolguard("notify", "test", *given).returncode == 0
    alone = toolguard("notify", *given)
    assert (alone.returncode, alone.stdout) == (0, toolguard("notify", "status", *given).stdout)
    assert "1 sent, 0 waiting, 0 lost" in alone.stdout
    assert "(openclaw gateway run)" in alone.stdout
    wrong = toolguard("notify", *configured(places, {"hook": {"webhok": "http://127.0.0.1/"}}))
    assert "notify.targets.hook.webhok: unknown setting; did you mean notify.targets.hook.webhook?" in wrong.stderr


ERRORS = [
    ({"webhook": "http://127.0.0.1:1/"}, "connection refused"),
    ({"command": ["/no/such/program"]}, "no such program: /no/such/program"),
    ({"webhook": "http://127.0.0.1:1/", "secretFile": "/no/such"}, "no such file or directory"),
]


@pytest.mark.parametrize(("target", "error"), ERRORS)
def test_errors_of_delivery_are_words(target: dict[str, Any], error: str) -> None:
    made = parse({"notify": {"targets": {"x": target}}}).notify.targets["x"]
    assert run_notifier.sender(made, None).send(OutgoingMessage("k", "title", "text", {})).error == error


def test_the_command_uses_the_notifier_that_runs(places: Places, hook: Receiver) -> None:
    given = configured(places, webhook(hook))
    notifier = Notifier(places, {"targets": webhook(hook)})
    until = time.monotonic() + LIMIT
    while not stores.notifications(places.state_dir).has_sender() and time.monotonic() < until:
        time.sleep(0.02)
    found = toolguard("notify", "test", "--json", *given)
    assert json.loads(found.stdout)["data"] == {
        "targets": {"hook": {"to": "webhook http://127.0.0.1/***", "error": ""}},
        "notifier": True,
    }
    assert "1 sent, 0 waiting, 0 lost" in toolguard("notify", "status", *given).stdout
    assert notifier.end() == 0
    assert len(hook.received) == 1


def test_a_target_that_was_just_added_is_tested_once_the_gateway_has_loaded_it(places: Places, hook: Receiver) -> None:
    """The notifier that runs does not know it yet; its successor does. Other messages to an unknown target end."""
    stage = Stage(places, targets={"old": {"webhook": f"http://127.0.0.1:{hook.port}/"}})
    for event in ("held", "test"):
        one = Notification(
            id=event, target="hook", event=event, title="", text="", data={}, created=NOW, due=NOW, until=NOW + 20
        )
        stage.store.take([one])
    stage.store.give_up(stage.workers, NOW + 1)
    states = {name: known.state for name in ("held", "test") if (known := stage.store.state_of(name, "hook"))}
    assert states == {"held": "lost", "test": "waiting"}
    Stage(places, targets=webhook(hook)).step(NOW + 2)
    assert len(hook.received) == 1
    sent = stage.store.state_of("test", "hook")
    assert sent
    assert sent.state == "sent"


def test_the_notifier_and_commands_see_what_the_other_wrote(places: Places, hook: Receiver) -> None:
    """Also after a command was the last to open and close the store."""
    notifier = Notifier(places, {"targets": {**webhook(hook), "other": {"command": ["true"]}}, "events": ["held"]})
    for number in range(1, 4):
        hold(places)
        hook.wait()
        until = time.monotonic() + LIMIT
        while sent(places) != {"hook": number, "other": number} and time.monotonic() < until:
            time.sleep(0.02)
        assert sent(places) == {"hook": number, "other": number}
    assert notifier.end() == 0


def sent(places: Places) -> dict[str, int]:
    with closing(stores.notifications(places.state_dir)) as outbox:
        return {each.target: each.sent for each in outbox.health()}
