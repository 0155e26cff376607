"""The rehearsal rig, as far as it needs no gateway: the scripted model over real HTTP, the private home, the runtime."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cli_stage import LIMIT

from tables import each_row
from toolguard_cli.rig import downloads, own_programs, real_gateway, scripted_model
from toolguard_cli.rig.private_home import Home, free_port
from toolguard_cli.system.errors import UserError

READ = {"type": "function", "function": {"name": "read", "parameters": {}}}
ASKED = [{"role": "user", "content": "go"}]


def post(base_url: str, *, status: int = 200, **body: Any) -> tuple[str, str]:
    """Content type and text of the answer to one chat request."""
    address = urlsplit(base_url)
    connection = HTTPConnection(str(address.hostname), address.port, timeout=LIMIT)
    try:
        connection.request("POST", f"{address.path}/chat/completions", json.dumps(body))
        response = connection.getresponse()
        assert response.status == status
        return str(response.getheader("content-type")), response.read().decode()
    finally:
        connection.close()


def whole(base_url: str, **body: Any) -> dict[str, Any]:
    kind, text = post(base_url, **body)
    assert kind == "application/json"
    answer: dict[str, Any] = json.loads(text)
    return answer


def said(base_url: str, *, tools: bool = True) -> str:
    """The text of a whole answer, or the names of its calls."""
    answer = whole(base_url, messages=ASKED, tools=[READ] if tools else [])
    message = answer["choices"][0]["message"]
    return message["content"] or " ".join(call["function"]["name"] for call in message["tool_calls"])


def test_sequence() -> None:
    script = scripted_model.sequence(
        [scripted_model.call("read"), scripted_model.Reply("half way"), scripted_model.call("write")], closing="That is all."
    )
    with scripted_model.ScriptedModel(script) as server:
        assert [said(server.base_url) for _ in range(5)] == ["read", "half way", "write", "That is all.", "That is all."]
        assert said(server.base_url, tools=False) == "That is all."
        assert [request.index for request in server.requests] == list(range(6))
        assert server.last_answer == "That is all."


def test_sequence_ends_where_no_tools_are_offered() -> None:
    with scripted_model.ScriptedModel(scripted_model.sequence([scripted_model.call("read")])) as server:
        assert said(server.base_url, tools=False) == "Done."


def test_endless() -> None:
    with scripted_model.ScriptedModel(
        scripted_model.endless(scripted_model.call("read", {}), "I give up.", give_up_after=3)
    ) as server:
        assert [said(server.base_url) for _ in range(2)] == ["read", "read"]
        assert said(server.base_url, tools=False) == "I give up."
        assert said(server.base_url) == "I give up."


def test_another_script_counts_from_the_start() -> None:
    with scripted_model.ScriptedModel(scripted_model.sequence([scripted_model.call("read")], "one")) as server:
        assert [said(server.base_url) for _ in range(2)] == ["read", "one"]
        server.play(scripted_model.sequence([scripted_model.call("write")], "two"))
        assert (server.requests, server.last_answer, server.tokens) == ([], "", 0)
        assert [said(server.base_url) for _ in range(2)] == ["write", "two"]


def test_whole_answer() -> None:
    reply = scripted_model.Reply(
        "look", (scripted_model.ToolCall("read", {"path": "a"}), scripted_model.ToolCall("edit", "{not JSON"))
    )
    with scripted_model.ScriptedModel(lambda _: reply) as server:
        answer = whole(server.base_url, messages=ASKED, tools=[READ])
        calls = answer["choices"][0]["message"].pop("tool_calls")
        assert server.tokens == answer["usage"]["total_tokens"]
    prompt = len(json.dumps(ASKED)) // 4
    assert answer == {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "look"}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 20, "total_tokens": prompt + 20},
    }
    ids = [call.pop("id") for call in calls]
    assert len(set(ids)) == 2
    assert all(name.startswith("call_") for name in ids)
    assert calls == [
        {"index": 0, "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}},
        {"index": 1, "type": "function", "function": {"name": "edit", "arguments": "{not JSON"}},
    ]


@pytest.mark.parametrize(
    ("reply", "delta", "finish"),
    [
        pytest.param(scripted_model.Reply("hello"), {"role": "assistant", "content": "hello"}, "stop", id="text"),
        pytest.param(scripted_model.call("read", {}), {"role": "assistant", "content": ""}, "tool_calls", id="call"),
    ],
)
def test_streamed_answer(reply: scripted_model.Reply, delta: dict[str, str], finish: str) -> None:
    with scripted_model.ScriptedModel(lambda _: reply) as server:
        kind, text = post(server.base_url, messages=ASKED, tools=[READ], stream=True)
    assert kind == "text/event-stream"
    *events, done, rest = text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    first, last, usage = (json.loads(event.removeprefix("data: ")) for event in events)
    calls = first["choices"][0]["delta"].pop("tool_calls", [])
    assert [call["function"] for call in calls] == ([{"name": "read", "arguments": "{}"}] if reply.calls else [])
    assert first["choices"] == [{"index": 0, "delta": delta, "finish_reason": None}]
    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": finish}]
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], 20)


def test_an_answer_says_what_it_used() -> None:
    with scripted_model.ScriptedModel(
        lambda _: scripted_model.Reply("hello", usage=scripted_model.TokenUsage(1_000, 50, cached=400))
    ) as server:
        used = whole(server.base_url, messages=ASKED)["usage"]
        _, text = post(server.base_url, messages=ASKED, stream=True)
    assert used == {
        "prompt_tokens": 1_000,
        "completion_tokens": 50,
        "total_tokens": 1_050,
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    assert json.loads(text.split("\n\n")[2].removeprefix("data: "))["usage"] == used


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_refused_request(*, stream: bool) -> None:
    with scripted_model.ScriptedModel(scripted_model.sequence([scripted_model.overflow()])) as server:
        kind, text = post(server.base_url, status=400, messages=ASKED, tools=[READ], stream=stream)
        assert said(server.base_url) == "Done."
    error = json.loads(text)["error"]
    assert (kind, error["code"], error["type"]) == ("application/json", "context_length_exceeded", "invalid_request_error")
    assert "maximum context length" in error["message"]


def test_what_a_script_sees() -> None:
    seen: list[scripted_model.Request] = []
    messages = [
        {"role": "user", "content": "go"},
        {"role": "tool", "content": "first"},
        {"role": "tool", "content": [{"type": "text", "text": "sec"}, {"type": "text", "text": "ond"}, "?"]},
        {"role": "assistant", "content": None},
    ]
    with scripted_model.ScriptedModel(scripted_model.sequence([]), on_request=seen.append) as server:
        whole(server.base_url, messages=messages, tools=[READ])
        whole(server.base_url, messages=[])
    (request, bare) = seen
    assert request.texts("tool") == ["first", "second"]
    assert request.texts("assistant") == [""]
    assert (request.last_result, request.tool_names) == ("second", ["read"])
    assert (bare.last_result, bare.tool_names, bare.index) == ("", [], 1)


def test_requests_at_the_same_time_are_counted_once_each() -> None:
    replies = [scripted_model.Reply(str(at)) for at in range(16)]
    with scripted_model.ScriptedModel(scripted_model.sequence(replies)) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(said, [server.base_url] * 16))
    assert sorted(answers, key=int) == [str(at) for at in range(16)]


def test_list_of_models() -> None:
    with scripted_model.ScriptedModel(scripted_model.sequence([])) as server:
        connection = HTTPConnection("127.0.0.1", urlsplit(server.base_url).port, timeout=LIMIT)
        connection.request("GET", "/v1/models")
        body = json.loads(connection.getresponse().read())
        connection.close()
    assert body == {"object": "list", "data": [{"id": "scripted-1", "object": "model"}]}


def test_home() -> None:
    with Home("http://127.0.0.1:1/v1", plugins={"allow": ["toolguard"]}, extra={"tools": {"toolSearch": False}}) as home:
        config = json.loads(home.config_path.read_text())
        assert config["gateway"]["port"] == home.port
        assert config["gateway"]["auth"] == {"mode": "token", "token": home.token}
        assert config["gateway"]["bind"] == "loopback"
        assert config["models"]["providers"]["scripted"]["baseUrl"] == "http://127.0.0.1:1/v1"
        assert config["agents"]["defaults"]["model"] == {"primary": "scripted/scripted-1"}
        assert (config["plugins"], config["tools"]) == ({"allow": ["toolguard"]}, {"toolSearch": False})
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (home.root, home.state_dir, home.config_path)]
        assert modes == [0o700, 0o700, 0o600]
        (home.state_dir / "left").write_text("behind")
        root = home.root
    assert not root.exists()


def test_home_without_plugins_has_no_such_key() -> None:
    with Home("http://127.0.0.1:1/v1") as home:
        assert list(json.loads(home.config_path.read_text())) == ["gateway", "models", "agents"]


def test_homes_are_apart() -> None:
    with Home("u") as one, Home("u") as other:
        assert one.root != other.root
        assert one.token != other.token


def test_a_home_is_removed_after_an_error() -> None:
    home = Home("u")
    with pytest.raises(KeyError), home:
        raise KeyError
    assert not home.root.exists()


def test_environment_of_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCLAW_STATE_DIR", "/of/the/user")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("TOOLGUARD_STATE_DIR", "/of/the/user")
    with Home("u") as home:
        found = home.environment
    assert found["HOME"] == str(home.root)
    assert found["OPENCLAW_STATE_DIR"] == str(home.state_dir)
    assert found["OPENCLAW_CONFIG_PATH"] == str(home.config_path)
    assert found["PATH"] == os.environ["PATH"]
    assert "secret" not in found.values()
    assert "/of/the/user" not in found.values()


def test_more_config_is_laid_over(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"models": {"catalogRefresh": {"enabled": False}}, "gateway": {"port": 1, "auth": "none"}}
    with Home("http://127.0.0.1:1/v1", extra=extra) as home:
        config = json.loads(home.config_path.read_text())
    assert config["models"]["catalogRefresh"] == {"enabled": False}
    assert list(config["models"]["providers"]) == ["scripted"]
    assert (config["gateway"]["port"], config["gateway"]["auth"], config["gateway"]["bind"]) == (1, "none", "loopback")


def test_sealed_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/of/the/user")
    with Home("u", sealed=True) as home:
        config = json.loads(home.config_path.read_text())
        assert home.environment["TMPDIR"] == str(home.root / "tmp")
        assert (home.root / "tmp").is_dir()
        assert config["logging"] == {"file": str(home.root / "tmp" / "openclaw.log")}
        assert config["update"] == {"checkOnStart": False}
        assert home.environment["OPENCLAW_DISABLE_BONJOUR"] == "1"
    with Home("u") as home:
        assert home.environment["TMPDIR"] == "/of/the/user"


def test_lock_files_that_openclaw_keeps_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of this home's databases go; their names are the SHA-256 of the database's path, as OpenClaw names them."""
    monkeypatch.setattr("toolguard_cli.rig.private_home.LOCKS", tmp_path)
    foreign = tmp_path / "state-handles.00000000.lock.sqlite"
    foreign.touch()
    with Home("u") as home:
        database = home.state_dir / "state" / "openclaw.sqlite"
        database.parent.mkdir()
        database.touch()
        name = hashlib.sha256(str(database.resolve()).encode()).hexdigest()[:8]
        for own in (f"state-handles.{name}.lock.sqlite", f"gateway-lifecycle.{name}.lock.sqlite-journal"):
            (tmp_path / own).touch()
    assert list(tmp_path.iterdir()) == [foreign]


