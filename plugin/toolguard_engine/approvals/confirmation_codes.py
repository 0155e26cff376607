"""Codes that confirm an approval in chat: four characters, shown below the call.

Whoever writes `/toolguard approve NONCE` may not have seen the call. Only a call that this chat was shown in full needs no
code. A code is bound to the text, the call as it is stored, the chat, the sender and the time; it is used once, lapses, and
bears few wrong tries. All of it is in memory: after a restart the call is shown again. Pure; times are seconds since 1970.
"""

from __future__ import annotations

import hmac
from collections import OrderedDict, deque
from collections.abc import Hashable
from hashlib import sha256
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from toolguard_engine.approvals.ledger import HeldCall

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters that are easily confused."""
LENGTH = 4
LASTS = 600.0
"""Seconds for which a code counts."""
MAX_WRONG = 3
"""Wrong tries after which a code counts no more."""
MAX_WRONG_IN_CHAT = 12
"""Wrong tries of one chat within `LASTS` after which none of its codes counts."""
MAX_KEPT = 500

Outcome = Literal["right", "wrong", "other", "voided", "late", "changed", "limited", "none"]
"""`other`: it is the code of another call that this person was shown here; `none`: no code is out for this call."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Showing(msgspec.Struct, frozen=True):
    """Where a call is shown and to whom. `chat`: the channel and the conversation, empty where they are not known; `lasts`:
    for how long the call would be allowed beside."""

    chat: str
    sender: str
    lasts: str = ""


class _Issued(Struct):
    code: str
    mark: bytes
    at: float
    wrong: int = 0


class ConfirmationCodes:
    """The codes that are out, and the calls that each chat was shown in full. `key`: secret, of this process."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._issued: OrderedDict[tuple[Showing, str], _Issued] = OrderedDict()
        self._shown: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()
        self._count = 0

    def was_shown(self, chat: str, entry: HeldCall) -> None:
        """All of this call was shown in this chat."""
        if chat:
            _keep(self._shown, (chat, entry.nonce), _mark(entry))

    def is_known(self, chat: str, entry: HeldCall) -> bool:
        """Whether this chat was shown all of the call as it is now."""
        return bool(chat) and self._shown.get((chat, entry.nonce)) == _mark(entry)

    def issue(self, to: Showing, entry: HeldCall, text: str, now: float) -> str:
        """The code for this text; an earlier one for the same call counts no more."""
        self._count += 1
        bound = msgspec.json.encode([to.chat, to.sender, to.lasts, entry.nonce, text, now, self._count])
        digest = hmac.digest(self._key, bound + _mark(entry), "sha256")
        number = int.from_bytes(digest[:8])
        code = "".join(LETTERS[number // len(LETTERS) ** at % len(LETTERS)] for at in range(LENGTH))
        _keep(self._issued, (to, entry.nonce), _Issued(code, _mark(entry), now))
        return code

    def check(self, to: Showing, entry: HeldCall, word: str, now: float) -> Outcome:
        """What this word is. A right one is used up."""
        issued = self._issued.get((to, entry.nonce))
        if issued is None:
            return "other" if self._is_of_another(to, word) else "none"
        if self._is_limited(to.chat, now):
            return "limited"
        if not issued.at <= now < issued.at + LASTS:
            return self._over(to, entry, "late")
        if issued.mark != _mark(entry):
            return self._over(to, entry, "changed")
        if _equal(word, issued.code):
            return self._over(to, entry, "right")
        issued.wrong += 1
        self._wrong.setdefault(to.chat, deque(maxlen=MAX_WRONG_IN_CHAT)).append(now)
        _bounded(self._wrong)
        return self._over(to, entry, "voided") if issued.wrong >= MAX_WRONG else "wrong"

    def _over(self, to: Showing, entry: HeldCall, outcome: Outcome) -> Outcome:
        del self._issued[(to, entry.nonce)]
        return outcome

    def _is_of_another(self, to: Showing, word: str) -> bool:
        here = (to.chat, to.sender)
        known = [issued.code for (showing, _), issued in self._issued.items() if (showing.chat, showing.sender) == here]
        return any(_equal(word, code) for code in known)

    def _is_limited(self, chat: str, now: float) -> bool:
        tries = self._wrong.get(chat)
        return tries is not None and len(tries) == MAX_WRONG_IN_CHAT and now < tries[0] + LASTS


def is_code(text: str) -> bool:
    """Whether this has the form of a code."""
    return len(text) == LENGTH and set(text.lower()) <= set(LETTERS)


def _equal(word: str, code: str) -> bool:
    return hmac.compare_digest(word.lower().encode(), code.encode())


def _mark(entry: HeldCall) -> bytes:
    """The call as it is stored: any change of it, also a decision, is another one."""
    return sha256(msgspec.json.encode(entry)).digest()


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    _bounded(kept)


def _bounded(kept: OrderedDict[K, V]) -> None:
    while len(kept) > MAX_KEPT:
        kept.popitem(last=False)
