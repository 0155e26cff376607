"""One search in place of many: what it leaves out would not have been found, compared with looking for each."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from effort import examples
from toolguard_engine.any_of import SHORT, AnyOf
from toolguard_engine.effects.calls import normalize_output
from toolguard_engine.wording import redact

TIMES = (
    "12:01", "12:01:59.5 PM", "5s", "3 minutes", "1m 20s", "2026-01-02T03:04:05Z", "1767225600", "10:15 a.m.",
    "7\u00b5s",
)  # fmt: skip
AROUND = (
    "remaining ", " remaining", "left: ", " left", "ETA ", "eta=", "beta ", "time=", " to go", " of 10s", "of", " / 20s",
    "/~3s", "/ 4", " offline", "remote ", "took ", " in ", "\n", " ", "\t", "%", ":", "(", ")", "pid 77 ",
    "0x7fff12345678 ", "retry 3 ",
)  # fmt: skip
SECRETS = (
    "AKIAABCDEFGHIJKLMNOP", "sk-" + "a1B2" * 12, "ghp_" + "x9Y8" * 9, "password=hunter2hunter2", "API_KEY: 'abc123def456'",
    "tok\u0130en=1", "to\u212aen=abcdefgh1", "-----BEGIN", "123456789:AA" + "x1" * 17, "access", "\ud800secret=abc12345",
)  # fmt: skip
FILLING = ("def f(x):", "INFO worker done", "\u00e9t\u00e9", "a" * 40, "0123456789", "{}", "\U0001f600")


def texts(parts: tuple[str, ...]) -> Iterator[str]:
    """Long enough for the search, with one to four of these parts at any places."""
    chance = random.Random(31)  # noqa: S311 - not a secret
    for _ in range(examples(3_000)):
        pieces = [*(chance.choice(FILLING) for _ in range(60)), "x" * SHORT]
        for _ in range(chance.randint(0, 4)):
            pieces.insert(chance.randrange(len(pieces)), "".join(chance.choice(parts) for _ in range(chance.randint(1, 3))))
        yield chance.choice(" \n").join(pieces)


def test_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    all_texts = [text.encode() for text in texts((*TIMES, *AROUND, *(a + b for a in TIMES for b in AROUND[9:15])))]
    fast = [normalize_output.stable(text, frozenset(), sent=False) for text in all_texts]
    monkeypatch.setattr(AnyOf, "may_be_in", lambda *_: True)
    assert fast == [normalize_output.stable(text, frozenset(), sent=False) for text in all_texts]
    assert len({normalize_output.stable(text, frozenset(), sent=False) == text for text in all_texts}) == 2


def test_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(text: str) -> list[tuple[int, int]]:
        return [match.span() for search in (redact.keys_in, redact.assigned_in) for match in search(text)]

    all_texts = list(texts(SECRETS))
    fast = [found(text) for text in all_texts]
    monkeypatch.setattr(AnyOf, "may_be_in", lambda *_: True)
    assert fast == [found(text) for text in all_texts]
    assert any(fast)
    assert not all(fast)


def test_a_search_says_no_only_of_long_texts() -> None:
    search = AnyOf([b"a+b", b"c"])
    assert search.may_be_in(b"x")
    assert not search.may_be_in(b"x" * SHORT)
    assert search.may_be_in(b"x" * SHORT + b"aab")
    assert search.may_be_in(b"\xff" * SHORT + b"c")
