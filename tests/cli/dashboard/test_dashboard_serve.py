"""The server's life: its port, its end, what it leaves behind."""

from __future__ import annotations

import http.client
import io
import json
import os
import select
import signal
import socket
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest
from dashboard_stage import (
    LIMIT,
    NAMES,
    OWN,
    Machine,
    Process,
    Served,
    arguments,
    close,
    command,
    machine,
    process,
    served,
    start,
)
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from toolguard_cli.dashboard import discovery, http_server, run_server, token, vouched
from toolguard_cli.dashboard.__main__ import main
from toolguard_cli.system.errors import UserError
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import signing_key as signatures
from toolguard_engine.stores.files import signing_key_file as signing_key


@pytest.fixture
def made(tmp_path: Path) -> Machine:
    return machine(tmp_path)


def refused(made: Machine, *more: str, port: int = 0) -> subprocess.CompletedProcess[str]:
    """A server that does not come to serve."""
    given = arguments(made, *more, port=port)
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()) as errors:
        return subprocess.CompletedProcess(given, main(given), output.getvalue(), errors.getvalue())


def test_it_tells_where_it_is_and_takes_that_back(made: Machine) -> None:
    with process(made) as server:
        about = discovery.running(made.db)
        assert about
        assert (about.pid, about.url) == (server.process.pid, f"http://127.0.0.1:{server.port}")
        assert stat.S_IMODE(metrics_path.server_path(made.db).stat().st_mode) == 0o600
        assert server.end() == 0
    assert not metrics_path.server_path(made.db).exists()
    assert discovery.running(made.db) is None


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_with_pages_open(made: Machine, how: signal.Signals) -> None:
    with process(made) as server, connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=LIMIT, proxy=None) as page:
        page.send('{"token": ""}')
        page.recv(LIMIT)
        server.process.send_signal(how)
        with pytest.raises(ConnectionClosedError) as closed:
            list(page)
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 1012
        assert server.process.wait(LIMIT) == 0
    assert not metrics_path.server_path(made.db).exists()


def test_it_ends_with_who_started_it(made: Machine) -> None:
    with process(made, "--owned") as server:
        assert server.process.stdin
        server.process.stdin.close()
        server.process.stdin = None
        assert server.process.wait(LIMIT) == 0


def test_it_decides_only_where_who_holds_it_has_the_key(made: Machine) -> None:
    """The metrics file that it is started with can name any gateway."""
    own, other = made.places(OWN).state_dir, made.places(NAMES[0]).state_dir
    secret, entry = signing_key.load(own), made.hold()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command(made, "--owned", "--vouched"), **pipes) as started:  # type: ignore[call-overload]

        def answer(path: Path) -> None:
            asked, challenge, named = started.stdout.readline().split()
            assert (asked, named) == ("challenge", str(signing_key.path(path)))
            started.stdin.write(signatures.sign(secret, vouched.PURPOSE + challenge.encode()) + "\n")
            started.stdin.flush()

        answer(own)
        url = started.stdout.readline().split()[1]
        running = Process(made, url, int(url.rpartition(":")[2]), token.known(made.db), started)
        with ThreadPoolExecutor(1) as pool:
            approved = pool.submit(running.post, "/api/approve", {"gateway": NAMES[0], "nonce": entry.nonce})
            answer(other)
            assert (approved.result(LIMIT).status, approved.result().code) == (403, "key")
        assert made.status(entry.nonce) == "pending"
        started.stdin.close()
        assert started.wait(LIMIT) == 0


def test_the_port_is_our_own(made: Machine) -> None:
    with served(made) as server:
        again = refused(made, port=server.port)
        assert (again.returncode, again.stdout) == (run_server.RUNS_ALREADY, f"already http://127.0.0.1:{server.port}\n")
        assert again.stderr == ""
        assert discovery.running(made.db)


