"""Secrets in the content of files: the gateway's config, environment files, JSON files and private keys. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.wording import redact
from toolguard_engine.wording.secret_values import KnownSecret, is_random

MAX_VALUES = 20_000
MAX_LEVELS = 30
MAX_LINES = 5_000
MAX_NAME = 120

SECRET = "secret"  # noqa: S105 - a kind
ENVIRONMENT = "environment secret"
MODEL_KEY = "model key"
TOKEN_VARIABLES = {"OPENCLAW_GATEWAY_TOKEN": "gateway token", "OPENCLAW_GATEWAY_PASSWORD": "gateway password"}

_KINDS: tuple[tuple[str, str], ...] = (
    ("gateway.auth.password", "gateway password"),
    ("gateway.remote.password", "gateway password"),
    ("gateway.", "gateway token"),
    ("models.", MODEL_KEY),
    ("auth.", MODEL_KEY),
    ("channels.", "channel token"),
    ("hooks.", "hooks token"),
    ("mcp.", "MCP secret"),
    ("env.", ENVIRONMENT),
    ("skills.", "skill key"),
    ("plugins.", "plugin secret"),
)
"""What a secret is called by how its path in the config begins."""

_NAMED = lazy_re.compile(
    r"pass(?:word|wd|phrase|code)|^pass$|^pwd$|secret|token(?!iz)|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|encrypt(?:ion)?[-_]?key|sign(?:ing)?[-_]?key|client-key-data|credential|cookie|signature|bearer|jwt|^authorization$|auth[-_]?tag$",
    re.IGNORECASE,
)
_SOMETIMES = lazy_re.compile(r"key|access|refresh|auth", re.IGNORECASE)
"""Names under which some files have a secret and others something else: only a random value counts."""

_NOT_THE_SECRET = lazy_re.compile(
    r"(?:file|path|ref|env|var|variable|url|uri|id|name|mode|type|tokens|count|limit|budget|ttl|ms|seconds|provider|header"
    r"|prefix|source|scopes?|algorithm|format|style|policy|encoding|expires(?:_?at|_?in)?)$",
    re.IGNORECASE,
)
"""Names of settings about a secret: where it lies, what it is called, how long it lasts."""

_FREELY_NAMED = lazy_re.compile(r"\.(?:env|headers|vars)\.[^.]+$|^env\.[^.]+$")
"""Paths in the config whose last name users choose: there, random values are secrets whatever they are called."""

_REFERENCE = lazy_re.compile(r"(\$?)\$\{([A-Z_][A-Z0-9_]*)\}")
_ENV_LINE = lazy_re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w{0,200})\s*=\s*(.*?)\s*$")
_QUOTED = lazy_re.compile(r"(?P<quote>[\"'`])(?P<value>.*)(?P=quote)\s*(?:#.*)?")
_ASSIGNED = lazy_re.compile(
    r"[\s\"'-]*(?:([\w:/.@-]{1,200})[\"']?\s*=|([\w/.@-]{1,200})[\"']?\s*:(?=\s))\s*[\"']?([^\s\"',]+)[\"']?[,;]?\s*$"
)
_NETRC = lazy_re.compile(r"\bpassword\s+(\S+)")
_PGPASS = lazy_re.compile(r"^[^:\s]*:[\d*]{1,5}:[^:\s]*:[^:\s]*:(\S+)$")
_USERINFO = lazy_re.compile(r"://[^\s/:@]{0,200}:([^\s/@]+)@")


def is_named_secret(name: str) -> bool:
    """Whether a member or variable of this name holds a secret itself."""
    return bool(_NAMED.search(name)) and not _NOT_THE_SECRET.search(name)


def in_config(config: Any, environment: Mapping[str, str]) -> Iterator[KnownSecret]:
    """The secrets of `openclaw.json`, those that it names only as variables last. Variables and references to variables are
    looked up in `environment`."""
    secrets = list(_in_config(config, environment))
    yield from sorted(secrets, key=lambda secret: secret.kind == ENVIRONMENT)


def _in_config(config: Any, environment: Mapping[str, str]) -> Iterator[KnownSecret]:
    for path, name, text in _texts(config):
        yield from _of_member(_kind(path), path, name, filled(text, environment), free=bool(_FREELY_NAMED.search(path)))
    for path, variable in _references(config):
        if value := environment.get(variable):
            yield KnownSecret(_kind(path), path[:MAX_NAME], value)


def in_json(value: Any, kind: str, source: str, *, whole: bool = False) -> Iterator[KnownSecret]:
    """The secrets of a JSON file. `whole`: it holds nothing else, so that the names of its members do not matter."""
    for path, name, text in _texts(value):
        yield from _of_member(kind, f"{path} ({source})", name, text, free=whole)


def in_variables(variables: Mapping[str, str], source: str, *, free: bool) -> Iterator[KnownSecret]:
    """The secrets of environment variables. `free`: a random value is a secret whatever the variable is called; in the
    environment of a process, it may be the id of a session or of a service."""
    for name, value in islice(variables.items(), MAX_VALUES):
        yield from _of_member(TOKEN_VARIABLES.get(name, ENVIRONMENT), f"{name} ({source})", name, value, free=free)


def in_lines(text: str, kind: str, source: str) -> Iterator[KnownSecret]:
    """The secrets of a file of credentials in another format: a lone value, `name = value`, netrc, pgpass, URLs with
    passwords, keys in a known format, private keys."""
    if "PRIVATE KEY" in text:
        yield KnownSecret(kind, source, text)
        return
    lines = [line for line in islice(text.splitlines(), MAX_LINES) if not line.lstrip().startswith(("#", ";"))]
    values = [value for line in lines for value in _values_in(line)]
    yield from (KnownSecret(kind, source, value) for value in values or lines[: len(lines) == 1])


def _values_in(line: str) -> Iterator[str]:
    yield from (match[1] for form in (_NETRC, _PGPASS, _USERINFO) for match in form.finditer(line))
    yield from (match[0] for match in redact.keys_in(line))
    if (hit := _ASSIGNED.match(line)) and is_named_secret(re.split(r"[:/.]", hit[1] or hit[2])[-1]):
        yield hit[3]


def variables_of(text: str) -> dict[str, str]:
    """The variables of an environment file, as dotenv reads it."""
    variables: dict[str, str] = {}
    for line in islice(text.splitlines(), MAX_LINES):
        if assigned := _ENV_LINE.match(line):
            value = assigned[2]
            quoted = _QUOTED.fullmatch(value)
            variables[assigned[1]] = quoted["value"] if quoted else value.partition(" #")[0].rstrip()
    return variables


def config_variables(config: Any) -> dict[str, str]:
    """The variables that `openclaw.json` sets (`env.vars`)."""
    own = config.get("env") if isinstance(config, dict) else None
    listed = {**own, **(own["vars"] if isinstance(own.get("vars"), dict) else {})} if isinstance(own, dict) else {}
    return {str(name): value for name, value in listed.items() if isinstance(value, str)}


def provider_files(config: Any) -> Iterator[str]:
    """The files in which `openclaw.json` says that secrets are kept (`secrets.providers.*.path`)."""
    secrets = config.get("secrets") if isinstance(config, dict) else None
    providers = secrets.get("providers") if isinstance(secrets, dict) else None
    for provider in (providers or {}).values() if isinstance(providers, dict) else ():
        if isinstance(provider, dict) and provider.get("source") == "file" and isinstance(provider.get("path"), str):
            yield provider["path"]


def filled(text: str, environment: Mapping[str, str]) -> str:
    """A text of the config with its variables, as the gateway fills them in."""
    return _REFERENCE.sub(lambda match: match[0][1:] if match[1] else environment.get(match[2]) or match[0], text)


def _of_member(kind: str, path: str, name: str, text: str, *, free: bool) -> Iterator[KnownSecret]:
    """`free`: a random value is a secret under any name."""
    path = path[:MAX_NAME]
    if is_named_secret(name) or ((free or _SOMETIMES.fullmatch(name)) and (is_random(text) or "PRIVATE KEY" in text)):
        yield KnownSecret(kind, path, text)
        return
    keys = {match[0] for match in redact.keys_in(text)} | {match[1] for match in _USERINFO.finditer(text)}
    yield from (KnownSecret(kind, path, key) for key in sorted(keys))


def _kind(path: str) -> str:
    return next((kind for start, kind in _KINDS if path.startswith(start)), SECRET)


def _texts(value: Any) -> Iterator[tuple[str, str, str]]:
    """`(path, name, text)` of each text in a JSON value, a bounded number. An item of a list has the name of the list."""
    for path, name, item in _walked(value):
        if isinstance(item, str):
            yield path, name, item


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """`(path, variable)` of each reference to a variable: `{source: "env", id: "OPENAI_API_KEY"}`."""
    for path, _, item in _walked(value):
        if isinstance(item, dict) and item.get("source") == "env" and isinstance(item.get("id"), str):
            yield path, item["id"]


def _walked(value: Any) -> Iterator[tuple[str, str, Any]]:
    left = MAX_VALUES
    waiting: list[tuple[str, str, int, Any]] = [("", "", 0, value)]
    while waiting and left > 0:
        path, name, level, item = waiting.pop()
        left -= 1
        yield path, name, item
        if level >= MAX_LEVELS:
            continue
        if isinstance(item, dict):
            below = [(f"{path}.{key}" if path else str(key), str(key), inner) for key, inner in item.items()]
        elif isinstance(item, list):
            below = [(f"{path}.{at}", name, inner) for at, inner in enumerate(item)]
        else:
            continue
        waiting += [(inner_path, inner_name, level + 1, inner) for inner_path, inner_name, inner in below[::-1]]
