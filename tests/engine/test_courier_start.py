"""A courier that takes long to start is not ended for questions that it could not answer yet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolguard_engine.stores.fleet import courier_link
from toolguard_engine.stores.fleet import pipe_messages as messages
from toolguard_engine.stores.fleet.courier_link import CourierLink, FleetAwayError

COURIER = """
import json, os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for line in sys.stdin:
    if number := json.loads(line).get("id"):
        print(json.dumps({"type": "done", "id": number, "done": True}), flush=True)
"""
PATIENCE = 120.0
"""No test waits for it to pass."""


@pytest.fixture
def link(tmp_path: Path) -> Iterator[CourierLink]:
    command = (sys.executable, "-c", COURIER, str(tmp_path / "may-start"))
    made = CourierLink(messages.Begin(str(tmp_path), "", "", "", 1.0), lambda _: None, command)
    made.start()
    wait_until(lambda: made.pid is not None)
    yield made
    made.close()


def wait_until(look: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < until
        time.sleep(0.01)


def ask_in_vain(link: CourierLink) -> None:
    with pytest.raises(FleetAwayError):
        link.ask(messages.Entries, 0.0)


def test_it_answers_once_it_has_started(link: CourierLink, tmp_path: Path) -> None:
    pid = link.pid
    for _ in range(10):
        ask_in_vain(link)
    (tmp_path / "may-start").touch()
    assert isinstance(link.ask(messages.Entries, PATIENCE), messages.DoneAnswer)
    assert link.pid == pid


def test_it_is_ended_after_the_time_for_a_start(link: CourierLink, monkeypatch: pytest.MonkeyPatch) -> None:
    pid, now = link.pid, time.monotonic
    monkeypatch.setattr(courier_link.time, "monotonic", lambda: now() + courier_link.START_SECONDS)
    for _ in range(courier_link.MAX_SILENCES):
        ask_in_vain(link)
    monkeypatch.undo()
    wait_until(lambda: link.pid not in (pid, None))
