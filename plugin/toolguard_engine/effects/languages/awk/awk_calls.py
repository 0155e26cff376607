"""What the names of awk mean."""

from __future__ import annotations

from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import Value
from toolguard_engine.effects.languages.common_calls import formatted
from toolguard_engine.effects.languages.script_run import LanguageLibrary, ScriptRun


def _awk_member(run: ScriptRun, name: str) -> Value:
    return calls.variable(name[8:]) if name.startswith("ENVIRON.") else None


AWK_LIBRARY = LanguageLibrary(
    {}, {"system": calls.shell, "sprintf": formatted}, {}, member=_awk_member, environment=frozenset({"ENVIRON"})
)
