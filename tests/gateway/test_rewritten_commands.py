"""Where OpenClaw cannot be asked for PATH first, commands are rewritten: they enter their room with the engine's program.

Older releases are like that; in this one, the plugin is made to look for an interface that is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import unprivileged
from gateway_stage import NEW_HOST, Stage, audit, once, put_in
from shared_gateway import QUIET
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_engine.stores import open as stores

MISSING = unprivileged.missing()
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(bool(MISSING), reason=f"no gateway can be contained here: {MISSING}"),
]
SDK = "openclaw/plugin-sdk/node-host"
TIME_LIMIT = "timeoutSeconds" if NEW_HOST else "timeout"
WHERE = "readlink /proc/self/ns/user"


class OfPerson(Home):
    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SHELL": "/bin/bash"}


@pytest.fixture(scope="module")
def rewriting(real: downloads.Runtime, server: scripted_model.ScriptedModel) -> Iterator[Stage]:
    with OfPerson(server.base_url, extra=QUIET if NEW_HOST else {}) as home:
        put_in(home)
        (plugin,) = home.state_dir.rglob("extensions/toolguard/**/room.mjs")
        plugin.write_text(plugin.read_text().replace(SDK, "openclaw/plugin-sdk/nowhere"))
        runtime = unprivileged.Unprivileged(real, home)
        runtime.own()
        with Gateway(runtime, home) as gateway:
            yield Stage(gateway, server)
        runtime.tidy()


def test_commands_enter_their_room(rewriting: Stage) -> None:
    text = 'echo "it\'s $0" \'"\' "a  b"; env | grep -ci toolguard_room; ' + f"{WHERE}; exit 3"
    background = {"command": f"{WHERE}; sleep 2; exit 7", "background": True}
    calls = (
        scripted_model.call("exec", {"command": text}),
        scripted_model.call("exec", {"command": f"tty && {WHERE}", "pty": True}),
        scripted_model.call("exec", background),
        scripted_model.call("process", {"action": "list"}),
        scripted_model.call("exec", {"command": f"{WHERE}; sleep 100", TIME_LIMIT: 1}),
    )
    played = rewriting.play(once(*calls))
    assert len(played.results) == len(calls), played.turn.output
    plain, terminal, _, listed, limited = played.results
    (info,) = stores.engines(rewriting.home.state_dir).running()
    apart = str(Path(f"/proc/{info.pid}/ns/user").readlink())
    assert plain.splitlines()[:2] == ["it's /bin/bash \" a  b", "0"], plain
    assert "code 3" in plain
    assert "/dev/pts/" in terminal
    assert "toolguard/shell/bash" in listed, listed
    assert "user:[" in limited, limited
    assert not [result for result in played.results if apart in result]
    made = [call for message in rewriting.server.requests[-1].messages for call in message.get("tool_calls") or ()]
    assert json.loads(made[0]["function"]["arguments"])["command"] == text
    assert info.contained
    assert not {"security.rewritten", "security.uncontained"} & {event.get("code") for event in audit(rewriting.home)}
