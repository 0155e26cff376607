"""Files that code in the arguments of an interpreter loads and runs.

For example `node -e "require('./x.js')"` and `python3 -c "import x"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from toolguard_engine.effects.programs import interpreters
from toolguard_engine.effects.shell.command import ProgramRun

_NAMED = re.compile(
    r"""(?<![\w.])(?:require|require_relative|load|import|do|include|include_once|require_once|dofile|loadfile)"""
    r"""\s{0,4}\(?\s{0,4}["'`]([^"'`\n]{1,200})["'`]"""
)
_EVALUATED = re.compile(
    r"""(?<!\w)(?:exec|eval|execfile|instance_eval|class_eval|runIn(?:This|New)?Context|loadstring)\s{0,4}\("""
    r"""[^"'`\n;]{0,120}["'`]([^"'`\n]{1,200})["'`]"""
)
_IMPORTED = re.compile(r"(?m)(?:^|;)\s{0,40}(?:import|from)\s{1,4}([A-Za-z_]\w{0,60})")
_MOST = 64
_DATA = (".json", ".json5", ".yaml", ".yml", ".toml", ".csv", ".txt")
"""`require("./x.json")` runs nothing."""


def loaded(run: ProgramRun, files: Iterable[str]) -> str:
    """Which of these names of files the code of this run loads; empty if none."""
    found = interpreters.source(run)
    if found is None:
        return ""
    language, code = found
    names = {name: name for name in files}
    names.update({name.rpartition(".")[0]: name for name in names if "." in name[1:]})
    for match in islice(_NAMED.finditer(code), _MOST):
        name = names.get(match[1].rpartition("/")[2], "")
        if name and not name.endswith(_DATA):
            return name
    for match in islice(_EVALUATED.finditer(code), _MOST):
        if name := names.get(match[1].rpartition("/")[2], ""):
            return name
    if language == "python":
        for match in islice(_IMPORTED.finditer(code), _MOST):
            if f"{match[1]}.py" in names:
                return f"{match[1]}.py"
    return ""
