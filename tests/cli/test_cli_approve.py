"""`toolguard approve` and `toolguard deny`: who said yes to what, and every way in which it is refused."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import time

import pytest
from cli_stage import LIMIT, envelope, texts, toolguard
from held_stage import hold, status_of, terminal

from toolguard_cli import fast_path
from toolguard_cli.commands import approve, deny
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import woken_agents
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.model.held_details import HeldDetails, HeldEffect
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.undo.undo_entry import UndoCause
from toolguard_engine.stores.undo.undo_folder import UndoFolder
from toolguard_engine.wording import printable

ACCOUNT = pwd.getpwuid(os.getuid()).pw_name


def yes(places: Places, prefix: str, reason: str = "") -> list[str]:
    return texts(approve.run(places, prefix, yes=True, reason=reason, as_json=False))


def test_yes(places: Places) -> None:
    held = hold(places)
    result = approve.run(places, held.nonce[:4].upper(), yes=True, reason="release day", as_json=False)
    until = printable.moment(result.data["expires"])
    assert texts(result) == [
        f"approved {held.nonce}: agent main may run exec once, until {until}",
        held.shown,
        (
            "no gateway runs here, so the agent is not woken: it is told at its next run; "
            f"if that begins after {until}, toolguard revive {held.nonce} asks again"
        ),
    ]
    assert result.exit_code == 0
    assert {name: result.data[name] for name in ("status", "by", "where", "why", "tool", "nonce")} == {
        "status": "approved", "by": ACCOUNT, "where": "cli", "why": "release day", "tool": "exec", "nonce": held.nonce,
    }  # fmt: skip
    assert not {"mac", "binding"} & set(result.data)
    assert [(event["event"], event.get("by", "")) for event in AuditLog(places.state_dir).events()] == [
        ("hold", ""),
        ("approve", ACCOUNT),
    ]


def test_yes_where_nobody_reads_the_answer(places: Places) -> None:
    """With its standard output closed, as `>&-` leaves it: what was approved is no bug."""
    held = hold(places)
    words = [sys.executable, "-m", "toolguard_cli", "approve", held.nonce, "--yes", "--state-dir", str(places.state_dir)]
    closed = ["/bin/sh", "-c", 'exec "$@" >&- <&-', "sh", *words]
    done = subprocess.run(closed, check=False, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, "")
    assert status_of(places, held.nonce) == "approved"


def test_settings_of_the_gateway(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(woken_agents, "has_engine", lambda _: True)
    monkeypatch.setattr(woken_agents, "SECONDS", 0)
    places.config.write_text(
        "{ // JSON5\n plugins: { entries: { toolguard: { config: { approvalWindowMs: 90000, "
        'storePath: "~/.openclaw/x/held.json", mode: "no such mode" } } } } }'
    )
    path = places.state_dir / "x" / "held.json"
    held = FileNonces(places.state_dir, path)
    nonce = held.present(hold(places), time.time()).entry.nonce
    assert (
        yes(places, nonce)[0] == f"approved {nonce}: agent main may run exec once within 90 s of idle time (10 min at most)"
    )
    assert [entry.status for entry in held.entries()] == ["approved"]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("{ broken", "is not valid JSON5"),
        ('{"plugins": {"entries": {"toolguard": {"config": {"approvalWindowMs": 5}}}}}', "Expected `int` >= 10000"),
        ('{"plugins": {"entries": {"toolguard": {"config": {"storePath": 5}}}}}', "storePath"),
    ],
)
def test_a_config_that_cannot_be_used(places: Places, config: str, words: str) -> None:
    places.config.write_text(config)
    with pytest.raises(UserError, match=words) as caught:
        yes(places, hold(places).nonce)
    assert caught.value.fix


@pytest.mark.parametrize("config", ["[]", "3", '{"plugins": []}', '{"plugins": {"entries": {"toolguard": {"config": 3}}}}'])
def test_a_config_without_our_settings(places: Places, config: str) -> None:
    held = hold(places)
    places.config.write_text(config)
    assert yes(places, held.nonce)


def test_refusals_differ(places: Places) -> None:
    used, denied, gone, ready = (hold(places) for _ in range(4))
    yes(places, used.nonce)
    book = FileNonces(places.state_dir)
    assert book.present(used, time.time()).outcome == "used"
    deny.run(places, denied.nonce, reason="not on this host")
    hold(places, now=time.time() - 400, lasts=300, binding="long ago")
    expired = next(entry for entry in book.entries() if entry.binding == "long ago")
    yes(places, ready.nonce)
    reported = []
    for prefix in (used.nonce, denied.nonce, expired.nonce, ready.nonce, "xyz", "abc", f"{(int(gone.nonce, 16) + 1):08x}"):
        with pytest.raises(UserError) as caught:
            yes(places, prefix)
        reported.append((caught.value.message, caught.value.fix))
    assert len({message for message, _ in reported}) == 6  # two that are malformed
    assert all(fix for _, fix in reported)
    assert f"was denied by {ACCOUNT} (cli)" in reported[1][0]
    assert reported[1][0].endswith(": not on this host")
    assert status_of(places, gone.nonce) == "pending"


def test_ambiguous(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["abcd0001", "abcd0002", "abce0003"])
    monkeypatch.setattr("toolguard_engine.stores.files.nonces.secrets.token_hex", lambda _: next(names))
    for _ in range(3):
        hold(places)
    with pytest.raises(UserError, match="2 calls start with that: abcd0001, abcd0002"):
        yes(places, "abcd")
    assert yes(places, "abce")


def test_where_toolguard_has_never_been(places: Places) -> None:
    for attempt in (lambda: yes(places, "abcd1234"), lambda: deny.run(places, "abcd1234", reason="")):
        with pytest.raises(UserError) as caught:
            attempt()
        assert caught.value.message == f"toolguard has never run in {places.state_dir} (--state-dir, TOOLGUARD_STATE_DIR)"
    assert list(places.state_dir.iterdir()) == []


def test_nothing_was_ever_held(places: Places) -> None:
    places.own.mkdir()
    for attempt in (lambda: yes(places, "abcd1234"), lambda: deny.run(places, "abcd1234", reason="")):
        with pytest.raises(UserError) as caught:
            attempt()
        assert caught.value.message == f"no call has that nonce in {places.state_dir}"
    assert list(places.own.iterdir()) == []


def test_a_forged_line_is_not_there(places: Places) -> None:
    held = hold(places)
    path = FileNonces(places.state_dir).path
    stored = json.loads(path.read_text())
    stored["entries"].append({**stored["entries"][0], "nonce": "abcdef01", "binding": "mine"})
    path.write_text(json.dumps(stored))
    with pytest.raises(UserError, match="no call has that nonce"):
        yes(places, "abcdef01")
    with pytest.raises(UserError, match="no call has that nonce"):
        deny.run(places, "abcdef01", reason="")
    assert yes(places, held.nonce)
    assert "forged" in {event["event"] for event in AuditLog(places.state_dir).events()}


def test_a_damaged_store(places: Places) -> None:
    held = hold(places)
    path = FileNonces(places.state_dir).path
    path.write_bytes(path.read_bytes()[:-9])
    for _ in range(2):
        with pytest.raises(UserError, match="damaged") as caught:
            yes(places, held.nonce)
        assert caught.value.fix == "toolguard doctor --fix"


def test_a_key_that_proves_nothing(places: Places) -> None:
    held = hold(places)
    (places.own / "key").chmod(0o644)
    with pytest.raises(UserError, match="can be read by others") as caught:
        yes(places, held.nonce)
    assert caught.value.fix == "delete it"


def test_a_store_that_cannot_be_read(places: Places) -> None:
    places.own.write_text("no folder")
    with pytest.raises(UserError, match="Not a directory") as caught:
        yes(places, "abcd1234")
    assert caught.value.fix.startswith("check whether it exists")


def test_no_terminal_to_ask_in(places: Places) -> None:
    held = hold(places)
    done = toolguard("approve", held.nonce, "--state-dir", places.state_dir)
    assert (done.returncode, done.stdout) == (1, "")
    assert "command: make release" in done.stderr
    assert done.stderr.index("command: make release") < done.stderr.index("there is no terminal to ask in")
    assert "review the call above; if you agree, add --yes and try again" in done.stderr
    assert status_of(places, held.nonce) == "pending"


@pytest.mark.parametrize(
    ("typed", "code", "status"),
    [("y\n", 0, "approved"), ("YES\n", 0, "approved"), ("\n", 1, "pending"), ("n\n", 1, "pending"), ("", 1, "pending")],
)
def test_asking(places: Places, typed: str, code: int, status: str) -> None:
    held = hold(places, shown='{ command: "make \x1b[2J" }')
    done = toolguard("approve", held.nonce[:5], "--state-dir", places.state_dir, typed=typed)
    assert done.returncode == code
    asked = done.stdout.partition("Approve? [y/N] ")[0]
    for words in (
        f"{held.nonce} is waiting for approval, ",
        "exec",
        "agent:main:main",
        "make <U+001B>[2J",
        "names exec (hold.always)",
    ):
        assert words in asked
    assert "\x1b[2J" not in done.stdout + done.stderr
    assert (f"left; toolguard deny {held.nonce} denies it" in done.stdout) == (status == "pending")
    assert status_of(places, held.nonce) == status


UNREAD = 'write({ path: "a", content: "' + "\\n".join(f"line {number}" for number in range(100)) + '" })'


@pytest.mark.parametrize(
    ("typed", "status"),
    [("y\n", "pending"), ("y\ny\n", "approved"), ("w\ny\n", "approved"), ("w\n\n", "pending"), ("n\n", "pending")],
)
def test_what_the_guard_has_not_read_is_shown_whole_before_a_yes(places: Places, typed: str, status: str) -> None:
    held = hold(places, tool="write", shown=UNREAD, details=HeldDetails((HeldEffect("write", "a"),)))
    done = toolguard("approve", held.nonce, "--state-dir", places.state_dir, typed=typed)
    short, _, rest = done.stdout.partition("Approve? [y/N, w: the whole call] ")
    assert "92 more lines" in short
    assert "line 60" not in short
    assert ("line 60" in rest) == (typed != "n\n")
    assert status_of(places, held.nonce) == status


@pytest.mark.parametrize(("typed", "status"), [("y\n", "approved"), ("\x04", "pending")], ids=["yes", "end of input"])
def test_asking_on_a_real_terminal(places: Places, typed: str, status: str) -> None:
    held = hold(places)
    with terminal(places, "approve", held.nonce) as shown:
        shown.until("Approve? [y/N] ")
        shown.type(typed)
        assert shown.end() == (0 if status == "approved" else 1)
    assert status_of(places, held.nonce) == status


def test_the_call_that_was_shown_is_the_one(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the person reads, another call comes whose nonce begins the same."""
    names = iter(["abcd0001", "abcd0002"])
    monkeypatch.setattr("toolguard_engine.stores.files.nonces.secrets.token_hex", lambda _: next(names))
    hold(places)

    def confirm(lines: list[str], question: str, **_: object) -> bool:
        hold(places)
        return True

    monkeypatch.setattr("toolguard_cli.terminal.confirm.confirm", confirm)
    assert approve.run(places, "abcd", yes=False, reason="", as_json=False).data["nonce"] == "abcd0001"
    assert status_of(places, "abcd0002") == "pending"


