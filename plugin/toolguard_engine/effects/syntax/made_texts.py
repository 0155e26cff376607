"""Texts that are written in the programs of `jq`, `sed` and `awk` and in queries, and so end up in what these print.

The rest of their output is not known, but a command that stands in the program itself is there for all to see.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun

QUERIED = frozenset({"psql", "mysql", "mariadb", "sqlite3"})
MAX_PROGRAM = 4_000
MAX_TEXTS = 40
_STRING = r'"(?>(?:[^"\\]|\\.){0,2000})"'
_STRINGS = lazy_re.compile(_STRING)
_ASSIGNED = lazy_re.compile(rf'[.\[]"?([\w:-]{{1,60}}+)"?\]?\s{{0,9}}+[|+]?=\s{{0,9}}+({_STRING})')
_KEY = lazy_re.compile(r"(?<![\w-])([\w-]{1,60}+)(?=\s{0,9}+:\s{0,9}+\")")
_PART = r"(?>(?:(?!\1)[^\\\n]|\\.){0,600})"
_REPLACES = lazy_re.compile(rf"(?:^|[;{{\n\d/])\s{{0,9}}+s([/|#,@!])({_PART})\1({_PART})\1")
_ESCAPED = lazy_re.compile(r"\\(.)")


def literals(program: ProgramRun) -> str:
    """What a program's own text contributes to its output; empty if that is nothing, or it is no such program."""
    make = _MAKERS.get(program.name)
    if make is None:
        return ""
    given = [option.value.text for option in program.words.given if option.entry.role == "script"]
    script = next(iter((*given, *program.words.texts)), None)
    made = islice(make(program, script[:MAX_PROGRAM]), MAX_TEXTS) if script is not None else ()
    return "\n".join(map(_closed, made))


def _closed(text: str) -> str:
    """The text without quotes that another text closes."""
    for sign in ("'", '"'):
        text = text.replace(sign, "") if text.count(sign) % 2 else text
    return text


def _of_jq(program: ProgramRun, script: str) -> Iterator[str]:
    """Strings as lines, and keys with their values as JSON has them: `.scripts.x = "y"`, `{x: "y"}`."""
    given = [value.text for value in program.words.values("--arg", "--argjson")]
    for name, text in zip(given[::2], given[1::2], strict=False):
        script = script.replace(f"${name}", json.dumps(text[:MAX_PROGRAM]))[:MAX_PROGRAM]
    yield from (f'"{match[1]}": {match[2]}' for match in _ASSIGNED.finditer(script))
    if _KEY.search(script):
        yield _KEY.sub(r'"\1"', script).replace('""', '"')
    for hit in _STRINGS.finditer(script):
        try:
            yield json.loads(hit[0])
        except ValueError:
            yield hit[0].strip('"')


def _of_sed(program: ProgramRun, script: str) -> Iterator[str]:  # noqa: ARG001 - table signature
    for match in _REPLACES.finditer(script):
        yield _ESCAPED.sub(r"\1", match[3])


def _of_awk(program: ProgramRun, script: str) -> Iterator[str]:  # noqa: ARG001 - table signature
    for match in _STRINGS.finditer(script):
        yield _ESCAPED.sub(r"\1", match[0][1:-1])


def _of_query(program: ProgramRun, script: str) -> Iterator[str]:  # noqa: ARG001 - table signature
    """Statements that a query puts together: `select 'drop table ' || name || ';' from t`."""
    for word in program.argv[1:]:
        if "'" in word and (quoted := _QUOTED.findall(word[:MAX_PROGRAM])):
            yield " x ".join(quoted)


_QUOTED = lazy_re.compile(r"'((?>(?:[^']|''){0,2000}))'")
_MAKERS = {
    **dict.fromkeys(("jq", "gojq"), _of_jq), **dict.fromkeys(("sed", "gsed"), _of_sed),
    **dict.fromkeys(("awk", "gawk", "mawk"), _of_awk), **dict.fromkeys(QUERIED, _of_query),
}  # fmt: skip
