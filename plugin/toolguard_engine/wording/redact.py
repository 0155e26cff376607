"""Removes secrets from what is shown or logged, and shortens what is long.

Invariants of `redact`: the result has no value under a secret name and no text in a known key format; every text has at
most `MAX_VALUE` characters, plus a note of its length; at most `MAX_NODES` values are shown.

Texts are cut last, so that no cut leaves half a key that no pattern matches. Every repetition in a pattern is bounded or
can start in one place only, so that hostile texts are scanned in linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.any_of import AnyOf
from toolguard_engine.wording import secret_signs
from toolguard_engine.wording.visible_text import counted_spaces, visible

MAX_VALUE = 120
MAX_NAME = 80
MAX_SHOWN = 600
MAX_DEPTH = 8
MAX_ITEMS = 40
MAX_NODES = 400
MAX_SCANNED = 4_000
MAX_SCANNED_IN_ALL = 40_000
MARGIN = 500
"""Characters dropped at the end of a text that was not fully scanned: they may be half a key."""
SHOWN_HEAD, SHOWN_TAIL = 1_600, 800
"""Characters of the two ends of a long text that an approver sees."""

HIDDEN = "[redacted]"
_KEY_BLOCK = "PRIVATE KEY"

_SECRET_NAME = lazy_re.compile(
    r"(?:pass(?:word|wd|phrase|code)|^pass$|^pwd$|secret(?!ar)|token(?!i[sz]|_?count|_?limit)|api[-_]?key|access[-_]?key"
    r"|private[-_]?key|auth(?:orization)?$|credential|cookie|signature|bearer|^pin$|^otp$|^jwt$)",
    re.IGNORECASE,
)
_COUNTED = lazy_re.compile(r"[tT]okens(?:$|[-_ A-Z])|token(?=[-_A-Z])")
"""Names of token counts (`max_tokens`, `token_budget`): a number under them is not a secret."""

# Published formats of keys and tokens, each with its issuer's documented prefix.
_SECRET_VALUE = lazy_re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*"  # JSON web token, signed or encrypted
    r"|\b(?:sk|pk|rk)[-_](?=[\w-]{0,60}\d)[\w-]{16,}|\bsk-(?:proj|ant|or)-[\w-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|\bdo[opr]_v1_[0-9a-f]{32,}|(?<=AccountKey=)[\w+/=]{20,}"  # DigitalOcean, Azure storage
    r"|(?<=hooks\.slack\.com/services/)[\w/]{10,}|(?<=/api/webhooks/)\d{5,}/[\w-]{20,}"  # Slack and Discord webhooks
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-AgE[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\bfw_[A-Za-z0-9]{16,}|\bgsk_[A-Za-z0-9]{20,}|\b\d{8,10}:[\w-]{35}\b"  # Fireworks, Groq, Telegram
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}",
    re.DOTALL,
)

# A secret named beside its value: NAME=value, --name value, name: value, "name": "value", user:password@host.
_NAMED = (
    r"(?:pass(?:word|wd|phrase|code)s?|secret(?!ar)s?|token(?!i[sz])s?|api[-_]?keys?|access[-_]?keys?|private[-_]?keys?"
    r"|credentials?)"
)
_VALUE = r"(?P<value>\\*\"(?:[^\"\\\n]|\\.)+|\\*'[^'\n]+|(?:[^\s\"'&;,|<>()\[\]{}]|,(?!\s))+)"
_ASSIGNED = lazy_re.compile(
    rf"(?P<name>{_NAMED}[\w-]{{0,40}}\\{{0,4}}[\"']?\s{{0,20}}[:=]\s{{0,20}}){_VALUE}", re.IGNORECASE
)
_OPTION = lazy_re.compile(rf"(?P<name>(?<![\w-])--?[\w-]{{0,40}}{_NAMED}[\w-]{{0,40}}\s{{1,20}}){_VALUE}", re.IGNORECASE)
_HEADER = lazy_re.compile(
    r"(?P<name>\b(?:authorization|cookie)\b\\{0,4}[\"']?\s{0,20}[:=]\s{0,20}\\{0,4}[\"']?)(?P<value>[^\n\"'\\]+)",
    re.IGNORECASE,
)
_SCHEME = lazy_re.compile(  # not every word after "basic": only one with a digit, padding or inner capitals, or a long one
    r"(?P<name>\b(?i:bearer|basic)\s{1,20})(?P<value>(?=[\w.+/~-]{0,100}(?:[\d=]|[a-z][A-Z])|[\w.+/~-]{24})[\w.+/=~-]{8,})"
)
_USERINFO = lazy_re.compile(r"(?P<name>://[^\s/:@]{0,200}:)(?P<value>[^\s/]+)(?=@)")
_LONE_USERINFO = lazy_re.compile(r"(?P<name>https?://)(?P<value>[^\s/:@]{16,200})(?=@)")
_SHORT_OPTION = lazy_re.compile(  # commands whose -p or -a is a password
    r"(?P<name>\b(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^|;&\n]{0,200}?\s-p(?=\S)|sshpass\s{1,20}-p\s{0,20}"
    r"|redis-cli\b[^|;&\n]{0,200}?\s-a\s{1,20}|-pass\s{1,20}pass:))(?P<value>[^\s\"'|;&]+)"
)
_CURL_USER = lazy_re.compile(
    r"(?P<name>(?:^|\s)(?:-u|--user)(?:=|\s{0,20})(?P<quote>[\"'])?[^\s:\"'=]{1,200}:)"
    r"(?P<value>(?!\d+(?:\s|$))(?(quote)(?:(?!(?P=quote))[^\n])+|\S+))"
)
_BESIDE_NAMES = (
    (_HEADER, "header"), (_SCHEME, "scheme"), (_USERINFO, "user"), (_LONE_USERINFO, "user"), (_CURL_USER, "-u"),
    (_SHORT_OPTION, "-p"), (_OPTION, "option"), (_ASSIGNED, "assigned"),
)  # fmt: skip
"""Each with the sign (`secret_signs`) without which it matches nothing."""

_REFERENCE = lazy_re.compile(r"[\"']?\$(?:\{?[A-Z_][A-Z0-9_]*\}?|\(.*)?\Z")
"""A variable's name or the beginning of `$(command)`: it refers to the secret without showing it."""
_ACTIVE = lazy_re.compile(r"[;|&`\n$]")
_VARIABLE_NAME = lazy_re.compile(r"[A-Za-z_]\w*")
_BARE_OPTION = lazy_re.compile(rf"--?[\w-]{{0,40}}{_NAMED}[\w-]{{0,40}}\Z", re.IGNORECASE)
_COUNT = lazy_re.compile(r"tokens[\w-]*\W*\Z", re.IGNORECASE)

