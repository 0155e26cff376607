"""What the names of Lua mean."""

from __future__ import annotations

from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import Value, text
from toolguard_engine.effects.languages.common_calls import NAMED, backwards, formatted
from toolguard_engine.effects.languages.script_calls import argument_at
from toolguard_engine.effects.languages.script_run import FROM_INPUT, Act, LanguageLibrary, ScriptRun, element


def _variable(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.variable(text(argument_at(args, 0)))


def _elements(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return [element(argument_at(args, 0))]


def _lua_concat(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.joined_by(run, [argument_at(args, 1) if len(args) > 1 else ""], argument_at(args, 0))


_LUA: dict[str, Act] = calls.rows(
    ("os.execute io.popen", calls.shell),
    ("os.remove lfs.rmdir", calls.on_paths(deeds.delete)),
    ("os.rename", calls.on_two(deeds.move)),
    ("io.open", calls.opened),
    ("io.lines", calls.reading),
    ("io.read", calls.constant(FROM_INPUT)),
    ("lfs.dir", calls.listing),
    ("os.getenv", _variable),
    ("load loadstring", calls.evaluating),
    ("string.char", calls.characters),
    ("string.format", formatted),
    ("string.reverse", backwards),
    ("ipairs pairs", _elements),
    ("table.concat", _lua_concat),
)
LUA_LIBRARY = LanguageLibrary(NAMED, _LUA, calls.rows(("lines read", calls.itself)), program="lua")
