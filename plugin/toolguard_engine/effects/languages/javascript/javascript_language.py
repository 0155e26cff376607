"""The facts of JavaScript and TypeScript."""

from __future__ import annotations

from toolguard_engine.effects.languages.javascript.javascript_calls import JAVASCRIPT_LIBRARY
from toolguard_engine.effects.languages.javascript.javascript_syntax import JAVASCRIPT
from toolguard_engine.effects.languages.language import Language, ReadBy

LANGUAGE = Language(
    "javascript",
    "node nodejs bun tsx ts-node zx deno jrunscript jjs",
    reading=ReadBy(JAVASCRIPT, JAVASCRIPT_LIBRARY),
    steps=2.0,
    calls=(
        r"(?:\bexec(?:File)?(?:Sync)?|\bspawn(?:Sync)?|\bfork|execa(?:Sync|Command|CommandSync)?|Deno\.Command"
        r"|Bun\.spawn(?:Sync)?|shelljs\.exec|sh\.exec)"
    ),
    calling=("exec", "spawn", "fork", "Deno.Command"),
    quotes=r"\$`([^`]{1,400}+)`",
    tool_words="javascript js node nodejs typescript ts",
    command="node -e",
    runs="node",
    files=".js .mjs .cjs .ts .mts .cts .jsx .tsx",
    stands=(".js", "/index.js"),
    loads="require import from importScripts load",
    endings=(".js", ".ts", ".mjs", ".cjs", "/index.js", "/index.ts"),
    folders=("NODE_PATH",),
)