UNPRINTABLE = lazy_re.compile(
    r"[^\x20-\x7e\u00a1-\u00ac\u00ae-\u05ff\u0606-\u061b\u061d-\u06dc\u06de-\u070e\u0710-\u088f\u0892-\u08e1\u08e3-\u180a"
    r"\u1810-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\uf900-\ufdff\ufe10-\ufefe\uff00-\uffef]"
)
"""Control and formatting characters (line ends, bidirectional overrides), which can disguise a text."""

HALVES = lazy_re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs, which code may spell as escapes and no file can hold."""


def keys_in(text: str) -> Iterator[re.Match[str]]:
    """The texts in a known key format, a bounded number. Only the places where one can begin are examined."""
    if not _ANY_KEY.may_be_in(text.encode(errors="replace")):
        return
    for start, offset in _KEY_STARTS:
        at, count = text.find(start), 0
        while at >= 0 and count < _MAX_PLACES:
            first = max(0, at + offset)
            if match := _SECRET_VALUE.match(text, first, first + _MAX_KEY):
                yield match
            at, count = text.find(start, match.end() if match and match.end() > at else at + 1), count + 1


def assigned_in(text: str) -> Iterator[re.Match[str]]:
    """Values beside the name of a secret, with `name` and `value`; a bounded number."""
    lower = text.lower()
    if not _ANY_NAME.may_be_in(lower.encode(errors="replace")):
        return
    for start in _NAME_STARTS:
        at, count = lower.find(start), 0
        while at >= 0 and count < _MAX_PLACES:
            if match := _ASSIGNED.match(text, at, at + _MAX_KEY):
                yield match
            at, count = lower.find(start, at + 1), count + 1


_MAX_KEY = 4_096
_MAX_PLACES = 100
_KEY_STARTS = (
    ("-----BEGIN", 0), ("eyJ", 0), ("sk-", 0), ("sk_", 0), ("rk-", 0), ("rk_", 0), ("_v1_", -3), ("AccountKey=", 11),
    ("hooks.slack.com/services/", 25), ("/api/webhooks/", 14), ("ghp_", 0), ("gho_", 0), ("ghu_", 0), ("ghs_", 0),
    ("ghr_", 0), ("github_pat_", 0), ("glpat-", 0), ("AKIA", 0), ("ASIA", 0), ("AIza", 0), ("ya29.", 0), ("xox", 0),
    ("npm_", 0),
    ("pypi-AgE", 0), ("hf_", 0), ("fw_", 0), ("gsk_", 0), (":AA", -10), (":AA", -9), (":AA", -8), ("SG.", 0),
)  # fmt: skip
_ANY_KEY = AnyOf(re.escape(start.encode()) for start, _ in _KEY_STARTS)
"""A text that each key format begins with, or that stands so far behind its beginning."""
_NAME_STARTS = ("pass", "secret", "token", "api", "access", "private", "credential")
_ANY_NAME = AnyOf(start.encode() for start in _NAME_STARTS)


def redact_text(text: str, *, active: bool = False, scanned: int = MAX_SCANNED) -> str:
    """A text without secrets, not cut. Characters beyond `scanned` are dropped and the length is noted.

    `active`: code that a shell would run stays visible even in place of a secret, because an approver must see it.
    """
    hide = _hide_passive if active else _hide_value
    rest = len(text) - scanned
    text = text[:scanned] if text.isascii() else HALVES.sub(lambda half: visible(half[0]), text[:scanned])
    if secret_signs.may_have_key(text):
        text = _SECRET_VALUE.sub(HIDDEN, text)
    signs = secret_signs.signs(text)
    for pattern, sign in _BESIDE_NAMES:
        if sign in signs:
            text = pattern.sub(hide, text)
    return f"{text[:-MARGIN]}... ({rest + scanned} characters)" if rest > 0 else text


def _hide_passive(match: re.Match[str]) -> str:
    """Hides a value unless a shell would run it, in place or through a variable that is used later."""
    name = _VARIABLE_NAME.match(match["name"])
    used = name is not None and re.search(rf"\$\{{?{name[0]}\b", match.string)
    return match[0] if used or _ACTIVE.search(match["value"]) else _hide_value(match)


def _hide_value(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if _REFERENCE.match(value) or (value.isdecimal() and _COUNT.search(name)):
        return match[0]
    opening = re.match(r"\\*[\"']?", value)
    quote = opening[0] if opening else ""
    closing = quote if quote[-1:] in ("'", '"') and match.string[match.end() : match.end() + 1] != quote[-1:] else ""
    return f"{name}{quote}{HIDDEN}{closing}"


def cut(text: str, limit: int = MAX_VALUE) -> str:
    """Returns at most `limit` characters of a text, plus a note of its length if it was longer."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


