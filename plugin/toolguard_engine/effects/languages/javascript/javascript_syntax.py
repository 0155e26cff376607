"""How JavaScript and TypeScript are written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

JAVASCRIPT = Syntax(
    r"//[^\n]*+|/\*(?s:.)*?(?:\*/|\Z)", back="fills", patterns=True,
    names=r"[#A-Za-z_$\x80-\U0010ffff][\w$\x80-\U0010ffff]*+",
    filled=r"\$\{", keys=True, operators=frozenset({"instanceof", "in"}),
    keywords=Keywords(
        classes="class", spaces="package namespace", types="interface type", declares="const let var", imports="import",
        passed="if while switch with catch do else try finally export default case declare async",
        prefixes="new await typeof void delete yield throw async return const let var else do try if while case export"
        " default in set global static public private protected readonly declare abstract override",
    ),
)  # fmt: skip
