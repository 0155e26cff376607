"""`toolguard watch`: what keys mean, what stands on the screen, and the terminal itself."""

from __future__ import annotations

import json
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest
from cli_stage import LIMIT, SCRIPT
from held_stage import hold, status_of, terminal
from msgspec import structs

from tables import each_row
from toolguard_cli.approvals import watch_screen
from toolguard_cli.approvals.watch_screen import ScreenView, WatchAction, press, screen
from toolguard_cli.commands import approve, watch
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import held_view
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.held_details import HeldDetails, HeldEffect, HeldRule
from toolguard_engine.wording.visible_text import is_visible

NOW = 1_000.0


def call(nonce: str, status: str = "pending", shown: str = "{}") -> HeldCall:
    return HeldCall(nonce, "b", "exec", "main", "s", "r", "c", "why", shown, NOW, NOW + 300, status)  # type: ignore[arg-type]


ONE, TWO, YES = call("00000001"), call("00000002"), call("00000003", "approved")
CALLS = [ONE, TWO, YES]


@each_row(
    ("view", "key", "after", "act"),
    [
        pytest.param(ScreenView("00000001"), "down", ScreenView("00000002"), None, id="down"),
        pytest.param(ScreenView("00000002"), "k", ScreenView("00000001"), None, id="up"),
        pytest.param(ScreenView("00000001"), "k", ScreenView("00000001"), None, id="no further up"),
        pytest.param(ScreenView("00000003"), "j", ScreenView("00000003"), None, id="no further down"),
        pytest.param(ScreenView("gone"), "x", ScreenView("00000001"), None, id="another key"),
        pytest.param(ScreenView("00000002"), "a", ScreenView("00000002", asking="00000002"), None, id="ask"),
        pytest.param(
            ScreenView("00000003"), "a", ScreenView("00000003", message="00000003 is already approved"), None, id="approved"
        ),
        pytest.param(
            ScreenView("00000001", "00000002", read=999),
            "y",
            ScreenView("00000001"),
            WatchAction("approve", "00000002"),
            id="yes",
        ),
        pytest.param(
            ScreenView("00000001", "00000002"), "y", ScreenView("00000001", "00000002"), None, id="yes to what was not shown"
        ),
        pytest.param(
            ScreenView("00000001", "00000002", read=6),
            "y",
            ScreenView("00000001", "00000002", read=6),
            None,
            id="yes before the end",
        ),
        pytest.param(ScreenView("00000002", read=999, top=4), "a", ScreenView("00000002", "00000002"), None, id="ask anew"),
        pytest.param(ScreenView("00000001", "00000002"), "n", ScreenView("00000001"), None, id="no"),
        pytest.param(ScreenView("00000001", "00000002"), "q", ScreenView("00000001"), None, id="q is a no"),
        pytest.param(ScreenView("00000001", "00000002"), "a", ScreenView("00000001"), None, id="a is no yes"),
        pytest.param(ScreenView("00000001", "00000009"), "y", ScreenView("00000001"), None, id="the call has gone"),
        *(
            pytest.param(ScreenView(*before), key, ScreenView("00000001"), None, id=f"{key} for a call that has gone")
            for key in ("a", "d", "j", "q")
            for before in (("00000009",), ("00000001", "00000009"), ("",))
        ),
        pytest.param(ScreenView("00000001", "00000003"), "y", ScreenView("00000001"), None, id="somebody else was quicker"),
        pytest.param(
            ScreenView("00000001", "00000003", read=999), "y", ScreenView("00000001", read=999), None, id="quicker, and read"
        ),
        pytest.param(ScreenView("00000002"), "d", ScreenView("00000002"), WatchAction("deny", "00000002"), id="deny"),
        pytest.param(
            ScreenView("00000003"), "d", ScreenView("00000003"), WatchAction("deny", "00000003"), id="take a yes back"
        ),
        pytest.param(ScreenView("00000001"), "q", ScreenView("00000001"), WatchAction("quit"), id="quit"),
    ],
)
def test_press(view: ScreenView, key: str, after: ScreenView, act: WatchAction | None) -> None:
    assert press(view, key, CALLS) == (after, act)


@each_row("key", ["a", "d", "j", "y"])
def test_press_without_calls(key: str) -> None:
    assert press(ScreenView(), key, []) == (ScreenView(), None)


