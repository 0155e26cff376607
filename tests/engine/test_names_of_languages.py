"""What the table of a language says of a name happens where code calls that name, whatever else the code has in it."""

from __future__ import annotations

import pytest

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.languages.code_deeds import Deed
from toolguard_engine.effects.languages.language import ReadBy
from toolguard_engine.effects.languages.language_catalogue import LANGUAGES
from toolguard_engine.effects.languages.script_code import READERS
from toolguard_engine.effects.languages.script_reader import ScriptReader
from toolguard_engine.effects.languages.script_run import Act, ScriptRun
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ())
WAYS = {name: language.reading for name, language in LANGUAGES.items() if language.reading is not None}


def _deeds(way: ReadBy, act: Act) -> list[Deed]:
    run = ScriptRun(way.syntax, way.library, ScriptReader)
    act(run, ["/srv/part", "/srv/part"], None)
    return run.deeds


def _called(way: ReadBy, name: str) -> str:
    """A call of the name, with texts that are put together where the language has a sign for that."""
    if way.library.command is not None:
        return f'{name} "/srv/part" "/srv/part"'
    if "." in way.syntax.concat:
        name = name.replace(".", "::")
    sign = min(way.syntax.concat, default="")
    built = f'"/srv/" {sign} "part"'
    return f"{name}({built}, {built})"


@pytest.mark.parametrize("language", WAYS)
def test_each_name_that_does_something_does_it_in_code(language: str) -> None:
    way = WAYS[language]
    acting = [name for name, act in way.library.functions.items() if _deeds(way, act)]
    readings = {name: READERS[language](_called(way, name)) for name in acting}
    assert acting
    assert [name for name, reading in readings.items() if reading is None or not reading.deeds] == []


FOLDER = '-rf /home/u/documents"'
BUILT = (
    f"""perl -e 'readpipe("r" . "m {FOLDER})'""",
    f"""ruby -ropen3 -e 'Open3.capture3("r" + "m {FOLDER})'""",
    f"""rake -e 'sh "r" + "m {FOLDER}'""",
    """lua -e 'for l in io.lines("/home/u/.ssh/" .. "id_rsa") do print(l) end'""",
    f"""lua -e 'os["exe" .. "cute"]("r" .. "m {FOLDER})'""",
    f"""php -r '("sys" . "tem")("r" . "m {FOLDER});'""",
    """perl -e 'push @a, 1 while 1'""",
)
"""Commands in which no word says what is done. The names that do it are known."""


@pytest.mark.parametrize("command", BUILT)
def test_code_is_read_whatever_words_it_has(command: str) -> None:
    guard = Guard(Config(), {}, HOST, packs.load())
    assert guard.judge(Call("exec", {"command": command}, cwd="/home/u/work")).decision == "hold"