def test_a_no_to_what_waits_no_more(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    held = hold(places)

    def confirm(lines: list[str], question: str, **_: object) -> bool:
        deny.run(places, held.nonce, reason="")
        return False

    monkeypatch.setattr("toolguard_cli.terminal.confirm.confirm", confirm)
    result = approve.run(places, held.nonce, yes=False, reason="", as_json=False)
    assert (texts(result), result.exit_code) == ([f"{held.nonce} was not approved"], 1)


def test_a_no_that_comes_too_late(places: Places) -> None:
    held = hold(places)
    yes(places, held.nonce)
    assert FileNonces(places.state_dir).present(held, time.time()).outcome == "used"
    with pytest.raises(UserError, match=rf"^too late: {held.nonce} ran at .*\+00:00$") as caught:
        deny.run(places, held.nonce[:5], reason="")
    assert caught.value.fix == f"toolguard audit show --nonce {held.nonce}"
    assert status_of(places, held.nonce) == "used"


def test_deny(places: Places) -> None:
    first, second = hold(places), hold(places)
    yes(places, second.nonce)
    reported = {
        first.nonce: f"denied {first.nonce}: the agent is instructed not to repeat this call",
        second.nonce: f"withdrew the approval of {second.nonce} before it was used: the call did not run; "
        "the agent is instructed not to repeat this call",
    }
    for held in (first, second):
        result = deny.run(places, held.nonce, reason="sk-proj-abcdefghijklmnop1234 leaked\n")
        assert texts(result) == [reported[held.nonce], held.shown]
        assert status_of(places, held.nonce) == "denied"
        assert result.data["why"] == "[redacted] leaked "


def test_as_processes(places: Places) -> None:
    held, other = hold(places), hold(places)
    asked = ("--state-dir", places.state_dir, "--json")
    done = envelope(toolguard("approve", held.nonce, "--yes", "--reason", "-quoted", *asked))
    assert (done["ok"], done["data"]["why"]) == (True, "-quoted")
    done = envelope(toolguard("deny", other.nonce, *asked))
    assert (done["ok"], done["data"]["status"]) == (True, "denied")
    refused = toolguard("approve", other.nonce, "--yes", *asked)
    assert refused.returncode == 1
    assert "was denied" in envelope(refused)["errors"][0]


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (["approve", "abcd", "--yes"], True),
        (["approve", "-y", "--json", "abcd", "--reason", "x y"], True),
        (["approve", "abcd"], False),
        (["approve", "abcd", "--yes", "--help"], False),
        (["approve", "abcd", "--yes", "--reason=x"], False),
        (["approve", "abcd", "--yes", "--reason"], False),
        (["approve", "abcd", "--yes", "--reason", "--json"], False),
        (["approve", "abcd", "ef01", "--yes"], False),
        (["approve", "--yes"], False),
        (["approve", "--", "abcd", "--yes"], False),
        (["deny", "abcd", "--yes"], False),
        ([], False),
    ],
)
def test_the_usual_form_needs_no_parser(places: Places, arguments: list[str], *, taken: bool) -> None:
    places.own.mkdir()
    where = ["--state-dir", str(places.state_dir)] if arguments else []
    if taken:
        with pytest.raises(UserError, match="no call has that nonce"):
            fast_path.run([*arguments, *where])
    else:
        assert fast_path.run([*arguments, *where]) is None


