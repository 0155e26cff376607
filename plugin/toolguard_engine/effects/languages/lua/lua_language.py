"""The facts of Lua."""

from __future__ import annotations

from toolguard_engine.effects.languages.language import Language, ReadBy
from toolguard_engine.effects.languages.lua.lua_calls import LUA_LIBRARY
from toolguard_engine.effects.languages.lua.lua_syntax import LUA

LANGUAGE = Language(
    "lua",
    "lua luajit",
    reading=ReadBy(LUA, LUA_LIBRARY),
    calls=r"(?:os\.execute|io\.popen)",
    tool_words="lua luajit",
    command="lua -e",
    runs="lua",
    files=".lua",
    loads="dofile loadfile require",
    nearby="dofile loadfile require",
    endings=(".lua", "/init.lua"),
    dotted=True,
    folders=("LUA_PATH",),
)
