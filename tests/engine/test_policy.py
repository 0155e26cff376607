"""`policy.toml`: read strictly, written without touching what somebody else wrote."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.layers.grants import Grant
from toolguard_engine.stores import policy
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import BadPolicy, Policies

END = 1_796_533_200.0

HAND_WRITTEN = """\
# My policy.   Keep this line!

[rules]   # not ours
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
[other]
x = [
  [1, 2],
]
"""


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    found = Policies(tmp_path)
    found.path.parent.mkdir()
    return found


def made(pattern: str = "make", **more: object) -> Grant:
    return Grant("", "exec", pattern, **more)  # type: ignore[arg-type]


def test_nothing_yet(tmp_path: Path) -> None:
    policies = Policies(tmp_path / "none")
    assert policies.grants() == ()
    assert policies.revoke("g-1") is None
    assert not (tmp_path / "none").exists()


def test_reading_what_people_write(policies: Policies) -> None:
    policies.path.write_text(HAND_WRITTEN)
    assert policies.grants() == (
        Grant("g-mine", "exec", "git push origin *", expires=datetime(2026, 12, 6, 5, tzinfo=UTC).timestamp()),
        Grant("g-0002", "read", "/srv/**", params={"limit": "1*"}),
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
def test_times(policies: Policies, written: str, seconds: float) -> None:
    policies.path.write_text(f'[[grant]]\nid = "a"\ntool = "exec"\npattern = "x"\nexpires = {written}\n')
    assert [grant.expires for grant in policies.grants()] == [seconds]


GOOD = '[[grant]]\nid = "a"\ntool = "exec"\npattern = "x"\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param(GOOD + "expire = 0\n", 5, "a grant has no expire; known are: id, tool", id="unknown key"),
        pytest.param(GOOD + "agnet = 'a'\ncdw = '/'\n", 5, "a grant has no agnet, cdw; ", id="two of them"),
        pytest.param(
            GOOD + GOOD.replace('"a"', '"b"') + "agents = ['a']\n", 9, "a grant has no agents; ", id="in the second"
        ),
        pytest.param(GOOD + GOOD, 6, "the id a stands there twice; ", id="twice"),
        pytest.param(GOOD + "expires = 2026-12-06\n", 5, "expires is no time with an offset; ", id="date"),
        pytest.param(GOOD + "expires = 2026-12-06T05:00:00\n", 5, "expires is no time with an offset; ", id="local time"),
        pytest.param(GOOD + "expires = true\n", 5, "expires is no time with an offset; ", id="truth value"),
        pytest.param(GOOD + "expires = -1\n", 5, "expires is no time with an offset; ", id="negative"),
        pytest.param(GOOD + "expires = inf\n", 5, "expires is no time with an offset; ", id="endless"),
        pytest.param(GOOD + "expires = 1e18\n", 5, "expires is no time with an offset; ", id="too far"),
        pytest.param(GOOD + "expires = nan\n", 5, "expires is no time with an offset; ", id="no number"),
        pytest.param(GOOD + "agent = 3\n", 5, "agent: expected `str`, got `int`; ", id="type"),
        pytest.param(GOOD + "[grant.params]\nx = 1\n", 5, "params: expected `str`, got `int`; ", id="type in params"),
        pytest.param(GOOD.replace('id = "a"\n', ""), 1, "object missing required field `id`; ", id="no id"),
        pytest.param(GOOD.replace('"x"', '""'), 4, "pattern: expected `str` of length >= 1; ", id="empty pattern"),
        pytest.param(GOOD.replace('"a"', '"a b"'), 2, "id: expected `str` matching regex", id="id"),
        pytest.param("[grant]\nid = 'a'\n", 0, "grant is not a list of tables; ", id="one table"),
        pytest.param("grant = [1]\n", 0, "grant is not a list of tables; ", id="a list of numbers"),
        pytest.param("# fine\nx = \n", 2, "it is not valid TOML: ", id="no TOML"),
        pytest.param("x = 1\ny = ", 2, "it is not valid TOML: ", id="cut off"),
        pytest.param("x = 1\nx = 2\n", 2, "it is not valid TOML: ", id="key twice"),
        pytest.param("a = " + "[" * 5_000, 0, "it is not valid TOML", id="deep"),
    ],
)
def test_bad_files(policies: Policies, text: str, line: int, words: str) -> None:
    policies.path.write_text(text)
    for attempt in (policies.grants, policies.grants, lambda: policies.add(made()), lambda: policies.revoke("a")):
        with pytest.raises(BadPolicy) as caught:
            attempt()
        told = str(caught.value)
        assert told.startswith(f"{policies.path}, line {line}: " if line else str(policies.path))
        assert words in told
        assert caught.value.code == "policy.bad"
    assert policies.path.read_text() == text


def test_not_text(policies: Policies) -> None:
    policies.path.write_bytes(b"# fine\n# \xff\n")
    with pytest.raises(BadPolicy, match="line 2: it is not UTF-8 text"):
        policies.grants()


def test_too_large(policies: Policies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "MAX_BYTES", 10)
    policies.path.write_text(GOOD)
    with pytest.raises(BadPolicy, match="larger than 10 bytes"):
        policies.grants()


def test_not_readable(policies: Policies) -> None:
    policies.path.mkdir()
    with pytest.raises(StoreError, match="Is a directory"):
        policies.grants()


def test_the_texts_of_errors_are_printable(policies: Policies) -> None:
    policies.path.write_text(GOOD + '"\\u001b[2J" = 1\n')
    with pytest.raises(BadPolicy, match=r"a grant has no \?\[2J"):
        policies.grants()


def test_it_is_read_again_only_when_it_changed(policies: Policies, monkeypatch: pytest.MonkeyPatch) -> None:
    policies.path.write_text(GOOD)
    assert len(policies.grants()) == 1
    with monkeypatch.context() as patch:
        patch.setattr(policy, "parse", None)
        assert len(policies.grants()) == 1
    policies.path.write_text(GOOD + "reason = 'longer'\n")
    assert policies.grants()[0].reason == "longer"
    policies.path.unlink()
    assert policies.grants() == ()
    policies.path.write_text(GOOD)
    assert len(policies.grants()) == 1


def test_a_new_file(tmp_path: Path) -> None:
    policies = Policies(tmp_path / "state")
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
def test_what_was_there_stays(policies: Policies, text: str) -> None:
    before = text.encode()
    policies.path.write_bytes(before)
    policies.path.chmod(0o640)
    grant = policies.add(made(expires=END))
    after = policies.path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n") or b"\r" not in after
    assert [known.id for known in policies.grants()] == ["g-mine", "g-0002", grant.id]
    assert policies.revoke(grant.id) == grant
    assert policies.path.read_bytes().rstrip() == before.rstrip()
    assert stat.S_IMODE(policies.path.stat().st_mode) == 0o640


def test_revoking_what_somebody_wrote(policies: Policies) -> None:
    policies.path.write_text(HAND_WRITTEN)
    assert policies.revoke("g-none") is None
    assert policies.path.read_text() == HAND_WRITTEN
    revoked = policies.revoke("g-0002")
    assert revoked is not None
    start, end = HAND_WRITTEN.index("[[ grant ]]"), HAND_WRITTEN.index("\n# the end")
    assert policies.path.read_text() == HAND_WRITTEN[:start] + HAND_WRITTEN[end:]
    assert policies.revoke("g-mine") is not None
    left = policies.path.read_text()
    assert tomllib.loads(left) == {"rules": {"level": 3}, "other": {"x": [[1, 2]]}}
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
def test_what_cannot_be_edited_is_left_alone(policies: Policies, text: str) -> None:
    policies.path.write_text(text)
    with pytest.raises(BadPolicy):
        policies.revoke("a")
    assert policies.path.read_text() == text


def test_a_link_to_the_file_stays_one(policies: Policies, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(HAND_WRITTEN)
    policies.path.symlink_to(real)
    policies.add(made())
    assert policies.path.is_symlink()
    assert len(real.read_text()) > len(HAND_WRITTEN)


def test_an_id_that_is_taken(policies: Policies) -> None:
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
    policies = Policies(tmp_path_factory.mktemp("policy"))
    policies.path.parent.mkdir()
    policies.path.write_text(HAND_WRITTEN)
    grant = policies.add(made(pattern, reason=reason, params=params, created=END))
    assert policies.grants()[-1] == grant
    assert policies.revoke(grant.id) == grant
    assert policies.path.read_text() == HAND_WRITTEN


ADD = """
import sys
from pathlib import Path
from toolguard_engine.layers.grants import Grant
from toolguard_engine.stores.policy import Policies
policies = Policies(Path(sys.argv[1]))
for number in range(10):
    kept = policies.add(Grant("", "exec", f"{sys.argv[2]}-{number}"))
    if number % 2:
        policies.revoke(kept.id)
"""


def test_processes_that_add_at_once(policies: Policies, tmp_path: Path) -> None:
    policies.path.write_text(HAND_WRITTEN)
    running = [subprocess.Popen([sys.executable, "-c", ADD, str(tmp_path), str(at)], env=os.environ) for at in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    added = {grant.pattern for grant in policies.grants()[2:]}
    assert added == {f"{process}-{number}" for process in range(4) for number in range(0, 10, 2)}
    assert policies.path.read_text().startswith(HAND_WRITTEN)
