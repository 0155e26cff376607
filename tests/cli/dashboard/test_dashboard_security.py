"""Who is refused, and with what. Nothing that is refused changes anything."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from dashboard_stage import LIMIT, NAMES, Served, machine, served

from tables import each_row
from toolguard_cli.dashboard.security import AccessPolicy
from toolguard_engine.host import metrics_path

LARGE = b'{"why": "' + b"x" * 70_000 + b'"}'
DEEP = b"[" * 30_000 + b"]" * 30_000
POSTS = ("/api/approve", "/api/deny", "/api/state", "/api/decision")
PATHS = ("/", "/static/nothing.js", "/api/overview", "/api/state", "/api/pending", "/metrics", "/api/openapi.json", "/nix")


@each_row("path", PATHS)
@each_row(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil:{port}", "127.0.0.1.evil:{port}", "10.0.0.1:{port}", ""]
)
def test_dns_rebinding(shared: Served, path: str, host: str) -> None:
    answer = shared.ask(path, token=shared.token, host=host.format(port=shared.port))
    assert (answer.status, answer.code) == (403, "host")


@each_row("host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST:{port}", "localhost:1", "localhost"])
def test_own_hosts(shared: Served, host: str) -> None:
    assert shared.ask("/api/state", host=host.format(port=shared.port)).status == 200


@each_row(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost:{port}"]
)
@each_row("path", ["/", "/api/overview", "/metrics"])
def test_foreign_origin(shared: Served, path: str, origin: str) -> None:
    answer = shared.ask(path, token=shared.token, origin=origin.format(port=shared.port))
    assert (answer.status, answer.code) == (403, "origin")


@each_row(
    ("address", "host", "reached", "known"),
    [
        ("127.0.0.1", "localhost:9000", "127.0.0.1", True),
        ("127.0.0.1", "evil.example:8080", "127.0.0.1", False),
        ("::", "192.168.1.5:8080", "::ffff:192.168.1.5", True),
        ("::", "192.168.1.5:9000", "::ffff:192.168.1.5", False),
        ("::", "[fd00::5]:8080", "fd00::5", True),
        ("0.0.0.0", "192.168.1.6:8080", "192.168.1.5", False),
    ],
)
def test_hosts_that_are_taken(address: str, host: str, reached: str, *, known: bool) -> None:
    assert bool(AccessPolicy.make(address, 8080, str).origins(host, reached)) is known


def test_a_tunnel_may_begin_at_any_port(shared: Served) -> None:
    assert shared.ask("/api/state", host="localhost:9000", origin="http://localhost:9000").status == 200
    assert shared.ask("/api/state", host="localhost:9000", origin=f"http://localhost:{shared.port}").code == "origin"
    refused = shared.ask("/api/state", host="evil.example")
    assert f"http://localhost:{shared.port}" in refused.value["error"]["fix"]


def test_no_token_opens_nothing() -> None:
    assert not AccessPolicy.make("127.0.0.1", 8080, str).opens(b"")


def test_a_token_that_is_a_secret_no_more(server: Served) -> None:
    path = metrics_path.token_path(server.machine.db)
    word = {"gateway": NAMES[0], "nonce": "0" * 8}
    assert server.post("/api/approve", word).status == 409
    path.chmod(0o644)
    assert server.post("/api/approve", word).status == 401
    assert server.get(f"/api/hello?nonce={'a' * 32}")["proof"] == ""
    path.unlink()
    assert server.post("/api/approve", word).status == 401
    new = path.read_text().strip()
    assert new != server.token
    assert server.post("/api/approve", word, token=new).status == 409


def test_own_origin(shared: Served) -> None:
    assert shared.ask("/api/state", origin=f"http://127.0.0.1:{shared.port}").status == 200


@each_row(
    ("site", "mode", "status"),
    [
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
    ],
)
def test_what_browsers_say(shared: Served, site: str, mode: str, status: int) -> None:
    assert shared.ask("/api/state", sec_fetch_site=site, sec_fetch_mode=mode).status == status


def test_a_navigation_cannot_change_anything(shared: Served) -> None:
    answer = shared.post("/api/state", {}, sec_fetch_site="cross-site", sec_fetch_mode="navigate")
    assert (answer.status, answer.code) == (403, "site")


@each_row("path", POSTS)
@each_row("given", ["", "0" * 64, "x", "Bearer"])
def test_no_change_without_the_token(shared: Served, path: str, given: str) -> None:
    answer = shared.post(path, {"gateway": NAMES[0]}, token=given)
    assert (answer.status, answer.code) == (401, "token")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_other_schemes_and_wrong_tokens(shared: Served) -> None:
    for given in (f"Basic {shared.token}", shared.token, f"Bearer {shared.token}0", "Bearer \xe9", "Bearer"):
        assert shared.ask("/api/state", authorization=given).status == 401
    assert shared.ask("/api/state", authorization=f"bearer {shared.token}").status == 200


@each_row("path", POSTS)
@each_row(
    ("body", "headers", "status", "code"),
    [
        (b"{}", {"content_type": "text/plain"}, 415, "content-type"),
        (b"a=b", {"content_type": "application/x-www-form-urlencoded"}, 415, "content-type"),
        (b"{}", {"content_type": ""}, 415, "content-type"),
        (LARGE, {}, 413, "too-large"),
        (b"{", {}, 400, "malformed"),
        (b"", {}, 400, "malformed"),
        (b"\xff\xfe", {}, 400, "malformed"),
        (b'{"gateway": "\xff"}', {}, 400, "malformed"),
        (b'{"gateway": "\\ud800"}', {}, 400, "malformed"),
        (DEEP, {}, 422, "values"),
        (b'{"gateway": ' + DEEP + b"}", {}, 422, "values"),
        (b"[]", {}, 422, "values"),
        (b"null", {}, 422, "values"),
        (b'{"gateway": 1}', {}, 422, "values"),
        (b'{"gateway": ""}', {}, 422, "values"),
        (json.dumps({"gateway": "x" * 300}).encode(), {}, 422, "values"),
        (b'{"gateway": "openclaw", "sudo": true}', {}, 422, "values"),
    ],
)
def test_bodies(shared: Served, path: str, body: bytes, headers: dict[str, str], status: int, code: str) -> None:
    answer = shared.post(path, body, **headers)
    assert (answer.status, answer.code) == (status, code), answer


@each_row("nonce", ["", "1234", "1234567g", "12345678 ", "123456789", "ABCDEF12", "../../etc"])
def test_bad_nonces(shared: Served, nonce: str) -> None:
    for path in POSTS[:2]:
        answer = shared.post(path, {"gateway": NAMES[0], "nonce": nonce})
        assert (answer.status, answer.code) == (422, "values")


def test_a_chunked_body_is_bounded_as_well(shared: Served) -> None:
    chunk = b"%x\r\n%s\r\n" % (8_192, b"x" * 8_192)
    head = f"POST /api/approve HTTP/1.1\r\nHost: 127.0.0.1:{shared.port}\r\nAuthorization: Bearer {shared.token}\r\n"
    with socket.create_connection(("127.0.0.1", shared.port), LIMIT) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        connection.sendall(chunk * 9 + b"0\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


@each_row("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "POST"])
@each_row("path", ["/api/overview", "/metrics", "/", "/static/x", "/api/hello"])
def test_methods(shared: Served, method: str, path: str) -> None:
    assert shared.ask(path, method).code == "token"
    answer = shared.ask(path, method, b"{}", token=shared.token, content_type="application/json")
    assert (answer.status, answer.code) == (405, "method")


def test_head(shared: Served) -> None:
    answer = shared.ask("/api/state", "HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert shared.ask("/api/approve", "HEAD", token=shared.token).status == 405


@each_row("path", ["/nix", "/api/", "/api/overview/", "/static/../shapes.py", "/static/%2e%2e/shapes.py"])
def test_unknown_paths(shared: Served, path: str) -> None:
    answer = shared.ask(path)
    assert (answer.status, answer.code) == (404, "path")


@each_row("path", PATHS)
def test_every_answer_has_the_headers(shared: Served, path: str) -> None:
    headers = shared.ask(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-cache" if path == "/" else "no-store") or path.startswith("/static")
    assert "server" not in headers
    assert not [name for name in headers if name.startswith("access-control")]


def test_elsewhere_than_on_this_machine_all_needs_the_token(tmp_path: Path) -> None:
    with served(machine(tmp_path), "--bind", "0.0.0.0") as server:
        for path in PATHS:
            whole = server.ask(path, token=server.token).status
            assert whole in (200, 404)
            assert server.ask(path).status == (whole if path in PATHS[:2] else 401)
        assert server.ask("/api/hello").status == 200
        assert server.ask("/api/state", token=server.token, host=f"0.0.0.0:{server.port}").code == "host"
