"""`toolguard approve --session`, and where the answer for a session is shown and ended."""

from __future__ import annotations

import json
import time

import pytest
from cli_stage import texts, toolguard
from held_stage import hold, like, status_of, terminal

from toolguard_cli.approvals import watch_screen
from toolguard_cli.approvals.watch_screen import ScreenView, WatchAction
from toolguard_cli.commands import approve, grants, revoke, watch
from toolguard_cli.status import overview
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.grants_file import PolicyFiles

PHOTOS = like("/home/ann/photos")
SCOPE = "calls of exec by agent main in this session that delete /home/ann/photos"


def answered(places: Places) -> tuple[HeldCall, list[str]]:
    held = hold(places, **PHOTOS)
    return held, texts(approve.run(places, held.nonce, yes=True, session=True))


def given(places: Places) -> SessionGrant:
    (grant,) = stores.session_grants(places.state_dir).active(time.time())
    return grant


def test_the_call_is_approved_and_those_like_it(places: Places) -> None:
    held, said = answered(places)
    grant = given(places)
    assert said[0].endswith(f"; {grant.id} allows {SCOPE}, for the rest of this session, 8 hours at most")
    assert said[-1] == f"toolguard revoke {grant.id} ends the permission"
    assert status_of(places, held.nonce) == "approved"
    assert (grant.agent, grant.session, grant.nonce, grant.where) == ("main", "agent:main:main", held.nonce, "cli")
    assert 0 < grant.expires - time.time() <= 8 * 3600
    events = [(event["event"], event["nonce"]) for event in stores.audit_log(places.state_dir).events()]
    assert events == [("hold", held.nonce), ("approve", held.nonce), ("grant", held.nonce)]


def test_what_it_covers_is_shown_before_the_question(places: Places) -> None:
    held = hold(places, **PHOTOS)
    with terminal(places, "approve", held.nonce, "--session") as opened:
        shown = " ".join(opened.until("Approve?").split())
        assert f"also allows {SCOPE}, for the rest of this session, 8 hours at most" in shown
        opened.type("n\n")
        assert opened.end() == 1
    assert stores.session_grants(places.state_dir).active(time.time()) == []
    assert status_of(places, held.nonce) == "pending"


@pytest.mark.parametrize("changes", [{}, {**PHOTOS, "whole": False}, {**PHOTOS, "meaning": None}, {**PHOTOS, "session": ""}])
def test_where_nothing_is_alike_nothing_is_approved(places: Places, changes: dict[str, object]) -> None:
    held = hold(places, **changes)
    with pytest.raises(UserError):
        approve.run(places, held.nonce, yes=True, session=True)
    assert status_of(places, held.nonce) == "pending"


def test_where_grants_are_signed_there_is_none(places: Places) -> None:
    settings = {"plugins": {"entries": {"toolguard": {"config": {"approval": {"signers": "/etc/signers"}}}}}}
    places.config.write_text(json.dumps(settings))
    held = hold(places, **PHOTOS)
    with pytest.raises(UserError, match="carries no signature"):
        approve.run(places, held.nonce, yes=True, session=True)


def test_it_is_for_as_long_or_for_a_session(places: Places) -> None:
    held = hold(places, **PHOTOS)
    done = toolguard("approve", held.nonce, "--session", "--for", "1d", "--yes", "--state-dir", places.state_dir)
    assert done.returncode == 2
    assert "cannot be combined with --for" in done.stderr
    assert status_of(places, held.nonce) == "pending"


def test_it_is_listed_counted_and_ended(places: Places) -> None:
    answered(places)
    grant = given(places)
    listed = grants.run(places)
    assert any(grant.id in line and "delete /home/ann/photos" in line for line in texts(listed))
    assert [each["id"] for each in listed.data["sessions"]] == [grant.id]
    found = overview.look(places, time.time())
    assert overview.data(found)["sessionGrants"] == 1
    assert any("1 answer for the rest of a session in force" in line.text for line in overview.lines(found))
    assert texts(revoke.run(places, grant.id, dry_run=True))[0].startswith(f"would revoke {grant.id}: ")
    assert given(places) == grant
    assert texts(revoke.run(places, grant.id[:4], reason="enough"))[0].startswith(f"revoked {grant.id}; ")
    assert stores.session_grants(places.state_dir).active(time.time()) == []
    *_, last = stores.audit_log(places.state_dir).events()
    assert (last["event"], last["where"], last["why"], last["session"]) == ("revoke", "cli", "enough", "agent:main:main")


def test_the_beginning_of_an_id_is_enough_to_revoke(places: Places) -> None:
    for name in ("g-1a2b", "g-1a99", "g-2b00"):
        toolguard("grant", f"make {name}", "--for", "1h", "--state-dir", places.state_dir)
    ids = [grant.id for grant in PolicyFiles(places.state_dir).grants()]
    with pytest.raises(UserError, match="3 grants begin with g-"):
        revoke.run(places, "g-")
    with pytest.raises(UserError, match="there is no grant x"):
        revoke.run(places, "x")
    revoke.run(places, ids[1][:-1] if ids[0][:-1] != ids[1][:-1] != ids[2][:-1] else ids[1])
    assert [grant.id for grant in PolicyFiles(places.state_dir).grants()] == [ids[0], ids[2]]


def test_in_watch_s_answers_for_the_session_after_all_of_it_was_shown(places: Places) -> None:
    held = hold(places, **PHOTOS)
    calls, size = [held], (300, 12)
    view, act = watch_screen.press(ScreenView(calls[0].nonce), "a", calls)
    assert (view.asking, act) == (held.nonce, None)
    assert watch_screen.press(view, "s", calls)[1] is None
    drawn = " ".join(row.text for row in watch_screen.screen(view, calls, time.time(), *size))
    assert SCOPE in drawn.replace("  ", " ")
    assert "s: for this session" in drawn
    view = watch_screen.shown(view, calls, *size)
    asked, act = watch_screen.press(view, "s", calls)
    assert act == WatchAction("session", held.nonce)
    done = watch._done(watch.WatchedCalls(places), asked, act)
    assert given(places).id in done.message


def test_in_watch_s_is_a_no_where_nothing_is_alike(places: Places) -> None:
    calls = [hold(places)]
    view = watch_screen.shown(watch_screen.press(ScreenView(calls[0].nonce), "a", calls)[0], calls, 120, 12)
    assert watch_screen.press(view, "s", calls) == (ScreenView(calls[0].nonce), None)


def test_a_program_that_may_press_the_keys_gives_none(places: Places) -> None:
    held = hold(places, **PHOTOS)
    watched = watch.WatchedCalls(places, "by cron")
    assert "watch was started by cron" in watch._done(watched, ScreenView(), WatchAction("session", held.nonce)).message
    assert status_of(places, held.nonce) == "pending"
