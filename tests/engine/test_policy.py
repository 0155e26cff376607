"""`policy.toml`: read strictly, written without touching what somebody else wrote."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.stores import toml_file
from toolguard_engine.stores.files import grants_file as policy
from toolguard_engine.stores.files import signing_key_file as signing_key
from toolguard_engine.stores.files.grants_file import PolicyError, PolicyFiles
from toolguard_engine.stores.locked import StoreError

END = 1_796_533_200.0

HAND_WRITTEN = """\
# My policy.   Keep this line!

[settings]   # not ours
level=3

# the nightly deploy
[[grant]]   # two of them
id = 'g-mine'
pattern   =  "git push origin *"  # to our own remote
tool = "exec"
expires = 2026-12-06T05:00:00Z

    # indented
[[ grant ]]
tool = "read"
id = "g-0002"
pattern = '/srv/**'
expires = 0
[grant.params]
limit = "1*"

# the end
[pack]
x = [
  [1, 2],
]
"""


@pytest.fixture
def policies(tmp_path: Path) -> PolicyFiles:
    found = PolicyFiles(tmp_path)
    found.path.parent.mkdir()
    return found


def made(pattern: str = "make", **more: object) -> Grant:
    return Grant("", "exec", pattern, **more)  # type: ignore[arg-type]


def test_nothing_yet(tmp_path: Path) -> None:
    policies = PolicyFiles(tmp_path / "none")
    assert policies.grants() == ()
    assert policies.revoke("g-1") is None
    assert not (tmp_path / "none").exists()


def test_reading_what_people_write(policies: PolicyFiles) -> None:
    policies.path.write_text(HAND_WRITTEN)
    assert policies.grants() == ()
    assert (
        policies.unsigned()
        == policies.known()
        == (
            Grant("g-mine", "exec", "git push origin *", expires=datetime(2026, 12, 6, 5, tzinfo=UTC).timestamp()),
            Grant("g-0002", "read", "/srv/**", params={"limit": "1*"}),
        )
    )


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-12-06T05:00:00Z", END),
        ("2026-12-06T06:00:00+01:00", END),
        ("1796533200", END),
        ("1796533200.5", END + 0.5),
        ("0", 0.0),
    ],
)
def test_times(policies: PolicyFiles, written: str, seconds: float) -> None:
    policies.path.write_text(f'[[grant]]\nid = "a"\ntool = "exec"\npattern = "x"\nexpires = {written}\n')
    assert [grant.expires for grant in policies.known()] == [seconds]


GOOD = '[[grant]]\nid = "a"\ntool = "exec"\npattern = "x"\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param(GOOD + "expire = 0\n", 5, "a grant has no expire; known names: id, tool", id="unknown key"),
        pytest.param(GOOD + "agnet = 'a'\ncdw = '/'\n", 5, "a grant has no agnet, cdw; ", id="two of them"),
        pytest.param(
            GOOD + GOOD.replace('"a"', '"b"') + "agents = ['a']\n", 9, "a grant has no agents; ", id="in the second"
        ),
        pytest.param(GOOD + GOOD, 6, "the id a is used twice; ", id="twice"),
        pytest.param(GOOD + "expires = 2026-12-06\n", 5, "expires is not a time with an offset; ", id="date"),
        pytest.param(GOOD + "expires = 2026-12-06T05:00:00\n", 5, "expires is not a time with an offset; ", id="local time"),
        pytest.param(GOOD + "expires = true\n", 5, "expires is not a time with an offset; ", id="truth value"),
        pytest.param(GOOD + "expires = -1\n", 5, "expires is not a time with an offset; ", id="negative"),
        pytest.param(GOOD + "expires = inf\n", 5, "expires is not a time with an offset; ", id="endless"),
        pytest.param(GOOD + "expires = 1e18\n", 5, "expires is not a time with an offset; ", id="too far"),
        pytest.param(GOOD + "expires = nan\n", 5, "expires is not a time with an offset; ", id="no number"),
        pytest.param(GOOD + "agent = 3\n", 5, "agent: expected `str`, got `int`; ", id="type"),
        pytest.param(GOOD + "[grant.params]\nx = 1\n", 5, "params: expected `str`, got `int`; ", id="type in params"),
        pytest.param(GOOD.replace('tool = "exec"\n', ""), 1, "object missing required field `tool`; ", id="no tool"),
        pytest.param(GOOD + "mac = 3\n", 5, "mac: expected `str`, got `int`; ", id="type of the mac"),
        pytest.param(GOOD.replace('"x"', '""'), 4, "pattern: expected `str` of length >= 1; ", id="empty pattern"),
        pytest.param(GOOD.replace('"a"', '"a b"'), 2, "id: expected `str` matching regex", id="id"),
        pytest.param("[grant]\nid = 'a'\n", 0, "grant is not a list of tables; ", id="one table"),
        pytest.param("grant = [1]\n", 0, "grant is not a list of tables; ", id="a list of numbers"),
        pytest.param(
            "# fine\n" + GOOD.replace("grant", "grants"),
            2,
            "there is no table grants; did you mean [[grant]]? known names: grant, rule, constraint, pack, settings",
            id="unknown table",
        ),
        pytest.param(GOOD + "\n['grant s'.x]\ny = 1\n", 6, "there is no table grant s; ", id="unknown table behind"),
        pytest.param("grants = [{id = 'a'}]\n", 1, "there is no table grants; ", id="unknown table inline"),
        pytest.param("# fine\nx = \n", 2, "it is not valid TOML: ", id="no TOML"),
        pytest.param("x = 1\ny = ", 2, "it is not valid TOML: ", id="cut off"),
        pytest.param(
            "x = 1\nx = 2\n", 2, "it is not valid TOML: this key occurs twice in its table; remove one", id="key twice"
        ),
        pytest.param(
            "x = [1\ny = 2\n", 2, "it is not valid TOML: a list above this line has no closing ]; close", id="list"
        ),
        pytest.param(
            "x = ['a'\n", 2, "it is not valid TOML: a list above this line has no closing ]; close", id="list, end"
        ),
        pytest.param('x = "a\n', 1, "it is not valid TOML: a string has no closing quote on this line; close", id="quote"),
        pytest.param("x 1\n", 1, "it is not valid TOML: a name is not followed by =; write", id="no ="),
        pytest.param("x = a\n", 1, "it is not valid TOML: what follows the =", id="no quotes"),
        pytest.param("x = 1 y = 2\n", 1, "it is not valid TOML: more follows on the line; write", id="two on a line"),
        pytest.param("a = " + "[" * 5_000, 0, "it is not valid TOML", id="deep"),
    ],
)
def test_bad_files(policies: PolicyFiles, text: str, line: int, words: str) -> None:
    policies.path.write_text(text)
    for attempt in (policies.grants, policies.grants, lambda: policies.add(made()), lambda: policies.revoke("a")):
        with pytest.raises(PolicyError) as caught:
            attempt()
        reported = str(caught.value)
        assert reported.startswith(f"{policies.path}, line {line}: " if line else str(policies.path))
        assert words in reported
        assert caught.value.code == "policy.bad"
    assert policies.path.read_text() == text


def test_not_text(policies: PolicyFiles) -> None:
    policies.path.write_bytes(b"# fine\n# \xff\n")
    with pytest.raises(PolicyError, match="line 2: it is not UTF-8 text"):
        policies.grants()


def test_too_large(policies: PolicyFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml_file, "MAX_BYTES", 10)
    policies.path.write_text(GOOD)
    with pytest.raises(PolicyError, match="larger than 10 bytes"):
        policies.grants()


def test_not_readable(policies: PolicyFiles) -> None:
    policies.path.mkdir()
    with pytest.raises(StoreError, match="it is not a file"):
        policies.grants()


def test_the_texts_of_errors_are_printable(policies: PolicyFiles) -> None:
    policies.path.write_text(GOOD + '"\\u001b[2J" = 1\n')
    with pytest.raises(PolicyError, match=r"a grant has no <U\+001B>\[2J"):
        policies.grants()


def test_it_is_read_again_only_when_it_changed(policies: PolicyFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    policies.add(made())
    assert len(policies.grants()) == 1
    with monkeypatch.context() as patch:
        patch.setattr(policy, "parse", None)
        patch.setattr(signing_key, "load", None)
        assert len(policies.grants()) == 1
    text = policies.path.read_text()
    policies.path.write_text(text + GOOD + "reason = 'longer'\n")
    assert policies.unsigned()[0].reason == "longer"
    assert len(policies.grants()) == 1
    policies.path.unlink()
    assert policies.grants() == policies.unsigned() == ()
    policies.path.write_text(text)
    assert len(policies.grants()) == 1


def test_the_key_is_read_only_for_grants(policies: PolicyFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing_key, "load", None)
    policies.path.write_text("[pack]\n")
    assert policies.grants() == policies.unsigned() == ()
    policies.path.write_text(GOOD)
    assert (policies.grants(), len(policies.unsigned())) == ((), 1)
    assert not signing_key.path(policies.path.parent.parent).exists()


def test_a_new_file(tmp_path: Path) -> None:
    policies = PolicyFiles(tmp_path / "state")
    grant = policies.add(
        Grant(
            "", "exec", 'say "*" \\', "main", END + 0.9, END - 5.5, "ana", "a\tb", {"env": '{"A":"*"}', "a b": "x"}, "/srv"
        )
    )
    assert grant.id.startswith("g-")
    assert len(grant.id) == 6
    assert (grant.expires, grant.created) == (END, END - 6)
    assert policies.grants() == (grant,)
    text = policies.path.read_text()
    assert text.startswith(policy.NEW_FILE + "\n[[grant]]\n")
    assert "\nexpires = 2026-12-06T05:00:00Z\n" in text
    assert stat.S_IMODE(policies.path.stat().st_mode) == 0o600
    assert policies.revoke(grant.id) == grant
    assert policies.path.read_text() == policy.NEW_FILE


@pytest.mark.parametrize("text", [HAND_WRITTEN, HAND_WRITTEN.replace("\n", "\r\n"), HAND_WRITTEN.rstrip("\n")])
def test_what_was_there_stays(policies: PolicyFiles, text: str) -> None:
    before = text.encode()
    policies.path.write_bytes(before)
    policies.path.chmod(0o640)
    grant = policies.add(made(expires=END))
    after = policies.path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n") or b"\r" not in after
    assert [known.id for known in policies.known()] == ["g-mine", "g-0002", grant.id]
    assert policies.grants() == (grant,)
    assert policies.revoke(grant.id) == grant
    assert policies.path.read_bytes().rstrip() == before.rstrip()
    assert stat.S_IMODE(policies.path.stat().st_mode) == 0o640


def test_revoking_what_somebody_wrote(policies: PolicyFiles) -> None:
    policies.path.write_text(HAND_WRITTEN)
    assert policies.revoke("g-none") is None
    assert policies.path.read_text() == HAND_WRITTEN
    revoked = policies.revoke("g-0002")
    assert revoked is not None
    start, end = HAND_WRITTEN.index("[[ grant ]]"), HAND_WRITTEN.index("\n# the end")
    assert policies.path.read_text() == HAND_WRITTEN[:start] + HAND_WRITTEN[end:]
    assert policies.revoke("g-mine") is not None
    left = policies.path.read_text()
    assert tomllib.loads(left) == {"settings": {"level": 3}, "pack": {"x": [[1, 2]]}}
    assert [line for line in HAND_WRITTEN.splitlines() if line.strip().startswith("#")] == [
        line for line in left.splitlines() if line.strip().startswith("#")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "grant = [{id = 'a', tool = 'exec', pattern = 'x'}]\n",
        'x = """\n[[grant]]\n"""\n' + GOOD,
    ],
    ids=["inline", "a text that looks like one"],
)
def test_what_cannot_be_edited_is_left_alone(policies: PolicyFiles, text: str) -> None:
    policies.path.write_text(text)
    with pytest.raises(PolicyError):
        policies.revoke("a")
    assert policies.path.read_text() == text


def unheard(_grant: Grant) -> None:
    """Where nothing is to be written to the audit log, and nothing is asserted of it."""


@pytest.mark.parametrize(
    "change",
    [
        ('pattern = "make"', 'pattern = "make *"'),
        ('tool = "exec"', 'tool = "cron"'),
        ("expires = 2026-12-06T05:00:00Z", "expires = 0"),
        ("expires = 2026-12-06T05:00:00Z", "expires = 2026-12-06T05:00:01Z"),
        ('agent = "main"\n', ""),
        ('cwd = "/srv"', 'cwd = "/"'),
        ('{a = "1", b = "2"}', '{a = "1"}'),
        ('{a = "1", b = "2"}', '{a = "1", b = "*"}'),
        ('by = "ana"', 'by = "eva"'),
        ('reason = "why"', 'reason = "?"'),
        ('id = "g-1"', 'id = "g-2"'),
        ('id = "g-1"\n', ""),
        ('mac = "', 'mac = "0'),
        ("mac = ", "# mac = "),
    ],
)
def test_a_grant_that_was_changed_does_not_count(policies: PolicyFiles, change: tuple[str, str]) -> None:
    more = {"agent": "main", "by": "ana", "reason": "why", "params": {"a": "1", "b": "2"}, "cwd": "/srv"}
    signed = policies.add(Grant("g-1", "exec", "make", expires=END, **more))  # type: ignore[arg-type]
    assert policies.grants() == (signed,)
    before = policies.path.read_text()
    after = before.replace(*change)
    assert after != before
    policies.path.write_text(after)
    assert (policies.grants(), len(policies.unsigned())) == ((), 1)
    accepted = policies.accept(policies.unsigned()[0], unheard)
    assert policies.grants() == (accepted,)
    assert (accepted == signed) == change[0].startswith("mac")


def test_layout_and_order_are_not_signed(policies: PolicyFiles) -> None:
    signed = policies.add(made(expires=END, params={"a": "1", "b": "2"}))
    text = policies.path.read_text().replace('{a = "1", b = "2"}', "{ b = '2', a = '1' } # both")
    lines = text.replace("2026-12-06T05:00:00Z", "2026-12-06T06:00:00+01:00").split("[[grant]]\n")[1].splitlines()
    policies.path.write_text("\n# mine\n [[ grant ]]\n" + "\n\n".join(reversed(lines)))
    assert policies.grants() == (signed,)


def test_the_mac_of_another_grant(policies: PolicyFiles) -> None:
    signed = policies.add(made())
    policies.path.write_text(policies.path.read_text() + GOOD + f'mac = "{signed.mac}"\n')
    assert policies.grants() == (signed,)
    assert [grant.id for grant in policies.unsigned()] == ["a"]


@pytest.mark.parametrize("fresh", [True, False], ids=["another process", "the same one"])
def test_without_its_key_no_grant_counts(policies: PolicyFiles, tmp_path: Path, *, fresh: bool) -> None:
    signed = policies.add(made())
    assert policies.grants() == (signed,)
    signing_key.path(tmp_path).unlink()
    policies = PolicyFiles(tmp_path) if fresh else policies
    assert (policies.grants(), policies.unsigned()) == ((), (signed,))
    assert not signing_key.path(tmp_path).exists()
    signing_key.load(tmp_path)
    assert (policies.grants(), policies.unsigned()) == ((), (signed,))
    accepted = policies.accept(signed, unheard)
    assert (policies.grants(), policies.unsigned()) == ((accepted,), ())


def test_a_key_that_proves_nothing(policies: PolicyFiles, tmp_path: Path) -> None:
    policies.add(made())
    signing_key.path(tmp_path).chmod(0o644)
    for _ in range(2):
        with pytest.raises(signing_key.SigningKeyError):
            policies.grants()
    signing_key.path(tmp_path).chmod(0o600)
    assert len(policies.grants()) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_accepting_what_somebody_wrote(policies: PolicyFiles, end: str) -> None:
    before = HAND_WRITTEN.replace("\n", end)
    policies.path.write_bytes(before.encode())
    policies.path.chmod(0o640)
    reported: list[Grant] = []
    mine, other = policies.unsigned()
    second = policies.accept(other, reported.append)
    assert policies.grants() == (second,) == tuple(reported)
    first = policies.accept(mine, reported.append)
    assert (policies.grants(), policies.unsigned()) == ((first, second), ())
    assert msgspec.structs.replace(first, mac="") == mine
    after = policies.path.read_bytes().decode()
    assert f'  # two of them{end}mac = "{first.mac}"{end}id = ' in after
    assert f'[[ grant ]]{end}mac = "{second.mac}"{end}tool = "read"' in after
    assert re.sub(rf'mac = "\w+"{end}', "", after) == before
    assert stat.S_IMODE(policies.path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("mac = ''", 'mac = "{mac}"'),
        ("\t'mac'  =  \"old\"   # keep", "\t'mac'  =  \"{mac}\"   # keep"),
        ('"mac"="x"', '"mac"="{mac}"'),
    ],
)
def test_an_old_mac_is_replaced_where_it_stands(policies: PolicyFiles, written: str, after: str) -> None:
    policies.path.write_text(f"{GOOD}{written}\nreason = 'mac'\n")
    signed = policies.accept(policies.unsigned()[0], unheard)
    assert policies.path.read_text() == f"{GOOD}{after.replace('{mac}', signed.mac)}\nreason = 'mac'\n"
    assert policies.grants() == (signed,)


NAMELESS = """[[grant]]
  tool = "exec"   # it has no id
