"""Secrets of the gateway's config never come back to the model, whatever reads them, on the real gateway."""

from __future__ import annotations

import json
import secrets
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from gate import sampled
from gateway_stage import NEW_HOST, Played, Stage, audit, waiting
from standings_seen import command, read
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.scripted_model import call

CODE = "secret.redacted"
MARK = "[redacted: gateway token]"
SHELF = Path(__file__).parent / "standins" / "shelf_server.py"
BOT_TOKEN = f"{secrets.randbelow(10**9) + 10**9}:AA{secrets.token_urlsafe(40)[:33]}"
MODEL_KEY = f"sk-proj-{secrets.token_hex(24)}"
ODD = f'p"a\\ß/{secrets.token_hex(8)}&+'
"""A password that JSON, URLs and HTML write in another way."""


def host(home: Home) -> dict[str, Any]:
    """With an MCP server that reads the config by itself."""
    env = {"SHELF_API_KEY": MODEL_KEY, "SHELF_BOT": BOT_TOKEN, "SHELF_PASSWORD": ODD}
    server = {"command": sys.executable, "args": [str(SHELF), str(home.config_path)], "env": env}
    return {"mcp": {"servers": {"shelf": server}}}


@pytest.fixture
def kept(either) -> Stage:
    """A gateway with an MCP server that has secrets in its environment."""
    return either.under(host=host(either.home))


def secrets_of(stage: Stage) -> tuple[str, ...]:
    return (stage.home.token, MODEL_KEY, BOT_TOKEN, json.dumps(ODD)[1:-1], ODD)


def leaked(stage: Stage, played: Played) -> list[str]:
    """The secrets that any request of this conversation contained, in any part of it."""
    sent = json.dumps([request.messages for request in played.requests], ensure_ascii=False)
    return [secret for secret in secrets_of(stage) if secret in sent or json.dumps(secret)[1:-1] in sent]


def redactions(stage: Stage, played: Played) -> list[dict[str, Any]]:
    return [line for line in audit(stage.home) if line.get("session") == played.session and line.get("code") == CODE]


def play_one(stage: Stage, *replies: scripted_model.Reply) -> Played:
    return stage.play(lambda r: replies[r.index] if r.tools and r.index < len(replies) else scripted_model.Reply("Done."))


READERS = {
    "cat": "cat {config}",
    "jq": "jq -r .gateway.auth.token {config} || grep -o '\"token\".*' {config}",
    "python": "python3 -c \"import json; print(json.load(open('{config}'))['gateway']['auth']['token'])\"",
    "python-repr": "python3 -c \"print(repr(open('{config}').read()))\"",
    "grep": "grep -n token {config}",
    "head": "head -c 20000 {config}",
    "sed": "sed -n '1,$p' {config}",
    "awk": "awk '/token/ {{ print $2 }}' {config}",
    "node": 'node -e \'console.log(JSON.parse(require("fs").readFileSync("{config}", "utf8")).gateway.auth)\'',
    "tac": "tac {config}",
    "cut": "tr -d ' \\n' < {config}",
    "to-stderr": "cat {config} >&2; exit 3",
    "url": "python3 -c \"import urllib.parse as u; print(u.quote(open('{config}').read()))\"",
}


@pytest.mark.parametrize("reader", sampled(READERS, {"cat"}))
def test_a_command_that_reads_the_config(kept, reader) -> None:
    played = play_one(kept, command(READERS[reader].format(config=kept.home.config_path)))
    assert leaked(kept, played) == []
    assert MARK in played.results[0] or "%5Bredacted" in played.results[0] or "redacted: gateway token" in played.results[0]
    assert waiting(kept.home) == []
    assert [line["tool"] for line in redactions(kept, played)] == ["exec"]
    assert "gateway.auth.token" in redactions(kept, played)[0]["reason"]


def test_the_file_tool(kept) -> None:
    played = play_one(kept, read(str(kept.home.config_path)), read(str(kept.home.config_path)))
    assert leaked(kept, played) == []
    assert [text.count(MARK) for text in played.results] == [1, 1]
    assert [line["tool"] for line in redactions(kept, played)] == ["read"], "once for a run, a tool and a secret"


