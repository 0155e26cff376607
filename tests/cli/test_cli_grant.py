"""`toolguard grant`, `grants` and `revoke`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from cli_stage import envelope, texts, toolguard

from toolguard_cli.approvals import held_calls
from toolguard_cli.commands import grant, grants, revoke
from toolguard_cli.commands.grant import GrantRequest
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.grants_file import PolicyFiles
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable


def give(
    places: Places, pattern: str = "git push origin *", tool: str = "exec", *, yes: bool = False, **more: Any
) -> Result:
    return grant.run(places, GrantRequest(pattern, tool, **more), yes=yes, dry_run=False)


def test_grant(places: Places) -> None:
    result = give(places, lasts="7d", agent="main", cwd="/srv", params=("host=sandbox",), reason="release week")
    (made,) = PolicyFiles(places.state_dir).grants()
    assert (made.tool, made.pattern, made.agent, made.cwd, made.params, made.reason) == (
        "exec", "git push origin *", "main", "/srv", {"host": "sandbox"}, "release week",
    )  # fmt: skip
    assert made.expires - made.created == 7 * 86_400
    assert abs(made.created - time.time()) < 60
    assert texts(result)[0] == (
        f"granted {made.id}: agent main may call exec like `git push origin *` in /srv with host like sandbox, "
        "without asking"
    )
    assert f"it ends {printable.moment(made.expires)} (in " in texts(result)[1]
    assert texts(result)[2] == "bound to what it does now: in /srv"
    assert texts(result)[3].startswith(f"toolguard revoke {made.id} ")
    assert result.data["grant"]["id"] == made.id
    (event,) = AuditLog(places.state_dir).events()
    assert (event["event"], event["tool"], event["where"], event["why"]) == ("grant", "exec", "cli", "release week")
    assert made.id in event["reason"]


def test_commands_that_run_outside_of_their_room(places: Places) -> None:
    result = give(places, "./tool --check", uncontained=True)
    assert [each.uncontained for each in PolicyFiles(places.state_dir).grants()] == [True]
    assert grant.UNCONTAINED in texts(result)
    assert any("./tool --check  [uncontained]" in line for line in texts(grants.run(places)))
    with pytest.raises(UserError, match="only commands"):
        give(places, "/srv/*", "write", uncontained=True)


@pytest.mark.parametrize(
    ("lasts", "seconds"), [("30m", 1_800), ("12H", 43_200), (" 2w", 1_209_600), ("45s", 45), ("1d12h", 129_600)]
)
def test_how_long(places: Places, lasts: str, seconds: int) -> None:
    give(places, lasts=lasts)
    (made,) = PolicyFiles(places.state_dir).grants()
    assert made.expires - made.created == seconds


def test_a_day_unless_said_otherwise(places: Places) -> None:
    give(places)
    (made,) = PolicyFiles(places.state_dir).grants()
    assert made.expires - made.created == 86_400


def test_never(places: Places) -> None:
    assert "it never ends" in texts(give(places, lasts="never", yes=True))[1]
    assert PolicyFiles(places.state_dir).grants()[0].expires == 0


def test_a_command_is_for_exec_unless_said_otherwise(places: Places) -> None:
    asked = ("grant", "rm -rf build", "--dry-run", "--state-dir", places.state_dir)
    assert envelope(toolguard(*asked, "--json"))["data"]["grant"]["tool"] == "exec"
    page = envelope(toolguard("grant", "https://docs.example.com/**", *asked[2:], "--json"))
    assert page["data"]["grant"]["tool"] == "web_fetch", "a URL is no command"
    assert "did you mean exec?" in toolguard(*asked, "--tool", "exce").stdout


def test_dry_run(places: Places) -> None:
    result = grant.run(places, GrantRequest("make", "exec"), yes=False, dry_run=True)
    assert texts(result)[0] == "would grant any agent may call exec like `make`, without asking"
    assert list(places.state_dir.iterdir()) == []


@pytest.mark.parametrize(
    ("pattern", "more", "words"),
    [
        ("*", {}, "covers every call of exec"),
        ("**", {"tool": "cron"}, "covers every call of cron"),
        ("* --version", {}, "covers every program"),
        ("sudo *", {}, "covers every program or script that sudo can run"),
        ("make *", {"lasts": "never"}, "and the grant never ends"),
        ("", {}, "cannot be granted"),
        ("make", {"tool": ""}, "cannot be granted"),
        ("make", {"lasts": "7"}, "is not a duration"),
        ("make", {"lasts": "0d"}, "is not a duration"),
        ("make", {"lasts": "-1d"}, "is not a duration"),
        ("make", {"lasts": "99999w"}, "is not a duration"),
        ("make", {"lasts": "\x1b"}, "is not a duration"),
        ("make", {"params": ("host",)}, "is not NAME=GLOB"),
        ("make", {"params": ("=x",)}, "is not NAME=GLOB"),
        ("make", {"cwd": "srv"}, "is not an absolute path"),
        ("make\nx", {}, "unprintable character"),
        ("make", {"agent": "a\u202e"}, "unprintable character"),
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


@pytest.mark.parametrize("pattern", ["rm -rf /", "toolguard approve 1234"])
def test_a_grant_without_an_effect_is_refused(places: Places, pattern: str) -> None:
    with pytest.raises(UserError, match="a grant would have no effect on this call: the guard blocks it"):
        give(places, pattern, yes=True)
    assert not PolicyFiles(places.state_dir).grants()


@pytest.mark.parametrize(
    ("pattern", "tool", "warned"),
    [("rm -rf /*", "exec", True), ("rm -rf build", "exec", False), ("a b c", "message", False), ("{}", "nodes", False)],
)
def test_what_is_blocked_stays_so(places: Places, pattern: str, tool: str, *, warned: bool) -> None:
    lines = give(places, pattern, tool, yes=True).lines
    assert any("a grant does not lift a block" in line.text for line in lines if line.kind == "warn") is warned


def test_everything_if_it_is_meant(places: Places) -> None:
    give(places, "*", yes=True)
    assert len(PolicyFiles(places.state_dir).grants()) == 1


def test_a_bad_policy(places: Places) -> None:
    policies = PolicyFiles(places.state_dir)
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
        assert caught.value.fix.startswith("known names: ")


def test_a_bad_rule_beside_the_grants_is_told(places: Places) -> None:
    give(places)
    policy = places.own / "policy.toml"
    policy.write_text(policy.read_text() + "\n[[rule]]\nstakes = 99\n")
    result = grants.run(places, everything=False)
    (error,) = [line.text for line in result.lines if line.kind == "error"]
    assert "stakes must be a whole number" in error
    assert len(result.data["grants"]) == 1


def test_what_cannot_be_logged_is_not_granted(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: AuditLog, _events: object) -> None:
        raise StoreError("audit.jsonl: No space left on device")

    monkeypatch.setattr(AuditLog, "append", full)
    with pytest.raises(UserError, match="No space left on device"):
        give(places)
    assert PolicyFiles(places.state_dir).grants() == ()


def test_what_cannot_be_logged_is_revoked_all_the_same(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    made = give(places).data["grant"]["id"]

    def full(_self: AuditLog, _events: object) -> None:
        raise StoreError("audit.jsonl: No space left on device")

    monkeypatch.setattr(AuditLog, "append", full)
    result = revoke.run(places, made, reason="", dry_run=False)
    assert "No space left" in texts(result)[1]
    assert PolicyFiles(places.state_dir).grants() == ()


def test_grants(places: Places) -> None:
    assert texts(grants.run(places, everything=False)) == [held_calls.nowhere(places)]
    places.own.mkdir()
    assert texts(grants.run(places, everything=False)) == ["there are no grants"]
    policies = PolicyFiles(places.state_dir)
    policies.add(Grant("g-0001", "exec", "make", expires=5.0))
    assert texts(grants.run(places, everything=False)) == ["no grant is active; 1 expired (see --all)"]
    policies.add(Grant("g-0002", "exec", "ls *", "main", by="ana", cwd="/srv", params={"host": "sandbox"}))
    shown = grants.run(places, everything=True)
    assert [line.split("  ") for line in texts(shown)[2:3]] == [
        ["g-0002", "never ends", "exec", "main", " ana", "ls *", "[host=sandbox, in /srv, words only]"]
    ]
    assert texts(shown)[3].startswith(
        "2 grants are from an earlier version and cover the same words whatever they do by now"
    )
    assert texts(shown)[1].startswith("g-0001  expired")
    assert [(found["id"], found["expired"]) for found in shown.data["grants"]] == [("g-0001", True), ("g-0002", False)]
    assert [found["id"] for found in grants.run(places, everything=False).data["grants"]] == ["g-0002"]


def test_grants_say_what_they_are_bound_to(places: Places, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "deploy.sh").write_text("rm -rf build\n")
    PolicyFiles(places.state_dir).add(Grant("g-0001", "exec", "make"))
    give(places, "sh deploy.sh", cwd=str(tmp_path))
    old, new = grants.run(places, everything=False).data["grants"]
    assert (old["wordsOnly"], old["bound"]) == (True, [])
    assert new["wordsOnly"] is False
    (bound,) = new["bound"]
    assert (bound["folder"], bound["places"]) == (str(tmp_path), [str(tmp_path / "build")])
    assert list(bound["files"]) == [str(tmp_path / "deploy.sh")]
    assert "words only" in "".join(line for line in texts(grants.run(places, everything=False)) if "g-0001" in line)


def test_revoke(places: Places) -> None:
    made = give(places).data["grant"]["id"]
    assert texts(revoke.run(places, made, reason="", dry_run=True))[0].startswith(f"would revoke {made}: ")
    assert len(PolicyFiles(places.state_dir).grants()) == 1
    first = texts(revoke.run(places, made, reason="over", dry_run=False))[0]
    assert first.startswith(f"revoked {made}; this no longer applies: any agent may ")
    assert PolicyFiles(places.state_dir).grants() == ()
    assert [(event["event"], event.get("why", "")) for event in AuditLog(places.state_dir).events()] == [
        ("grant", ""),
        ("revoke", "over"),
    ]
    with pytest.raises(UserError, match=f"there is no grant {made}") as caught:
        revoke.run(places, made, reason="", dry_run=False)
    assert "toolguard grants --all" in caught.value.fix


HAND_WRITTEN = """\
# mine
[[grant]]
tool = "exec"  # no id
pattern = "make *"