pattern = "x"

  [[grant]]
tool = "exec"
pattern = "x"

[[grant]]
tool = "exec"
pattern = "y"
"""


def test_grants_without_an_id_get_one(policies: PolicyFiles) -> None:
    policies.path.write_text(NAMELESS)
    ids = [grant.id for grant in policies.unsigned()]
    assert ids == [grant.id for grant in policies.known()]
    assert re.fullmatch(r"g-[0-9a-f]{8}", ids[0])
    assert (ids[1], len(set(ids))) == (f"{ids[0]}-2", 3)
    signed = policies.accept(policies.unsigned()[1], unheard)
    assert (policies.grants(), signed.id) == ((signed,), ids[1])
    added = f'  [[grant]]\n  id = "{ids[1]}"\n  mac = "{signed.mac}"\n'
    assert policies.path.read_text() == NAMELESS.replace("  [[grant]]\n", added)
    assert policies.revoke(ids[0]) is not None
    assert [grant.id for grant in policies.known()] == ids[1:]
    assert policies.add(Grant(ids[2], "exec", "z")).id not in ids


@pytest.mark.parametrize("change", [("git push origin *", "*"), ("[[grant]]   # two of them", "[[rule]]")])
def test_what_was_changed_meanwhile_is_not_accepted(policies: PolicyFiles, change: tuple[str, str]) -> None:
    policies.path.write_text(HAND_WRITTEN)
    seen = policies.unsigned()[0]
    policies.path.write_text(HAND_WRITTEN.replace(*change))
    with pytest.raises(StoreError, match="g-mine was changed meanwhile; look at it again"):
        policies.accept(seen, unheard)
    assert policies.path.read_text() == HAND_WRITTEN.replace(*change)
    assert policies.grants() == ()


@pytest.mark.parametrize(
    "text",
    [
        "grant = [{id = 'a', tool = 'exec', pattern = 'x'}]\n",
        'x = """\n[[grant]]\n"""\n' + GOOD,
        GOOD + 'mac = """old"""\n',
        GOOD + 'reason = """\nmac = \'x\'\n"""\n',
    ],
    ids=["inline", "a text that looks like one", "a mac over lines", "a text that looks like a mac"],
)
def test_what_cannot_be_signed_in_place_is_left_alone(policies: PolicyFiles, text: str) -> None:
    policies.path.write_text(text)
    reported: list[Grant] = []
    with pytest.raises(PolicyError, match="its layout cannot be edited safely"):
        policies.accept(policies.unsigned()[0], reported.append)
    assert (policies.path.read_text(), reported) == (text, [])


