"""The key that signs: made once, whole, for nobody else's eyes, and refused where that is not so."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from effort import ALL
from toolguard_engine.stores import atomic
from toolguard_engine.stores import signing_key as signatures
from toolguard_engine.stores.files import signing_key_file as signing_key
from toolguard_engine.stores.files.signing_key_file import SigningKeyError

RACERS = 8
fork = multiprocessing.get_context("fork")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def place(state: Path) -> Path:
    atomic.make_folder(atomic.own_folder(state))
    return signing_key.path(state)


def test_made_at_the_first_use_and_kept(state: Path) -> None:
    first = signing_key.load(state)
    assert len(first) == signing_key.SIZE
    assert len(set(first)) > 1
    assert signing_key.load(state) == first
    assert signing_key.path(state) == state / "toolguard" / "key"
    assert signing_key.path(state).stat().st_mode & 0o777 == 0o600
    assert signing_key.path(state).parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in signing_key.path(state).parent.iterdir()] == ["key"]


def test_looked_up_without_being_made(state: Path) -> None:
    with pytest.raises(SigningKeyError, match="No such file"):
        signing_key.known(state)
    assert not state.exists()
    made = signing_key.load(state)
    assert signing_key.known(state) == made


def test_each_state_directory_has_its_own(tmp_path: Path) -> None:
    assert signing_key.load(tmp_path / "a") != signing_key.load(tmp_path / "b")


def race(state: Path, start: Path, answer: Path) -> None:
    while not start.exists():
        pass
    answer.write_bytes(signing_key.load(state))


@pytest.mark.usefixtures("patient_locks")
def test_of_many_makers_one_wins(tmp_path: Path) -> None:
    for turn in range(5 if ALL else 2):
        state, start = tmp_path / f"state-{turn}", tmp_path / f"start-{turn}"
        answers = [tmp_path / f"answer-{turn}-{seat}" for seat in range(RACERS)]
        racers = [fork.Process(target=race, args=(state, start, answer)) for answer in answers]
        for racer in racers:
            racer.start()
        start.touch()
        for racer in racers:
            racer.join()
        assert {answer.read_bytes() for answer in answers} == {signing_key.load(state)}
        assert [path.name for path in signing_key.path(state).parent.iterdir()] == ["key"]


def _linked(place: Path) -> None:
    place.with_name("elsewhere").write_bytes(bytes(signing_key.SIZE))
    place.with_name("elsewhere").chmod(0o600)
    place.symlink_to("elsewhere")


def _of(size: int, mode: int = 0o600) -> Callable[[Path], None]:
    def write(place: Path) -> None:
        place.write_bytes(bytes(size))
        place.chmod(mode)

    return write


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (_of(0), "is not a key of 32 bytes"),
        (_of(31), "is not a key of 32 bytes"),
        (_of(33), "is not a key of 32 bytes"),
        (_of(32, 0o640), "can be read by others"),
        (_of(32, 0o604), "can be read by others"),
        (_of(32, 0o620), "can be read by others"),
        (_of(32, 0o610), "can be read by others"),
        (_linked, "is not a regular file"),
        (lambda place: place.symlink_to("nowhere"), "is not a regular file"),
        (lambda place: place.symlink_to(place.name), "is not a regular file"),
        (lambda place: place.mkdir(mode=0o700), "is not a regular file"),
        (lambda place: os.mkfifo(place, 0o600), "is not a regular file"),
    ],
)
def test_what_is_no_key_of_ours(state: Path, place: Path, make: Callable[[Path], None], expected: str) -> None:
    make(place)
    before = sorted(path.name for path in place.parent.iterdir())
    for _ in range(2):  # it stays refused, and is not replaced in silence
        with pytest.raises(SigningKeyError, match=expected) as refused:
            signing_key.load(state)
        assert refused.value.code == "store.key"
        assert str(place) in str(refused.value)
    assert sorted(path.name for path in place.parent.iterdir()) == before


def test_somebody_elses(state: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _of(32)(place)
    owner = place.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 4_000)
    if owner:
        with pytest.raises(SigningKeyError, match="belongs to another user"):
            signing_key.load(state)
    else:  # root's may be read by everybody who can
        assert signing_key.load(state) == bytes(32)
        os.chown(place, 4_321, 4_321)
        with pytest.raises(SigningKeyError, match="belongs to another user"):
            signing_key.load(state)


def test_no_place_for_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SigningKeyError, match="Not a directory"):
        signing_key.load(tmp_path / "file")


def test_signing() -> None:
    mine, other = bytes(32), bytes([1]) * 32
    mac = signatures.sign(mine, b"data")
    assert signatures.fits(mine, b"data", mac)
    assert not signatures.fits(mine, b"dat", mac)
    assert not signatures.fits(other, b"data", mac)
    for wrong in ("", mac[:-1], mac.upper(), mac + "0"):
        assert not signatures.fits(mine, b"data", wrong)


def test_a_forged_signature_in_another_script_is_an_answer_too() -> None:
    assert not signatures.fits(bytes(32), b"data", "\u0661" * 64)
