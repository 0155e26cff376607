"""`toolguard grant`, `grants` and `revoke`."""

from __future__ import annotations

import time
from typing import Any

import pytest
from cli_stage import envelope, texts, toolguard

from toolguard_cli import tables
from toolguard_cli.commands import grant, grants, revoke
from toolguard_cli.commands.grant import Wanted
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Result
from toolguard_engine.layers.grants import Grant
from toolguard_engine.stores.audit import AuditLog
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import Policies


def give(
    places: Places, pattern: str = "git push origin *", tool: str = "exec", *, yes: bool = False, **more: Any
) -> Result:
    return grant.run(places, Wanted(pattern, tool, **more), yes=yes, dry_run=False)


def test_grant(places: Places) -> None:
    result = give(places, lasts="7d", agent="main", cwd="/srv", params=("host=sandbox",), reason="release week")
    (made,) = Policies(places.state_dir).grants()
    assert (made.tool, made.pattern, made.agent, made.cwd, made.params, made.reason) == (
        "exec", "git push origin *", "main", "/srv", {"host": "sandbox"}, "release week",
    )  # fmt: skip
    assert made.expires - made.created == 7 * 86_400
    assert abs(made.created - time.time()) < 60
    assert texts(result)[0] == (
        f"granted {made.id}: agent main may call exec like `git push origin *` with host like sandbox, in /srv, "
        "without asking"
    )
    assert f"it ends {tables.local(made.expires)} (in " in texts(result)[1]
    assert texts(result)[2].startswith(f"toolguard revoke {made.id} ")
    assert result.data["grant"]["id"] == made.id
    (event,) = AuditLog(places.state_dir).events()
    assert (event["event"], event["tool"], event["where"], event["why"]) == ("grant", "exec", "cli", "release week")
    assert made.id in event["reason"]


@pytest.mark.parametrize(("lasts", "seconds"), [("30m", 1_800), ("12H", 43_200), (" 2w", 1_209_600), ("45s", 45)])
def test_how_long(places: Places, lasts: str, seconds: int) -> None:
    give(places, lasts=lasts)
    (made,) = Policies(places.state_dir).grants()
    assert made.expires - made.created == seconds


def test_a_day_unless_said_otherwise(places: Places) -> None:
    give(places)
    (made,) = Policies(places.state_dir).grants()
    assert made.expires - made.created == 86_400


def test_never(places: Places) -> None:
    assert "it never ends" in texts(give(places, lasts="never"))[1]
    assert Policies(places.state_dir).grants()[0].expires == 0


def test_dry_run(places: Places) -> None:
    result = grant.run(places, Wanted("make", "exec"), yes=False, dry_run=True)
    assert texts(result)[0] == "would grant any agent may call exec like `make`, without asking"
    assert list(places.state_dir.iterdir()) == []


@pytest.mark.parametrize(
    ("pattern", "more", "words"),
    [
        ("*", {}, "covers every call of exec"),
        ("**", {"tool": "cron"}, "covers every call of cron"),
        ("* --version", {}, "covers every program"),
        ("", {}, "cannot be granted"),
        ("make", {"tool": ""}, "cannot be granted"),
        ("make", {"lasts": "7"}, "is no span of time"),
        ("make", {"lasts": "0d"}, "is no span of time"),
        ("make", {"lasts": "-1d"}, "is no span of time"),
        ("make", {"lasts": "99999w"}, "is no span of time"),
        ("make", {"lasts": "\x1b"}, "is no span of time"),
        ("make", {"params": ("host",)}, "is no NAME=GLOB"),
        ("make", {"params": ("=x",)}, "is no NAME=GLOB"),
        ("make", {"cwd": "srv"}, "is no absolute folder"),
        ("make\nx", {}, "does not show"),
        ("make", {"agent": "a\u202e"}, "does not show"),
        ("https://example.com*", {"tool": "web_fetch"}, "would never cover a call"),
        ("/srv/../x", {"tool": "write"}, "would never cover a call"),
    ],
)
def test_refused(places: Places, pattern: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words.replace("=", ".")) as caught:
        give(places, pattern, **more)
    assert caught.value.fix
    assert "\x1b" not in caught.value.message
    assert list(places.state_dir.iterdir()) == []


