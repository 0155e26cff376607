"""Files that list names, or rules for them. Of a file that is no such list, each line is shown in an error."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import by_manual, file_readers, secrets_read

READERS = (manual_catalogue.doing("reads-names") | manual_catalogue.doing("reads-rules")) - file_readers.LISTING
"""Programs with such files, but for those that only read."""


def _lists(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    yield from secrets_read((word.text.removeprefix("@") for word in words.named("names", "filter-from")), program, where)


act = by_manual(_lists)
