"""The real process over real pipes: it starts, answers, wakes, and ends with its input or by a signal."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine_talk import PATIENCE, ProcessTalk, talks
from toolguard_engine.stores.files.audit_log_file import AuditLog


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], ProcessTalk]]:
    with talks(lambda: ProcessTalk(tmp_path / "home")) as made:
        yield made


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[ProcessTalk]:
    """As the gateway starts it."""
    with talks(lambda: ProcessTalk(tmp_path / "home", [sys.executable, "-W", "error", "-m", "toolguard_engine"])) as made:
        yield made()


def test_it_answers_and_ends_with_its_input(talk: ProcessTalk, tmp_path: Path) -> None:
    """Ctrl-C in the terminal of the gateway reaches it too, and is left to the gateway."""
    ready = talk.hello(tmp_path / "state")
    assert ready == {
        "type": "ready",
        "id": 0,
        "v": 1,
        "pid": talk.process.pid,
        "version": "0.1.0",
        "configError": "",
        "shell": "",
    }
    talk.process.send_signal(signal.SIGINT)
    assert talk.failed()["text"].startswith("[TOOL ERROR] read() requires 'path'.")
    talk.raw(b'{"id":1,"type":"pi')
    assert talk.end() == (0, [], "")


def test_it_ends_where_nothing_was_said(talk: ProcessTalk) -> None:
    assert talk.end() == (0, [], "")


def test_it_ends_where_nobody_reads(talk: ProcessTalk, tmp_path: Path) -> None:
    talk.hello(tmp_path / "state")
    talk.out.close()
    talk.send(id=1, type="ping")
    talk.into.close()
    assert talk.process.wait(PATIENCE) == 0
    assert talk.process.stderr is not None
    assert talk.process.stderr.read() == b""
    talk.process.stderr.close()
    talk.process.stdin = talk.process.stdout = talk.process.stderr = None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(talk: ProcessTalk, tmp_path: Path, number: signal.Signals) -> None:
    """What was blocked before stands in the audit log, and so does the end."""
    talk.hello(tmp_path / "state", {"budget": {"mode": "enforce"}})
    talk.ask(id=1, type="judge", tool="exec", params={"command": "rm -rf /"}, agent="main", session="s", run="r")
    talk.process.send_signal(number)
    assert talk.process.wait(PATIENCE) == 0
    lines = list(AuditLog(tmp_path / "state").events())
    assert [line["event"] for line in lines][-1] == "ended"
    assert number.name in lines[-1]["reason"]
    assert len(lines) > 1


def test_more_than_a_pipe_holds(talk: ProcessTalk) -> None:
    talk.raw(b'{"id":7,"type":"judge","tool":"x","params":"' + b"a" * 10_000_000 + b'"}\n')
    assert "more than 8388608 bytes" in talk.read()["error"]
    talk.assert_alive()


def test_an_approval_by_another_process_wakes_unasked(start: Callable[[], ProcessTalk], tmp_path: Path) -> None:
    talk, state = start(), tmp_path / "state"
    talk.hello(state, {"alwaysBlock": ["exec"]})
    call = {"tool": "exec", "params": {"command": "make all"}, "agent": "main", "session": "s", "run": "r"}
    nonce = talk.ask(id=1, type="judge", **call)["text"].split("|")[1]
    code = (
        "import sys, time; from pathlib import Path\n"
        "from toolguard_engine.approvals.ledger import Decision\n"
        "from toolguard_engine.stores.files.nonces import FileNonces\n"
        "FileNonces(Path(sys.argv[1])).approve(sys.argv[2], Decision('anna', 'cli'), time.time(), 600)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(state), nonce], check=True, timeout=PATIENCE)
    assert (woken := talk.read())["type"] == "wake"
    assert woken["nonce"] == nonce
    assert talk.end() == (0, [], "")


def test_a_block_is_in_the_log_before_its_answer(start: Callable[[], ProcessTalk], tmp_path: Path) -> None:
    """Of engines that are killed as soon as the answer is read, without the setting few have written the line."""
    kills, call = 3, {"type": "judge", "tool": "exec", "agent": "main", "session": "s", "run": "r"}
    for number in range(kills):
        talk = start()
        talk.hello(tmp_path / "state", {"audit": {"durable": True}})
        answer = talk.answer([], id=number, params={"command": f"toolguard approve 3fa9c1d{number}"}, **call)
        talk.kill()
        assert answer["decision"] == "block"
    log = AuditLog(tmp_path / "state")
    assert sum(line["event"] == "block" for line in log.events()) == kills
    assert not log.verify().error


@pytest.mark.thorough
def test_killed_as_soon_as_the_answer_is_read(start: Callable[[], ProcessTalk], tmp_path: Path) -> None:
    """Six calls at 0.15 use up the budget, whichever engine answered them: what was spent is written before the answer."""
    decisions = []
    budget = {"mode": "enforce", "toolRiskMap": {"note_down": "MEDIUM"}}
    call = {"type": "judge", "tool": "note_down", "agent": "main", "session": "s", "run": "r"}
    for number in range(7):
        talk = start()
        talk.hello(tmp_path / "state", {"budget": budget, "toolTrust": {"firstUse": "allow"}})
        decisions.append(talk.answer([], id=number, params={"text": f"{number}"}, **call)["decision"])
        talk.kill()
    assert decisions == ["allow"] * 6 + ["hold"]