def test_everything_if_it_is_meant(places: Places) -> None:
    give(places, "*", yes=True)
    assert len(Policies(places.state_dir).grants()) == 1


def test_a_bad_policy(places: Places) -> None:
    policies = Policies(places.state_dir)
    policies.path.parent.mkdir()
    policies.path.write_text("[[grant]]\nid = 'a'\ntool = 'exec'\npattern = 'x'\nagnet = 'main'\n")
    for attempt in (
        lambda: give(places),
        lambda: grants.run(places, everything=False),
        lambda: revoke.run(places, "a", reason="", dry_run=False),
    ):
        with pytest.raises(UserError) as caught:
            attempt()
        assert caught.value.message == f"{policies.path}, line 5: a grant has no agnet"
        assert caught.value.fix.startswith("known are: ")


def test_what_cannot_be_logged_is_not_granted(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: AuditLog, _events: object) -> None:
        raise StoreError("audit.jsonl: No space left on device")

    monkeypatch.setattr(AuditLog, "append", full)
    with pytest.raises(UserError, match="No space left on device"):
        give(places)
    assert Policies(places.state_dir).grants() == ()


def test_what_cannot_be_logged_is_revoked_all_the_same(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    made = give(places).data["grant"]["id"]

    def full(_self: AuditLog, _events: object) -> None:
        raise StoreError("audit.jsonl: No space left on device")

    monkeypatch.setattr(AuditLog, "append", full)
    result = revoke.run(places, made, reason="", dry_run=False)
    assert "No space left" in texts(result)[1]
    assert Policies(places.state_dir).grants() == ()


def test_grants(places: Places) -> None:
    assert texts(grants.run(places, everything=False)) == ["nothing is granted"]
    policies = Policies(places.state_dir)
    policies.add(Grant("g-0001", "exec", "make", expires=5.0))
    assert texts(grants.run(places, everything=False)) == ["nothing is granted now; 1 expired (--all)"]
    policies.add(Grant("g-0002", "exec", "ls *", "main", by="ana", cwd="/srv", params={"host": "sandbox"}))
    shown = grants.run(places, everything=True)
    assert [line.split("  ") for line in texts(shown)[2:]] == [
        ["g-0002", "never ends", "exec", "main", " ana", "ls *", "[host=sandbox, in /srv]"]
    ]
    assert texts(shown)[1].startswith("g-0001  expired")
    assert [(found["id"], found["expired"]) for found in shown.data["grants"]] == [("g-0001", True), ("g-0002", False)]
    assert [found["id"] for found in grants.run(places, everything=False).data["grants"]] == ["g-0002"]


def test_revoke(places: Places) -> None:
    made = give(places).data["grant"]["id"]
    assert texts(revoke.run(places, made, reason="", dry_run=True))[0].startswith(f"would revoke {made}: ")
    assert len(Policies(places.state_dir).grants()) == 1
    assert texts(revoke.run(places, made, reason="over", dry_run=False))[0].startswith(f"revoked {made}: any agent may ")
    assert Policies(places.state_dir).grants() == ()
    assert [(event["event"], event.get("why", "")) for event in AuditLog(places.state_dir).events()] == [
        ("grant", ""),
        ("revoke", "over"),
    ]
    with pytest.raises(UserError, match=f"there is no grant {made}") as caught:
        revoke.run(places, made, reason="", dry_run=False)
    assert "toolguard grants --all" in caught.value.fix


def test_as_processes(places: Places) -> None:
    asked = ("--state-dir", places.state_dir, "--json")
    params = ("--param", "host=sandbox", "--param", "ask=*")
    made = envelope(toolguard("grant", "git push *", "--tool", "exec", "--for", "2d", *params, *asked))
    assert (made["ok"], made["data"]["grant"]["params"]) == (True, {"host": "sandbox", "ask": "*"})
    assert len(envelope(toolguard("grants", *asked))["data"]["grants"]) == 1
    assert envelope(toolguard("revoke", made["data"]["grant"]["id"], *asked))["ok"]
    assert toolguard("revoke", "g-none", *asked).returncode == 1
    assert toolguard("grant", "make", *asked).returncode == 2