def test_the_port_is_that_of_another_metrics_file(made: Machine, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with process(machine(tmp_path / "other")) as server:
        token.obtain(made.db)
        done = refused(made, port=server.port)
    assert done.returncode == 1
    taken = f"is taken by a dashboard for another metrics file (process {server.process.pid})"
    assert f"port {server.port} on 127.0.0.1 {taken}" in done.stderr


def test_the_port_is_a_strangers(made: Machine) -> None:
    token.obtain(made.db)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(refused, made, port=port)
            connection, _ = stranger.accept()
            with connection:
                asked = connection.recv(65_536)
                connection.sendall(
                    b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"name": "toolguard", "proof": "00"}              '
                )
            done = running.result(LIMIT)
    assert token.obtain(made.db).encode() not in asked
    assert b"uthorization" not in asked
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is taken by process {os.getpid()} (" in done.stderr
    assert "; toolguard dashboard --port " in done.stderr
    assert not metrics_path.server_path(made.db).exists()


def test_a_stranger_cannot_pass_the_question_on(made: Machine) -> None:
    """What a dashboard of ours answers elsewhere proves nothing about this port."""
    with served(made) as server:
        proof = token.proof(server.token, server.port, "0" * 32)
        assert server.get(f"/api/hello?nonce={'0' * 32}")["proof"] == proof
        assert token.proof(server.token, server.port + 1, "0" * 32) != proof
        assert not discovery.is_ours("127.0.0.1", server.port, "f" * 64)
        assert discovery.is_ours("127.0.0.1", server.port, server.token)


@pytest.mark.thorough
def test_what_a_killed_one_left_is_replaced(made: Machine) -> None:
    first = start(made)
    first.process.kill()
    first.process.wait(LIMIT)
    assert metrics_path.server_path(made.db).exists()
    assert discovery.running(made.db) is None
    close(first)
    with process(made, port=first.port) as second:
        about = discovery.running(made.db)
        assert about
        assert about.pid == second.process.pid
        assert second.token == first.token


@pytest.mark.thorough
def test_one_that_another_has_replaced_leaves_its_word(made: Machine) -> None:
    with process(made) as first, process(made) as second:
        assert first.end() == 0
        about = discovery.running(made.db)
        assert about
        assert about.pid == second.process.pid


@pytest.mark.parametrize("words", ["", "{", "[]", '{"pid": 1, "url": "file:///x", "started": 1, "version": ""}'])
def test_a_word_that_makes_no_sense(made: Machine, words: str) -> None:
    token.obtain(made.db)
    metrics_path.server_path(made.db).write_text(words)
    assert discovery.running(made.db) is None


def test_places_that_cannot_be_had(made: Machine) -> None:
    for more in (("--bind", "203.0.113.1"), ("--bind", "no such host"), ("--port", "70000")):
        done = refused(made, *more)
        assert done.returncode == 1, more
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_token_that_others_may_read(made: Machine) -> None:
    token.obtain(made.db)
    path = metrics_path.token_path(made.db)
    path.chmod(0o640)
    done = refused(made)
    assert done.returncode == 1
    assert done.stderr == (
        f"other users can read {path} (mode 0640), so it is no longer secret; "
        f"rm {path}; a new one is created at the next start\n"
    )


@pytest.mark.parametrize("content", ["", "short", "G" * 64, "0" * 65, "0" * 64 + "\n\n"])
def test_a_token_that_is_none(made: Machine, content: str) -> None:
    path = metrics_path.token_path(made.db)
    path.touch(0o600)
    path.write_text(content)
    with pytest.raises(UserError, match="does not contain a token"):
        token.obtain(made.db)


def test_whoever_needs_the_token_first_makes_it(tmp_path: Path) -> None:
    db = tmp_path / "new" / "metrics.db"
    assert token.known(db) == ""
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(token.obtain, [db] * 64))
    assert len(found) == 1
    assert [path.name for path in db.parent.iterdir()] == ["metrics.db.token"]
    assert stat.S_IMODE(metrics_path.token_path(db).stat().st_mode) == 0o600


def test_a_link_or_a_pipe_in_the_place_of_the_token(tmp_path: Path) -> None:
    db = tmp_path / "metrics.db"
    os.mkfifo(metrics_path.token_path(db), 0o600)
    with pytest.raises(UserError, match="it is not a file"):
        token.obtain(db)
    metrics_path.token_path(db).unlink()
    metrics_path.token_path(db).symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserError, match="cannot be used"):
        token.obtain(db)


def test_ipv6(made: Machine) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    with served(made, "--bind", "::1") as server, socket.create_connection(("::1", server.port), LIMIT) as connection:
        assert server.url == f"http://[::1]:{server.port}"
        connection.sendall(f"GET /api/hello HTTP/1.1\r\nHost: [::1]:{server.port}\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_the_gateway_that_was_named_is_shown(made: Machine) -> None:
    with served(made) as server:
        assert OWN in [each["id"] for each in json.loads(server.ask("/api/state").body)["gateways"]]


HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1"


NO_BODY = b"POST /api/hello HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 9\r\n\r\n"
MANY = b"GET /api/hello HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" * 50


def half_open(server: Served, count: int, closed_at_end: ExitStack, said: bytes = HALF_A_HEAD) -> list[socket.socket]:
    made = []
    for _ in range(count):
        made.append(closed_at_end.enter_context(socket.create_connection(("127.0.0.1", server.port), LIMIT)))
        with suppress(OSError):  # closed already
            made[-1].sendall(said.replace(b"%d", b"%d" % server.port))
    return made


@pytest.mark.parametrize("said", [HALF_A_HEAD, NO_BODY, MANY], ids=["half a head", "no body", "many whole requests"])
def test_connections_without_the_token_do_not_lock_the_owner_out(
    made: Machine, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 10 * LIMIT)
    with served(made) as server, ExitStack() as stack:
        own = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT)))
        page = stack.enter_context(connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=LIMIT, proxy=None))
        page.send(json.dumps({"token": server.token}))
        with_token = {"authorization": f"Bearer {server.token}"}
        for before in (0, 700):
            half_open(server, before, stack, said)
            own.request("GET", "/api/hello", headers=with_token)  # on a connection that has shown the token
            assert own.getresponse().read()
            assert server.ask("/api/hello", token=server.token).status == 200  # on a new one
        page.send("still here")
        assert page.recv(LIMIT)


def test_a_head_that_never_ends_is_closed(made: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 1)
    with served(made) as server, ExitStack() as stack:
        for one in half_open(server, 20, stack):
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
        one = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), LIMIT))
        one.sendall(HALF_A_HEAD + b"\r\n\r\n" + HALF_A_HEAD)
        with suppress(ConnectionError):
            for _ in range(10 * LIMIT):  # one byte at a time does not extend it
                if select.select([one], [], [], 0.1)[0] and not one.recv(65_536):
                    return
                one.sendall(b"x")
            pytest.fail("it is still open")
