"""One view of a held call on every surface: all its dangers are in sight, in at most 25 lines of 80 columns."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from cli_stage import texts

from toolguard_cli.approvals import held_calls, only_waiting, watch_screen
from toolguard_cli.approvals.watch_screen import ScreenView
from toolguard_cli.commands import pending
from toolguard_cli.dashboard.api import waiting_calls
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.fleet import fleet_decisions, page_calls
from toolguard_cli.notify import message_text
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import MARK
from toolguard_engine.approvals import held_text, held_view
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import parse
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server.held_call_decisions import MAX_DESCRIPTION, Approvals, prompt_for
from toolguard_engine.stores import open as stores
from toolguard_engine.wire import messages
from toolguard_engine.wording.visible_text import is_visible

CONFIG = parse({"pendingTimeoutMs": 3_600_000})
GUARD = Guard(CONFIG, {}, Host("/home/u", "/home/u/.openclaw"), packs.load())
WIDTH, HEIGHT = 80, 25
BREAK = "\u200b"
SECRET = "ghp_" + "a1B2c3D4e5" * 4

DANGERS = {
    "~/photos": "rm -rf ~/photos",
    "dropdb shop": "dropdb shop",
    "git push --force origin main": "git push --force origin main",
    "terraform destroy": "terraform destroy -auto-approve",
    "kubectl delete ns prod": "kubectl delete ns prod",
    "/srv": "chmod -R 777 /srv",
}
LANGUAGES: dict[str, Callable[[str, list[str]], str]] = {
    "shell": lambda danger, filler: "\n".join([*filler, danger]),
    "python": lambda danger, filler: "\n".join(
        ["python3 - <<'E'", "import os", *(f"print({line!r})" for line in filler), f"os.system({danger!r})", "E"]
    ),
    "javascript": lambda danger, filler: "\n".join(
        ["node - <<'E'", *(f"console.log({json.dumps(line)})" for line in filler),
         f"require('child_process').execSync({json.dumps(danger)})", "E"]
    ),
    "ruby": lambda danger, filler: "\n".join(
        ["ruby - <<'E'", *(f"puts {json.dumps(line)}" for line in filler), f"system({json.dumps(danger)})", "E"]
    ),
}  # fmt: skip
LENGTHS = (1, 4, 20, 60, 190)
ODD = {"plain": "", "a secret": f"echo token={SECRET}", "a control": "echo 'a\x1b[2Kb\u202ec'", "wide": "echo 写真を消す"}


@dataclass(frozen=True)
class Row:
    """One call, and what of it every surface has to show."""

    name: str
    command: str
    dangers: tuple[str, ...]


def rows() -> list[Row]:
    """Each number of dangers with each length, the languages and odd signs taking turns; and each language alone."""
    made = []
    for number, (many, length) in enumerate(itertools.product(range(1, 7), LENGTHS)):
        odd = list(ODD)[number % len(ODD)]
        filler = [*([ODD[odd]] if ODD[odd] else []), *(f"echo step {at}" for at in range(length))]
        chosen = list(DANGERS)[:many]
        body = "\n".join([*filler[: length // 2], *(DANGERS[danger] for danger in chosen), *filler[length // 2 :]])
        made.append(Row(f"{many} dangers, {length} lines, {odd}", body, tuple(chosen)))
    for number, (name, write) in enumerate(LANGUAGES.items()):
        for length in (3, 80):
            danger = list(DANGERS)[number]
            command = write(DANGERS[danger], [f"step {at}" for at in range(length)])
            made.append(Row(f"{name}, {length} lines", command, (danger,)))
    long = "echo " + "lorem-ipsum-" * 200
    made.append(Row("one long line", f"{long}; rm -rf ~/photos; {long}; dropdb shop", ("~/photos", "dropdb shop")))
    made.append(Row("one short line", "rm -rf ~/photos && dropdb shop", ("~/photos", "dropdb shop")))
    return made


ROWS = rows()


class Scene:
    """A gateway where this call waits."""

    def __init__(self, places: Places, command: str) -> None:
        self.places = places
        self.now = time.time()
        store = stores.held_calls(places.state_dir, None)
        self._approvals = Approvals(store, stores.grants(places.state_dir), lambda: self.now)
        call = Call("exec", {"command": command}, agent="main", session="agent:main:main", run="r", cwd="/home/u/w")
        self._approvals.settle(GUARD.judge(call), call, CONFIG)
        self._approvals.write_log()
        (self.entry,) = store.entries()

    def in_chat(self, action: str) -> str:
        asked = messages.PersonDecision(1, action, "chat", self.entry.nonce, "me", chat="c")  # type: ignore[arg-type]
        return self._approvals.decide(asked, CONFIG).text

    def on_screen(self, view: ScreenView) -> str:
        return "\n".join(row.text for row in watch_screen.screen(view, [self.entry], self.now, WIDTH, HEIGHT))


def picked(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the picker shows of two calls, of which this is one."""
    seen: list[str] = []

    def typed(lines: list[str], question: str, *, as_json: bool) -> str:
        seen.extend(lines)
        return "1"

    monkeypatch.setattr(only_waiting.confirm, "typed", typed)
    monkeypatch.setattr(only_waiting.sys, "stdin", SimpleNamespace(isatty=lambda: True))
    other = msgspec.structs.replace(scene.entry, nonce="ffffffff", created=scene.entry.created + 1)
    only_waiting.choose(scene.places, [scene.entry, other], "approve", as_json=False)
    return "\n".join(seen[: len(seen) // 2])


def of_page(view: HeldView | None) -> str:
    """What the page lays out without anybody opening anything."""
    assert view is not None
    rows = [f"{row.number} {row.text}" for block in view.blocks for row in block.rows]
    hidden = [f"{block.hidden} more lines" for block in view.blocks if block.hidden]
    dangers = [danger.text for danger in view.dangers]
    return "\n".join([view.title, *dangers, *view.also, *view.notes, *view.fields, *rows, *hidden])


def notified(scene: Scene) -> str:
    return message_text.held(scene.entry, held_view.view(scene.entry)).text.replace(BREAK, "").replace("\uff3f", "_")


def in_fleet(entry: HeldCall) -> list[str]:
    row: Any = SimpleNamespace(
        nonce=entry.nonce, status="pending", left=60, gateway="gw-1", host="h", team="t", requester="", need=1, decisions=()
    )
    return fleet_decisions.details(fleet_decisions.ShownCall(row, entry)).lines


Surface = Callable[[Scene, pytest.MonkeyPatch], str]
SURFACES: dict[str, Surface] = {
    "approve": lambda scene, _: "\n".join(held_calls.shown(scene.entry, scene.now).lines),
    "pending": lambda scene, _: "\n".join(texts(pending.run(scene.places))),
    "the picker": picked,
    "watch": lambda scene, _: scene.on_screen(ScreenView(scene.entry.nonce)),
    "the question of watch": lambda scene, _: scene.on_screen(ScreenView(scene.entry.nonce, scene.entry.nonce)),
    "approve in chat": lambda scene, _: scene.in_chat("approve"),
    "pending in chat": lambda scene, _: scene.in_chat("pending"),
    "a notification": lambda scene, _: notified(scene),
    "the dashboard and the phone": lambda scene, _: of_page(
        waiting_calls.view(WatchedGateway("gw", scene.places), scene.entry).view
    ),
    "fleet approve": lambda scene, _: "\n".join(in_fleet(scene.entry)),
    "the fleet page": lambda scene, _: of_page(page_calls.signed_call(scene.entry).view),
}
WHOLE = {"approve in chat", "pending in chat", "the question of watch"}
"""Surfaces that show all of a call that the guard has not read, in several messages or pages."""


TERMINAL = {"approve": WIDTH - MARK, "the picker": WIDTH - MARK, "watch": WIDTH, "the question of watch": WIDTH}
"""Surfaces that do not wrap what they print, with the columns that they have."""


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("surface", SURFACES)
def test_every_danger_is_in_sight_on_every_surface(places: Places, surface: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(ROWS) == 40
    for number, row in enumerate(ROWS):
        here = Places(places.state_dir / str(number), places.config)
        here.own.mkdir(parents=True)
        scene = Scene(here, row.command)
        shown = SURFACES[surface](scene, monkeypatch)
        text = " ".join(shown.split())
        assert [danger for danger in row.dangers if danger not in text] == [], (row.name, shown)
        assert SECRET not in shown, row.name
        assert all(is_visible(line) for line in shown.split("\n")), row.name
        lines = shown.split("\n")
        if surface not in WHOLE or held_view.view(scene.entry).enough:
            assert len(lines) <= HEIGHT, (row.name, shown)
        if surface in TERMINAL:
            assert max(map(held_text.columns, lines)) <= TERMINAL[surface], (row.name, shown)


def test_the_prompt_of_the_gateway_names_every_danger(places: Places) -> None:
    """It takes 512 units: the dangers before the code."""
    for number, row in enumerate(ROWS):
        here = Places(places.state_dir / str(number), places.config)
        here.own.mkdir(parents=True)
        scene = Scene(here, row.command)
        shown = prompt_for(scene.entry, scene.now).description
        assert [danger for danger in row.dangers if danger not in shown] == [], (row.name, shown)
        assert len(shown) <= MAX_DESCRIPTION
        assert SECRET not in shown


@pytest.mark.parametrize(
    "act", ["terraform destroy -auto-approve", "nats stream purge orders", "kubectl delete ns prod", "frobnicate destroy x"]
)
def test_one_act_is_one_danger_however_many_rules_are_about_it(places: Places, act: str) -> None:
    """A program that a rule knows is not also one that nobody knows."""
    places.own.mkdir(parents=True, exist_ok=True)
    scene = Scene(places, act)
    (danger,) = held_view.view(scene.entry).dangers
    assert act in danger.text
    assert "program that is not known" not in danger.text
    assert scene.entry.details
    shown = "\n".join([*danger.why, danger.text])
    assert [rule.rule for rule in scene.entry.details.rules if rule.rule not in shown] == []