def test_screen() -> None:
    rows = screen(ScreenView("00000002", message="done"), CALLS, NOW, 80, 24)
    assert [(row.text, row.style) for row in rows] == [
        ("toolguard: 2 calls waiting for approval", "bold"),
        ("", ""),
        ("  00000001  exec  5m00s left  main  {}", ""),
        ("> 00000002  exec  5m00s left  main  {}", "reverse"),
        ("  00000003  exec  approved, 5m00s left  main  {}", "dim"),
        ("", ""),
        ("1 danger: {}", ""),
        ("does something that the guard cannot name: read the call itself", ""),
        ("held: why (c)", "dim"),
        ("done", ""),
        (watch_screen.HELP, "dim"),
    ]


def test_screen_with_a_question() -> None:
    rows = screen(ScreenView(asking="00000002"), CALLS, NOW, 80, 24)
    assert [(row.text, row.style) for row in rows] == [
        ("00000002: exec by agent main, in its folder", "bold"),
        ("session s", "dim"),
        ("", ""),
        ("held: why (c)", ""),
        ("1 danger:", ""),
        (" 1 does something that the guard cannot name: read the call itself", ""),
        ("{}", ""),
        ("Approve 00000002? y: yes, any other key: no", "yellow"),
    ]


LONG = "".join(f"{at:04d} " for at in range(800))


def read(view: ScreenView, calls: list[HeldCall], size: tuple[int, int]) -> tuple[str, ScreenView]:
    """What of the call is on the screen, and the view that has seen it."""
    rows = screen(view, calls, NOW, *size)
    assert len(rows) <= size[1]
    assert all(len(row.text) <= size[0] and row.text.isprintable() for row in rows)
    return "".join(row.text for row in rows[3:-1]), watch_screen.shown(view, calls, *size)


def all_of(entry: HeldCall) -> str:
    """All that has to be seen of a call."""
    return watch_screen._asked_text(entry, held_view.view)


def without_line_ends(text: str) -> str:
    return text.replace("\n", "")


@each_row("size", [(80, 24), (24, 5), (40, 9), (100, 30), (200, 60)])
@each_row("text", [LONG, LONG.replace("0", "\u754c"), LONG.replace("1", "\u00e9"), "x" * 3_995])
def test_a_yes_only_after_the_whole_call_was_shown(text: str, size: tuple[int, int]) -> None:
    calls = [call("00000001", shown=text)]
    view, act = press(ScreenView("00000001"), "a", calls)
    whole = without_line_ends(all_of(calls[0]))
    assert whole.endswith(text)
    seen, pages = "", 0
    while len(seen) < len(whole):
        assert press(view, "y", calls) == (view, None)
        piece, view = read(view, calls, size)
        seen, pages = seen + piece, pages + 1
        question = screen(view, calls, NOW, *size)[-1].text
        assert ("y: " in question) == (len(seen) == len(whole)) or size[0] < 40
        view, act = press(view, " ", calls)
        assert act is None
    assert seen == whole
    assert press(view, "y", calls) == (ScreenView("00000001"), WatchAction("approve", "00000001"))
    assert (pages == 1) == (size == (200, 60))


def test_a_long_call_on_a_usual_terminal_in_one_look() -> None:
    calls = [call("00000001", shown=LONG[:1_200])]
    _, view = read(ScreenView("00000001", "00000001"), calls, (80, 24))
    assert press(view, "y", calls)[1] == WatchAction("approve", "00000001")


@each_row("keys_typed", ["    y", "ky", " k y", "jjjjjjjjjjjjjjjjjjjy"])
def test_keys_that_come_faster_than_the_screen_skip_nothing(keys_typed: str) -> None:
    calls = [call("00000001", shown=LONG)]
    _, view = read(ScreenView("00000001", "00000001"), calls, (80, 24))
    for sign in keys_typed:
        view, act = press(view, "up" if sign == "k" else sign, calls)
        assert act is None
    assert (view.asking, view.top <= view.read < len(LONG)) == ("00000001", True)


def test_a_terminal_that_changes_its_size_skips_nothing() -> None:
    calls = [call("00000001", shown=LONG)]
    whole = all_of(calls[0])
    view, seen = ScreenView("00000001", "00000001"), set[int]()
    sizes = [(80, 24), (30, 8), (160, 9), (24, 5), (20, 3), (100, 30)] * 20
    for size in sizes:
        if view.read < len(whole):
            assert press(view, "y", calls)[1] is None
        piece, view = read(view, calls, size)
        if size != (20, 3):
            assert without_line_ends(whole[view.top :]).startswith(piece)
            seen |= set(range(view.top, view.top + view.page))
            assert without_line_ends(whole[view.top : view.top + view.page]) == piece
        assert seen >= set(range(view.read))
        view, _ = press(view, " ", calls)
    assert press(view, "y", calls)[1] == WatchAction("approve", "00000001")


