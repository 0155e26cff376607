"""What a person is shown of weaker settings in a chat, and that only this is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.settings import parse
from toolguard_engine.config.strictness import settings_of
from toolguard_engine.server.weakening_notices import ACCEPT, MAX_IN_CHAT, NOTHING, Weakenings
from toolguard_engine.stores.accepted_settings import NOT_KNOWN
from toolguard_engine.stores.files.accepted_settings_file import NAME
from toolguard_engine.stores.files.audit_log_file import AuditLog

ANN = Decision("ann", "chat")


@pytest.fixture
def weakenings(tmp_path: Path) -> Weakenings:
    state = tmp_path / "state"
    (state / "toolguard").mkdir(parents=True)
    found = Weakenings(state, "/home/ada/openclaw.json", lambda: 1_000.0, AuditLog(state).append)
    found.begin(settings_of(parse({})))
    return found


def shown_mark(weakenings: Weakenings) -> str:
    (text,) = weakenings.pending()
    return text.split()[-1]


def test_only_the_mark_of_what_was_shown_accepts_it(weakenings: Weakenings) -> None:
    weakenings.begin(settings_of(parse({"mode": "soft"})))
    seen = shown_mark(weakenings)
    weakenings.begin(settings_of(parse({"mode": "disabled"})))
    for given in ("", seen, "0" * 16, "\ud800", "it was me"):
        answer = weakenings.accept(ANN, given)
        assert answer.startswith("Nothing was accepted")
        assert answer.endswith(f"/toolguard accept {shown_mark(weakenings)}")
        assert "mode changed from enforce to disabled" in answer
    assert weakenings.accept(ANN, shown_mark(weakenings)) == "accepted: mode changed from enforce to disabled"
    assert weakenings.pending() == []
    assert weakenings.accept(ANN, seen) == NOTHING


def test_all_that_one_mark_accepts_is_shown(weakenings: Weakenings) -> None:
    agents = {f"agent{number:02}": {"mode": "shadow"} for number in range(30)}
    weakenings.begin(settings_of(parse({"agents": agents})))
    (text,) = weakenings.pending()
    assert all(f"agents.{agent}.mode" in text for agent in agents)
    assert weakenings.accept(ANN, shown_mark(weakenings)).startswith("accepted: ")


def test_what_is_too_much_for_a_chat_is_not_accepted_there(weakenings: Weakenings) -> None:
    agents = {f"agent{number}": {"mode": "shadow"} for number in range(MAX_IN_CHAT + 1)}
    weakenings.begin(settings_of(parse({"agents": agents})))
    (text,) = weakenings.pending()
    assert text.endswith("run in a terminal: toolguard config accept")
    assert weakenings.accept(ANN, "").startswith("Nothing was accepted")


def test_a_lost_record_is_said_once_with_what_was_taken_instead(weakenings: Weakenings, tmp_path: Path) -> None:
    (tmp_path / "state" / "toolguard" / NAME).unlink()
    soft = settings_of(parse({"mode": "soft"}))
    (line,) = weakenings.begin(soft)
    assert (
        line
        == f"{NOT_KNOWN}; compared with the defaults: mode changed from enforce to soft. If this is intended, run: {ACCEPT}"
    )
    assert weakenings.begin(soft) == []
