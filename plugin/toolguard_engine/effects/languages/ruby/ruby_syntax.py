"""How Ruby is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

RUBY = Syntax(
    r"#[^\n]*+", single="raw", double="fills", back="command", here="<<", lines=True, concat=frozenset({"+", "/", "<<"}),
    patterns=True, quotes=r"%[qQxwWiIr]?(?=[\[({<|!/])", closes="end", bare=True,
    names=r"[@$]{0,2}+[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*+[?!]?(?!=)|[@$]{0,2}+[A-Za-z_]\w*+",
    filled=r"#\{", operators=frozenset({"and", "or"}),
    keywords=Keywords(
        functions="def", classes="class",
        passed="if while unless until elsif do else begin then end case BEGIN END ensure rescue when in",
        prefixes="not yield defined return puts p print and or in else then do begin if unless while until case when"
        " public private protected",
        blocks="def do if unless case while until begin class module for", forever="loop",
    ),
)  # fmt: skip
