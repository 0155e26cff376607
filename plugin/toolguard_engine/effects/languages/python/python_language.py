"""The facts of Python. `python_code` reads it."""

from __future__ import annotations

from toolguard_engine.effects.languages.language import Language

LANGUAGE = Language(
    "python",
    "python pypy ipython",
    calls=(
        r"(?:\bsystem|popen2?|\bspawn|\brun|\bcall|check_call|check_output|Popen|getoutput|getstatusoutput"
        r"|exec[lv]p?e?|spawn[lv]p?e?|create_subprocess_(?:shell|exec)|startfile)"
    ),
    calling=("system", "popen", "spawn", "subprocess", "Popen", "exec", "output", "startfile", "run(", "call("),
    tool_words="python python3 py ipython",
    command="python3 -c",
    runs="python3",
    files=".py",
    stands=("/__main__.py",),
    module_role="module",
    folders=("PYTHONPATH",),
)
