"""Answers of functions about long texts, kept by the digests of these: the code of a project's tests is asked about again
and again. As `functools.lru_cache`, which would keep the texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

T = TypeVar("T")
KEPT = 2_000
SHORTEST = 200
"""Characters of a text about which an answer is kept. It takes less to find it out again for a shorter one."""

MAX_PARTS = 64
"""Of an answer that is a tuple, as far as it is kept."""


LATELY, LONGEST = 16, 20_000
"""Texts whose digests are kept with them, since the same one is asked about several times in a row; and their length."""


def digest(text: str) -> bytes:
    return _lately(text) if len(text) <= LONGEST else _digest(text)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()


_lately = lru_cache(maxsize=LATELY)(_digest)


def kept_by_text(answer: Callable[..., T], most: int = KEPT) -> Callable[..., T]:
    """`answer`: a function of a text and of other values that can be hashed; `most`: so many answers are kept."""
    known: OrderedDict[tuple[bytes, tuple[Hashable, ...]], Any] = OrderedDict()

    def recall(text: str, *others: Hashable) -> T:
        if len(text) < SHORTEST:
            return answer(text, *others)
        key = digest(text), others
        if key in known:
            known.move_to_end(key)
            return known[key]  # type: ignore[no-any-return]
        new = answer(text, *others)
        if not isinstance(new, tuple) or len(new) <= MAX_PARTS:
            known[key] = new
            if len(known) > most:
                known.popitem(last=False)
        return new

    return recall
