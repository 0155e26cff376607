"""Only silence is the fail mode, on the real gateway: what cannot be judged never runs, and in silence no secret is read."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import hostile_texts
from gate import sampled, thoroughly
from gateway_stage import NEW_HOST, Played, Stage, audit
from toolguard_cli.rig import scripted_model
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import atomic

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="older releases cut what the model may send")

MODES = ["closed", "open"]


def under(*gate: str) -> pytest.MarkDecorator:
    """Under each fail mode; the gate tries these."""
    return pytest.mark.parametrize("secured", sampled(MODES, gate), indirect=True, scope="module")


TOO_DEEP = "call.too-deep"
REFUSED = ("TOOLGUARD_BLOCK|", "[TOOL ERROR")
MARKER = "SECRET-OF-THE-TEST"
KEY_SIZE = 32
NOTES = "Nothing but notes."
EVERY = 0.005
HEAVY = 20


def nested(depth: int, inner: str = "1") -> str:
    return "[" * depth + inner + "]" * depth


def batch(calls: list[scripted_model.ToolCall]) -> scripted_model.Script:
    """All calls in one message, then the closing words."""
    return lambda r: scripted_model.Reply(calls=tuple(calls)) if r.tools and r.index == 0 else scripted_model.Reply("Done.")


def called(name: str, **params: object) -> scripted_model.ToolCall:
    return scripted_model.ToolCall(name, params)


@pytest.fixture(scope="module")
def secured(shared, request: pytest.FixtureRequest) -> Stage:
    """A gateway under each fail mode, with secrets at their places, each with its own mark in it, and one honest file."""
    stage = shared.under(failMode=request.param, maxFailuresPerTurn=100)
    for path in secrets(stage):
        path.parent.mkdir(exist_ok=True)
        path.touch(0o600)
        path.write_text(f"{MARKER} {path.name}".ljust(KEY_SIZE, "."))
    (stage.home.workspace_dir / "notes.md").write_text(NOTES)
    link = stage.home.workspace_dir / "link.md"
    link.unlink(missing_ok=True)
    link.symlink_to(own_key(stage))
    return stage


def own_key(stage: Stage) -> Path:
    return atomic.own_folder(stage.home.state_dir) / "key"


def secrets(stage: Stage) -> list[Path]:
    token = metrics_path.token_path(stage.home.root / ".openclaw" / "metrics.db")
    return [own_key(stage), token, stage.home.root / ".ssh" / "id_rsa", stage.home.workspace_dir / ".env"]


def assert_nothing_leaked(stage: Stage, played: Played) -> None:
    """Neither in what the model was sent nor in what the gateway keeps of the session."""
    assert own_key(stage).read_text().startswith(MARKER)
    reported = json.dumps([request.messages for request in played.requests])
    kept = "".join(path.read_text(errors="replace") for path in (stage.home.state_dir / "agents").rglob("*.jsonl"))
    assert MARKER not in reported
    assert MARKER not in kept


# --- calls that cannot be judged

TAKEN = list(range(900, 990))
"""Depths that the gateway itself takes: each of these calls reaches the guard."""

BEYOND = [*range(990, 1_011), *range(1_020, 2_001, 70), 2_000]
"""It ends most runs with such a call by itself: its own store of sessions or its stack cannot hold them."""

Spelled = Callable[[str, str], str]
READERS: dict[str, Spelled] = {
    "read": lambda path, deep: f'{{"path": "{path}", "x": {deep}}}',
    "ls": lambda path, deep: f'{{"path": "{path}", "x": {deep}}}',
    "exec": lambda path, deep: f'{{"command": "touch ran; cat {path}", "x": {deep}}}',
}
SEARCHED = ["read", "memory_get", "image", "sessions_history", "exec"]
"""Those inside of Tool Search."""


def deep_calls(stage: Stage, tool: str, depths: list[int]) -> list[scripted_model.ToolCall]:
    path = str(own_key(stage))
    if tool in READERS:
        return [scripted_model.ToolCall(tool, READERS[tool](path, nested(depth))) for depth in depths]
    spelled = READERS.get(tool.removeprefix("tool_call "), READERS["read"])
    name = tool.removeprefix("tool_call ")
    return [
        scripted_model.ToolCall("tool_call", f'{{"id": "{name}", "args": {spelled(path, nested(depth))}}}')
        for depth in depths
    ]


def assert_none_ran(stage: Stage, played: Played) -> None:
    assert [text for text in played.results if not text.startswith(REFUSED)] == []
    assert not (stage.home.workspace_dir / "ran").exists()
    assert_nothing_leaked(stage, played)


TOOLS = [*READERS, *(f"tool_call {name}" for name in SEARCHED)]


@pytest.mark.thorough
@under("open")
@pytest.mark.parametrize("tool", sampled(TOOLS, {"read", "tool_call exec"}))
def test_arguments_at_each_depth_never_run_unjudged(secured: Stage, wait, tool: str) -> None:
    depths = TAKEN if tool == "read" else TAKEN[::9]
    played = secured.play(batch(deep_calls(secured, tool, depths)))
    assert len(played.results) == len(depths)
    assert_none_ran(secured, played)
    wait(lambda: secured.codes(played).count(TOO_DEEP) == len(depths))


@pytest.mark.thorough
@under()
@pytest.mark.parametrize("depth", BEYOND[::6])
def test_deeper_ones_run_neither(secured: Stage, depth: int) -> None:
    calls = [call for tool in TOOLS for call in deep_calls(secured, tool, [depth])]
    played = secured.play(batch(calls))
    assert_none_ran(secured, played)


@pytest.mark.thorough
@under()
def test_arguments_of_too_many_parts_never_run_unjudged(secured: Stage, wait) -> None:
    params = {"path": str(own_key(secured)), "x": [1] * 60_000}
    played = secured.play(batch([called("read", **params)]))
    assert played.results[0].startswith(
        "TOOLGUARD_BLOCK|This call cannot be judged: its arguments have more than 50000 parts"
    )
    assert_nothing_leaked(secured, played)
    wait(lambda: "call.too-large" in secured.codes(played))


# --- an engine that is silent


@contextmanager
def over_and_over(act: Callable[[], None]) -> Iterator[None]:
    """Does something to the engines for as long as it lasts, also to those that are started meanwhile."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(EVERY):
            act()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def sent(stage: Stage, number: signal.Signals) -> None:
    for pid in stage.engines():
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def stopped(stage: Stage) -> Iterator[None]:
    sent(stage, signal.SIGSTOP)
    with over_and_over(lambda: sent(stage, signal.SIGSTOP)):
        yield
    sent(stage, signal.SIGCONT)


