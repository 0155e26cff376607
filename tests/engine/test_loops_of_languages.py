"""What an endless loop of a script does follows from what the pages of its language say about the functions in it."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_engine.effects.languages import script_code
from toolguard_engine.effects.languages.language_catalogue import LANGUAGES
from toolguard_engine.effects.languages.script_reader import ScriptReader
from toolguard_engine.effects.languages.script_run import ScriptRun

LOOPS = {
    "starts programs endlessly": {
        "ruby": ('loop do Open3.capture2("make") end', "loop do `make &` end", 'while true do PTY.spawn("make") end'),
        "lua": ('while true do io.popen("make") end',),
        "perl": ('while (1) { readpipe("make") }', "while (1) { $x = `make &` }"),
        "php": ('while (true) { pcntl_exec("make"); }',),
        "javascript": ('while (true) { Bun.spawnSync(["make"]) }',),
    },
    "writes endlessly": {
        "javascript": ('while (true) { fs.createWriteStream("x") }',),
        "ruby": ('loop do File.truncate("x", 0) end',),
    },
    "sends requests to another machine endlessly": {
        "ruby": ('loop do Net::HTTP.get(URI("https://x.example.net/")) end',),
        "php": ('while (1) { file_get_contents("https://x.example.net/"); }',),
        "powershell": ("while (1) { Invoke-WebRequest https://x.example.net/ }",),
    },
    "": {
        "ruby": ("loop do puts Time.now end", "loop do `make`; sleep 1 end", 'loop do File.read("x") end'),
        "lua": ('while true do local f = io.open("x") end', 'while true do os.execute("make") break end'),
        "javascript": ('while (true) { cache.get("x") }', 'while (true) { if (done()) break; fs.createWriteStream("x") }'),
        "perl": ("while (1) { $x = `make`; last if $x }",),
    },
}


def _endless(language: str, code: str) -> list[str]:
    reading = script_code.READERS[language](code)
    assert reading is not None
    return [deed.target for deed in reading.deeds if deed.kind == "load"]


@each_row(("does", "language", "codes"), [(does, *row) for does, rows in LOOPS.items() for row in rows.items()])
def test_what_a_loop_does_is_what_its_functions_do(does: str, language: str, codes: tuple[str, ...]) -> None:
    for code in codes:
        assert _endless(language, code) == ([does] if does else []), code


@pytest.mark.parametrize("language", [name for name, language in LANGUAGES.items() if language.reading])
@pytest.mark.parametrize("first", ["file", "https://machine.invalid/"])
def test_any_function_may_be_tried_with_one_argument(language: str, first: str) -> None:
    way = LANGUAGES[language].reading
    assert way is not None
    for act in way.library.functions.values():
        run = ScriptRun(way.syntax, way.library, ScriptReader)
        act(run, [first], None)
        assert len(run.deeds) < 10
