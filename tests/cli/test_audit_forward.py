"""`toolguard audit forward`: every line reaches a real server on loopback, in the form of its protocol."""

from __future__ import annotations

import errno
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cli_stage import LIMIT

from toolguard_cli.commands import audit
from toolguard_cli.operations import audit_targets
from toolguard_cli.operations.forward_audit_log import AuditForwarder
from toolguard_cli.system.errors import UserError, WrongOptionError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_tail import AuditLine

NOW = 1_700_000_000.0


def written(places: Places, *events: str, first: int = 1, reason: str = "it deletes") -> None:
    lines = [
        audit_log.AuditEvent(
            id=f"{number:016x}", time=audit_log.when(NOW + number), event=event, code="rule.x", reason=reason, agent="main"
        )
        for number, event in enumerate(events, first)
    ]
    stores.audit_log(places.state_dir).append(lines)


def log_texts(places: Places) -> list[str]:
    return [line.decode().rstrip("\n") for _, _, line in stores.audit_log(places.state_dir).lines()]


class Kept:
    """A target that keeps what it is sent; `broken` makes it fail."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.broken = False
        self.never = "never taken"

    def send(self, lines: Sequence[tuple[AuditLine, str]]) -> None:
        if self.broken:
            raise OSError(111, "Connection refused")
        if any(self.never in text for _, text in lines):
            raise audit_targets.Refused(errno.EMSGSIZE, "Message too long")
        self.lines += [text for _, text in lines]

    def close(self) -> None: ...


def forwarder(places: Places, target: Kept, report: Callable[[str], None] = lambda _: None) -> AuditForwarder:
    return AuditForwarder(places.state_dir, "kept", target, report)


def test_udp_messages_are_those_of_rfc_5424(places: Places) -> None:
    written(places, "hold", "block", "allow", "forged")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(LIMIT)
        done = audit.forward(places, f"syslog://127.0.0.1:{server.getsockname()[1]}", once=True)
        got = [server.recv(65_536).decode() for _ in range(4)]
    assert done.data == {"sent": 4}
    pattern = re.compile(r"<(\d+)>1 (\S+) (\S+) toolguard (\d+) (\S+) - \ufeff(\{.*\})")
    parts = [pattern.fullmatch(message) for message in got]
    severities = [(int(part[1]) % 8, part[5]) for part in parts if part]
    assert severities == [(5, "hold"), (4, "block"), (6, "allow"), (3, "forged")]
    assert {int(part[1]) // 8 for part in parts if part} == {10}
    assert [part[6] for part in parts if part] == log_texts(places)
    assert parts[0]
    assert re.fullmatch(r"2023-11-14T22:13:21(\.\d+)?Z", parts[0][2])


def test_tcp_messages_are_counted(places: Places) -> None:
    written(places, "hold", "block", reason="two\nlines and ünicode")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT)
        target = audit_targets.target(f"syslog+tcp://127.0.0.1:{server.getsockname()[1]}")
        AuditForwarder(places.state_dir, "tcp", target, lambda _: None).run(once=True)
        connection, _ = server.accept()
        target.close()
        with connection:
            data = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert counted(data) == log_texts(places)


def counted(data: bytes) -> list[str]:
    """The texts of messages that came over TCP."""
    texts = []
    while data:
        size, _, data = data.partition(b" ")
        texts.append(data[: int(size)].decode().partition(" - \ufeff")[2])
        data = data[int(size) :]
    return texts


@pytest.mark.parametrize("is_read", [True, False])
def test_a_server_that_starts_again_misses_no_line(places: Places, *, is_read: bool) -> None:
    """Whether or not it had read what was sent to it before."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT)
        target = audit_targets.target(f"syslog+tcp://127.0.0.1:{server.getsockname()[1]}")
        sender = AuditForwarder(places.state_dir, "tcp", target, lambda _: None)
        written(places, "hold")
        sender.run(once=True)
        first, _ = server.accept()
        with first:
            first.settimeout(LIMIT)
            first.recv(65_536, 0 if is_read else socket.MSG_PEEK)
        written(places, "block", first=2)
        sender.run(once=True)
        again, _ = server.accept()
        target.close()
        with again:
            again.settimeout(LIMIT)
            assert counted(_all_of(again)) == log_texts(places)


def test_what_a_server_says_is_not_its_end(places: Places) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT)
        target = audit_targets.target(f"syslog+tcp://127.0.0.1:{server.getsockname()[1]}")
        sender = AuditForwarder(places.state_dir, "tcp", target, lambda _: None)
        written(places, "hold")
        sender.run(once=True)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(LIMIT)
            connection.sendall(b"hello")
            written(places, "block", first=2)
            sender.run(once=True)
            target.close()
            assert counted(_all_of(connection)) == log_texts(places)


def _all_of(connection: socket.socket) -> bytes:
    """Until it ends; a reset, where not everything that was said was read, is such an end."""
    data = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(65_536):
            data += more
    return data


def test_a_local_socket(places: Places, tmp_path: Path) -> None:
    written(places, "hold")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "log"))
        server.settimeout(LIMIT)
        audit.forward(places, f"syslog://{tmp_path}/log", once=True)
        assert server.recv(65_536).startswith(b"<85>1 ")


@contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    got: list[tuple[str, Any]] = []

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, json.loads(body)))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"otlp+http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