@contextmanager
def killed(stage: Stage) -> Iterator[None]:
    with over_and_over(lambda: sent(stage, signal.SIGKILL)):
        yield


@contextmanager
def slow(stage: Stage) -> Iterator[None]:
    turn = [signal.SIGSTOP] * 60 + [signal.SIGCONT]
    with over_and_over(lambda: (sent(stage, turn[0]), turn.append(turn.pop(0)))[0]):
        yield
    sent(stage, signal.SIGCONT)


def readers(stage: Stage) -> list[scripted_model.ToolCall]:
    """Ways to the secrets, as an agent would try them."""
    key, token, ssh, env = secrets(stage)
    return [
        called("read", path=str(key)),
        called("read", path="link.md"),
        called("read", path=f"file://{ssh}"),
        called("tool_call", id="read", args={"path": str(ssh)}),
        called("exec", command=f"cat {key} ~/.s*/id*; grep -r . ~/.ssh; cat link.md .env"),
        called("read", path=f"~/.openclaw/{token.name}"),
        called("read", path=env.name),
        called("read", path=f"/proc/self/root{key}"),
        called("tool_call", id="image", args={"image": str(key)}),
        called("exec", command="grep -rh SECRET ~ --include=id_rsa --include=*.token --include=.env"),
    ]


@pytest.mark.thorough
@under("open")
@pytest.mark.parametrize("state", [stopped, *thoroughly(killed, slow)], ids=["stopped", "killed", "slow"])
def test_no_secret_is_read_while_the_engine_is_silent(secured: Stage, wait, state) -> None:
    calls = readers(secured)[:5] if state is stopped else readers(secured)  # each of them is waited for
    with state(secured):
        played = secured.play(batch(calls))
    assert len(played.results) == len(calls)
    assert_nothing_leaked(secured, played)
    wait(lambda: len(secured.engines()) == 1)
    if state is stopped:
        wait(lambda: "guard.silent" in secured.codes(played))


@pytest.mark.thorough
@under()
def test_no_secret_is_read_while_the_engine_is_busy(secured: Stage, wait) -> None:
    """In the same message, behind commands that take long to judge."""
    texts = sorted(hostile_texts.texts(64_000).values(), key=len)[:HEAVY]
    played = secured.play(batch([*(called("exec", command=f"{text} #") for text in texts), *readers(secured)]))
    assert_nothing_leaked(secured, played)
    wait(lambda: len(secured.engines()) == 1)


@pytest.mark.thorough
@under("closed", "open")
def test_an_honest_read_goes_on_while_the_engine_is_silent(secured: Stage, wait) -> None:
    with stopped(secured):
        played = secured.play(batch([called("read", path="notes.md"), called("exec", command="echo alive")]))
    read, ran = played.results
    assert read == NOTES
    is_open = secured.gateway.home.config_path.read_text().count('"failMode": "open"') > 0
    assert ran.strip() == "alive" if is_open else ran.startswith("TOOLGUARD_BLOCK|The guard is not answering, so only")
    wait(lambda: len(secured.engines()) == 1)


@under("closed")
def test_what_was_blocked_in_silence_stands_in_the_audit_log_when_the_engine_is_back(secured: Stage, wait) -> None:
    with stopped(secured):
        played = secured.play(
            batch(
                [
                    called("read", path=str(own_key(secured))),
                    scripted_model.ToolCall("read", f'{{"path": "notes.md", "x": {nested(990)}}}'),
                ]
            )
        )
    assert [text.startswith(REFUSED) for text in played.results] == [True, True]
    wait(lambda: {"guard.silent", TOO_DEEP} <= set(secured.codes(played)))
    lines = [
        event for event in audit(secured.home) if event.get("session") == played.session and event["code"] == "guard.silent"
    ]
    assert [line["event"] for line in lines] == ["block"]