def test_reading_back() -> None:
    calls = [call("00000001", shown=LONG)]
    first, view = read(ScreenView("00000001", "00000001"), calls, (80, 24))
    end = view.read
    _, view = read(press(view, "pagedown", calls)[0], calls, (80, 24))
    assert view.read > end
    again, back = read(press(view, "pageup", calls)[0], calls, (80, 24))
    assert (again, back.top, back.read) == (first, 0, view.read)
    assert press(back, "n", calls) == (ScreenView("00000001"), None)


def test_what_the_guard_has_read_need_not_be_read_again() -> None:
    """The dangers and the lines that have them are enough, and the others are counted."""
    command = "\n".join([*["true"] * 300, "rm -rf build"])
    details = HeldDetails((HeldEffect("delete", "build"),), (HeldRule("x.delete", "It deletes.", 9, target="build"),))
    asked = structs.replace(call("00000001", shown=f"exec({{ command: {json.dumps(command)} }})"), details=details)
    shown, view = read(ScreenView("00000001", "00000001"), [asked], (80, 24))
    assert " 301> rm -rf build" in shown
    assert "293 more lines" in shown
    assert press(view, "y", [asked])[1] == WatchAction("approve", "00000001")
    unread = structs.replace(asked, details=structs.replace(details, more=1))
    _, view = read(ScreenView("00000001", "00000001"), [unread], (80, 24))
    assert press(view, "y", [unread])[1] is None


@each_row("size", [(1, 1), (23, 50), (80, 4), (10, 2)])
def test_a_terminal_that_is_too_small_for_a_yes(size: tuple[int, int]) -> None:
    view = ScreenView("00000002", "00000002")
    assert [row.text for row in screen(view, CALLS, NOW, *size)] == ["make the terminal larger"[: size[0]]]
    assert press(watch_screen.shown(view, CALLS, *size), "y", CALLS) == (view, None)


def test_no_line_of_a_call_is_wider_than_the_terminal() -> None:
    from rich.cells import cell_len  # noqa: PLC0415

    every = "".join(chr(code) for code in range(0x20, 0x10000) if is_visible(chr(code)))
    lines = list(watch_screen._wrapped(every, 24))
    assert "".join(lines) == every
    assert max(cell_len(line) for line in lines) <= 24


def test_screen_without_calls() -> None:
    assert [row.text for row in screen(ScreenView(), [], NOW, 80, 24)][:3] == [
        "toolguard: 0 calls waiting for approval",
        "",
        "  no call is waiting",
    ]


@each_row(("width", "height"), [(80, 24), (20, 10), (40, 3), (200, 60), (1, 1)])
def test_screen_stays_within_the_terminal(width: int, height: int) -> None:
    calls = [call(f"{at:08x}", shown="\x1b[2J" + "x" * 900) for at in range(50)]
    rows = screen(ScreenView("00000028"), calls, NOW, width, height)
    assert len(rows) <= height
    assert all(len(row.text) <= width and row.text.isprintable() for row in rows)
    if height > 20:
        assert any(row.style == "reverse" and "00000028" in row.text for row in rows)


def test_what_is_told_without_a_terminal() -> None:
    closed = call("00000004", "used")
    assert watch.changes([*CALLS, closed], {}, first=True) == CALLS
    assert watch.changes([*CALLS, closed], {"00000001": "pending", "00000003": "pending"}, first=False) == [TWO, YES, closed]


