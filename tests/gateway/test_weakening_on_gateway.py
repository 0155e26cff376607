"""Weaker settings on the real gateway: edited by hand they count, are pointed out in five places, and a person ends that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from gateway_stage import NEW_HOST, audit, toolguard
from operator_client import OWNER, Operator
from shared_gateway import Shared
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor.checks import weakened_check
from toolguard_cli.rig.private_home import Home, free_port
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system.paths import Places
from toolguard_engine.host import metrics_path
from toolguard_engine.stores.files.accepted_settings_file import AcceptedSettings

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="older releases take no change while they run")

ROOM = "agent:main:room"
PATH = "plugins.entries.toolguard"


@dataclass
class Seen:
    """A gateway, a dashboard beside it, and what each place says."""

    gateway: Gateway
    port: int
    token: str
    before: int
    """The lines of the gateway's log that are of other tests."""

    @property
    def home(self) -> Home:
        return self.gateway.home

    def edit(self, change: Callable[[dict[str, Any]], object]) -> None:
        """As a person does by hand; editors put a new file in the place of the old one."""
        config = json.loads(self.home.config_path.read_text())
        change(config["plugins"]["entries"]["toolguard"])
        beside = self.home.config_path.with_suffix(".new")
        beside.write_text(json.dumps(config, indent=2))
        beside.chmod(0o600)
        beside.replace(self.home.config_path)

    def set(self, **settings: Any) -> None:
        self.edit(lambda entry: entry.setdefault("config", {}).update(settings))

    def request(self, method: str, body: object = None) -> Any:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            head = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
            connection.request(method, "/api/state", json.dumps(body) if body else None, head)
            return json.loads(connection.getresponse().read())

    def lines(self, event: str) -> list[str]:
        return [line["reason"] for line in audit(self.home) if line["event"] == event]

    def status(self) -> list[str]:
        data = json.loads(toolguard(self.home, "status", "--json").stdout)["data"]["weakened"]
        assert data["problem"] == ""
        return [each["text"] for each in data["weaker"]]

    def doctor(self) -> list[str]:
        check = weakened_check.accepted_all(doctor.look(Places(self.home.state_dir, self.home.config_path)))
        assert check.status == ("warn" if check.data else "ok")
        assert bool(check.fix) == bool(check.data)
        return [each["text"] for each in check.data.get("weaker", [])]

    def dashboard(self) -> list[str]:
        (gateway,) = self.request("GET")["gateways"]
        return [each["text"] for each in gateway["weakened"]]

    def everywhere(self, texts: list[str]) -> bool:
        """Status, doctor and the dashboard say the same."""
        return self.status() == self.doctor() == self.dashboard() == texts

    def warned(self, text: str) -> bool:
        """In the gateway's own log."""
        lines = self.gateway.log_text().splitlines()[self.before :]
        return any("[toolguard]" in line and text in line for line in lines)

    def noted(self, event: str, lines: list[str], pending: list[str]) -> bool:
        """The last lines of the audit log, and what waits: the record is written right after the log."""
        known = [notice.text for notice in AcceptedSettings(self.home.state_dir).pending()]
        return self.lines(event)[-len(lines) :] == lines and known == pending

    def runs_with(self, name: str, value: object) -> bool:
        known = AcceptedSettings(self.home.state_dir).baseline(str(self.home.config_path))
        return known is not None and known.get("", name) == value


