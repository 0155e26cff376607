"""The operations that are interrupted, what each of them starts from, and what must hold afterwards.

`python fault_operations.py FOLDER` answers each line (JSON: an operation, how many of its faults to try, whether `strace`
injects them, and which share of them) with what was tried and what was wrong afterwards.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import fault_points
from cli_stage import toolguard
from fault_points import ERRORS, Fault, Points, in_child, put_back

from toolguard_cli.commands import run_doctor
from toolguard_cli.doctor.check_list import TABLE
from toolguard_cli.migrations import journal
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage
from toolguard_cli.notify.event_source import EventSource
from toolguard_cli.notify.target_worker import TargetWorker
from toolguard_cli.person import linux
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.config.strictness import settings_of
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import state_files
from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy
from toolguard_engine.stores.fleet.local_marks import LocalMarks
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import NotificationStore
from toolguard_engine.stores.sqlite.standings import FileStandings

CALL = Call("exec", {"command": "make release"}, "main", "agent:main:main", "r1", "c1")
SETTINGS = Config(pending_timeout_ms=86_400_000)
CONFIG = '{\n  // mine\n  gateway: { mode: "local" },\n  plugins: { entries: {} },\n}\n'
OLD_ENTRY = '"guardian-angel": { enabled: true, config: { escalationThreshold: 40 /* stricter */ } }'
OLD_CALLS = {"pending": {"aaaa": {"nonce": "aaaa", "expiresAt": 4e12}}, "approved": {}}
HOUR = 3_600.0
TARGET = "box"
NOTIFY = parse({"notify": {"targets": {TARGET: {"url": "json://localhost/"}}}}).notify
POLICY = 'version = 3\nteam = "home"\n'
CARELESS = "careless"

Said = dict[str, Any]
Answer = tuple[int, list[str]]
"""How much was tried, and what was wrong."""

T = TypeVar("T")


class Stage:
    """One gateway, with all that it has, below one folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.state_dir = root, root / "state"
        self.places = Places(self.state_dir, self.state_dir / "openclaw.json")
        self.nonce = ""
        """Of the call that waits."""

    def command(self, *words: str) -> Said:
        done = toolguard(*words, "--state-dir", self.state_dir, HOME=str(self.root))
        return {"code": done.returncode, "text": done.stdout + done.stderr}

    def ask(self, clock: Callable[[], float] = time.time) -> Said:
        """The call, asked as the engine does it."""
        made = Approvals(stores.held_calls(self.state_dir), stores.grants(self.state_dir), clock)
        verdict = made.settle(Verdict("hold", "hold.always", reason="as set"), CALL, SETTINGS).verdict
        if verdict.decision != "block":
            with suppress(StoreError):  # it stays in the outbox
                made.write_log()
        return {"code": int(verdict.decision == "block"), "text": f"-> {verdict.reason}", "ran": verdict.decision == "allow"}

    def decide(self, action: str) -> Said:
        return self.command(action, self.nonce, *(["--yes"] if action == "approve" else []))


def bare(stage: Stage) -> None:
    stage.places.own.mkdir(0o700, parents=True)
    stage.places.config.write_text(CONFIG)
    stores.signing_key(stage.state_dir).load()


def installed(stage: Stage) -> None:
    bare(stage)
    assert stage.command("install")["code"] == 0


def outdated(stage: Stage) -> None:
    installed(stage)
    (stage.places.extension / "index.mjs").write_text("older\n")


def held(stage: Stage) -> None:
    installed(stage)
    stage.ask()
    stage.nonce = stores.held_calls(stage.state_dir).look()[0][0].nonce


def approved(stage: Stage) -> None:
    held(stage)
    stores.held_calls(stage.state_dir).approve(stage.nonce, Decision("me", "cli"), time.time(), HOUR)


def missed(stage: Stage) -> None:
    """Nobody has answered."""
    held(stage)
    stores.held_calls(stage.state_dir).settle(stage.nonce, "expired", Decision("", "native"), time.time())