def test_otlp(places: Places) -> None:
    written(places, "hold", "block")
    with collector() as (address, got):
        audit.forward(places, address, once=True)
    ((path, body),) = got
    assert path == "/v1/logs"
    (resource,) = body["resourceLogs"]
    assert {"key": "service.name", "value": {"stringValue": "toolguard"}} in resource["resource"]["attributes"]
    (scope,) = resource["scopeLogs"]
    records = scope["logRecords"]
    assert [record["severityText"] for record in records] == ["INFO2", "WARN"]
    assert records[0]["timeUnixNano"] == "1700000001000000000"
    assert [record["body"]["stringValue"] for record in records] == log_texts(places)
    assert {"key": "toolguard.event", "value": {"stringValue": "block"}} in records[1]["attributes"]
    assert {"key": "toolguard.seq", "value": {"intValue": "2"}} in records[1]["attributes"]


def test_a_collector_that_refuses_is_an_error(places: Places) -> None:
    written(places, "hold")
    with collector(503) as (address, _), pytest.raises(UserError, match="answered 503"):
        audit.forward(places, address, once=True)


def test_each_line_once_across_starts(places: Places) -> None:
    target = Kept()
    written(places, "hold", "block")
    forwarder(places, target).run(once=True)
    written(places, "deny", first=3)
    forwarder(places, target).run(once=True)
    forwarder(places, target).run(once=True)
    assert target.lines == log_texts(places)


def test_what_could_not_be_sent_is_sent_later(places: Places) -> None:
    target, said = Kept(), list[str]()
    written(places, "hold", "block")
    target.broken = True
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 4:
            target.broken = False
        if len(waited) > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        forwarder(places, target, said.append).run(once=False, sleep=sleep)
    assert target.lines == log_texts(places)
    assert waited[:4] == [1.0, 2.0, 4.0, 8.0]
    assert said == ["Connection refused", ""]


def test_a_line_that_is_never_taken_holds_up_no_other(places: Places) -> None:
    target, left = Kept(), list[tuple[int, str]]()
    written(places, "hold", reason="never taken")
    written(places, "block", first=2)
    written(places, "deny", first=3, reason="never taken")
    sender = AuditForwarder(places.state_dir, "kept", target, lambda _: None, lambda *given: left.append(given))
    sender.run(once=True)
    assert target.lines == log_texts(places)[1:2]
    assert left == [(1, "Message too long"), (3, "Message too long")]
    assert sender.sent == 1
    written(places, "hold", first=4, reason="never taken")
    sender.run(once=True)
    assert left[2:] == [(4, "Message too long")]


def test_nothing_is_left_out_for_a_target_that_takes_nothing(places: Places) -> None:
    """It may be another service, which answers so whatever it is sent."""
    target = Kept()
    target.never = ""
    written(places, "hold", "block")
    with pytest.raises(OSError, match="too long"):
        forwarder(places, target).run(once=True)
    target.never = "never taken"
    forwarder(places, target).run(once=True)
    assert target.lines == log_texts(places)


@pytest.mark.parametrize(
    ("status", "is_final"), [(400, True), (413, True), (422, True), (401, False), (404, False), (503, False)]
)
def test_what_a_collector_refuses_for_good(places: Places, *, status: int, is_final: bool) -> None:
    line = AuditLine(1, "x", "2026-01-01T00:00:00Z", "hold")
    with collector(status) as (address, _), pytest.raises(OSError, match=f"answered {status}") as error:
        audit_targets.target(address).send([(line, "{}")])
    assert isinstance(error.value, audit_targets.Refused) is is_final


def test_a_datagram_that_is_too_large_is_refused_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_targets, "MAX_DATAGRAM", 10_000_000)
    line = AuditLine(1, "x", "2026-01-01T00:00:00Z", "hold")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "log"))
        target = audit_targets.target(f"syslog://{tmp_path}/log")
        with pytest.raises(audit_targets.Refused):
            target.send([(line, "x" * 9_000_000)])
        target.close()


def test_a_line_that_is_no_utf_8_ends_nothing(places: Places) -> None:
    target = Kept()
    written(places, "hold", "block")
    (log,) = stores.audit_log(places.state_dir).files()
    log.write_bytes(log.read_bytes().replace(b'"seq":2,', b'"seq":2,"other":"\xff",'))
    forwarder(places, target).run(once=True)
    assert [json.loads(line)["seq"] for line in target.lines] == [1, 2]


def test_a_crash_between_sending_and_remembering_repeats_lines(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Kept()
    written(places, "hold")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(AuditForwarder, "_remember", dies)
        with pytest.raises(KeyboardInterrupt):
            forwarder(places, target).run(once=True)
    forwarder(places, target).run(once=True)
    assert target.lines == 2 * log_texts(places)


def test_a_damaged_position_leaves_nothing_out(places: Places) -> None:
    target = Kept()
    written(places, "hold")
    forwarder(places, target).run(once=True)
    (position,) = places.own.glob("forwarded-*.json")
    position.write_text("{")
    forwarder(places, target).run(once=True)
    assert target.lines == 2 * log_texts(places)


@pytest.mark.parametrize(
    "address",
    [
        "syslog://a..b",
        "syslog+tcp://" + "a" * 64,
        "otlp+http://a..b",
        "otlp+http://a/\u00fc",
        "syslog:///\udc80",
        "syslog://a b",
        "",
        "host",
        "http://a",
        "syslog://",
        "syslog://a:x",
        "syslog://u@a",
        "otlp+http://",
        "syslog://a/b",
        "file:///x",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(WrongOptionError, match="no address"):
        audit_targets.target(address)


def test_nothing_of_an_agent_gets_into_the_head_of_a_message() -> None:
    line = AuditLine(1, "x", "2026-01-01T00:00:00Z", "hold\n<0>1 - - - - - - forged")
    message = audit_targets.syslog_message(line, "{}", "host", 7)
    assert message == b"<86>1 2026-01-01T00:00:00Z host toolguard 7 hold<0>1------forged - \xef\xbb\xbf{}"
