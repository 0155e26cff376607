"""What a person reads about held calls."""

from __future__ import annotations

from typing import Any

import pytest

from tables import each_row
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import Decision, HeldCall, Ledger, RefusedError
from toolguard_engine.wording import printable
from toolguard_engine.wording.visible_text import is_visible

NOW = 1_700_000_000.0


def entry(nonce: str = "3f9a51c2", **changes: Any) -> HeldCall:
    usual: dict[str, Any] = {
        "nonce": nonce,
        "binding": "b",
        "tool": "exec",
        "agent": "main",
        "session": "agent:main:main",
        "run": "r",
        "code": "always-block",
        "reason": "alwaysBlock names exec",
        "shown": '{ command: "make" }',
        "created": NOW,
        "expires": NOW + 300,
    }
    return HeldCall(**usual | changes)


YES = Decision("ana", "cli", "release day")


def refusal(kind: str) -> RefusedError:
    ledger = Ledger([entry(), entry("3f9a0000"), entry("aaaa0000", tool="read")])
    prefix, now = {"malformed": "xyz", "ambiguous": "3f9a", "unknown": "beef"}.get(kind, "aaaa"), NOW + 10
    if kind == "expired":
        now = NOW + 400
        ledger.sweep(now)
    if kind == "denied":
        ledger.deny("aaaa", YES, now, 300)
    if kind in ("approved", "used"):
        yes = ledger.approve("aaaa", YES, now, 30)
        if kind == "used":
            ledger.use(yes, now + 1)
    with pytest.raises(RefusedError) as caught:
        ledger.approve(prefix, YES, now + 2, 30)
    assert caught.value.cause == kind
    return caught.value


@each_row(
    ("kind", "text", "fix"),
    [
        ("malformed", "that is not a nonce", "a nonce has 8 characters, 0-9 and a-f"),
        ("unknown", "no call has that nonce", "toolguard pending"),
        ("ambiguous", "2 calls start with that: 3f9a0000, 3f9a51c2", "give more characters"),
        (
            "expired",
            "aaaa0000 (read) expired at 2023-11-14 22:20:00+00:00: nobody decided in time",
            "toolguard revive aaaa0000",
        ),
        ("used", "aaaa0000 (read) was used at 2023-11-14 22:13:31+00:00", "tell the agent to try"),
        ("denied", "aaaa0000 (read) was denied by ana (cli) at 2023-11-14 22:13:30+00:00: release day", "22:18:30+00:00"),
        (
            "approved",
            "aaaa0000 (read) is already approved by ana (cli) at 2023-11-14 22:13:30+00:00",
            "repeat the call before",
        ),
    ],
)
def test_each_refusal_has_its_own_answer(kind: str, text: str, fix: str) -> None:
    answer = replies.explain(refusal(kind))
    assert answer.text.startswith(text)
    assert fix in answer.fix
    assert "\n" not in answer.text + answer.fix


@each_row(
    ("kind", "text"),
    [
        ("pending", "aaaa0000 (read) is still waiting for approval"),
        ("approved", "aaaa0000 (read) is already approved by ana"),
        ("denied", "aaaa0000 (read) was denied by ana"),
        ("used", "aaaa0000 (read) was used at"),
        ("revived", "aaaa0000 (read) was revived at"),
    ],
)
def test_what_cannot_be_revived(kind: str, text: str) -> None:
    ledger, late = Ledger([entry("aaaa0000", tool="read")]), NOW + 400
    if kind in ("approved", "used"):
        yes = ledger.approve("aaaa", YES, NOW, 30)
        _ = ledger.use(yes, NOW + 1) if kind == "used" else None
    elif kind == "denied":
        ledger.deny("aaaa", YES, NOW, 300)
    if kind == "revived":
        ledger.sweep(late)
        ledger.revive("aaaa", YES, late)
    with pytest.raises(RefusedError) as caught:
        ledger.revive("aaaa", YES, late)
    answer = replies.explain(caught.value)
    assert answer.text.startswith(text)
    assert "1970" not in answer.text + answer.fix
    assert kind != "pending" or answer.fix == "toolguard approve aaaa0000"


def test_a_lapsed_approval_has_the_command_that_asks_again() -> None:
    ledger = Ledger([entry("aaaa0000", tool="read")])
    ledger.approve("aaaa", YES, NOW, 30)
    ledger.sweep(NOW + 400)
    with pytest.raises(RefusedError) as caught:
        ledger.approve("aaaa", YES, NOW + 400, 30)
    answer = replies.explain(caught.value)
    assert answer.text.startswith("aaaa0000 (read) was approved by ana, but did not run before")
    assert answer.fix == "toolguard revive aaaa0000 asks the agent to make the call again, under a new nonce"
    (line, then) = replies.missed_lines(ledger.entries, NOW + 400)
    assert line.startswith("approved, but did not run: aaaa0000")
    assert then.startswith("/toolguard revive")


def test_answers_differ() -> None:
    kinds = ("malformed", "unknown", "ambiguous", "expired", "used", "denied", "approved")
    assert len({replies.explain(refusal(kind)).text for kind in kinds}) == len(kinds)


