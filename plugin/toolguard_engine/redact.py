"""Takes secrets out of what is shown or logged, and cuts what is long.

Law: the result of `redact` has no value under a secret name and no text of a known key format, and no text in it is
longer than `MAX_VALUE` characters plus the note that says how long it was. Cutting comes last, so that a cut can never
leave half a key behind that no pattern knows.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_VALUE = 120
MAX_SHOWN = 600
MAX_DEPTH = 8
MAX_ITEMS = 40
MAX_SCANNED = 20_000
HIDDEN = "[redacted]"

_SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|^pwd$|secret|token(?!s|izer|_?count|_?limit)|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|auth(?:orization)?$|credential|cookie|session[-_]?id|signature|bearer|^pin$|^otp$|^jwt$)",
    re.IGNORECASE,
)

# Published formats of keys and tokens, each with the prefix its issuer documents.
_SECRET_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"  # JSON web token
    r"|\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{20,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\bfw_[A-Za-z0-9]{16,}|\bgsk_[A-Za-z0-9]{20,}|\b\d{8,10}:[\w-]{35}\b"  # Fireworks, Groq, Telegram
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}",
    re.DOTALL,
)

# A secret that is named beside its value: NAME=value, --name value, name: value, "name": "value", user:password@host.
_NAMED = r"(?:[\w-]*(?:pass(?:word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential)s?[\w-]*)"
_ASSIGNED = re.compile(
    rf"(?P<name>(?<![\w-])-{{0,2}}{_NAMED}[\"']?\s*(?:=|:|\s(?<=[\w\"']\s))\s*)"
    r"(?P<value>\"[^\"\n]+\"|'[^'\n]+'|[^\s\"'&;,|<>()\[\]{}]+)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?P<name>\b(?:authorization|cookie)\b[\"']?\s*[:=]\s*)(?P<value>[^\n\"']+)", re.IGNORECASE)
_SCHEME = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)(?P<value>[\w.+/=~-]{8,})", re.IGNORECASE)
_USERINFO = re.compile(r"(?P<name>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)(?P<value>[^\s/@]+)(?=@)", re.IGNORECASE)
_CURL_USER = re.compile(r"(?P<name>(?:^|\s)(?:-u|--user)[=\s]*[^\s:]+:)(?P<value>\S+)")


def redact_text(text: str) -> str:
    """One text without secrets; not cut. Beyond `MAX_SCANNED` characters it is dropped and its length named."""
    rest = len(text) - MAX_SCANNED
    text = _SECRET_VALUE.sub(HIDDEN, text[:MAX_SCANNED])
    for pattern in (_HEADER, _SCHEME, _USERINFO, _CURL_USER, _ASSIGNED):
        text = pattern.sub(_hide_value, text)
    return f"{text}... ({rest} more characters)" if rest > 0 else text


def _hide_value(match: re.Match[str]) -> str:
    value = match["value"]
    if HIDDEN in value:
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['name']}{quote}{HIDDEN}{quote}"


def cut(text: str, limit: int = MAX_VALUE) -> str:
    """At most `limit` characters of a text, with its length named where it was longer."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def redact(value: Any, depth: int = 0) -> Any:
    """A JSON value fit to be shown: no secrets, long texts cut, deep or long containers bounded."""
    if isinstance(value, str):
        length = len(value)
        clean = redact_text(value)
        return clean if len(clean) <= MAX_VALUE else f"{clean[:MAX_VALUE]}... ({length} characters)"
    if depth >= MAX_DEPTH and isinstance(value, dict | list):
        return "..."
    if isinstance(value, dict):
        shown = {
            cut(redact_text(str(name)), 80): HIDDEN if _is_secret(str(name), item) else redact(item, depth + 1)
            for name, item in list(value.items())[:MAX_ITEMS]
        }
        return shown if len(value) <= MAX_ITEMS else {**shown, "...": f"{len(value) - MAX_ITEMS} more"}
    if isinstance(value, list):
        items = [redact(item, depth + 1) for item in value[:MAX_ITEMS]]
        return items if len(value) <= MAX_ITEMS else [*items, f"... {len(value) - MAX_ITEMS} more"]
    return value


def _is_secret(name: str, value: Any) -> bool:
    return bool(_SECRET_NAME.search(name)) and value not in (None, "", True, False, {}, [])


def shown(params: Any) -> str:
    """A call's arguments as the model would write them: `{ path: "a.txt" }`, redacted, in one line, bounded."""
    return cut(render(redact(params)), MAX_SHOWN)


_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*\Z")


def render(value: Any) -> str:
    """JSON in the short spelling of a JavaScript literal."""
    if isinstance(value, dict):
        members = [f"{_key(name)}: {render(item)}" for name, item in value.items()]
        return f"{{ {', '.join(members)} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(render(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: Any) -> str:
    text = str(name)
    return text if _IDENTIFIER.match(text) else json.dumps(text, ensure_ascii=False)
