"""Files that the arguments of an interpreter make it load and run.

For example `node -e "require('./x.js')"`, `python3 -c "import x"` and `perl -Mx`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.languages import language_catalogue

_EVALUATES = lazy_re.compile(
    r"(?<![\w.])(?:exec|eval|execfile|loadstring|new\s{1,4}Function)\b|(?<!\w)(?:instance_eval|class_eval|run_path|load_source"
    r"|runIn\w{0,12}Context|spec_from_file_location|SourceFileLoader|cdll|CDLL|dlopen)\b"
)
"""Calls that run what a file has, whatever its name."""
_LITERAL = lazy_re.compile(r"\"([^\"\\\n]{1,200})\"|'([^'\\\n]{1,200})'|`([^`\\\n]{1,200})`")
_IMPORTED = lazy_re.compile(
    r"\b(?:import|from)\s{1,4}([\w, \t]{1,200})|\b(?:__import__|import_module|run_module)\(\s{0,4}[\"']([\w.]{1,60})"
)
ENDINGS = (*language_catalogue.BY_ENDING, ".node", ".so", ".dylib", ".r", ".R", ".sh")
_FIRST = ("./", "../", "/")
_MOST = 200


class _Code(NamedTuple):
    """What a code names: `texts`, the last parts of its literals, `nearby` of those that begin as paths; `modules`."""

    texts: frozenset[str]
    nearby: frozenset[str]
    modules: frozenset[str]
    loads: bool
    evaluates: bool


def loaded(program: ProgramRun, files: Iterable[str]) -> str:
    """Which of these names of files this run of an interpreter loads; empty if none."""
    language = code_sources.language(program.name)
    source = code_sources.source(program)
    code = _named(*source) if source is not None else _named(language, "")
    modules = code.modules | _of_options(program, language)
    for name in files:
        stem, dot, end = name.rpartition(".")
        if dot and stem in modules and f".{end}" in ENDINGS:
            return name
        if name in code.texts and (code.evaluates or (code.loads and name.endswith(ENDINGS))):
            return name
        if code.loads and dot and stem in code.nearby and f".{end}" in ENDINGS:
            return name
    return ""


def _of_options(program: ProgramRun, language: str) -> frozenset[str]:
    """`python3 -m x`, `ruby -r./x`, `perl -Mx`: the names of modules."""
    wanted = language_catalogue.known(language).module_role
    options = (option for words in code_sources.readings(program) for option in words.given) if wanted else ()
    return frozenset(
        option.value.text.rpartition("/")[2].partition("=")[0] for option in options if option.entry.role == wanted
    )


@lru_cache(maxsize=4)
def _named(language: str, code: str) -> _Code:
    literals = ["".join(texts) for texts in islice(_LITERAL.findall(code), _MOST)]
    modules: set[str] = set()
    known = language_catalogue.known(language)
    loads = "|".join(known.loads.split())
    if language == "python":
        for names, name in islice(_IMPORTED.findall(code), _MOST):
            modules.update(part.split()[0] for part in (*names.split(","), name) if part.split())
    return _Code(
        frozenset(literal.rpartition("/")[2] for literal in literals),
        frozenset(literal.rpartition("/")[2] for literal in literals if known.nearby or literal.startswith(_FIRST)),
        frozenset(modules),
        loads=bool(loads) and re.search(rf"(?<![\w.])(?:{loads})\b", code) is not None,
        evaluates=_EVALUATES.search(code) is not None,
    )
