"""`toolguard rules`, and what `check` and `doctor` make of them."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Any

import pytest
from cli_stage import envelope, picture, texts, toolguard
from judged_stage import policy

from toolguard_cli.commands import check, own_rules
from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.doctor.checks import rules_check
from toolguard_cli.policy import check_stream, offline_guard
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.layers import sample_packs
from toolguard_engine.model.call import Call
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.last_good import LastGood

OWN = """\
[[constraint]]
id = "no-prod"
severity = "mandatory"
reason = "Production is for people."
path = ["/srv/prod/**"]
requester = ["!owner"]
matches = ["ls /srv/prod"]
passes = ["ls /srv/test"]

[[constraint]]
id = "by-night"
severity = "required"
reason = "It is night."
tool = ["exec"]
hours = "22:00-06:00"

[[constraint]]
id = "mind"
severity = "advisory"
reason = "Mind the gap."
params = { command = "gap" }
"""
BROKEN = OWN.replace("hours", "hour")


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENCLAW_SHELL", raising=False)


def ask(places: Places, command: str, requester: str = "owner", at: str = "12:00") -> Any:
    call = check.call_of(command, "exec", "", "main", "")
    return check.run(places, check.asked_by(call, "telegram", requester, at))


class TestList:
    def test_none(self, places: Places) -> None:
        result = own_rules.listing(places)
        assert result.data == {"file": str(places.own / "policy.toml"), "rules": []}
        assert "toolguard rules packs" in texts(result)[-1]
        assert list(places.state_dir.iterdir()) == []

    def test_in_words(self, places: Places) -> None:
        path = policy(places, OWN)
        result = own_rules.listing(places)
        assert [" ".join(text.split()) for text in texts(result)] == [
            "ID DOES LINE WHAT",
            "no-prod mandatory 1 blocks every call on /srv/prod/** for anybody but owner",
            "by-night required 10 asks before exec from 22:00 to 06:00",
            "mind advisory 17 notes every call with command ~ gap",
            f"3 rules in {path}",
        ]
        assert result.data["rules"][2] == {
            "id": "mind",
            "code": "constraint.mind",
            "severity": "advisory",
            "reason": "Mind the gap.",
            "params": {"command": "gap"},
            "line": 17,
        }

    def test_what_is_wrong(self, places: Places) -> None:
        policy(places, BROKEN)
        for result in (own_rules.listing(places), own_rules.try_examples(places)):
            assert result.exit_code == 1
            assert "line 15, column 1: the constraint by-night: unknown key 'hour'" in texts(result)[0]
            assert any(text.startswith("did you mean hours?") for text in texts(result))
            assert result.data["error"]["line"] == 15

    def test_the_good_ones_beside_a_faulty_one(self, places: Places) -> None:
        policy(places, BROKEN)
        result = own_rules.listing(places)
        assert [each["id"] for each in result.data["rules"]] == ["no-prod", "mind"]
        assert (result.data["inForce"], result.data["unread"]) == (["no-prod", "mind"], True)
        assert texts(result)[-1] == own_rules.NONE_COUNT
        LastGood(places.state_dir).keep({"rule": [], "constraint": tomllib.loads(OWN)["constraint"]})
        again = own_rules.listing(places)
        assert (again.data["inForce"], again.data["unread"]) == (["no-prod", "mind", "by-night"], False)
        assert texts(again)[-1] == f"{own_rules.IN_FORCE}: no-prod, mind, by-night"

    @pytest.mark.parametrize("is_tty", [True, False])
    def test_no_word_is_cut(self, places: Places, monkeypatch: pytest.MonkeyPatch, *, is_tty: bool) -> None:
        folders = [f"/srv/folder-{at:03}/**" for at in range(40)]
        policy(places, OWN.replace('path = ["/srv/prod/**"]', f"path = {json.dumps(folders)}").split("matches")[0])
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_tty)
        monkeypatch.setenv("COLUMNS", "60")
        shown = texts(own_rules.listing(places))[:-1]
        assert [folder for folder in folders if folder not in " ".join(shown)] == []
        assert (len(shown) == 2, all(len(text) <= 54 for text in shown)) == (not is_tty, is_tty)

    def test_every_pack_can_be_told(self, places: Places) -> None:
        policy(places, "\n".join(map(sample_packs.text, sample_packs.names())))
        assert len(texts(own_rules.listing(places))) == len(own_rules.listing(places).data["rules"]) + 2


def test_rules_with_a_score_in_words(places: Places) -> None:
    said = 'run = ["git push"]\nany = ["-f"]\nagent = ["!main"]\nclarity = 2\nstakes = 3\nreason = "r"\n'
    policy(places, f'[[rule]]\nid = "no-push"\n{said}')
    shown = [" ".join(text.split()) for text in texts(own_rules.listing(places))]
    assert shown[1] == "no-push +2, +3 1 +2, +3 git push with -f by anybody but main"


def test_packs() -> None:
    result = own_rules.packs()
    assert [each["pack"] for each in result.data["packs"]] == sample_packs.names()
    assert "production-files" in result.data["packs"][2]["rules"]


class TestAdd:
    def test_adds(self, places: Places) -> None:
        path = policy(places, OWN)
        result = own_rules.add(places, "production-writes", dry_run=False)
        assert len(result.data["added"]) == 6
        assert path.read_text() == f"{OWN}\n{sample_packs.text('production-writes')}"
        assert own_rules.try_examples(places).exit_code == 0

    def test_dry_run(self, places: Places) -> None:
        policy(places, OWN)
        before = picture(places.state_dir)
        result = own_rules.add(places, "production-writes", dry_run=True)
        assert result.data["dryRun"] is True
        assert "# Agents may read production; people change it." in texts(result)
        assert picture(places.state_dir) == before

    def test_no_such_pack(self, places: Places) -> None:
        with pytest.raises(UserError, match=r"no pack \.\./production-writes") as caught:
            own_rules.add(places, "../production-writes", dry_run=False)
        assert caught.value.fix.startswith("did you mean production-writes?")

    def test_ids_that_are_there(self, places: Places) -> None:
        policy(places, sample_packs.text("personal-data"))
        with pytest.raises(UserError, match="already, so nothing was added"):
            own_rules.add(places, "personal-data", dry_run=False)

    def test_not_by_an_agent(self, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENCLAW_SHELL", "exec")
        with pytest.raises(UserError, match="only a person may do that"):
            own_rules.add(places, "personal-data", dry_run=False)
        assert not (places.own / "policy.toml").exists()
        assert "rules add" in (AuditLog(places.state_dir).path.read_text())


def test_check_of_examples(places: Places) -> None:
    policy(places, OWN)
    result = own_rules.try_examples(places)
    assert (result.exit_code, result.data["examples"]) == (0, 2)
    assert "no-prod is valid, and its 2 examples pass" in texts(result)
    policy(places, OWN.replace('"ls /srv/test"', '"ls /srv/prod/x"'))
    result = own_rules.try_examples(places)
    assert result.exit_code == 1
    assert "it matches 'ls /srv/prod/x', which should pass" in texts(result)[0]


class TestCheck:
    def test_by_whom(self, places: Places) -> None:
        policy(places, OWN)
        assert ask(places, "ls /srv/prod").exit_code == 0
        blocked = ask(places, "ls /srv/prod", "42")
        assert (blocked.exit_code, blocked.data["code"]) == (5, "constraint.no-prod")
        assert "change the rule no-prod in policy.toml: it is your own" in texts(blocked)
        assert "because   constraint.no-prod" in texts(blocked)
        assert blocked.data["basis"]["ownRules"] == 3
        assert "3 rules of your own from" in texts(blocked)[-1]

    def test_when(self, places: Places) -> None:
        policy(places, OWN)
        held = ask(places, "ls", at="23:30")
        assert (held.exit_code, held.data["code"]) == (4, "constraint.by-night")
        assert "wider: change the rule by-night in policy.toml: it is your own" in texts(held)
        assert ask(places, "ls", at="2026-11-23T12:00").exit_code == 0

    def test_a_note(self, places: Places) -> None:
        policy(places, OWN)
        noted = ask(places, "ls gap")
        assert (noted.exit_code, noted.data["note"]) == (0, "[TOOLGUARD NOTE] Mind the gap. (rule mind)")
        assert noted.data["note"] in texts(noted)

    def test_what_is_not_known_is_told(self, places: Places) -> None:
        policy(places, OWN)
        result = check.run(places, Call("exec", {"command": "ls /srv/prod"}))
        assert "it depends on who makes the request: give --requester, --at" in texts(result)

    def test_no_time(self) -> None:
        with pytest.raises(ValueError, match="--at 'noon' is not a time"):
            check.asked_by(Call("exec", {}), "", "", "noon")

    def test_what_is_wrong(self, places: Places) -> None:
        policy(places, BROKEN)
        result = ask(places, "ls")
        assert (result.exit_code, "unknown key 'hour'" in texts(result)[0]) == (1, True)

    def test_in_a_stream(self, places: Places) -> None:
        policy(places, OWN)
        judged = offline_guard.load(places)
        line = {"tool": "exec", "params": {"command": "ls gap /srv/prod"}, "requester": "owner", "at": 1_795_000_000}
        noon = json.loads(check_stream.answer(judged, json.dumps(line | {"at": at_noon()}).encode()))
        assert (noon["verdict"], noon["note"]) == ("allow", "[TOOLGUARD NOTE] Mind the gap. (rule mind)")
        other = json.loads(check_stream.answer(judged, json.dumps(line | {"at": at_noon(), "requester": "5"}).encode()))
        assert other["code"] == "constraint.no-prod"


def at_noon() -> float:
    return check.asked_by(Call("exec", {}), "", "", "2026-11-23T12:00").at


class TestDoctor:
    def count(self, places: Places) -> Any:
        return rules_check.count(DoctorSubject(places, None, None))

    def test_counts(self, places: Places) -> None:
        policy(places, OWN)
        assert self.count(places).detail.startswith("3 of your own; toolguard migrate")

    def test_what_is_wrong(self, places: Places) -> None:
        path = policy(places, BROKEN)
        found = self.count(places)
        assert (found.status, found.detail) == (
            "error",
            f"{path}, line 15, column 1: the constraint by-night: unknown key 'hour'",
        )
        assert found.fix.startswith("did you mean hours?")

    def test_an_example_that_fails(self, places: Places) -> None:
        policy(places, OWN.replace('"ls /srv/test"', '"ls /srv/prod"'))
        assert "which should pass" in self.count(places).detail


class TestConsole:
    def test_alone_with_list_and_by_its_former_name(self, places: Places) -> None:
        policy(places, OWN)
        ways = (("rules",), ("rules", "list"), ("constraints",))
        alone, *others = (toolguard(*way, "--state-dir", places.state_dir, "--json") for way in ways)
        assert [(each.returncode, each.stdout) for each in others] == [(0, alone.stdout)] * 2
        assert envelope(alone)["command"] == "rules"
        assert len(envelope(alone)["data"]["rules"]) == 3

    def test_the_former_name_of_test(self, places: Places) -> None:
        policy(places, OWN)
        done = toolguard("constraints", "check", "--state-dir", places.state_dir, "--json")
        assert (done.returncode, envelope(done)["data"]["examples"]) == (0, 2)

    def test_options_before_a_command_are_not_lost(self, places: Places) -> None:
        done = toolguard("rules", "--state-dir", places.state_dir, "add", "personal-data")
        assert done.returncode == 2
        assert "put the options after add" in done.stderr
        assert not (places.own / "policy.toml").exists()

    def test_errors_as_json(self, places: Places) -> None:
        done = toolguard("rules", "add", "nothing", "--state-dir", places.state_dir, "--json")
        assert done.returncode == 1
        assert envelope(done)["command"] == "rules add"

    def test_check_options(self, places: Places) -> None:
        policy(places, OWN)
        said = ("--state-dir", places.state_dir, "--requester", "owner", "--channel", "telegram", "--json")
        assert toolguard("check", *said, "--at", "12:00", "ls", "/srv/prod").returncode == 0
        assert toolguard("check", *said, "--at", "23:30", "ls").returncode == 4
        assert toolguard("check", *said, "--at", "late", "ls").returncode == 2


class TestWhatDependsOnWhoAsks:
    BY_MAIN = """\