def test_an_openclaw_that_is_one_command() -> None:
    assert downloads.Program(("/usr/bin/openclaw",)).command("gateway", "run") == ["/usr/bin/openclaw", "gateway", "run"]


def test_free_port() -> None:
    assert 1024 <= free_port() <= 65_535


def test_a_free_port_is_given_to_nobody_else_and_can_be_had() -> None:
    port = free_port()
    with ExitStack() as kept, pytest.raises(OSError, match="in use"):
        kept.enter_context(socket.socket()).bind(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)) as server:
        assert server.getsockname()[1] == port


@pytest.mark.parametrize(
    "version", ["latest", "2026", "2026.9", "2026.9.6 || rm", "2026.9.6\n", "^2026.9.6", "../x", "", "v2026.9.6"]
)
def test_no_release(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a name never reaches a download."""
    monkeypatch.setattr(downloads, "npm_packages", None)
    monkeypatch.setattr(downloads, "node", None)
    with pytest.raises(UserError) as caught:
        downloads.ensure(version)
    assert caught.value.message == f"{version!r} is not a version of OpenClaw"
    assert caught.value.fix == f"use one like {downloads.OPENCLAW_VERSION}"


@pytest.mark.parametrize("version", ["2026.9.6", "2026.6.11", "2026.2.6-3", "2026.10.1-beta.2"])
def test_release(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, tuple[str, ...]]] = []

    def packages(name: str, wanted: tuple[str, ...], _progress: object) -> Path:
        asked.append((name, wanted))
        return tmp_path

    monkeypatch.setattr(downloads, "npm_packages", packages)
    monkeypatch.setattr(downloads, "node", lambda _progress: tmp_path / "node")
    monkeypatch.setattr(own_programs, "openclaw", lambda _version: None)
    found = downloads.ensure(version)
    assert asked == [("openclaw", (f"openclaw@{version}",))]
    assert found == downloads.Runtime(tmp_path / "node", tmp_path / "openclaw" / "openclaw.mjs", version)
    assert found.command("gateway", "run") == [str(tmp_path / "node"), str(found.openclaw), "gateway", "run"]


def _make(folder: Path) -> None:
    (folder / "whole").touch()


def _fail(folder: Path) -> None:
    (folder / "half").touch()
    raise UserError("no network")


def test_a_download_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGUARD_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(UserError):
        downloads._in_cache("thing-1", _fail)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["runtime.lock"]
    found = downloads._in_cache("thing-1", _make)
    assert found == tmp_path / "cache" / "thing-1"
    assert (found / "whole").is_file()
    assert downloads._in_cache("thing-1", _fail) == found


def test_a_failed_download_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError) as caught:
        downloads._run([sys.executable, "-c", "import sys; print('one\\ntwo', file=sys.stderr); sys.exit(1)"])
    lines = caught.value.message.splitlines()
    assert lines[0].startswith(f"download failed: {sys.executable} -c ")
    assert lines[-1:] == ["    two"]
    assert lines[-2] == "    one"
    assert caught.value.fix == "check the network, the proxy and the free space, then try again"
    with pytest.raises(UserError) as silent:
        downloads._run(["false"])
    assert silent.value.message == "download failed: false ended with exit code 1"


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "suits"),
    [
        ("echo v24.16.0", True),
        ("echo v25.1.3", True),
        ("echo v24.15.9", False),
        ("echo v20.20.2", False),
        ("echo 24.16.0", False),
        ("echo v24.16.0 >&2", False),
        ("exit 1", False),
    ],
)
def test_a_node_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, *, suits: bool) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(downloads, "_downloaded_node", lambda _: tmp_path / "downloaded")
    own = program(tmp_path / "node", text)
    assert downloads.node() == (own if suits else tmp_path / "downloaded")


@pytest.mark.parametrize(
    ("package", "suits"),
    [
        ('{"name": "openclaw", "version": "2026.9.6"}', True),
        ('{"name": "openclaw", "version": "2026.9.5"}', False),
        ('{"name": "other", "version": "2026.9.6"}', False),
        ("[]", False),
        ("{", False),
        (None, False),
    ],
)
def test_an_openclaw_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str | None, *, suits: bool
) -> None:
    """As npm installs it: a link in a folder of programs to the script of the package."""
    script = program(tmp_path / "lib" / "openclaw" / "openclaw.mjs", "")
    if package is not None:
        script.with_name("package.json").write_text(package)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "openclaw").symlink_to(script)
    node = program(tmp_path / "bin" / "node", "echo v24.16.0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setattr(downloads, "npm_packages", lambda *_: tmp_path / "downloaded")
    found = downloads.ensure("2026.9.6")
    assert found.openclaw == (script if suits else tmp_path / "downloaded" / "openclaw" / "openclaw.mjs")
    assert found.node == node


@each_row(
    ("output", "answer"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("I read it.\n", "I read it.", id="answer"),
        pytest.param("[plugins] loaded toolguard\n\nI read it.\n[agent] done\n", "I read it.", id="log lines"),
        pytest.param("one\n\n  two\n", "one\n  two", id="several lines"),
        pytest.param("[TOOL ERROR] read() requires 'path'.", "[TOOL ERROR] read() requires 'path'.", id="our own text"),
        pytest.param("[LOOP DETECTED] stop", "[LOOP DETECTED] stop", id="our own text on loops"),
        pytest.param("[a list", "[a list", id="no closing bracket"),
        pytest.param("see [1] there", "see [1] there", id="bracket inside"),
    ],
)
def test_answer_in_the_output(output: str, answer: str) -> None:
    assert real_gateway._answer(output) == answer


@each_row(
    ("text", "content"),
    [
        pytest.param('{"choices": [{"message": {"content": "hi"}}]}', "hi", id="completion"),
        pytest.param('{"error": "no"}', '{"error": "no"}', id="error"),
        pytest.param('{"choices": []}', '{"choices": []}', id="no choice"),
        pytest.param("[]", "[]", id="list"),
        pytest.param("<html>", "<html>", id="no JSON"),
    ],
)
def test_content_of_a_completion(text: str, content: str) -> None:
    assert real_gateway._content(text) == content


def test_rig_as_a_module_refuses_what_it_does_not_know() -> None:
    command = [sys.executable, "-m", "toolguard_cli.rig", "openclaw", "--openclaw", "latest"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stdout) == (1, "false\n")
    assert done.stderr == "'latest' is not a version of OpenClaw\n-> use one like 2026.9.6\n"