def test_lines_for_a_file(places: Places) -> None:
    first = hold(places)
    process = subprocess.Popen(
        [SCRIPT, "watch", "--json", "--state-dir", places.state_dir],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        reported = [json.loads(process.stdout.readline())]
        second = hold(places, shown="{ a: '\x1b' }")
        reported.append(json.loads(process.stdout.readline()))
        approve.run(places, first.nonce, yes=True, reason="", as_json=False)
        reported.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 0
    assert [(line["nonce"], line["status"]) for line in reported] == [
        (first.nonce, "pending"),
        (second.nonce, "pending"),
        (first.nonce, "approved"),
    ]


def test_lines_for_a_person(places: Places) -> None:
    held = hold(places, shown="{ a: '\x1b' }")
    with subprocess.Popen([SCRIPT, "watch", "--state-dir", places.state_dir], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 0
    assert line.endswith(f"  {held.nonce}  pending  exec  main  {{ a: '<U+001B>' }}\n")


def test_the_live_list(places: Places) -> None:
    first, second = hold(places), hold(places, tool="message")
    with terminal(places, "watch") as shown:
        assert "\x07" not in shown.until(second.nonce)
        third = hold(places, tool="write")
        assert "\x07" in shown.until(third.nonce)
        for key, marked in (("j", second), ("\x1b[A", first), ("j", second)):
            shown.type(key)
            shown.until(f"> {marked.nonce}")
        shown.type("a")
        shown.until(f"Approve {second.nonce}?")
        assert status_of(places, second.nonce) == "pending"
        shown.type("y")
        shown.until(f"approved {second.nonce}")
        assert status_of(places, second.nonce) == "approved"
        shown.type("k")
        shown.until(f"> {first.nonce}")
        shown.type("d")
        shown.until(f"denied {first.nonce}")
        assert status_of(places, first.nonce) == "denied"
        assert status_of(places, third.nonce) == "pending"
        shown.type("q")
        assert shown.end() == 0
        assert termios.tcgetattr(shown.slave) == shown.before
        assert "\x1b[?1049l" in shown.seen


def test_a_long_call_is_read_to_its_end_before_a_yes(places: Places) -> None:
    held = hold(places, shown='exec({ command: "' + "true; " * 600 + 'rm -rf build" })')
    with terminal(places, "watch") as shown:
        termios.tcsetwinsize(shown.slave, (24, 80))
        shown.until(held.nonce)
        shown.type("a")
        assert "rm -rf" not in shown.until(f"Approve {held.nonce}? space: read on (2298 more characters)")
        shown.type("y")
        shown.type(" ")
        assert "rm -rf" not in shown.until(" more characters)")
        assert status_of(places, held.nonce) == "pending"
        shown.type("\x1b[6~")
        assert "rm -rf build" in shown.until("y: yes")
        assert status_of(places, held.nonce) == "pending"
        shown.type("y")
        shown.until(f"approved {held.nonce}")
        assert status_of(places, held.nonce) == "approved"
        shown.type("q")
        assert shown.end() == 0


def test_what_is_pasted_only_moves(places: Places) -> None:
    calls = [hold(places), hold(places, tool="message")]
    with terminal(places, "watch") as shown:
        shown.until(f"> {calls[0].nonce}")
        shown.type("dadaj")
        shown.until(f"> {calls[1].nonce}")
        shown.type("q")
        assert shown.end() == 0
    assert [status_of(places, each.nonce) for each in calls] == ["pending", "pending"]


@pytest.mark.parametrize("command", ["watch", "approve", "deny"])
def test_many_arrow_keys_at_once_are_no_letters(places: Places, command: str) -> None:
    """A wheel sends as many; the parts in which they are read begin anywhere."""
    calls = [hold(places), hold(places, tool="message")]
    with terminal(places, command) as shown:
        shown.until(f"> {calls[0].nonce}")
        for arrow in ("\x1b[D", "\x1bOA", "\x1b[1;5D", "\x1b[A"):
            shown.type(arrow * 400)
        shown.type("j")
        shown.until(f"> {calls[1].nonce}")
        shown.type("q")
        assert shown.end() == (command != "watch")
    assert [status_of(places, each.nonce) for each in calls] == ["pending", "pending"]


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_the_terminal_is_as_it_was(places: Places, ending: signal.Signals, code: int) -> None:
    with terminal(places, "watch") as shown:
        shown.until("no call is waiting")
        assert termios.tcgetattr(shown.slave) != shown.before
        shown.process.send_signal(ending)
        assert shown.end() == code
        assert termios.tcgetattr(shown.slave) == shown.before
        assert "\x1b[?1049l" in shown.seen


def test_a_store_that_is_damaged_meanwhile(places: Places) -> None:
    held = hold(places)
    with terminal(places, "watch") as shown:
        shown.until(held.nonce)
        (places.own / "nonces.json").write_text("{")
        assert shown.end() == 1
        assert "toolguard doctor --fix" in shown.seen
        assert termios.tcgetattr(shown.slave) == shown.before


def test_no_store_yet(tmp_path: Path) -> None:
    watched = watch.WatchedCalls(Places(tmp_path, tmp_path / "openclaw.json"))
    assert (watched.refresh(), watched.refresh(), watched.calls(time.time())) == (True, False, [])