HEAVY = ("rich", "json5", "tomlkit", "pydantic", "toolguard_engine.guard", "toolguard_engine.effects.commands.walk")


@pytest.mark.parametrize(
    "words", [["approve", "NONCE", "--yes"], ["approve", "NONCE", "-y", "--why", "x"], ["kill-switch", "status"]]
)
def test_what_is_urgent_imports_nothing_heavy(places: Places, words: list[str]) -> None:
    words = [hold(places).nonce if word == "NONCE" else word for word in words]
    code = (
        "import sys; from toolguard_cli.main import run\n"
        f"sys.argv = ['toolguard', *{words!r}, '--state-dir', {str(places.state_dir)!r}]\n"
        "try: run()\nexcept SystemExit as end: assert not end.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("env", "by"),
    [({}, ACCOUNT), ({"SUDO_USER": ACCOUNT}, ACCOUNT), ({"SUDO_USER": "ana\x1b"}, f"ana<U+001B> (as {ACCOUNT})")],
)
def test_who(env: dict[str, str], by: str) -> None:
    assert gateway_stores.who(env) == by


def test_an_account_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_123)
    assert gateway_stores.who({}) == "4000123"


@pytest.mark.parametrize("command", ["approve", "deny"])
@pytest.mark.parametrize(
    ("waiting", "typed", "answered"),
    [
        pytest.param(1, "y\n", 0, id="only"),
        pytest.param(1, "n\n", None, id="only, no"),
        pytest.param(1, "", None, id="only, nothing typed"),
        pytest.param(3, "2\ny\n", 1, id="chosen"),
        pytest.param(3, "2\nn\n", None, id="chosen, no"),
        pytest.param(3, "4\ny\n", None, id="no such number"),
        pytest.param(3, "0\ny\n", None, id="zero"),
        pytest.param(3, "\ny\n", None, id="none"),
        pytest.param(3, "\u0661\ny\n", None, id="a digit of another script"),
    ],
)
def test_without_a_nonce(places: Places, command: str, waiting: int, typed: str, answered: int | None) -> None:
    nonces = [hold(places, now=time.time() - 9 + at, shown=f"call {at}").nonce for at in range(waiting)]
    done = toolguard(command, "--state-dir", places.state_dir, typed=typed)
    states = [status_of(places, nonce) for nonce in nonces]
    decided = "approved" if command == "approve" else "denied"
    assert states == [decided if at == answered else "pending" for at in range(waiting)]
    assert done.returncode == (0 if answered is not None else 1)
    assert answered is None or f"  call {answered}\n" in done.stdout  # what is answered was shown


