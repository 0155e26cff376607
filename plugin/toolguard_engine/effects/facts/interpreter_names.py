"""The names of script interpreters, as programs are called: with a version (`python3.12`) or without."""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue

INTERPRETER = lazy_re.compile(
    rf"(?:{'|'.join(sorted(program_catalogue.programs('script_interpreter'), reverse=True))})[\d.]*+"
)
