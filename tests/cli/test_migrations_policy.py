"""Tables `[[constraint]]` in policy.toml become `[[rule]]`: every other byte stays, and so does what they decide."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_stage import texts
from judged_stage import policy

from toolguard_cli.commands import migrate
from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.doctor.checks import rules_check
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.grants_file import PolicyFiles
from toolguard_engine.stores.files.user_rules import UserRules

OLD = """\
# mine
[[rule]] # [[constraint]]
id = "a"
run = ["deploy"]
verdict = "block"
reason = "It publishes. [[constraint]]"

# by night
[[ constraint ]] # one
id = "by-night"
severity = "required"  # a question
reason = '''
It is [[constraint]] night.'''
hours = "22:00-06:00"
matches = [ # two
  "[[constraint]]",
]
  [constraint.params]
  "job.name" = "prod" # deep

[[rule]]
id = "b"
effect = ["delete"]
stakes = 2
reason = "It deletes."
[["constraint"]]
id = "a"
severity = "advisory"
reason = "Mind."
tool = ["*"]
# the end"""
NEW = (
    OLD.replace("[[ constraint ]]", "[[ rule ]]").replace("[constraint.params]", "[rule.params]").replace('[["con', "[[con")
).replace('[[constraint"]]', "[[rule]]")


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENCLAW_SHELL", raising=False)


def migrated(places: Places, *, dry_run: bool = False) -> Result:
    return migrate.run(places, yes=True, dry_run=dry_run, openclaw=())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_headers_change_and_back(places: Places, end: str) -> None:
    path = policy(places, "")
    path.write_bytes(OLD.replace("\n", end).encode())
    path.chmod(0o640)
    before = UserRules(places.state_dir).rules()
    assert [rule.code for rule in before] == ["rule.user.a", "constraint.by-night", "rule.user.b", "constraint.a"]
    assert migrated(places, dry_run=True).data["changed"]
    assert path.read_bytes() == OLD.replace("\n", end).encode()
    result = migrated(places)
    assert f"{path}: 2 x [[constraint]] becomes [[rule]]; what they decide stays the same" in texts(result)
    assert path.read_bytes() == NEW.replace("\n", end).encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert UserRules(places.state_dir).rules() == before
    assert [Path(name).read_bytes() for name in result.data["backups"]] == [OLD.replace("\n", end).encode()]
    assert not migrated(places).data["changed"]
    assert f"restored {path}" in texts(migrate.undo_last(places, yes=False, dry_run=False))
    assert path.read_bytes() == OLD.replace("\n", end).encode()


def test_grants_stay_signed(places: Places) -> None:
    policy(places, OLD)
    stores.signing_key(places.state_dir).load()
    grant = PolicyFiles(places.state_dir).add(Grant("", "exec", "make *"))
    migrated(places)
    assert PolicyFiles(places.state_dir).grants() == (grant,)


def test_what_was_added_since_is_not_taken_back(places: Places) -> None:
    path = policy(places, OLD)
    migrated(places)
    path.write_text(f"{NEW}\n# more\n")
    assert any(
        "is kept: it was changed since" in text for text in texts(migrate.undo_last(places, yes=False, dry_run=False))
    )
    assert path.read_text() == f"{NEW}\n# more\n"


def test_a_list_of_tables(places: Places) -> None:
    path = policy(places, 'constraint = [{ id = "a", severity = "advisory", reason = "r", tool = ["x"] }] # all\n')
    migrated(places)
    assert path.read_text() == 'rule = [{ id = "a", severity = "advisory", reason = "r", tool = ["x"] }] # all\n'


@pytest.mark.parametrize(
    "text",
    [
        OLD.replace("hours", "hour"),
        'constraint = [{ id = "a", severity = "advisory", reason = "r", tool = ["x"] }]\n' + OLD.partition("# by night")[0],
    ],
    ids=["a fault", "a list beside tables"],
)
def test_what_cannot_be_done_safely_is_left_and_named(places: Places, text: str) -> None:
    path = policy(places, text)
    result = migrated(places)
    assert any("as [[rule]] by hand" in line for line in texts(result))
    assert path.read_text() == text


@pytest.mark.parametrize(("text", "says"), [(OLD, True), (NEW, False)])
def test_doctor_names_the_former_table(places: Places, text: str, *, says: bool) -> None:
    policy(places, text.partition("matches")[0])
    found = rules_check.count(DoctorSubject(places, None, None))
    assert (found.status, "toolguard migrate" in found.detail) == ("ok", says)
