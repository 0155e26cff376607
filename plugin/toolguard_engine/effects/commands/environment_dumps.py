"""Programs that print the whole environment, however it is spelled: what they pipe on is as secret as a credential file."""

from __future__ import annotations

import re
from typing import Final

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.code_sources import language
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import option_parser

_FILTERS = frozenset(["jq", "gojq", "jaq", "yq"])
_LISTERS = program_catalogue.programs("variable_lister") | {"typeset", "readonly"}
_MAX_WORDS: Final = 16
_MAX_CODE: Final = 4_096
_OF_JSON = lazy_re.compile(r"(?<![\w.$\"'@{])(?:\$ENV|env)\b(?!\s{0,4}[.\[\w\"':])")
_OF_CODE = lazy_re.compile(
    r"\bos\.environb?\b(?!\s{0,4}[.\[](?!(?:items|values|copy)\b))(?!\])|\bprocess\.env\b(?!\s{0,4}\??[.\[])|\bDeno\.env\.toObject\b"
    r"|(?<![\w$%:@])ENV\b(?=\.(?:to_h|to_a|each|map|inspect|sort|values|select)\b|\s{0,4}(?:\Z|[;)'\"]))|%ENV\b|\bgetenv\(\s{0,4}\)"
    r"|\$_ENV\b(?!\s{0,4}\[)|\bin\s{1,4}ENVIRON\b|(?i:\benv:)[\\/*]{0,3}(?=\s|\Z|[|;)])"
)


def shows(program: ProgramRun) -> bool:
    """Whether this program prints all variables of the environment, not single ones that it names."""
    words = program.argv[1:_MAX_WORDS]
    if program.name in _LISTERS:
        return not words or (not program.words.texts and program.words.has("-x", "-p", "-e", "-v"))
    if program.name in _FILTERS:
        readings = option_parser.readings("jq", program.argv[: _MAX_WORDS + 1])
        return any(_OF_JSON.search(text[:_MAX_CODE]) is not None for words in readings for text in words.texts)
    return language(program.name) != "" and any(_OF_CODE.search(word[:_MAX_CODE]) is not None for word in words)


_INSPECTS: Final = r"(?:container )?inspect\b(?!.*--format(?!.*Env))"
_SECRET_COMMANDS: Final = {
    "aws": (
        r"secretsmanager (?:batch-)?get-secret-value|ssm get-parameters?(?:-by-path)?\b.*--with-decryption"
        r"|configure export-credentials|sts (?:get-session-token|assume-role)"
    ),
    "az": (r"keyvault secret (?:show|download)|account get-access-token|storage account keys list|ad sp create-for-rbac"),
    "docker": _INSPECTS,
    "doppler": r"secrets",
    "fly": r"auth token",
    "gcloud": r"secrets versions access|auth (?:application-default )?print-(?:access|identity)-token",
    "gh": r"auth token",
    "heroku": r"config\b(?!:(?:set|unset))|auth:token",
    "kubectl": r"(?:-n \S+ )?get secrets?\b.*-o|config view\b.*--raw",
    "op": r"read|item get",
    "pass": r"show|[\w/.-]+/[\w.-]+\Z",
    "podman": _INSPECTS,
    "rclone": r"config (?:dump|show)",
    "terraform": r"output\b.*-(?:json|raw)|state pull",
    "vault": r"kv get|read",
    "vercel": r"env pull",
}
"""Programs and their commands that print kept secrets, or all variables of a container."""


def shows_secret(program: ProgramRun) -> bool:
    """Whether this program prints secrets that it keeps, as `aws secretsmanager get-secret-value` does."""
    pattern = _SECRET_COMMANDS.get(program.name)
    return pattern is not None and re.match(pattern, " ".join(program.argv[1:_MAX_WORDS])[:_MAX_CODE]) is not None