def test_many_matches_are_bounded() -> None:
    answer = replies.explain(RefusedError("ambiguous", matches=tuple(f"abcd{at:04x}" for at in range(900))))
    assert answer.text == "900 calls start with that: abcd0000, abcd0001, abcd0002, abcd0003, abcd0004 and 895 more"


def test_a_denial_of_which_little_is_known() -> None:
    denied = entry(status="denied", decided=NOW, expires=NOW + 9)
    assert replies.explain(RefusedError("denied", denied)).text == "3f9a51c2 (exec) was denied at 2023-11-14 22:13:20+00:00"


def test_what_a_yes_and_a_no_mean() -> None:
    idle = "of idle time (10 min at most)"
    assert replies.approved(entry(), 30.0) == f"approved 3f9a51c2: agent main may run exec once within 30 s {idle}"
    assert replies.approved(entry(agent=""), 120.0) == f"approved 3f9a51c2: the agent may run exec once within 2m00s {idle}"
    assert replies.approved(entry(expires=NOW), 600.0) == (
        "approved 3f9a51c2: agent main may run exec once, until 2023-11-14 22:13:20+00:00"
    )
    assert replies.denied(entry()) == "denied 3f9a51c2: agent main is instructed not to try exec again"


def test_what_becomes_of_the_agent_by_the_outcome_of_waking_it() -> None:
    approved = entry(status="approved", latest=NOW + 600, expires=NOW + 30)
    withdraw = "until the call has run, /toolguard deny 3f9a51c2 withdraws the approval"
    assert replies.waking(approved) == {
        "woken": f"the agent is resumed; {withdraw}",
        "busy": f"the agent is at work, and is told when its turn ends; {withdraw}",
        "later": "the agent could not be woken ({why}): it is told at its next run; "
        "if that begins after 2023-11-14 22:23:20+00:00, /toolguard revive 3f9a51c2 asks again",
    }


def test_a_no_in_the_terminal() -> None:
    assert replies.refused(entry(), taken_back=False) == "denied 3f9a51c2: the agent is instructed not to repeat this call"
    assert replies.refused(entry(), taken_back=True) == (
        "withdrew the approval of 3f9a51c2 before it was used: the call did not run; "
        "the agent is instructed not to repeat this call"
    )
    late = replies.too_late(entry(status="used", decided=NOW))
    assert late == replies.Answer(
        "too late: 3f9a51c2 ran at 2023-11-14 22:13:20+00:00", "toolguard audit show --nonce 3f9a51c2"
    )


def test_pending_lines() -> None:
    found = [
        entry("00000002", created=NOW + 1, status="approved", expires=NOW + 30, agent=""),
        entry("00000001"),
        entry("00000003", status="denied"),
        entry("00000004", expires=NOW + 50),
    ]
    assert replies.pending_lines(found, NOW + 50) == ['00000001  exec  4m10s left  main  { command: "make" }']
    assert replies.pending_lines(found, NOW + 10)[1:] == [
        '00000004  exec  40s left  main  { command: "make" }',
        '00000002  exec  approved, 20s left  -  { command: "make" }',
    ]
    assert replies.pending_lines([], NOW) == ["no call is waiting"]


def test_long_lists_and_long_calls_are_cut() -> None:
    lines = replies.pending_lines([entry(f"{at:08x}", shown="x" * 500) for at in range(60)], NOW, width=80)
    assert {len(line) for line in lines[:-1]} == {80}
    assert (len(lines), lines[-1]) == (replies.MAX_LINES + 1, "... and 10 more")


def test_nothing_that_moves_a_cursor() -> None:
    nasty = "\x1b[2J\r\n\u202e"
    evil = entry(tool=nasty, agent=nasty, shown=nasty, status="denied", by=nasty, where=nasty, why=nasty, decided=NOW)
    texts = [
        replies.explain(RefusedError("denied", evil)).text,
        replies.approved(evil, 30),
        replies.denied(evil),
        *replies.pending_lines([entry(tool=nasty, agent=nasty, shown=nasty)], NOW),
    ]
    assert [text for text in texts if not is_visible(text)] == []


@each_row(
    ("seconds", "expected"),
    [
        (-3, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m00s"),
        (250, "4m10s"),
        (3_600, "1h00m"),
        (7_500, "2h05m"),
        (273_600, "3d04h"),
    ],
)
def test_duration(seconds: float, expected: str) -> None:
    assert printable.duration(seconds) == expected


@each_row(("width", "expected"), [(6, "abcdef"), (5, "ab..."), (3, "..."), (1, "."), (0, "")])
def test_cut(width: int, expected: str) -> None:
    assert printable.cut("abcdef", width) == expected


@pytest.mark.parametrize(
    ("action", "done", "needed"),
    [("approve", "approved", "the signature of a signer"), ("revive", "revived", "your own login")],
)
def test_in_a_fleet_a_person_is_told_what_a_yes_needs(action: str, done: str, needed: str) -> None:
    answer = replies.needs_fleet_login("3f9a51c2", action=action)
    assert answer.text.startswith(f"3f9a51c2 was not {done}: ")
    assert needed in answer.text
    assert ("signature" in answer.text) is (action == "approve")
    assert answer.fix.startswith(f"run toolguard {action} 3f9a51c2 ")
