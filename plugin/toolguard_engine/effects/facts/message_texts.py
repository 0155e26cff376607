"""What the text of a message says: a key, or something to everybody at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolguard_engine import lazy_re

MAX_TEXT = 20_000
_KEY = lazy_re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{10,}|\bsk-(?:proj-|ant-|or-)?[A-Za-z0-9_-]{20,}|\bAIza[\w-]{30,}"
    r"|\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{20,}|\beyJ[\w-]{10,600}+\.eyJ[\w-]{10,600}"
    r"|\b[A-Z0-9_]{0,30}(?:SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|PASSWORD)(?:_KEY|_ID)?\s{0,2}[=:]\s{0,2}['\"]?"
    r"(?=[A-Za-z0-9+/_-]{0,60}\d)(?!(?i:your|example|xxx|test|change|<))[A-Za-z0-9+/_-]{20,}"  # by the name of its variable
)
_EVERYBODY = lazy_re.compile(r"(?:^|[\s>])@(?:everyone|here|channel|all)\b|<!(?:everyone|here|channel)>")


EVERYBODY = frozenset(["*", "all", "everyone", "@all", "@everyone", "@here", "@channel"])
"""Recipients that are not one person or group."""


def is_one_recipient(target: str) -> bool:
    """Whether a message to `target` goes to one person or group."""
    return "," not in target and target.strip().lower() not in EVERYBODY


def flags(texts: Iterable[str]) -> Iterator[str]:
    """`secret`, `broadcast`."""
    for text in texts:
        if _KEY.search(text, 0, MAX_TEXT):
            yield "secret"
        if ("@" in text or "<!" in text) and _EVERYBODY.search(text, 0, MAX_TEXT):
            yield "broadcast"
