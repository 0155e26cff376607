"""Code that does more than is read of it is not allowed for that."""

from __future__ import annotations

import pytest

from test_run_files import weighed
from toolguard_engine.effects.languages import code_deeds
from toolguard_engine.effects.languages.python import python_calling
from toolguard_engine.effects.languages.script_code import READERS
from toolguard_engine.effects.languages.script_run import MAX_CHOICES, MAX_DEEDS

RUNS = 'require("child_process").execSync'
HARM = '"rm -" + "rf /home/u/documents"'
"""What a search of the text does not find."""


def _calls(count: int) -> str:
    return "".join(f'f("echo {number}");' for number in range(count))


def _decision(program: str, code: str, **files: str) -> str:
    """The decision about code that an agent gives an interpreter. `files`: what else is there, by name."""
    return weighed(
        f"{program} - <<'END'\n{code}\nEND\n", {name.replace("_", "."): text for name, text in files.items()}
    ).decision


MANY = 70
DEEP = 20
AT_BOUNDS = {
    "deeds": 'const r = require("child_process"); const k = "rm -rf ";'
    + "".join(f'r.execSync("echo {number}");' for number in range(MAX_DEEDS + 1))
    + 'r.execSync(k + "~/Documents")',
    "calls of a function that is defined behind them": f"{_calls(MANY)} f({HARM}); function f(c) {{ {RUNS}(c) }}",
    "functions that nothing calls": "".join(f"function g{number}() {{}};" for number in range(MAX_CHOICES + 1))
    + f"function f() {{ {RUNS}({HARM}) }}",
    "functions that call each other": "".join(f"function g{at}(c) {{ g{at + 1}(c) }};" for at in range(DEEP))
    + f"function g{DEEP}(c) {{ {RUNS}(c) }}; g0({HARM})",
}


@pytest.mark.parametrize("bound", AT_BOUNDS)
def test_code_beyond_a_bound_is_not_allowed(bound: str) -> None:
    assert _decision("node", AT_BOUNDS[bound]) != "allow"
    harmless = AT_BOUNDS[bound].replace(HARM, '"ls"')
    assert bound == "deeds" or _decision("node", harmless) == "allow"


def test_files_beyond_a_bound_are_not_left_out_unsaid() -> None:
    loads = "".join(f'require("./x{number}" + ".js");' for number in range(code_deeds.MAX_LOADS + 1))
    assert READERS["javascript"](loads).is_cut
    assert _decision("node", f'{loads}require("./e" + ".js")', e_js=f"{RUNS}({HARM})") != "allow"
    assert _decision("node", 'require("./e" + ".js")', e_js="1") == "allow"


def test_python_beyond_its_bound_is_not_allowed() -> None:
    count = python_calling.MAX_DEEDS
    lines = "".join(f'os.system("echo {number}")\n' for number in range(count + 1))
    code = f"import os\n{lines}os.system({HARM})"
    assert _decision("python3", code) != "allow"
    few = f"import os\n{''.join(lines.splitlines(keepends=True)[:20])}"
    assert _decision("python3", few) == "allow"


def test_a_function_that_calls_itself_is_read_whole() -> None:
    reading = READERS["javascript"]("function f(n) { if (n) { f(n - 1); f(n - 2) } }; f(9)")
    assert not reading.is_cut
    assert reading.whole