def test_what_cannot_be_logged_is_not_accepted(policies: PolicyFiles) -> None:
    def full(_grant: Grant) -> None:
        raise StoreError("No space left on device")

    policies.path.write_text(HAND_WRITTEN)
    with pytest.raises(StoreError, match="No space left"):
        policies.accept(policies.unsigned()[0], full)
    assert policies.path.read_text() == HAND_WRITTEN


def test_a_link_to_the_file_stays_one(policies: PolicyFiles, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(HAND_WRITTEN)
    policies.path.symlink_to(real)
    policies.add(made())
    assert policies.path.is_symlink()
    assert len(real.read_text()) > len(HAND_WRITTEN)


def test_an_id_that_is_taken(policies: PolicyFiles) -> None:
    first = policies.add(Grant("g-0001", "exec", "a"))
    second = policies.add(Grant("g-0001", "exec", "b"))
    assert first.id == "g-0001"
    assert second.id != "g-0001"


SHORT = st.text(max_size=20)


@given(
    pattern=st.text(min_size=1, max_size=20),
    reason=SHORT,
    params=st.dictionaries(SHORT, st.text(min_size=1, max_size=9), max_size=3),
)
def test_whatever_is_granted_reads_back(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, reason: str, params: dict[str, str]
) -> None:
    policies = PolicyFiles(tmp_path_factory.mktemp("policy"))
    policies.path.parent.mkdir()
    policies.path.write_text(HAND_WRITTEN)
    grant = policies.add(made(pattern, reason=reason, params=params, created=END))
    assert policies.grants()[-1] == grant
    assert policies.revoke(grant.id) == grant
    assert policies.path.read_text() == HAND_WRITTEN


ADD = """
import sys
from pathlib import Path
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.stores import locked
from toolguard_engine.stores.files.grants_file import PolicyFiles
locked.LOCK_SECONDS = 600
policies = PolicyFiles(Path(sys.argv[1]))
for number in range(10):
    kept = policies.add(Grant("", "exec", f"{sys.argv[2]}-{number}"))
    if number % 2:
        policies.revoke(kept.id)
"""


@pytest.mark.thorough
def test_processes_that_add_at_once(policies: PolicyFiles, tmp_path: Path) -> None:
    policies.path.write_text(HAND_WRITTEN)
    running = [subprocess.Popen([sys.executable, "-c", ADD, str(tmp_path), str(at)], env=os.environ) for at in range(4)]
    assert [process.wait(600) for process in running] == [0] * 4
    added = {grant.pattern for grant in policies.grants()}
    assert added == {f"{process}-{number}" for process in range(4) for number in range(0, 10, 2)}
    assert policies.path.read_text().startswith(HAND_WRITTEN)