def test_a_command_in_the_background(kept) -> None:
    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if not request.tools or request.index > 6 or MARK in request.last_result:
            return scripted_model.Reply("Done.")
        if request.index == 0:
            return command(f"sleep 1; cat {kept.home.config_path}; sleep 1", background=True)
        started = next(text for text in request.texts("tool") if "session" in text)
        session = started.partition("session ")[2].split()[0].strip(",).")
        return call("process", {"action": ("poll", "log")[request.index % 2], "sessionId": session, "timeout": 2_000})

    played = kept.play(script)
    assert leaked(kept, played) == []
    assert MARK in played.results[-1]
    assert "process" in [line["tool"] for line in redactions(kept, played)]


@pytest.mark.skipif(not NEW_HOST, reason="this release has no Tool Search")
@pytest.mark.parametrize(
    ("tool", "params"),
    [("exec", {"command": "cat {config}"}), pytest.param("read", {"path": "{config}"}, marks=pytest.mark.thorough)],
)
def test_inside_tool_search(kept, tool, params) -> None:
    args = {name: value.format(config=kept.home.config_path) for name, value in params.items()}
    played = play_one(kept, call("tool_call", {"id": tool, "args": args}))
    assert leaked(kept, played) == []
    assert MARK in played.results[0]
    assert redactions(kept, played) != []


@pytest.mark.skipif(not NEW_HOST, reason="this release has no Tool Search")
def test_the_tool_of_an_mcp_server_inside_tool_search(kept) -> None:
    looked_up = call("tool_call", {"id": "mcp:shelf:shelf__look_up", "args": {}})
    played = play_one(kept, call("tool_search", {"query": "look_up returns a file"}), looked_up)
    assert leaked(kept, played) == []
    assert MARK in played.results[1]


@pytest.mark.thorough
def test_the_tool_of_an_mcp_server(either) -> None:
    """Its result has two blocks: the token begins in one and ends in the other."""
    stage = either.under(host=host(either.home) | ({"tools": {"toolSearch": False}} if NEW_HOST else {}))
    played = play_one(stage, call("shelf__look_up", {"blocks": True}))
    assert leaked(stage, played) == []
    halves = (stage.home.token[:12], stage.home.token[12:])
    assert [half for half in halves if half in json.dumps(played.requests[-1].messages)] == []
    assert MARK in played.results[0]
    assert "shelf__look_up" in [line["tool"] for line in redactions(stage, played)]


def occurrences(stage: Stage) -> int:
    """How often the token is in what the gateway keeps of conversations."""
    stored = [path for path in (stage.home.state_dir / "agents").rglob("*") if path.is_file()]
    return sum(path.read_bytes().count(stage.home.token.encode()) for path in stored)


def test_what_is_stored(kept) -> None:
    """The transcript has no secrets either: neither in the texts nor in the details of the results. (The gateway's own trace
    hides only what stands behind a name like `token`, so that readers of other tests may have left some there.)"""
    before = occurrences(kept)
    inner = call("tool_call", {"id": "exec", "args": {"command": f"cat {kept.home.config_path}"}})
    played = play_one(kept, command(f"cat {shlex.quote(str(kept.home.config_path))}"), *([inner] if NEW_HOST else []))
    assert leaked(kept, played) == []
    assert occurrences(kept) == before


def test_an_error_that_quotes_a_secret(kept) -> None:
    """Also of a call that the gateway refuses itself."""
    played = play_one(kept, command(f"$(cat {kept.home.config_path})"), read(f"/nowhere/{kept.home.token}"))
    assert kept.home.token not in json.dumps([r.texts("tool") for r in played.requests])


@pytest.mark.thorough
def test_switched_off(either) -> None:
    stage = either.under(host=host(either.home), redactSecrets=False)
    played = play_one(stage, command(f"cat {stage.home.config_path}"))
    assert stage.home.token in played.results[0]
    assert redactions(stage, played) == []