def granted(stage: Stage) -> None:
    installed(stage)
    stage.command("grant", "git push *", "--tool", "exec", "--yes")


def by_hand(stage: Stage) -> None:
    installed(stage)
    policy = stage.places.own / "policy.toml"
    policy.write_text('# mine\n[[grant]]\nid = "g-1"\ntool = "exec"\npattern = "git push *"\nexpires = 0\n')


def stopped(stage: Stage) -> None:
    installed(stage)
    stores.kill_switch(stage.state_dir).set(on=True, by="me", why="too fast")


def spent(stage: Stage) -> None:
    installed(stage)
    with closing(FileStandings(stage.state_dir)) as store:
        one = Standing("main", "agent:main:main", trust=0.7, spent=0.5, touched=time.time())
        store.save({one.key: one})


def weakened(stage: Stage) -> None:
    installed(stage)
    log = stores.audit_log(stage.state_dir).append
    for mode in ("enforce", "soft"):
        settings = settings_of(parse({"mode": mode}), conversation=False)
        stores.accepted_settings(stage.state_dir).ran(str(stage.places.config), settings, 1_000.0, log)


def ran(stage: Stage) -> None:
    """A gateway has accepted settings."""
    installed(stage)
    settings, log = settings_of(parse({}), conversation=False), stores.audit_log(stage.state_dir).append
    stores.accepted_settings(stage.state_dir).ran(str(stage.places.config), settings, 1_000.0, log)


def old(stage: Stage) -> None:
    bare(stage)
    workspace = f'\n  agents: {{ defaults: {{ workspace: "{stage.state_dir}/w" }} }},'
    text = CONFIG.replace("entries: {}", f"entries: {{ {OLD_ENTRY} }}").replace("{", f"{{{workspace}", 1)
    stage.places.config.write_text(text)
    (stage.state_dir / "w").mkdir()
    (stage.state_dir / "w" / ".ga-state.json").write_text(json.dumps(OLD_CALLS))


def migrated(stage: Stage) -> None:
    old(stage)
    stage.command("migrate", "--yes")


def limited(stage: Stage) -> None:
    ran(stage)
    assert stage.command("limits", "set", "day", "--usd", "5", "--offline")["code"] == 0


def expire(stage: Stage) -> Said:
    """As an engine does it two days later."""
    try:
        stores.held_calls(stage.state_dir).sweep(time.time() + 48 * HOUR)
    except StoreError as error:
        return {"code": 1, "text": f"-> {error}"}
    return {"code": 0, "text": ""}


def damaged(stage: Stage) -> None:
    """What a disk and a careless copy leave behind."""
    ran(stage)
    stage.ask()
    (stage.places.own / state_files.COUNTERS).write_text("{")
    (stage.places.own / state_files.HELD_CALLS).write_text('{"v":1,"entries":[{')
    stage.places.record.chmod(0o666)
    with stores.audit_log(stage.state_dir).path.open("a") as log:
        log.write('{"seq":')


def without_key(stage: Stage) -> None:
    """The key is not one, so nothing that it signed can be verified."""
    ran(stage)
    stage.ask()
    stores.signing_key(stage.state_dir).path.write_text("?")


def unswept(stage: Stage) -> None:
    """No engine has run since the call expired."""
    installed(stage)
    stage.ask(lambda: time.time() - 72 * HOUR)


def repair(stage: Stage) -> Said:
    """What `doctor --fix` does, without the checks that start programs."""
    subject = run_doctor.look(stage.places)
    rows = [row for row in TABLE if row.group in ("state", "approvals")]
    steps = [step for row in rows if row.checked(subject).status != "ok" for step in row.fixes(subject)]
    problems = []
    for step in {step.words: step for step in steps}.values():
        try:
            step.perform()
        except (UserError, StoreError, OSError) as error:
            problems.append(f"{step.words}: {error}")
    left = [row.id for row in rows if row.fix and row.checked(subject).status != "ok"]
    return {"code": int(bool(problems or left)), "text": f"-> {problems} {left}" if problems or left else ""}


