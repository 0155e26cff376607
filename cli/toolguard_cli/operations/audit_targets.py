"""Where lines of the audit log can be sent: a syslog server (RFC 5424, over UDP, TCP or a local socket) or a collector of
OpenTelemetry (OTLP over HTTP, in JSON).

A message has the line as it is in the log, which is JSON in UTF-8. Redirects are not followed.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import ssl
from codecs import BOM_UTF8
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Protocol
from urllib.parse import SplitResult, urlsplit

from toolguard_cli.system.errors import WrongOptionError
from toolguard_engine import __version__
from toolguard_engine.stores.audit_tail import AuditLine
from toolguard_engine.wording import printable

SECONDS = 10.0
SYSLOG_PORT, OTLP_PORT = 514, 4318
OTLP_PATH = "/v1/logs"
OF_CONTENT = (400, 413, 422)
"""Statuses that say something about a request's body. Others may change without it, as when a token is renewed."""

MAX_DATAGRAM = 60_000
"""Less than a UDP packet can hold. A longer message is cut at its end, as RFC 5424 lets a relay do."""

MAX_ANSWERS = 16
"""Read of a syslog server that says something, before the next lines are sent. It is not expected to."""

AUTHPRIV = 10
"""The facility of security messages that are not for everybody."""

SEVERITIES = {
    **dict.fromkeys(("forged", "recovered", "head-lost", "security", "error"), 3),
    **dict.fromkeys(("block", "stop", "weakened", "kill-switch", "ended", "notification-lost"), 4),
    **dict.fromkeys(("hold", "hold-again", "note", "would-refuse", "budget", "drift", "expire", "lapsed"), 5),
}
"""By event, as syslog counts: 3 error, 4 warning, 5 notice; all others are 6, informational."""

INFORMATIONAL = 6
OTLP_SEVERITIES = {3: (17, "ERROR"), 4: (13, "WARN"), 5: (10, "INFO2"), 6: (9, "INFO")}
FORMS = "syslog:///dev/log, syslog://HOST:514, syslog+tcp://HOST:601, otlp+http://HOST:4318 or otlp+https://HOST"


class Refused(OSError):  # noqa: N818 - named for the condition
    """The target does not take these lines because of what they are, however often they are sent."""


class AuditTarget(Protocol):
    def send(self, lines: Sequence[tuple[AuditLine, str]]) -> None:
        """Sends these, each with its text. Raises `OSError` if it is not certain that all have arrived (`Refused` if they
        never will)."""

    def close(self) -> None: ...


def target(address: str) -> AuditTarget:
    """Raises `WrongOptionError` for an address of another form."""
    try:
        url = urlsplit(address)
        port = url.port
        (url.hostname or "").encode("idna")  # as it is done when it is looked up
    except ValueError as error:
        raise _wrong(address) from error
    if not address.isprintable() or " " in url.netloc:
        raise _wrong(address)
    if url.scheme == "syslog" and not url.netloc and url.path.startswith("/"):
        return SyslogTarget(socket.AF_UNIX, url.path)
    if not url.hostname or url.username or url.query or url.fragment:
        raise _wrong(address)
    if url.scheme in ("syslog", "syslog+tcp") and url.path in ("", "/"):
        return SyslogTarget(socket.AF_INET, (url.hostname, port or SYSLOG_PORT), is_stream=url.scheme == "syslog+tcp")
    if url.scheme in ("otlp+http", "otlp+https") and url.path.isascii():
        return OtlpTarget(url)
    raise _wrong(address)


def _wrong(address: str) -> WrongOptionError:
    shown = printable.cut(printable.plain(address), 80)
    return WrongOptionError(f"{shown!a} is no address that lines can be sent to", f"give {FORMS}")


def severity(event: str) -> int:
    return SEVERITIES.get(event, INFORMATIONAL)


def syslog_message(line: AuditLine, text: str, host: str, pid: int) -> bytes:
    """One message of RFC 5424: `MSGID` is the event."""
    priority = AUTHPRIV * 8 + severity(line.event)
    event = "".join(sign for sign in line.event if "!" <= sign <= "~")[:32] or "-"
    time = line.time if line.time.isascii() and line.time.isprintable() and " " not in line.time else ""
    head = f"<{priority}>1 {time or '-'} {host} toolguard {pid} {event} - "
    return head.encode("ascii") + BOM_UTF8 + text.encode()


