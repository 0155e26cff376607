"""A call with signs that nobody sees, on every surface where it is shown: each sign is written out there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import msgspec
import pytest
from cli_stage import texts, toolguard

from invisible_signs import CODES, among, hidden_in, in_parts
from toolguard_cli.approvals import held_calls, watch_screen
from toolguard_cli.approvals.watch_screen import ScreenView
from toolguard_cli.commands import audit, grants, pending
from toolguard_cli.dashboard.api import waiting_calls
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.notify import message_text
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import held_view
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import parse
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server.held_call_decisions import Approvals, Settled, prompt_for
from toolguard_engine.stores import open as stores
from toolguard_engine.wire import messages

CONFIG = parse({})
GUARD = Guard(CONFIG, {}, Host("/home/u", "/home/u/.openclaw"), packs.load())
BREAK = "\u200b"
"""What notifications put behind active signs, so that no chat makes a link or a mention of them."""


class Scene:
    """A gateway where one call waits."""

    def __init__(self, places: Places, codes: tuple[int, ...]) -> None:
        self.places = places
        self.now = time.time()
        self.names = [among(code) for code in codes]
        store = stores.held_calls(places.state_dir, None)
        self._approvals = Approvals(store, stores.grants(places.state_dir), lambda: self.now)
        command = f"rm -rf {' '.join(f'~/{name}' for name in self.names)}"
        call = Call("exec", {"command": command}, agent="main", session="s", run="r", cwd=f"/w/{self.names[0]}")
        self.settled: Settled = self._approvals.settle(GUARD.judge(call), call, CONFIG)
        self._approvals.write_log()
        (self.entry,) = store.entries()

    def in_chat(self, action: str) -> str:
        asked = messages.PersonDecision(1, action, "chat", self.entry.nonce, "me", chat="c")  # type: ignore[arg-type]
        return self._approvals.decide(asked, CONFIG).text


def watched(entry: HeldCall) -> str:
    view = ScreenView(entry.nonce, entry.nonce)
    return "\n".join(row.text for row in watch_screen.screen(view, [entry], time.time(), 1_000, 50))


def on_the_dashboard(scene: Scene) -> str:
    shown = msgspec.to_builtins(waiting_calls.view(WatchedGateway("gw", scene.places), scene.entry))
    return "\n".join([shown["shown"], shown["reason"], *shown["would"], *shown["rules"], shown["allows"]])


def notified(scene: Scene) -> str:
    text = message_text.held(scene.entry, held_view.view(scene.entry)).text
    return text.replace(BREAK, "")


def granted(scene: Scene) -> str:
    grant = Grant("", "exec", f"ls {' '.join(scene.names)} *", cwd=f"/w/{scene.names[0]}", created=scene.now, by="me")
    stores.grants(scene.places.state_dir).add(grant, lambda _: None)
    return "\n".join(texts(grants.run(scene.places)))


SURFACES: dict[str, Callable[[Scene], str]] = {
    "the hold message to the model": lambda scene: scene.settled.verdict.text,
    "the gateway's own prompt": lambda scene: prompt_for(scene.entry, scene.now).description,
    "approve in chat": lambda scene: scene.in_chat("approve"),
    "pending in chat": lambda scene: scene.in_chat("pending"),
    "pending": lambda scene: "\n".join(texts(pending.run(scene.places))),
    "pending on a terminal": lambda scene: toolguard("pending", "--state-dir", scene.places.state_dir).stdout,
    "approve": lambda scene: "\n".join(held_calls.details(scene.entry, scene.now)),
    "watch": lambda scene: watched(scene.entry),
    "a notification": notified,
    "the dashboard": on_the_dashboard,
    "audit show": lambda scene: "\n".join(texts(audit.show(scene.places, audit.Filter(), 10))),
    "the audit log": lambda scene: "\n".join(
        json.loads(line).get("shown", "") for line in (scene.places.own / "audit.jsonl").read_text().splitlines()
    ),
    "grants": granted,
}


@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
def test_every_sign_is_written_out(places: Places, surface: Callable[[Scene], str]) -> None:
    found: list[str] = []
    for number, codes in enumerate(in_parts()):
        here = Places(places.state_dir / str(number), places.config)
        here.own.mkdir(parents=True)
        found += hidden_in(surface(Scene(here, codes)), codes)
    assert len(CODES) >= 60
    assert found == []


def test_the_file_of_the_audit_log_is_printable(places: Places) -> None:
    places.own.mkdir(parents=True)
    Scene(places, CODES[:20])
    text = (places.own / "audit.jsonl").read_text()
    assert [code for code in CODES if chr(code) in text] == []
