"""Processes use, move, deny and sweep the same approvals at once, while somebody kills them: each ends in one way."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from effort import ALL
from toolguard_engine.approvals.approval_window import EndMove
from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.locked import Busy

APPROVALS, KILLS = (300, 40) if ALL else (20, 4)
WINDOW = 2.0
LIMIT = 300.0
ANNA = Decision("anna", "cli")

fork = multiprocessing.get_context("fork")


def request(number: int, now: float) -> HeldCall:
    return HeldCall(
        nonce="", binding=f"{number:064x}", tool="exec", agent="main", session=f"s{number}", run="r", code="c", reason="r",
        shown=f"make {number}", created=now, expires=now + 3_600,
    )  # fmt: skip


def approved(state: Path) -> list[HeldCall]:
    store, now = FileNonces(state), time.time()
    named = store._named
    held = store._change(lambda book: [book.enter(named(request(number, now), book)) for number in range(APPROVALS)], now)
    return store._change(lambda book: [book.approve(entry.nonce, ANNA, now, WINDOW) for entry in held], now)


def use(store: FileNonces, entry: HeldCall, number: int) -> None:
    """An agent's call. It is not made again: a new hold would be of no interest."""
    if any(each.nonce == entry.nonce and each.status == "approved" for each in store.look()[0]):
        store.present(request(number, time.time()), time.time())


def move(store: FileNonces, entry: HeldCall, _: int) -> None:
    """An engine whose run is in progress."""
    now = time.time()
    store.move_ends([EndMove(entry.nonce, now + WINDOW, "woken")], now)


def deny(store: FileNonces, entry: HeldCall, _: int) -> None:
    store.deny(entry.nonce, ANNA, time.time(), 300)


def sweep(store: FileNonces, _: HeldCall, __: int) -> None:
    store.sweep(time.time())


def work(act: Callable[[FileNonces, HeldCall, int], Any], state: Path, entries: list[HeldCall], seed: int) -> None:
    store, chance = FileNonces(state), random.Random(seed)  # noqa: S311 - an order
    for number in chance.sample(range(len(entries)), len(entries)):
        with suppress(Busy, RefusedError):
            act(store, entries[number], number)


@pytest.mark.parametrize("seed", range(4 if ALL else 1))
def test_each_approval_ends_in_one_way(tmp_path: Path, seed: int) -> None:
    entries = approved(tmp_path)
    acts = (use, use, move, move, deny, sweep)
    crew = [fork.Process(target=work, args=(act, tmp_path, entries, at // 2 + seed)) for at, act in enumerate(acts)]
    for each in crew:
        each.start()
    chance, until = random.Random(seed), time.monotonic() + LIMIT  # noqa: S311 - who is killed
    for _ in range(KILLS):
        at = chance.randrange(len(crew))
        if crew[at].is_alive():
            os.kill(crew[at].pid or 0, signal.SIGKILL)
            crew[at].join()
            crew[at] = fork.Process(target=work, args=(acts[at], tmp_path, entries, seed + at))
            crew[at].start()
    for each in crew:
        each.join(max(0.0, until - time.monotonic()))
        assert each.exitcode == 0
    store = FileNonces(tmp_path)
    store._change(lambda ledger: ledger.sweep(time.time() + 3_600), time.time())
    store.write_log(patient=True)
    ends = {"consume", "deny", "lapsed"}
    log = [event for event in AuditLog(tmp_path).events() if event["event"] in ends | {"forged"}]
    by_nonce = Counter(event["nonce"] for event in log)
    assert by_nonce == Counter(entry.nonce for entry in entries), "each has one end, and none is forged"
    assert {event["event"] for event in log} <= ends
    assert AuditLog(tmp_path).verify().error == ""
