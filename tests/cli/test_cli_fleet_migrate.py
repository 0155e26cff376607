"""`toolguard fleet migrate` reports every team login, also one that it may not change; without a database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolguard_cli.commands import fleet_migrate
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_fleet import registration


def test_each_team_login_has_its_line(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def migrate(_: str, note: Callable[[str, bool], None]) -> tuple[list[str], int]:
        for name, done in (("gateway_ops", False), ("gateway_ops", True), ("foreign\x1b[2J", False)):
            note(name, done)  # the second time after a race
        return [], 7

    monkeypatch.setattr(registration, "migrate", migrate)
    monkeypatch.setattr(require_human, "refuse", lambda *_, **__: None)
    result = fleet_migrate.run(places, dsn="host=127.0.0.1 dbname=fleet")
    texts = [line.text for line in result.lines]
    assert texts[:2] == [
        "nothing to do: version 7",
        "set the timeouts and the connection limit of the team login gateway_ops",
    ]
    assert [line.kind for line in result.lines] == ["ok", "ok", "warn", "next"]
    assert texts[2].startswith("skipped the team login foreign")
    assert not any("\x1b" in text for text in texts)
