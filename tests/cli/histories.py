"""Histories of two engines, commands, a notifier and a dashboard on a failing disk, and the laws that they keep.

`scripts/test --histories 10000` plays those with the seeds up to this, and names the laws that one breaks. A seed decides
who goes on when, what is asked and answered, who is killed, which operations of the disk fail, and what is left of it
when the power fails. SQLite's files are real ones; of them, a power failure leaves any commit since the last one that was
synced.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import secrets
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from disk_in_memory import Fault, MemoryDisk
from turns import Turn, Turns

from toolguard_cli.notify.event_source import EventSource
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.stores import atomic, audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files import audit_log_file, kill_switch_file, ledger_file
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.sqlite.standings import FileStandings

BEGAN, WINDOW = 1_700_000_000.0, 80_000.0
CALLS = 3
PATTERN = "git push *"
AGENT = ("main", "agent:main:main")
TARGET = "box"
FULL_SYNC = 2
SETTINGS = Config(pending_timeout_ms=86_400_000)
NOTIFY = parse({"notify": {"targets": {TARGET: {"url": "json://localhost/"}}}}).notify
FAULTS = ("", "", "full", "errors", "read-only", "no locks")
LONGEST = 100_000
"""Turns of one round."""


@dataclass
class Word:
    """Something that is one of two, and what was acknowledged of it. `may_be`: what it may be now. `last`: what was said
    last. `is_unsure`: that was not acknowledged."""

    may_be: set[bool] = field(default_factory=lambda: {False})
    last: bool = False
    is_unsure: bool = False
    open: int = 0
    begun: int = 0

    @contextmanager
    def said(self, *, is_on: bool) -> Iterator[None]:
        """What fails or is killed may have been done, until the next word is acknowledged."""
        alone, mine = not self.open, self.begun + 1
        self.may_be.add(is_on)
        self.open, self.begun, self.last, self.is_unsure = self.open + 1, mine, is_on, True
        try:
            yield
        finally:
            self.open -= 1
        self.is_unsure = False
        if alone and self.begun == mine:
            self.may_be = {is_on}


@dataclass
class Book:
    """What was asked and acknowledged."""

    held: set[str] = field(default_factory=set)
    approved: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    tried: Counter[str] = field(default_factory=Counter)
    """Decisions that were begun, as `approve 3fa9c1d2`."""
    ran: Counter[str] = field(default_factory=Counter)
    broken_off: Counter[str] = field(default_factory=Counter)
    """Questions about a call that got no answer, by its command."""
    commands: dict[str, str] = field(default_factory=dict)
    lines: set[str] = field(default_factory=set)
    spent: float = 0.0
    stopped: Word = field(default_factory=Word)
    granted: Word = field(default_factory=Word)


class History:
    """One seed."""

    def __init__(self, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seed, self.chance = seed, Random(seed)  # noqa: S311
        self.state = folder / "state"
        self.own = atomic.own_folder(self.state)
        self.own.mkdir(parents=True)  # for SQLite
        self.book, self.wrong = Book(), list[str]()
        self.power_failures = 0
        self._now = BEGAN
        self._commits: list[dict[str, bytes]] = [{}]
        self.turns = Turns(self.chance, self._ended)
        self._happened = hashlib.sha256()
        self.disk = MemoryDisk(self.state, self.chance, before=self._point, owner=self.turns.mine, waits=self.turns.wait)
        self.disk.install(monkeypatch)
        numbers = Random(f"{seed} numbers")  # noqa: S311
        monkeypatch.setattr(secrets, "token_hex", lambda size=16: numbers.randbytes(size).hex())
        monkeypatch.setattr(secrets, "token_bytes", lambda size=32: numbers.randbytes(size))
        monkeypatch.setattr(os, "urandom", numbers.randbytes)
        monkeypatch.setattr(kill_switch_file, "time", SimpleNamespace(time=self.clock))
        monkeypatch.setattr(audit_log_file, "MAX_BYTES", self.chance.choice([1_500, 6_000, 1 << 25]))
        monkeypatch.setattr(ledger_file, "LEAST", self.chance.choice([0, 3_000, 1 << 30]))
        self._keep_commits(monkeypatch)

    def clock(self) -> float:
        self._now += 0.001
        return self._now

    def digest(self) -> str:
        """Which operations of the disk there were, who did them, and what they left."""
        ended = self._happened.copy()
        ended.update(repr(sorted(self.disk.files().items())).encode())
        return ended.hexdigest()

    def _point(self, name: str) -> None:
        self._happened.update(f"{self.turns.mine()} {name}\n".encode())
        self.turns.point(name)

    def play(self) -> list[str]:
        """What is wrong afterwards."""
        self.disk.make_folder(self.own)
        for _ in range(self.chance.randint(1, 3)):
            self._round()
            if self.wrong:
                break
        if not self.wrong:
            self._nothing_is_stuck()
        return self.wrong

    def _round(self) -> None:
        """A word to the kill switch that was broken off is mostly said again, and then the power fails."""
        chance = self.chance
        kind = chance.choice(FAULTS)
        actors: dict[str, Callable[[], None]] = {
            "engine": self._engine, "other engine": self._engine, "command line": self._person,
            "notifier": self._notifier, "dashboard": self._dashboard,
        }  # fmt: skip
        if kind:
            actors["disk"] = lambda: self._fault(kind)
        kills = chance.choice([0.0, 0.003, 0.01])
        is_over = self.turns.run(actors, kills, chance.choice([LONGEST, chance.randint(1, 1_500)]))
        if self.book.stopped.is_unsure and chance.random() < 0.7:
            self.disk.fault = Fault()
            self._stop(stores.kill_switch(self.state), is_again=True)
            is_over = True
        if is_over or chance.random() < 0.3:
            self.power_failures += 1
            self.disk.lose_power()
            self._restore(chance.choice(self._commits))
        self.disk.fault = Fault()
        self._check()

    def _fault(self, kind: str) -> None:
        for _ in range(self.chance.randint(0, 60)):
            self.turns.wait(0)
        self.disk.fault = Fault(kind)
        for _ in range(self.chance.randint(1, 60)):
            self.turns.wait(0)
        self.disk.fault = Fault()

    def _ended(self, turn: Turn) -> None:
        self.disk.end(turn)

    # What runs.

    def _engine(self) -> None:
        calls = stores.held_calls(self.state)
        made = Approvals(calls, stores.grants(self.state), self.clock)
        log = stores.audit_log(self.state)
        with closing(FileStandings(self.state)) as standings:
            for _ in range(self.chance.randint(2, 6)):
                with suppress(StoreError):
                    self.chance.choice([
                        lambda: self._ask(made), lambda: self._ask(made), lambda: self._ask(made),
                        lambda: self._block(log), lambda: self._spend(standings), lambda: calls.sweep(self.clock()),
                    ])()  # fmt: skip

    def _ask(self, made: Approvals, command: str = "") -> bool:
        """Whether the call ran."""
        command, book = command or f"make release-{self.chance.randrange(CALLS)}", self.book
        denied = set(book.denied)
        book.broken_off[command] += 1
        settled = made.settle(
            Verdict("hold", "hold.always", reason="as set"), Call("exec", {"command": command}, *AGENT, "r1", "c1"), SETTINGS
        )
        if settled.entry is None:
            return False  # a fault: an approval may be used up
        nonce = settled.entry.nonce
        book.commands[nonce] = command
        with suppress(StoreError):  # it stays in the outbox
            made.write_log()
        book.broken_off[command] -= 1
        if settled.verdict.decision == "allow":
            book.ran[nonce] += 1
            if not book.tried[f"approve {nonce}"]:
                self.wrong.append(f"{nonce} ran, and nobody has approved it")
            if nonce in denied and not book.tried[f"revive {nonce}"]:
                self.wrong.append(f"{nonce} ran, though it was denied before")
        else:
            book.held.add(nonce)
        return settled.verdict.decision == "allow"

    def _block(self, log: Any) -> None:
        name = secrets.token_hex(8)
        log.append(
            [
                audit_log.AuditEvent(
                    name, audit_log.when(self.clock()), "block", shown="rm -rf /" * self.chance.randint(1, 40)
                )
            ]
        )
        self.book.lines.add(name)

    def _spend(self, store: FileStandings) -> None:
        key = ("main", "place")
        known = next((one for one in store.load() if one.key == key), None) or Standing(*key, touched=self._now)
        known.spent += 0.001
        store.save({key: known}, durable=True)
        self.book.spent += 0.001

    def _person(self) -> None:
        calls, switch, grants = stores.held_calls(self.state), stores.kill_switch(self.state), stores.grants(self.state)
        for _ in range(self.chance.randint(2, 6)):
            with suppress(StoreError, OSError, RefusedError):
                self.chance.choice([
                    lambda: self._decide(calls, "cli"), lambda: self._decide(calls, "cli"),
                    lambda: self._stop(switch), lambda: self._grant(grants),
                ])()  # fmt: skip

    def _dashboard(self) -> None:
        calls, log = stores.held_calls(self.state), stores.audit_log(self.state)
        for _ in range(self.chance.randint(2, 5)):
            with suppress(StoreError, OSError, RefusedError):
                self.chance.choice([
                    lambda: self._decide(calls, "dashboard"), lambda: stores.kill_switch(self.state).thrown(),
                    lambda: self._followed(log.verify().error),
                ])()  # fmt: skip

    def _followed(self, error: str) -> None:
        """Others may write meanwhile, and one may have been killed."""
        if error not in ("", audit_log.TORN) and not self.disk.fault.kind:
            self.wrong.append(f"while others write, the log is said to be: {error}")

    def _decide(self, calls: Any, where: str) -> None:
        entries = calls.look()[0]
        if not entries:
            return
        nonce = self.chance.choice(entries).nonce
        action = self.chance.choice(["approve", "approve", "deny", "revive"])
        self.book.tried[f"{action} {nonce}"] += 1
        decision, now = Decision("anna", where), self.clock()
        if action == "approve":
            calls.approve(nonce, decision, now, WINDOW)
            self.book.approved.add(nonce)
        elif action == "deny":
            calls.deny(nonce, decision, now, WINDOW)
            self.book.denied.add(nonce)
        else:
            self._revive(calls, nonce, decision, now)

    def _revive(self, calls: Any, nonce: str, decision: Decision, now: float) -> None:
        try:
            calls.revive(nonce, decision, now)
        except RefusedError:
            self.book.tried[f"revive {nonce}"] -= 1

    def _stop(self, switch: Any, *, is_again: bool = False) -> None:
        """Mostly the same word as before: a person may not know whether it was heard."""
        word = self.book.stopped
        is_on = word.last if is_again or self.chance.random() < 0.7 else not word.last
        with word.said(is_on=is_on):
            switch.set(on=is_on, by="anna", why=self.chance.choice(["too fast", ""]))

    def _grant(self, grants: Any) -> None:
        known = [one for one in grants.grants() if one.pattern == PATTERN]
        with self.book.granted.said(is_on=not known):
            for one in known:
                grants.revoke(one.id)
            if not known:
                grants.add(Grant("g", "exec", PATTERN, created=self._now))

    def _notifier(self) -> None:
        calls = stores.held_calls(self.state)
        with closing(stores.notifications(self.state)) as outbox:
            source = EventSource(self.state, NOTIFY, calls, outbox)
            for _ in range(self.chance.randint(1, 5)):
                with suppress(StoreError, OSError):
                    source.poll(self.clock())
                self.turns.wait(0)

    # The laws.

    def _check(self) -> None:
        """On a disk that works again, with nothing else running."""
        book, calls, log = self.book, stores.held_calls(self.state), stores.audit_log(self.state)
        try:
            calls.sweep(self.clock())
            known = {entry.nonce: entry for entry in calls.entries()}
        except StoreError as error:
            self.wrong.append(f"the held calls cannot be read: {error}")
            return
        self.wrong += [f"{nonce} ran {count} times" for nonce, count in book.ran.items() if count > 1]
        self.wrong += [f"{nonce} was held, and is gone" for nonce in sorted(book.held - known.keys())]
        for nonce in sorted(book.approved & known.keys()):
            self._check_approved(known[nonce])
        for nonce in sorted(book.denied & known.keys()):
            if known[nonce].status != "denied" and not book.tried[f"revive {nonce}"]:
                self.wrong.append(f"{nonce} was denied, and is {known[nonce].status}")
        if (is_on := stores.kill_switch(self.state).thrown() is not None) not in book.stopped.may_be:
            self.wrong.append(f"the kill switch is {'on' if is_on else 'off'}")
        is_granted = any(one.pattern == PATTERN for one in stores.grants(self.state).grants())
        if is_granted not in book.granted.may_be:
            self.wrong.append(f"the grant is {'there' if is_granted else 'gone'}")
        with closing(FileStandings(self.state)) as store:
            spent = sum(one.spent for one in store.load())
        if spent < book.spent - 1e-6:
            self.wrong.append(f"{book.spent:.3f} was spent, and {spent:.3f} is stored")
        self._check_log(log)

    def _check_approved(self, entry: HeldCall) -> None:
        book, nonce = self.book, entry.nonce
        withdrawn = any(book.tried[f"{word} {nonce}"] for word in ("deny", "revive"))
        if entry.status not in ("approved", "used") and not withdrawn:
            self.wrong.append(f"{nonce} was approved, and is {entry.status}")
        if entry.status == "used" and not book.ran[nonce] and not book.broken_off[book.commands.get(nonce, "")]:
            self.wrong.append(f"{nonce} was used, and nothing ran")

    def _check_log(self, log: Any) -> None:
        error = log.verify().error
        if error not in ("", audit_log.TORN):
            self.wrong.append(f"the log is said to be: {error}")
        with suppress(StoreError):
            log.append([audit_log.AuditEvent(secrets.token_hex(8), audit_log.when(self.clock()), "note")])
        after = log.verify()
        if after.error or after.gaps:
            self.wrong.append(f"after the next line the log is said to be: {after.error or 'without a part'}")
        ids = Counter(event["id"] for event in log.events())
        self.wrong += [f"{name} is in the log {count} times" for name, count in ids.items() if count > 1]
        if not any("segment-removed" in str(event.get("event")) for event in log.events()):
            words = {f"{nonce}-approve" for nonce in self.book.approved} | {f"{nonce}-deny" for nonce in self.book.denied}
            self.wrong += [f"{name} is not in the log" for name in sorted((self.book.lines | words) - ids.keys())]

    def _nothing_is_stuck(self) -> None:
        """Everybody goes on: what is approved runs once, what is held is notified of."""
        calls = stores.held_calls(self.state)
        made = Approvals(calls, stores.grants(self.state), self.clock)
        for entry in calls.look()[0]:
            command = self.book.commands.get(entry.nonce, "")
            if entry.status == "approved" and command:
                before = self.book.ran[entry.nonce]
                self._ask(made, command)
                if self.book.ran[entry.nonce] != before + 1:
                    self.wrong.append(f"{entry.nonce} is approved, and does not run")
        with closing(stores.notifications(self.state)) as outbox:
            source = EventSource(self.state, NOTIFY, calls, outbox)
            source.poll(self.clock())
            for entry in calls.look()[0]:
                if entry.status == "pending" and outbox.state_of(f"{entry.nonce}-held", TARGET) is None:
                    self.wrong.append(f"nobody is told of {entry.nonce}")
        self._check()

    # SQLite's files.

    def _keep_commits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real, history = sqlite3.connect, self

        class Connection(sqlite3.Connection):
            def execute(self, *given: Any) -> sqlite3.Cursor:
                done = super().execute(*given)
                if given[0] == "COMMIT":
                    is_synced = super().execute("PRAGMA synchronous").fetchone() == (FULL_SYNC,)
                    history._commits = [*([] if is_synced else history._commits), history._databases()]
                return done

        monkeypatch.setattr(
            sqlite3, "connect", lambda *given, **more: real(*given, **more, factory=Connection, check_same_thread=False)
        )

    def _databases(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.own.glob("*.db*") if not path.name.endswith("-shm")}

    def _restore(self, databases: dict[str, bytes]) -> None:
        for path in self.own.iterdir():
            path.unlink()
        for name, data in databases.items():
            (self.own / name).write_bytes(data)
        self._commits = [databases]


class Played(NamedTuple):
    """`wrong`: which laws it broke; `digest`: the same only of the same history."""

    wrong: list[str]
    power_failures: int
    digest: str


def play(seed: int) -> Played:
    """The history of this seed."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))  # SQLite's files
    try:
        with pytest.MonkeyPatch.context() as monkeypatch:
            history = History(seed, folder, monkeypatch)
            return Played(history.play(), history.power_failures, history.digest())
    finally:
        shutil.rmtree(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    bad = failures = 0
    for seed in range(given.first, given.first + given.count):
        played = play(seed)
        failures += played.power_failures
        if played.wrong:
            bad += 1
            sys.stdout.write(f"seed {seed}: {'; '.join(played.wrong)}\n")
    sys.stdout.write(f"{given.count} histories, {failures} power failures, {bad} broke a law\n")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