@pytest.fixture(scope="module")
def seen(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    db, port = tmp_path_factory.mktemp("page") / "m.db", free_port()
    gateway = shared.anew().gateway
    with _page(shared.home, db, port):
        before = len(gateway.log_text().splitlines())
        yield Seen(gateway, port, metrics_path.token_path(db).read_text().strip(), before)
    shared.forget()


@contextmanager
def _page(home: Home, db: Path, port: int) -> Iterator[None]:
    """A dashboard that the gateway did not start, so that it is still there when the plugin is not."""
    places = ["--db", str(db), "--state-dir", str(home.state_dir), "--config", str(home.config_path), "--port", str(port)]
    command = [sys.executable, "-m", "toolguard_cli.dashboard", *places]
    page = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert page.stdout
        assert page.stdout.readline().startswith("listening")
        yield
    finally:
        page.kill()
        page.communicate()


@pytest.mark.thorough
def test_what_a_hand_makes_weaker(seen: Seen, wait: Callable[[Callable[[], bool]], None]) -> None:
    wait(lambda: seen.runs_with("mode", "enforce"))
    assert seen.everywhere([])

    seen.set(escalationThreshold=30)
    wait(lambda: seen.runs_with("escalationThreshold", 30))
    assert seen.everywhere([])
    assert seen.lines("weakened") == []
    assert not seen.warned("WEAKER")

    seen.set(mode="shadow", neverBlock=["memory_get", "exec"])
    weaker = ["mode changed from enforce to shadow", "neverBlock also names exec"]
    wait(lambda: seen.noted("weakened", weaker, weaker))
    wait(lambda: seen.warned("the guard is WEAKER than before: " + "; ".join(weaker)))
    assert seen.everywhere(weaker)
    assert "weaker than the accepted setting: mode changed" in toolguard(seen.home, "status").stdout

    done = toolguard(seen.home, "config", "accept", "--yes", "--json")
    assert [each["text"] for each in json.loads(done.stdout)["data"]["accepted"]] == weaker
    assert seen.everywhere([])
    assert seen.lines("accepted") == weaker


@pytest.mark.thorough
def test_a_person_accepts_in_chat_and_on_the_dashboard(seen: Seen, wait: Callable[[Callable[[], bool]], None]) -> None:
    seen.set(failMode="open")
    reported = "failMode changed from closed to open"
    wait(lambda: seen.noted("weakened", [reported], [reported]))
    with Operator(seen.home, OWNER) as owner:
        assert reported in owner.chat(ROOM, "/toolguard pending")
        shown = owner.chat(ROOM, "/toolguard accept")
        assert reported in shown
        mark = shown.split()[-1]
        assert mark in owner.chat(ROOM, "/toolguard accept 0123456789abcdef")
        assert owner.chat(ROOM, f"/toolguard accept {mark}") == f"accepted: {reported}"
        assert owner.chat(ROOM, "/toolguard accept").startswith("no setting is weaker")
    assert seen.everywhere([])

    seen.edit(lambda entry: entry.update(hooks={"allowConversationAccess": True}))
    access = f"{PATH}.hooks.allowConversationAccess"
    wait(lambda: seen.runs_with(access, value=True))
    seen.edit(lambda entry: entry.pop("hooks"))
    reported = f"{access} changed from true to false"
    wait(lambda: seen.noted("weakened", [reported], [reported]))
    (gateway,) = seen.request("GET")["gateways"]
    assert [each["setting"] for each in gateway["weakened"]] == [access]
    answer = seen.request("POST", {"gateway": gateway["id"], "accept": gateway["weakenedMark"]})
    assert [each["weakened"] for each in answer["gateways"]] == [[]]
    assert seen.everywhere([])
    places = [line["where"] for line in audit(seen.home) if line["event"] == "accepted"]
    assert places[-2:] == ["chat", "dashboard"]


@pytest.mark.thorough
def test_the_guard_is_switched_off_and_on_again(seen: Seen, wait: Callable[[Callable[[], bool]], None]) -> None:
    seen.edit(lambda entry: entry.update(enabled=False))
    why = f"{PATH}.enabled is false"
    wait(lambda: f"the gateway stopped the guard: {why}" in seen.lines("ended"))
    reported = f"the gateway no longer loads toolguard ({why}): nothing is guarded"
    wait(lambda: seen.noted("weakened", [reported], [reported]))
    wait(lambda: seen.warned(f"the guard stopped: {reported}"))
    assert seen.everywhere([reported])

    seen.edit(lambda entry: entry.update(enabled=True))
    wait(lambda: seen.noted("restored", [f"as strict as before: {PATH}.enabled"], []))
    assert seen.everywhere([])
