"""Quick looks whether a text can have a secret at all. Most have none, and the patterns of `redact` take fifty times as long
to find that out. A text with a sign need not have a secret; one without it has none that the pattern would find.
"""

from __future__ import annotations

from toolguard_engine import lazy_re

_RUN = lazy_re.compile(r"[\w.:=-]{15}")
"""The least that a key consists of without a blank; `_LOOSE_SIGNS` are the formats that may have less."""

_LOOSE_SIGNS = ("-----BEGIN", "AccountKey=", "hooks.slack.com/", "/api/webhooks/")
_KEY_SIGNS = (
    "eyJ", "k-", "k_", "_v1_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza",
    "ya29.", "xox", "npm_", "pypi-", "hf_", "fw_", "SG.",
)  # fmt: skip
_NUMBERED = lazy_re.compile(r"\d{8}:")
_NAMES = ("pass", "secret", "token", "key", "credential")
_CLIENTS = ("mysql", "mariadb", "sshpass", "redis-cli", "-pass")
_ALL = frozenset({"header", "scheme", "user", "-u", "-p", "option", "assigned"})


def may_have_key(text: str) -> bool:
    """Whether a text may have a key in a known format."""
    if any(sign in text for sign in _LOOSE_SIGNS):
        return True
    return bool(_RUN.search(text)) and (any(sign in text for sign in _KEY_SIGNS) or bool(_NUMBERED.search(text)))


def signs(text: str) -> frozenset[str] | set[str]:
    """The ways in which a text may show a secret beside its name."""
    if not text.isascii():  # where case does not matter, other letters may count as one of ASCII
        return _ALL
    lower, found = text.lower(), set[str]()
    names = any(name in lower for name in _NAMES)
    assigns = ":" in text or "=" in text
    if assigns:
        if names:
            found.add("assigned")
        if "cookie" in lower or "authorization" in lower:
            found.add("header")
        if "://" in text and "@" in text:
            found.add("user")
    if "bearer" in lower or "basic" in lower:
        found.add("scheme")
    if "-" in text:
        if names:
            found.add("option")
        if ":" in text and "-u" in text:
            found.add("-u")
        if any(client in text for client in _CLIENTS):
            found.add("-p")
    return found