def listening(stage: Stage) -> None:
    """A notifier has begun, and then a call is held."""
    installed(stage)
    _box(stage).mkdir()
    with closing(stores.notifications(stage.state_dir)) as outbox:
        _source(stage, outbox).poll(time.time())
    stage.ask()
    stage.nonce = stores.held_calls(stage.state_dir).look()[0][0].nonce


class Box:
    """A target that keeps each message that it receives, by its key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, message: OutgoingMessage) -> Delivery:
        (self._folder / message.key).touch()
        return Delivery()


def notify(stage: Stage) -> Said:
    """One round of the notifier."""
    outbox = stores.notifications(stage.state_dir)
    try:
        found = outbox.state_of(f"{stage.nonce}-held", TARGET)
        now = max(time.time(), found.due if found else 0.0)
        _source(stage, outbox).poll(now)
        worker = TargetWorker(TARGET, Box(_box(stage)), lambda: outbox, "home", 100)
        worker.clock = lambda: now
        while worker.step(outbox):
            pass
        found = outbox.state_of(f"{stage.nonce}-held", TARGET)
        is_sent = found is not None and found.state == "sent"
        return {"code": int(not is_sent), "text": "" if is_sent else "-> it is sent again"}
    except (StoreError, OSError) as error:
        return {"code": 1, "text": f"-> {error}"}
    finally:
        outbox.close()


def _source(stage: Stage, outbox: NotificationStore) -> EventSource:
    return EventSource(stage.state_dir, NOTIFY, stores.held_calls(stage.state_dir), outbox)


def _box(stage: Stage) -> Path:
    return stage.root / "box"


def mark(stage: Stage) -> Said:
    """A call that the fleet has approved is about to run."""
    try:
        LocalMarks(stage.state_dir).use("a" * 32, os.urandom(16))
    except StoreError as error:
        return {"code": 1, "text": f"-> {error}"}
    return {"code": 0, "text": "", "ran": True}


def adopt(stage: Stage) -> Said:
    """A policy of the fleet arrives."""
    try:
        _policy(stage.state_dir).adopt(POLICY, "signature")
    except (StoreError, OSError) as error:
        return {"code": 1, "text": f"-> {error}"}
    return {"code": 0, "text": ""}


def _policy(state_dir: Path) -> LastGoodPolicy:
    return LastGoodPolicy(state_dir, "home", state_dir, signer_of=lambda *_: "ada")


def command(*words: str) -> Callable[[Stage], Said]:
    return lambda stage: stage.command(*words)


@dataclass(frozen=True)
class Operation:
    """`runs`: how often the call runs that is asked for twice after all; None: it does not matter. `resumes`: if it fails or
    is killed, the same command completes it; what it has not done by then, an engine reports."""

    prepare: Callable[[Stage], None]
    run: Callable[[Stage], Said]
    runs: int | None = None
    resumes: bool = False


def careless(stage: Stage) -> Said:
    """Writes in place, and says nothing of what goes wrong: what the test must find."""
    with suppress(OSError):
        stage.places.record.write_text("{}")
    return {"code": 0, "text": ""}


OPERATIONS = {
    "hold": Operation(installed, Stage.ask, 0),
    "consume": Operation(approved, Stage.ask, 1),
    "approve": Operation(held, lambda stage: stage.decide("approve"), 1),
    "expire": Operation(held, expire, 0),
    "deny": Operation(held, lambda stage: stage.decide("deny"), 0),
    "revive": Operation(missed, lambda stage: stage.decide("revive"), 0),
    "revive and approve": Operation(missed, lambda stage: stage.command("revive", stage.nonce, "--approve", "--yes"), 1),
    "withdraw": Operation(approved, lambda stage: stage.decide("deny"), 0),
    "install": Operation(bare, command("install")),
    "update": Operation(outdated, command("install")),
    "link": Operation(installed, command("install", "--link"), resumes=True),
    "uninstall": Operation(ran, command("uninstall"), resumes=True),
    "config set": Operation(ran, command("config", "set", "mode", "soft", "--offline"), resumes=True),
    "config unset": Operation(installed, command("config", "unset", "plugins.entries.toolguard.enabled", "--offline")),
    "config accept": Operation(weakened, command("config", "accept", "--yes")),
    "limits set": Operation(ran, command("limits", "set", "day", "--usd", "5", "--offline"), resumes=True),
    "limits remove": Operation(limited, command("limits", "remove", "day", "--offline"), resumes=True),
    "grant": Operation(installed, command("grant", "git push *", "--tool", "exec", "--yes")),
    "grant accept": Operation(by_hand, command("grant", "--accept", "g-1", "--yes")),
    "revoke": Operation(by_hand, command("revoke", "g-1")),
    "rules add": Operation(by_hand, command("rules", "add", "least-privilege")),
    "tools trust": Operation(installed, command("tools", "trust", "github", "--server")),
    "tools refuse": Operation(installed, command("tools", "refuse", "shop__pay")),
    "kill-switch on": Operation(installed, command("kill-switch", "on", "--why", "too fast")),
    "kill-switch off": Operation(stopped, command("kill-switch", "off")),
    "checkpoint": Operation(spent, command("checkpoint")),
    "migrate": Operation(old, command("migrate", "--yes"), resumes=True),
    "migrate undo": Operation(migrated, command("migrate", "--undo", "--yes"), resumes=True),
    "doctor --fix, damaged stores": Operation(damaged, repair, resumes=True),
    "doctor --fix, no key": Operation(without_key, repair, resumes=True),
    "doctor --fix, expired calls": Operation(unswept, repair, resumes=True),
    "notify": Operation(listening, notify, resumes=True),
    "fleet, use of an approval": Operation(held, mark, 1),
    "fleet, a new policy": Operation(installed, adopt),
    CARELESS: Operation(installed, careless),
}


def state(stage: Stage) -> Said:
    """What the gateway has, in parts. What cannot be read is the error."""
    folder, places, own = stage.state_dir, stage.places, stage.places.own
    parts: dict[str, Callable[[], Any]] = {
        "calls": lambda: [[entry.status for entry in each] for each in stores.held_calls(folder).look()],
        "grants": lambda: sorted({each.pattern for each in stores.grants(folder).grants()}),
        "unsigned": lambda: sorted({each.pattern for each in stores.grants(folder).unsigned()}),
        "rules": lambda: [each.rule.id for each in stores.user_rules(folder).placed()],
        "stopped": lambda: stores.kill_switch(folder).thrown() is not None,
        "budgets": lambda: _budgets(folder),
        "weaker": lambda: [each.text for each in stores.accepted_settings(folder).pending()],
        "config": lambda: _text(places.config),
        "plugin": lambda: _digest(places.extension),
        "record": lambda: _text(places.record),
        "migrations": lambda: [each.status for each in journal.journals(places)][-1:],
        "old calls": lambda: [_text(each) for each in folder.rglob("*.ga-state.json")],
        "marks": lambda: len(re.findall(r"^[0-9a-f]{32} [0-9a-f]{32}$", _text(own / "fleet-used") or "", re.MULTILINE)),
        "policy": lambda: (kept := _policy(folder).load()) and kept.policy.version,
        "notified": lambda: [each.name for each in _box(stage).glob("*")],
        "to notify": lambda: _to_notify(stage),
        "backup": lambda: _text(places.config.with_name("openclaw.json.toolguard.bak")),
        "logged": lambda: sorted({event["event"] for event in stores.audit_log(folder).events()}),
    }
    return {name: _read(read) for name, read in parts.items()}


MAY_DIFFER = {"backup", "logged", "migrations", "to notify"}
"""What a command that fails may have written."""


def _read(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - compared with what is right
        return f"{type(error).__name__}: {error}"


def _text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _digest(folder: Path) -> str | None:
    if not folder.is_dir():
        return None
    return sha256(b"".join(each.name.encode() + each.read_bytes() for each in sorted(folder.iterdir()))).hexdigest()


def _budgets(folder: Path) -> list[float]:
    with closing(FileStandings(folder)) as store:
        return [each.spent for each in store.look()]


def _to_notify(stage: Stage) -> list[str | None]:
    outbox = stores.notifications(stage.state_dir)
    if not outbox.path.exists():
        return []
    with closing(outbox):
        found = [outbox.state_of(f"{stage.nonce}-{event}", TARGET) for event in ("held", "expiring")]
    return [each and each.state for each in found]


def files(stage: Stage) -> set[str]:
    names = (str(path.relative_to(stage.root)) for path in stage.root.rglob("*") if not path.is_dir())
    return {re.sub(r"(migrations|migrated)/\d+", r"\1/N", name) for name in names if not name.endswith(".last.bak")}


@dataclass(frozen=True)
class Prepared:
    operation: Operation
    before: Said
    after: Said
    again: Said
    seen: list[str]
    files: set[str]


class Theatre:
    """Runs operations with faults below one folder."""

    def __init__(self, folder: Path) -> None:
        self.template, self.stage = folder / "template", Stage(folder / "live")

    def prepare(self, name: str) -> Prepared:
        operation, stage = OPERATIONS[name], self.stage
        shutil.rmtree(stage.root, ignore_errors=True)
        stage.root.mkdir(parents=True)
        operation.prepare(stage)
        put_back(stage.root, self.template)
        before, known = state(stage), files(stage)
        done = operation.run(stage)  # also imports what the children need
        assert done["code"] == 0, done
        after, known = state(stage), known | files(stage)
        operation.run(stage)
        again = state(stage)
        put_back(self.template, stage.root)
        seen: list[str] = in_child(lambda: self._counted(operation))
        return Prepared(operation, before, after, again, seen, known)

    def _counted(self, operation: Operation) -> list[str]:
        points = Points(self.stage.root)
        points.install()
        operation.run(self.stage)
        return list(points.seen)

    def wrong(self, prepared: Prepared, fault: Fault) -> list[str]:
        """What is not as it must be after this fault."""
        put_back(self.template, self.stage.root)
        done = in_child(lambda: self._faulty(prepared.operation, fault))
        found: list[str] = in_child(lambda: list(self.look(prepared, done)))
        where = prepared.seen[fault.at] if fault.at < len(prepared.seen) else "the end"
        return [f"{fault.kind} at {fault.at}, {where}: {text}" for text in found]

    def traced(self, prepared: Prepared, most: int) -> Answer:
        """The same with faults that `strace` injects into the process."""
        log = self.template.with_name("trace")
        in_child(lambda: self._stopped(prepared.operation), lambda child: fault_points.traced(child, log))
        chosen, wrong = spread(fault_points.trace_faults(log, self.stage.root), most), []
        for option, where in chosen:
            put_back(self.template, self.stage.root)
            trace = partial(fault_points.traced, log=log, inject=option)
            done = in_child(lambda: self._stopped(prepared.operation), trace)
            found = in_child(lambda: list(self.look(prepared, done)))  # noqa: B023 - it runs at once
            wrong += [f"{option}, {where}: {text}" for text in found]
        return len(chosen), wrong

    def _stopped(self, operation: Operation) -> Said:
        """`strace` is a debugger, and what a debugger controls is not taken for a person's command: what is tried is what a
        person has started."""
        status = linux._status
        linux._status = lambda place: {**status(place), "TracerPid": 0}
        os.kill(os.getpid(), signal.SIGSTOP)
        return operation.run(self.stage)

    def _faulty(self, operation: Operation, fault: Fault) -> Said:
        Points(self.stage.root, fault).install()
        done = operation.run(self.stage)
        if fault.kind not in ERRORS:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def look(self, prepared: Prepared, done: Said | None) -> Any:
        """Yields what is wrong. `done`: what the operation said; None if it was killed."""
        found = state(self.stage)
        odd = {part for part in found if found[part] not in (prepared.before[part], prepared.after[part])}
        yield from (f"half done: {part} is {found[part]!r}" for part in odd - MAY_DIFFER)
        if done is not None:
            yield from self._said(prepared, done, found)
        again = prepared.operation.run(self.stage)
        yield from _one_clear_line(again, "again")
        now = state(self.stage)
        other = {part for part in now if now[part] not in (prepared.after[part], prepared.again[part])}
        yield from (f"again, {part} is {now[part]!r}, not {prepared.after[part]!r}" for part in other - {"logged"})
        yield from self._ran(prepared, [*([done] if done else []), again])
        self._age()
        stores.engines(self.stage.state_dir).sweep()  # as an engine that starts
        stores.held_calls(self.stage.state_dir).sweep(time.time())
        yield from self._logged(prepared, f"{done}{again}")
        yield from (f"{name} stays" for name in files(self.stage) - prepared.files)

    def _said(self, prepared: Prepared, done: Said, found: Said) -> Any:
        yield from _one_clear_line(done, "at once")
        hard = found.keys() - MAY_DIFFER
        done_so = [part for part in hard if found[part] != prepared.after[part]]
        undone = [part for part in hard if found[part] != prepared.before[part]]
        if done["code"] == 0 and done_so:
            yield f"it said that it was done, but not {done_so}: {done['text']}"
        if prepared.operation.resumes and done["code"]:
            return
        if done["code"] and done_so and undone:
            yield f"it failed with one half done: {undone}: {done['text']}"
        if done["code"] and undone and "has not confirmed" not in done["text"]:
            yield f"it was done and said that it was not: {undone}: {done['text']}"

    def _ran(self, prepared: Prepared, said: list[Said]) -> Any:
        most = prepared.operation.runs
        if most is not None:
            times = sum(each.get("ran", False) for each in [*said, self.stage.ask(), self.stage.ask()])
            if times > most:
                yield f"the call ran {times} times"

    def _logged(self, prepared: Prepared, said: str) -> Any:
        missing = set(prepared.after["logged"]) - set(state(self.stage)["logged"])
        if missing and not prepared.operation.resumes and "could not be written to the audit log" not in said:
            yield f"not logged: {missing}"
        log = stores.audit_log(self.stage.state_dir)
        if log.files():
            log.close_torn_line()
            if error := log.verify().error:
                yield f"audit log: {error}"
        twice = [name for name, count in Counter(event["id"] for event in log.events()).items() if count > 1]
        if twice:
            yield f"logged twice: {twice}"

    def _age(self) -> None:
        for path in self.stage.root.rglob("*"):
            os.utime(path, (1e9, 1e9), follow_symlinks=False)


def _one_clear_line(done: Said, when: str) -> Any:
    if done["code"] not in (0, 1) or "Traceback" in done["text"] or (done["code"] and "->" not in done["text"]):
        yield f"{when}: exit code {done['code']}: {done['text']}"


def spread(all_of: list[T], most: int, turn: int = 0) -> list[T]:
    """At most so many of them, equally far apart. `turn`: which of the shares, of which all together have each once."""
    step = -(-len(all_of) // most)
    return all_of[(step // 3 + turn) % step :: step]


def serve(folder: Path) -> None:
    theatre = Theatre(folder)
    answer = partial(print, file=sys.stdout, flush=True)
    for line in sys.stdin:
        name, most, is_traced, turn = json.loads(line)
        prepared = theatre.prepare(name)
        if is_traced:
            answer(json.dumps(theatre.traced(prepared, most)))
        else:
            chosen = spread(fault_points.faults(prepared.seen), most, turn)
            answer(json.dumps((len(chosen), [text for fault in chosen for text in theatre.wrong(prepared, fault)])))


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
