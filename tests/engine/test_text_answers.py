"""Answers about texts that are kept by digests."""

from __future__ import annotations

from toolguard_engine.model.text_answers import KEPT, MAX_PARTS, SHORTEST, kept_by_text


def test_the_same_question_is_answered_once() -> None:
    asked = list[tuple[int, str]]()

    @kept_by_text
    def answer(text: str, other: str) -> tuple[str, ...]:
        asked.append((len(text), other))
        return (text[-1:] + other,)

    for text, other in (("a" * 999, "x"), ("a" * 999, "y"), ("a" * 998 + "b", "x"), ("a" * 999, "x"), ("a" * 999, "y")):
        assert answer(text, other) == (text[-1] + other,)
    assert asked == [(999, "x"), (999, "y"), (999, "x")]


def test_what_is_kept_is_bounded() -> None:
    asked = list[str]()

    @kept_by_text
    def answer(text: str) -> tuple[str, ...]:
        asked.append(text[:9])
        return ("x",) * (MAX_PARTS + text.startswith("long"))

    texts = [f"{at}".ljust(SHORTEST) for at in range(KEPT + 1)]
    for text in texts:
        answer(text)
    answer(texts[-1])
    assert len(asked) == KEPT + 1
    answer(texts[0])
    assert len(asked) == KEPT + 2
    for text in ("long".ljust(SHORTEST), "long".ljust(SHORTEST), "short", "short"):
        answer(text)
    assert len(asked) == KEPT + 6


def test_a_text_that_is_no_text_of_unicode_is_a_text() -> None:
    assert kept_by_text(len)("\udcff" * SHORTEST) == SHORTEST
