"""How Perl is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

PERL = Syntax(
    r"#[^\n]*+|^=[a-z](?sm:.)*?(?:^=cut\b|\Z)", single="raw", double="fills", back="command",
    concat=frozenset({"."}), patterns=True, bare=True,
    quotes=r"(?<![-\w$@%&>])(?:q[qxw]?|m|qr|s|tr|y)\b(?!\s*+(?:=|,|;|\)|\}))",
    names=r"[$@%&]{0,2}+(?:::)?[A-Za-z_]\w*+(?>(?:::\w++)*)|\$\{?\^?\w++\}?|[$@][_!@0&/\\,;.$]|\$#\{?\$?\w++",
    filled=(
        r"(?:\$\{?\w++(?>(?:::\w++)*)\}?(?>(?:(?:->)?(?:\[[^\]\n]{1,40}\]|\{[^}\n]{1,40}\}))*)|@\{\[|@\{|@\w++|\$\{)"
    ),
    flat=True, sigils=True,
    operators=frozenset({"and", "or", "xor", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "x", "isa"}), function="sub",
)  # fmt: skip
