"""A team's policy on a gateway: what is refused, and that the last good one stays. With real keys."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ssh_signers import SshRoom, sign
from toolguard_engine.stores import system_calls
from toolguard_engine.stores.files.policy_watch import OwnPolicy
from toolguard_engine.stores.fleet import policy_signer
from toolguard_engine.stores.fleet.fleet_rules import WORDS, FleetRules
from toolguard_engine.stores.fleet.last_good_policy import CurrentApprovers, LastGoodPolicy, PolicyRefusedError

NAMESPACE = "toolguard-policy"
OPTIONS = f'namespaces="{NAMESPACE}"'
RULE = '[[rule]]\nid = "no-deploy"\nrun = ["make deploy"]\nverdict = "block"\nreason = "It publishes."\n'


def text(version: int, team: str = "ops", more: str = RULE) -> str:
    return f'version = {version}\nteam = "{team}"\n{more}'


class Stage:
    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.room = SshRoom(folder / "trust")
        self.key = self.room.key("root")
        self.room.allow("root@example.com", self.key, OPTIONS)

    @property
    def kept(self) -> LastGoodPolicy:
        return LastGoodPolicy(self.state, "ops", self.room.folder)

    def signed(self, body: str, key: Path | None = None, namespace: str = NAMESPACE) -> tuple[str, str]:
        return body, sign(body.encode(), key or self.key, namespace)

    def adopt(self, version: int, team: str = "ops", more: str = RULE) -> None:
        self.kept.adopt(*self.signed(text(version, team, more)))

    @property
    def version(self) -> int:
        found = self.kept.load()
        return found.policy.version if found else 0


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_signed_policy_counts_and_survives_a_restart(stage: Stage) -> None:
    assert stage.kept.load() is None
    stage.adopt(3)
    found = stage.kept.load()
    assert found
    assert (found.policy.version, found.signer) == (3, "root@example.com")
    assert [rule.code for rule in found.policy.rules] == ["rule.fleet.no-deploy"]
    assert stage.kept.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("version", "why"), [(2, "version 2, and version 3 is in force"), (3, "has the same version 3")], ids=["lower", "same"]
)
def test_a_version_never_goes_back(stage: Stage, version: int, why: str) -> None:
    stage.adopt(3)
    with pytest.raises(PolicyRefusedError, match=why):
        stage.adopt(version, more=RULE.replace("deploy", "publish"))
    assert stage.version == 3
    stage.adopt(3)
    stage.adopt(4, more="")
    assert stage.version == 4


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_the_signers_have_no_name_that_another_program_could_replace(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(system_calls, "NAME", system)
    seen: list[tuple[list[str], list[str]]] = []
    run = subprocess.run

    def watched(command: list[str], **more: Any) -> Any:
        seen.append((command, [each.name for each in folder.iterdir()]))
        return run(command, **more)

    monkeypatch.setattr(subprocess, "run", watched)
    before = len(list(Path("/dev/fd").iterdir()))
    assert policy_signer.signer_of(*stage.signed(text(1)), stage.room.folder) == "root@example.com"
    assert len(list(Path("/dev/fd").iterdir())) == before
    asked = [(command, names) for command, names in seen if "find-principals" in command or "verify" in command]
    assert len(asked) == 2
    for command, names in asked:
        assert command[command.index("-f") + 1].startswith("/dev/fd/")
        assert names == []


def test_what_is_not_signed_by_an_admin_is_refused(stage: Stage) -> None:
    stage.adopt(1)
    approver, stranger = stage.room.key("anna"), stage.room.key("mallory")
    stage.room.allow("anna@example.com", approver)
    stage.room.allow("bert@example.com", stranger, 'namespaces="toolguard-decision"')
    body, good = stage.signed(text(2))
    offers = {
        "nothing": (body, ""),
        "no signature": (body, "root"),
        "one byte": (body.replace("publishes", "pub1ishes"), good),
        "an approver": stage.signed(body, approver),
        "a key for decisions": stage.signed(body, stranger),
        "another namespace": stage.signed(body, namespace="toolguard-decision"),
        "a large signature": (body, good * 40),
    }
    for name, (offered, signature) in offers.items():
        with pytest.raises(PolicyRefusedError, match="signature"):
            stage.kept.adopt(offered, signature)
        assert stage.version == 1, name
    stage.kept.adopt(body, good)
    assert stage.version == 2


def test_the_policy_of_another_team_is_refused(stage: Stage) -> None:
    with pytest.raises(PolicyRefusedError, match="for the team dev"):
        stage.adopt(1, "dev")
    stage.adopt(9, "*")
    assert stage.version == 9
    stage.adopt(1)
    assert stage.version == 1
    with pytest.raises(PolicyRefusedError, match="all teams"):
        stage.adopt(10, "*")
    assert stage.version == 1


def test_a_signed_text_that_is_no_policy_is_refused(stage: Stage) -> None:
    stage.adopt(1)
    with pytest.raises(PolicyRefusedError, match="line 5, column 1: the rule x: unknown key 'severty'"):
        stage.adopt(2, more='[[rule]]\nid = "x"\nseverty = "required"\n')
    assert stage.version == 1


def test_a_changed_file_is_not_believed(stage: Stage) -> None:
    stage.adopt(1)
    own = msgspec.json.decode(stage.kept.path.read_bytes())
    stage.kept.path.write_bytes(msgspec.json.encode({**own, "toml": own["toml"].replace("make deploy", "make other")}))
    with pytest.raises(PolicyRefusedError, match="signature"):
        stage.kept.load()
    stage.kept.path.write_bytes(b"{")
    with pytest.raises(PolicyRefusedError, match="damaged"):
        stage.kept.load()
    stage.adopt(1)
    assert stage.version == 1


def test_a_revoked_admin_and_one_whose_certificate_is_over(stage: Stage) -> None:
    authority, key = stage.room.key("authority"), stage.room.key("cara")
    stage.room.allow("cara@example.com", authority, f"cert-authority,{OPTIONS}")
    certificate = stage.room.certify(authority, key, "cara@example.com")
    kept = stage.kept
    found = kept.adopt(*stage.signed(text(1), certificate))
    assert found.signer == "cara@example.com"
    stage.room.certify(authority, key, "cara@example.com", "20200101:20200102")
    with pytest.raises(PolicyRefusedError):
        kept.adopt(*stage.signed(text(2), certificate))
    later = LastGoodPolicy(stage.state, "ops", stage.room.folder, clock=lambda: found.accepted + 10 * 86_400)
    assert later.load(), "it was valid when it was accepted"
    stage.room.revoke(key)
    with pytest.raises(PolicyRefusedError):
        kept.load()
    stage.adopt(1)
    assert stage.version == 1


def test_lines_that_name_the_namespace() -> None:
    key = "ssh-ed25519 AAAA comment"
    assert policy_signer.is_of_admin(f'a@x namespaces="{NAMESPACE}" {key}')
    assert policy_signer.is_of_admin(f'a@x cert-authority,namespaces="x,{NAMESPACE}",valid-before="2030" {key}')
    for line in (
        f"a@x {key}",
        f'a@x namespaces="toolguard-*" {key}',
        f'a@x namespaces="no-{NAMESPACE}" {key}',
        f'# a@x namespaces="{NAMESPACE}" {key}',
        f'a@x {key} namespaces="{NAMESPACE}"',
        f'"a namespaces="{NAMESPACE}" b" {key}',
        "",
    ):
        assert not policy_signer.is_of_admin(line), line


class Rules:
    """The rules of an engine, as it looks at them."""

    def __init__(self, stage: Stage) -> None:
        self.own = OwnPolicy(stage.state)
        self.all = FleetRules(self.own, stage.kept)

    def look(self) -> list[str]:
        """After the thread of the look before has ended."""
        for _ in range(3):
            self.all.look()
            thread = self.all._thread
            if thread is not None:
                thread.join()
        return [rule.id for rule in self.all.rules]


def test_rules_of_the_fleet_stand_behind_the_persons_own(stage: Stage) -> None:
    own = stage.state / "toolguard" / "policy.toml"
    own.parent.mkdir(parents=True)
    own.write_text(RULE)
    rules = Rules(stage)
    assert rules.look() == ["user.no-deploy"]
    before = rules.all.rules
    stage.adopt(1)
    assert rules.look() == ["user.no-deploy", "fleet.no-deploy"]
    assert rules.all.rules is not before
    same = rules.all.rules
    assert rules.look()
    assert rules.all.rules is same, "the same tuple while nothing changes"
    stage.adopt(2, more=RULE.replace('verdict = "block"', 'severity = "required"'))
    assert rules.look() == ["user.no-deploy", "constraint.fleet-no-deploy"]
    assert (rules.all.unread, rules.all.faults) == ("", [])
    stage.kept.path.unlink()
    assert rules.look() == ["user.no-deploy", "constraint.fleet-no-deploy"], "it is fetched again"


def test_a_policy_that_cannot_be_verified_is_a_fault(stage: Stage) -> None:
    stage.adopt(1)
    rules = Rules(stage)
    assert rules.look() == ["fleet.no-deploy"]
    stage.room.revoke(stage.key)
    assert rules.look() == ["fleet.no-deploy"], "the rules stay, since they only add"
    assert rules.all.unread == WORDS
    assert "cannot be verified" in rules.all.faults[0]
    assert Rules(stage).look() == []
    current = CurrentApprovers(stage.kept, "ops")
    with pytest.raises(PolicyRefusedError):
        current()


def test_who_may_approve_follows_the_file(stage: Stage) -> None:
    current = CurrentApprovers(stage.kept, "ops")
    assert current() is None
    stage.adopt(1, more='[teams]\nops = ["anna"]\n[[approvers]]\nneed = 1\n')
    first = current()
    assert first
    assert first.members == {"ops": frozenset({"anna"})}
    assert current() is first
    stage.kept.path.unlink()
    assert current() is first, "a removed file lowers nothing"


ONE = '[teams]\nops = ["anna", "bert"]\n[[approvers]]\nneed = 1\n'
TWO = ONE.replace("need = 1", "need = 2")


def earlier(stage: Stage) -> bytes:
    """The file as it was with version 1; version 2, which demands more, is in force."""
    stage.adopt(1, more=ONE)
    file = stage.kept.path.read_bytes()
    stage.adopt(2, more=TWO + RULE)
    return file


def test_an_earlier_policy_that_is_put_back_lowers_nothing(stage: Stage) -> None:
    file = earlier(stage)
    current, rules = CurrentApprovers(stage.kept, "ops"), Rules(stage)
    assert current()
    assert rules.look()
    stage.kept.path.write_bytes(file)
    for _ in range(2):
        with pytest.raises(PolicyRefusedError, match="version 1, and version 2 is in force"):
            current()
    held = rules.look()
    assert held
    assert rules.all.unread == WORDS
    stage.adopt(2, more=TWO + RULE)
    assert current()
    rules.look()
    assert rules.all.unread == ""


def test_an_earlier_policy_counts_where_the_later_ones_signer_was_revoked(stage: Stage) -> None:
    mallory = stage.room.key("mallory")
    stage.room.allow("mallory@example.com", mallory, OPTIONS)
    stage.kept.adopt(*stage.signed(text(9, more=ONE), mallory))
    current = CurrentApprovers(stage.kept, "ops")
    assert current()
    stage.room.revoke(mallory)
    stage.adopt(2, more=TWO)
    found = current()
    assert found
    assert found.rules[0].need == 2
