"""Which statements show the passwords of a server's own users, hashed or not: those of the tables in which it keeps them."""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import sql_statements

_HINTS = ("pg_shadow", "pg_authid", "pg_user_mapping", "mysql", "sql_logins", "user$")
_TABLES = lazy_re.compile(r"\bpg_(?:shadow|authid|user_mappings?)\b|\bmysql\.(?:user|global_priv)\b|\bsql_logins\b|\buser\$")
_SHOWS = lazy_re.compile(r"\b(?:select|table|copy)\b")
_QUOTES = str.maketrans("", "", '"`[]')
_COLUMN = (
    r"(?:\w{1,60}\.)?(?:user|host|plugin|name|account_locked|\w{1,40}_priv|password_(?:expired|lifetime|last_changed)|max_\w{1,40}"
    r"|use(?:name|sysid|super|createdb|repl|bypassrls|config)|valuntil|rol(?!password)\w{1,40}|oid)"
)
_ONLY_NAMES = lazy_re.compile(
    rf"(?:explain )?select (?:distinct )?(?:count\(\s?\*\s?\)|{_COLUMN})(?: as \w{{1,60}})?"
    rf"(?:\s?,\s?(?:count\(\s?\*\s?\)|{_COLUMN})(?: as \w{{1,60}})?){{0,30}}"
)
"""What is selected, up to `from`, that is no password."""


def shown(text: str) -> str:
    """The first statement that may show passwords; empty if none does."""
    lower = text.lower().translate(_QUOTES)
    if not any(hint in lower for hint in _HINTS):
        return ""
    return next(filter(_may_show, sql_statements.bare(lower).split(";")), "").strip()


def _may_show(statement: str) -> bool:
    statement = statement.strip()
    if _TABLES.search(statement) is None or _SHOWS.search(statement) is None:
        return False
    columns, _, rest = statement.partition(" from ")
    return _ONLY_NAMES.fullmatch(columns) is None or _SHOWS.search(rest) is not None