class Limits(Struct, frozen=True):
    """How much of a value is shown. `active`: to its approver."""

    nodes: int
    scanned: int
    scanned_in_all: int
    depth: int
    items: int
    active: bool


FOR_A_LOG = Limits(MAX_NODES, MAX_SCANNED, MAX_SCANNED_IN_ALL, MAX_DEPTH, MAX_ITEMS, active=False)
TO_DECIDE = Limits(nodes=4_000, scanned=16_384, scanned_in_all=65_536, depth=20, items=500, active=True)


def redact(value: Any) -> Any:
    """A JSON value for display: no secrets, long texts cut, nesting and sizes bounded."""
    return _Redaction(FOR_A_LOG).replace(value, 0)


def disclose(value: Any) -> tuple[Any, bool]:
    """`redact` with an approver's far wider limits, and whether nothing but secrets was left out."""
    one = _Redaction(TO_DECIDE)
    shown = one.replace(value, 0)
    return shown, not one.omitted


class _Redaction:
    """One pass over a value; counts what is shown. `omitted`: something other than a secret was left out."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nodes = 0
        self._scanned = 0
        self.omitted = False

    def replace(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        limits = self._limits
        if self._nodes > limits.nodes or self._scanned > limits.scanned_in_all:
            return self._leave_out("...")
        if isinstance(value, str):
            return self._shown(value)
        if depth >= limits.depth and isinstance(value, dict | list):
            return self._leave_out("...")
        if isinstance(value, dict):
            return self._members(value, depth)
        return self._items(value, depth) if isinstance(value, list) else value

    def _leave_out(self, mark: Any) -> Any:
        self.omitted = True
        return mark

    def _members(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        label, most = _label(value), self._limits.items
        shown = {
            self._name(str(name)): HIDDEN
            if _is_secret(label if name == "value" else str(name), item)
            else self.replace(item, depth + 1)
            for name, item in list(value.items())[:most]
        }
        return shown if len(value) <= most else self._leave_out({**shown, "...": f"{len(value) - most} more"})

    def _name(self, name: str) -> str:
        clean = self._text(name)
        return clean if len(clean) <= MAX_NAME else self._leave_out(cut(clean, MAX_NAME))

    def _items(self, value: list[Any], depth: int) -> list[Any]:
        most = self._limits.items
        items = [
            HIDDEN if isinstance(item, str) and _is_bare_option(before) else self.replace(item, depth + 1)
            for before, item in zip([None, *value[: most - 1]], value[:most], strict=False)
        ]
        return items if len(value) <= most else self._leave_out([*items, f"... {len(value) - most} more"])

    def _shown(self, text: str) -> str:
        if self._limits.active:
            return self._both_ends(text)
        clean = self._text(text)
        return clean if len(clean) <= MAX_VALUE else self._leave_out(f"{clean[:MAX_VALUE]}... ({len(text)} characters)")

    def _both_ends(self, text: str) -> str:
        """A text for an approver: whole, or its two ends, because what matters may come last."""
        if len(text) <= self._limits.scanned:
            return self._text(text)
        if _KEY_BLOCK in text:  # it may be longer than what is scanned of either end
            text = _SECRET_VALUE.sub(HIDDEN, text)
        head, tail = self._text(text[:MAX_SCANNED]), self._text(text[-SHOWN_TAIL - MARGIN :])
        left_out = len(text) - SHOWN_HEAD - SHOWN_TAIL
        return str(self._leave_out(f"{head[:SHOWN_HEAD]} ...[{left_out} characters not shown]... {tail[-SHOWN_TAIL:]}"))

    def _text(self, text: str) -> str:
        self._scanned += min(len(text), self._limits.scanned)
        return redact_text(text, active=self._limits.active, scanned=self._limits.scanned)


def _label(value: dict[Any, Any]) -> str:
    """The name of the value in `{"name": "DB_PASSWORD", "value": "x"}`."""
    return next((label for key in ("name", "key") if isinstance(label := value.get(key), str)), "value")


def _is_bare_option(item: Any) -> bool:
    """Whether the argument after this one is a secret: `["--password", "x"]`."""
    return isinstance(item, str) and bool(_BARE_OPTION.match(item))


def _is_secret(name: str, value: Any) -> bool:
    if value is None or isinstance(value, bool) or value in ("", {}, []):
        return False
    if isinstance(value, int | float) and _COUNTED.search(name):
        return False
    return bool(_SECRET_NAME.search(name[:MARGIN] + name[MARGIN:][-MARGIN:]))


def shown(params: Any) -> str:
    """A call's arguments as the model writes them, `{ path: "a.txt" }`: redacted, on one line, bounded."""
    return cut(render(redact(params)), MAX_SHOWN)


_IDENTIFIER = lazy_re.compile(r"[A-Za-z_$][\w$]*\Z", re.ASCII)


def render(value: Any) -> str:
    """JSON as a compact JavaScript literal."""
    if isinstance(value, dict):
        members = [f"{_key(name)}: {render(item)}" for name, item in value.items()]
        return f"{{ {', '.join(members)} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(render(item) for item in value)}]"
    return _json(value)


def _key(name: Any) -> str:
    text = str(name)
    return text if _IDENTIFIER.match(text) else _json(text)


def _json(value: Any) -> str:
    """A JSON value on one line, in which everything can be seen."""
    return counted_spaces(visible(json.dumps(value, ensure_ascii=False)))