@pytest.mark.parametrize(("typed", "status"), [("y\n", "approved"), ("n\n", "pending")])
def test_yes_is_said_to_a_named_call_only(places: Places, typed: str, status: str) -> None:
    """Another call may wait by now than the one that somebody has read."""
    held = hold(places, shown="make release")
    done = toolguard("approve", "--yes", "--state-dir", places.state_dir, typed=typed)
    assert "make release" in done.stdout
    assert status_of(places, held.nonce) == status


@pytest.mark.parametrize("command", ["approve", "deny"])
@pytest.mark.parametrize("options", [[], ["--yes"], ["--json"]], ids=" ".join)
@pytest.mark.parametrize(
    ("waiting", "message", "fix"),
    [
        (0, "no call is waiting in {state}", "toolguard pending --all shows those of the last 24 hours"),
        (
            1,
            "without a terminal, {command} needs the nonce of a call; 1 call is waiting",
            "toolguard {command} {nonce} --state-dir {state}; ",
        ),
        (
            2,
            "without a terminal, {command} needs the nonce of a call; 2 calls are waiting",
            "toolguard {command} NONCE --state-dir {state}; ",
        ),
    ],
)
def test_without_a_nonce_and_a_terminal(
    places: Places, command: str, options: list[str], waiting: int, message: str, fix: str
) -> None:
    nonces = [hold(places).nonce for _ in range(waiting)]
    places.own.mkdir(exist_ok=True)
    done = toolguard(command, *options, "--state-dir", places.state_dir)
    known = {"command": command, "state": places.state_dir, "nonce": nonces[0] if nonces else ""}
    assert done.returncode == 1
    assert message.format(**known) in (done.stdout if options == ["--json"] else done.stderr)
    assert f"-> {fix.format(**known)}" in (done.stdout if options == ["--json"] else done.stderr)
    assert [status_of(places, nonce) for nonce in nonces] == ["pending"] * waiting


