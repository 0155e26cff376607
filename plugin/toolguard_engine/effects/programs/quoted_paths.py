"""Files that stand in a text which a program carries out: `file:///x`, `readfile('/x')`, `(insert-file-contents "/x")`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.programs import secrets_read

READERS = program_catalogue.programs("text_opener")
_MAX_TEXT = 8_000
_MAX_PATHS = 40
_PATH = lazy_re.compile(r"(?i)(?:\bfile:(?://(?:localhost)?)?|(?<=[\s(\[{=,])[\"']|\bopen )(~?/[^\s\"'()]{3,300})")


def act(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """The credentials among these files."""
    texts = (*program.argv[1:], program.stdin_text)
    found = (match[1] for text in texts if "/" in text for match in _PATH.finditer(f" {text}", 0, _MAX_TEXT))
    yield from secrets_read(dict.fromkeys(islice(found, _MAX_PATHS)), program, where)