class SyslogTarget:
    """A connection that is opened when it is needed. Over UDP nobody says whether a message has arrived."""

    def __init__(self, family: socket.AddressFamily, address: Any, *, is_stream: bool = False) -> None:
        self._family = family
        self._address = address
        self._is_stream = is_stream
        self._socket: socket.socket | None = None
        self._last: Sequence[bytes] = ()
        self._host = "".join(sign for sign in socket.gethostname() if "!" <= sign <= "~")[:255] or "-"

    def send(self, lines: Sequence[tuple[AuditLine, str]]) -> None:
        messages = [syslog_message(line, text, self._host, os.getpid()) for line, text in lines]
        try:
            self._write(self._connection(), messages)
        except OSError as error:
            if error.errno == errno.EMSGSIZE:
                raise Refused(error.errno, error.strerror) from error
            self.close()
            raise
        self._last = messages

    def _connection(self) -> socket.socket:
        """A new one begins with what was sent last: whoever went away may not have read it."""
        if self._socket is not None and self._is_stream and _has_ended(self._socket):
            self.close()
        if self._socket is None:
            self._socket = self._opened()
            self._write(self._socket, self._last)
        return self._socket

    def _write(self, connection: socket.socket, messages: Sequence[bytes]) -> None:
        if self._is_stream:  # octets are counted (RFC 6587)
            connection.sendall(b"".join(b"%d %b" % (len(message), message) for message in messages))
            return
        for message in messages:
            connection.send(message[:MAX_DATAGRAM])

    def _opened(self) -> socket.socket:
        if self._is_stream:
            return socket.create_connection(self._address, SECONDS)
        family, address = self._family, self._address
        if family == socket.AF_INET:  # or a name of which only an IPv6 address is known
            host, port = self._address
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        connection = socket.socket(family, socket.SOCK_DGRAM)
        connection.settimeout(SECONDS)
        connection.connect(address)
        return connection

    def close(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None


def _has_ended(connection: socket.socket) -> bool:
    """Whether the other side has closed it, which a first `sendall` does not notice. What it says is not read by anybody."""
    connection.settimeout(0)
    try:
        return any(not connection.recv(MAX_DATAGRAM) for _ in range(MAX_ANSWERS))
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(SECONDS)


class OtlpTarget:
    """Each batch is one request, on a connection of its own."""

    def __init__(self, url: SplitResult) -> None:
        self._url = url

    def send(self, lines: Sequence[tuple[AuditLine, str]]) -> None:
        body = json.dumps(otlp_logs(lines)).encode()
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "otlp+https":
            context = ssl.create_default_context()
            connection: HTTPConnection = HTTPSConnection(host, port, timeout=SECONDS, context=context)
        else:
            connection = HTTPConnection(host, port or OTLP_PORT, timeout=SECONDS)
        headers = {"Content-Type": "application/json", "User-Agent": f"toolguard/{__version__}"}
        try:
            connection.request("POST", self._url.path.rstrip("/") or OTLP_PATH, body, headers)
            status = connection.getresponse().status
        except HTTPException as error:
            raise OSError(f"the collector's answer cannot be read: {type(error).__name__}") from error
        finally:
            connection.close()
        if status in OF_CONTENT:
            raise Refused(f"the collector answered {status}")
        if status // 100 != 2:  # noqa: PLR2004 - any 2xx
            raise OSError(f"the collector answered {status}")

    def close(self) -> None: ...


def otlp_logs(lines: Sequence[tuple[AuditLine, str]]) -> dict[str, Any]:
    """An `ExportLogsServiceRequest` in the JSON of OTLP 1.x."""
    resource = {"attributes": _attributes({"service.name": "toolguard", "service.version": __version__})}
    scope = {"name": "toolguard.audit", "version": __version__}
    records = [_record(line, text) for line, text in lines]
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}]}


def _record(line: AuditLine, text: str) -> dict[str, Any]:
    number, name = OTLP_SEVERITIES[severity(line.event)]
    names = ("event", "code", "tool", "agent", "session", "run", "nonce", "by")
    known = {f"toolguard.{member}": getattr(line, member) for member in names}
    return {
        "timeUnixNano": str(_nanoseconds(line.time)), "severityNumber": number, "severityText": name,
        "body": {"stringValue": text},
        "attributes": [*_attributes(known), {"key": "toolguard.seq", "value": {"intValue": str(line.seq)}}],
    }  # fmt: skip


def _nanoseconds(time: str) -> int:
    """0, which stands for unknown, if it is no time."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return 0
    return max(0, int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000) * 1_000_000)


def _attributes(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items() if value]