[[constraint]]
id = "a"
severity = "mandatory"
reason = "Main does not fax."
tool = ["exec"]
agent = ["main"]
"""

    def notes(self, places: Places, **known: Any) -> list[str]:
        call = Call("exec", {"command": "ls"}, **{"at": 1.0, **known})
        return [text for text in texts(check.run(places, call)) if "depends" in text or "count as a match" in text]

    def test_the_agent(self, places: Places) -> None:
        policy(places, self.BY_MAIN)
        assert self.notes(places) == [
            "it depends on who makes the request: give --agent",
            "unknown details count as a match for the rule a; if they do not match, it may run",
        ]
        shown = texts(check.run(places, Call("exec", {"command": "ls"}, at=1.0)))
        assert shown.index("it depends on who makes the request: give --agent") == 1
        assert next(at for at, text in enumerate(shown) if text.startswith("no approval and no grant")) > 1
        assert self.notes(places, agent="main") == self.notes(places, agent="other") == []

    def test_all_that_is_asked_about(self, places: Places) -> None:
        more = 'channel = ["telegram"]\nrequester = ["!owner"]\nhours = "22:00-06:00"\n'
        policy(places, self.BY_MAIN + more)
        assert (
            self.notes(places, at=0.0)[0]
            == "it depends on who makes the request: give --agent, --channel, --requester, --at"
        )
        assert self.notes(places, agent="main", channel="telegram", requester="x", at=0.0)[0] == (
            "it depends on the time of the call: give --at"
        )

    def test_what_would_be_the_same_for_everybody(self, places: Places) -> None:
        policy(places, self.BY_MAIN.replace('"main"', '"*"'))
        assert self.notes(places) == []
        other = self.BY_MAIN.replace('id = "a"', 'id = "b"').replace('agent = ["main"]\n', "")
        policy(places, self.BY_MAIN + other)
        assert self.notes(places) == []
        policy(places, self.BY_MAIN + other.replace("mandatory", "required"))
        assert self.notes(places)[1].endswith("if they do not match, it would be held")