@pytest.mark.parametrize("spelling", ["--reason", "--why"])
@pytest.mark.parametrize("command", [["approve", "--yes"], ["approve"], ["deny"]], ids=" ".join)
def test_the_reason_in_both_spellings(places: Places, command: list[str], spelling: str) -> None:
    held = hold(places)
    done = toolguard(*command, held.nonce, spelling, "release day", "--state-dir", places.state_dir, "--json", typed="y\n")
    assert json.loads(done.stdout)["data"]["why"] == "release day"


def test_a_call_that_ran_can_be_undone_by_its_nonce(places: Places) -> None:
    """Who approves it again learns that; what `toolguard undo` restores is what was kept of this call."""
    notes = places.state_dir.parent / "notes.txt"
    notes.write_text("old")
    held = hold(places)
    FileNonces(places.state_dir).settle(held.nonce, "used", Decision("ana", "cli"), time.time())
    cause = UndoCause(1.0, shown=held.shown, nonce=held.nonce)
    UndoFolder(places.state_dir).save(cause, lambda saving: saving.present(str(notes)), lambda _: False)
    notes.write_text("new")
    with pytest.raises(UserError) as refused:
        yes(places, held.nonce)
    assert refused.value.fix.startswith(f"toolguard undo {held.nonce} undoes it")
    done = toolguard("undo", held.nonce, "--dry-run", "--json", "--state-dir", str(places.state_dir))
    assert [step["path"] for step in envelope(done)["data"]["steps"]] == [str(notes)]