[[grant]]
id = "g-all"
tool = "exec"
pattern = "*"
agent = "main"
params = {host = "sandbox"}
"""


def write(places: Places, text: str = HAND_WRITTEN) -> PolicyFiles:
    policies = PolicyFiles(places.state_dir)
    policies.path.parent.mkdir(exist_ok=True)
    policies.path.write_text(text)
    return policies


def accept(places: Places, grant_id: str, **more: Any) -> Result:
    usual: dict[str, Any] = {"reason": "", "yes": True, "dry_run": False, "as_json": False}
    return grant.accept(places, grant_id, **usual | more)


def test_what_is_not_signed_is_listed_with_the_next_step(places: Places) -> None:
    policies = write(places)
    nameless = policies.unsigned()[0].id
    give(places, "ls")
    shown = grants.run(places, everything=False)
    assert [line.split("  ")[1].strip() for line in texts(shown)[1:3]] == ["not signed", ""]
    assert texts(shown)[2].split()[:3] == ["g-all", "not", "signed"]
    assert texts(shown)[-1] == (
        f"2 grants are not signed and do not apply: toolguard grant --accept {nameless} shows what it covers and asks "
        "for confirmation"
    )
    assert [found["signed"] for found in shown.data["grants"]] == [False, False, True]
    assert "mac" not in shown.data["grants"][2]
    accept(places, "g-all")
    assert texts(grants.run(places, everything=False))[-1].startswith("1 grant is not signed and does not apply: ")
    accept(places, nameless)
    assert not any("signed" in text for text in texts(grants.run(places, everything=True)))


def test_accept(places: Places) -> None:
    policies = write(places)
    nameless = policies.unsigned()[0].id
    assert texts(accept(places, nameless, dry_run=True, yes=False))[0].startswith(f"would accept {nameless}: any agent may")
    assert policies.path.read_text() == HAND_WRITTEN
    result = accept(places, nameless, reason="mine")
    assert texts(result)[0] == f"accepted {nameless}: any agent may call exec like `make *`, without asking"
    assert "  pattern  make *" in texts(result)
    assert [made.id for made in policies.grants()] == [nameless]
    (event,) = AuditLog(places.state_dir).events()
    assert (event["event"], event["tool"], event["where"], event["why"]) == ("grant", "exec", "cli", "mine")
    assert event["reason"] == f"accepted: {nameless}, until revoked"
    assert "covers every call of exec" in " ".join(texts(accept(places, "g-all")))
    with pytest.raises(UserError, match="g-all is already signed"):
        accept(places, "g-all")
    with pytest.raises(UserError, match="there is no grant g-none"):
        accept(places, "g-none")
    assert texts(revoke.run(places, "g-all", reason="", dry_run=False))[0].startswith("revoked g-all")


def test_a_grant_changed_by_hand_is_accepted_again(places: Places) -> None:
    made = give(places, "make").data["grant"]["id"]
    policies = PolicyFiles(places.state_dir)
    write(places, policies.path.read_text().replace('"make"', '"make all"'))
    assert policies.grants() == ()
    accept(places, made)
    assert [found.pattern for found in policies.grants()] == ["make all"]
    assert policies.path.read_text().count("mac = ") == 1


def test_what_is_not_signed_can_be_revoked(places: Places) -> None:
    policies = write(places)
    assert texts(revoke.run(places, "g-all", reason="", dry_run=True))[0].startswith("would revoke g-all")
    for found in policies.unsigned():
        revoke.run(places, found.id, reason="", dry_run=False)
    assert policies.path.read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('pattern = "make\\u001b[8m *"', "unprintable character"),
        ('pattern = "make *"\ncwd = "srv"', "not an absolute path"),
    ],
)
def test_what_is_not_accepted(places: Places, line: str, words: str) -> None:
    policies = write(places, HAND_WRITTEN.replace('pattern = "make *"', line))
    with pytest.raises(UserError, match=words):
        accept(places, policies.unsigned()[0].id)
    assert policies.grants() == ()


def test_accepting_is_asked_for(places: Places) -> None:
    policies = write(places, HAND_WRITTEN.replace("make *", "make " + "x" * 900 + " *"))
    with pytest.raises(UserError, match="no terminal to ask in"):
        accept(places, "g-all", yes=False)
    for answer, code, count in (("n", 1, 0), ("y", 0, 1)):
        done = toolguard("grant", "--accept", "g-all", "--state-dir", places.state_dir, typed=f"{answer}\n")
        question = done.stdout.partition("Accept? [y/N] ")[0]
        assert "host like sandbox" in question
        assert "covers every call of exec" in question
        assert (done.returncode, len(policies.grants())) == (code, count)
    done = toolguard("grant", "--accept", policies.unsigned()[0].id, "--state-dir", places.state_dir, typed="")
    assert "x" * 900 + " *" in " ".join(done.stdout.partition("Accept?")[0].split())  # wrapped, and whole


def test_not_what_was_changed_while_it_was_asked(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    policies = write(places)

    def confirm(*_: object, **__: object) -> bool:
        write(places, HAND_WRITTEN.replace("sandbox", "*"))
        return True

    monkeypatch.setattr("toolguard_cli.terminal.confirm.confirm", confirm)
    with pytest.raises(UserError, match="g-all was changed meanwhile"):
        accept(places, "g-all", yes=False)
    assert policies.grants() == ()
    assert list(AuditLog(places.state_dir).events()) == []


@pytest.mark.parametrize(
    "more",
    [("make",), ("--tool", "exec"), ("--for", "1h"), ("--agent", "main"), ("--cwd", "/"), ("--param", "a=b")],
    ids=" ".join,
)
def test_accepting_takes_no_limits(places: Places, more: tuple[str, ...]) -> None:
    policies = write(places)
    done = toolguard("grant", "--accept", "g-all", "--yes", *more, "--state-dir", places.state_dir)
    assert (done.returncode, policies.grants()) == (2, ())


def test_accepting_as_a_process(places: Places) -> None:
    write(places)
    made = envelope(toolguard("grant", "--accept", "g-all", "-y", "--state-dir", places.state_dir, "--json"))
    assert (made["ok"], made["data"]["accepted"], made["data"]["grant"]["id"]) == (True, True, "g-all")
    listed = envelope(toolguard("grants", "--state-dir", places.state_dir, "--json"))["data"]["grants"]
    assert [found["signed"] for found in listed] == [False, True]


def test_as_processes(places: Places) -> None:
    asked = ("--state-dir", places.state_dir, "--json")
    params = ("--param", "host=sandbox", "--param", "ask=*")
    made = envelope(toolguard("grant", "git push *", "--tool", "exec", "--for", "2d", *params, *asked))
    assert (made["ok"], made["data"]["grant"]["params"]) == (True, {"host": "sandbox", "ask": "*"})
    assert len(envelope(toolguard("grants", *asked))["data"]["grants"]) == 1
    assert envelope(toolguard("revoke", made["data"]["grant"]["id"], *asked))["ok"]
    assert toolguard("revoke", "g-none", *asked).returncode == 1
    assert toolguard("grant", "/srv/site", *asked).returncode == 2


@pytest.mark.parametrize("pattern", ["", " ", "\t"])
def test_an_empty_pattern_is_refused_in_plain_words(places: Places, pattern: str) -> None:
    done = toolguard("grant", pattern, "--state-dir", places.state_dir)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the pattern is empty; give the calls to allow" in done.stderr
    assert "$.pattern" not in done.stderr
