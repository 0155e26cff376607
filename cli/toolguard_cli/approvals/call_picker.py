"""Which of several waiting calls a person means: a list on the terminal, walked through with keys.

It approves nothing: what is chosen is shown and asked about afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from toolguard_cli.approvals import watch_screen
from toolguard_cli.approvals.chosen_call import Choice, Command
from toolguard_cli.approvals.watch_screen import ScreenRow, ScreenView, Shows
from toolguard_cli.terminal import single_keys
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import HeldCall

REDRAW_SECONDS = 0.5
NONE = frozenset({"esc", "q"})
ANSWERS: dict[Command, dict[str, Command]] = {
    "approve": {"a": "approve", "enter": "approve", "d": "deny"},
    "deny": {"d": "deny", "enter": "deny"},
}
"""What a key means; nothing is approved by who came to deny."""

HELP: dict[Command, tuple[str, str]] = {
    "approve": (
        "j/k or arrows: select   a, Enter: approve   d: deny   Esc: none",
        "j/k: select  a: approve  d: deny  Esc: none",
    ),
    "deny": ("j/k or arrows: select   d, Enter: deny   Esc: none", "j/k: select  d: deny  Esc: none"),
}


def press(view: ScreenView, key: str, calls: Sequence[HeldCall], command: Command) -> tuple[ScreenView, Choice | None]:
    """The list after a key, and what was chosen, if anything was: only a call that was marked when the list was drawn."""
    if key in NONE:
        return view, Choice(command, "")
    seen, view = view, watch_screen.settled(view, calls)
    if key in watch_screen.MOVES:
        return watch_screen.press(view, key, calls)[0], None
    verb = ANSWERS[command].get(key)
    return view, Choice(verb, view.selected) if verb and view.selected and view == seen else None


def pick(calls: Sequence[HeldCall], shows: Shows, command: Command) -> Choice:
    """Shows the list until a key chooses, and leaves the terminal as it was. Calls whose time is over leave the list."""
    from rich.console import Console  # noqa: PLC0415 - takes 60 ms to import
    from rich.live import Live  # noqa: PLC0415 - as above

    console, view, drawn = Console(), ScreenView(), 0.0
    with single_keys.reading() as pressed, Live(console=console, screen=True, auto_refresh=False) as picture:
        while True:
            typed = pressed()
            waiting = replies.waiting(calls, time.time())
            for key in watch_screen.counting(typed):
                view, choice = press(view, key, waiting, command)
                if choice is not None:
                    return choice
            if not waiting:
                return Choice(command, "")
            if typed or time.monotonic() - drawn >= REDRAW_SECONDS:
                view = watch_screen.settled(view, waiting)
                rows = watch_screen.screen(view, waiting, time.time(), *console.size, shows, HELP[command])
                picture.update(rendered(rows), refresh=True)
                drawn = time.monotonic()


def rendered(rows: Sequence[ScreenRow]) -> Any:
    """Rows of a screen for the terminal."""
    from rich.text import Text  # noqa: PLC0415 - as above

    return Text("\n", no_wrap=True, overflow="crop").join(Text(row.text, style=row.style) for row in rows)
