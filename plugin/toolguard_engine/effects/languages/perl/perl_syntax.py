"""How Perl is written."""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

PERL = Syntax(
    r"#[^\n]*+|^=[a-z](?sm:.)*?(?:^=cut\b|\Z)", single="raw", double="fills", back="command", here="<<",
    concat=frozenset({"."}), patterns=True, bare=True,
    quotes=r"(?<![-\w$@%&>])(?:q[qxw]?|m|qr|s|tr|y)\b(?!\s*+(?:=|,|;|\)|\}))",
    names=r"[$@%&]{0,2}+(?:::)?[A-Za-z_]\w*+(?>(?:::\w++)*)|\$\{?\^?\w++\}?|[$@][_!@0&/\\,;.$]|\$#\{?\$?\w++",
    filled=(
        r"(?:\$\{?\w++(?>(?:::\w++)*)\}?(?>(?:(?:->)?(?:\[[^\]\n]{1,40}\]|\{[^}\n]{1,40}\}))*)|@\{\[|@\{|@\w++|\$\{)"
    ),
    flat=True, sigils=True,
    operators=frozenset({"and", "or", "xor", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "x", "isa"}),
    keywords=Keywords(
        functions="sub", classes="class", spaces="package", loops="for foreach", uses="use",
        passed="if while unless until elsif else do BEGIN END UNITCHECK CHECK INIT try catch finally defer when given"
        " default",
        prefixes="my our local state defined return not delete print say and or else do if unless while until when default",
    ),
)  # fmt: skip

_LOOP = lazy_re.compile(r"\b(while|until)(\s{0,20}+\(\s{0,20}+)(?=<[$\w<>]{0,80}+>\s{0,20}+\))")
_POSTFIX_LOOP = lazy_re.compile(r"\b(while|until)(\s{1,20}+)(?=<[$\w<>]{0,80}+>\s{0,20}+(?:;|\}|\Z))")
_LINES = lazy_re.compile(r"<(?:<>)?>|<(STDIN|ARGV|\$\w{1,60}+)>")
"""`<>`, `<<>>`, `<STDIN>`, `<$file>`: the next line, or all of them."""


def with_names_for_lines(code: str) -> str:
    """The code with a handle's name for what is read from it, and the variable that a loop over lines gives them to."""
    if "<" not in code or ">" not in code:
        return code
    code = _POSTFIX_LOOP.sub(r"\1\2$_ = ", _LOOP.sub(r"\1\2$_ = ", code))
    return _LINES.sub(lambda match: f" {match[1] if match[1] and match[1][0] == '$' else 'STDIN'} ", code)
