"""Which command lines of a database's client only query: every statement reads, and none asks for a secret or runs a
function that may do something.
"""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import sql_statements
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.facts.places import Where, normal, place

CLIENTS = frozenset(["psql", "mysql", "mariadb", "sqlite3"])

_QUERY = lazy_re.compile(
    r"(?:select|show|describe|desc|with|values|explain(?! analy[sz]e| \()|pragma (?:table|index|page)_\w+)\b"
)
_META = {
    "psql": lazy_re.compile(
        r"\\(?:l|list|d(?!(?:e[suw]|Rs)S?\+)[a-zA-Z]{0,3}|conninfo|x|timing)[S+]{0,2}(?: [\w.*\"]{1,80})?"
    ),
    "sqlite3": lazy_re.compile(
        r"\.(?:tables|schema|indexes|indices|databases|dbinfo|headers? on|mode \w{1,12})(?: [\w%]{1,60})?"
    ),
}
_PART = r"[\w.\"`\]]"
_BEFORE_BRACKET = lazy_re.compile(rf"(?<!{_PART})({_PART}{{1,200}}+)\s{{0,200}}+\(")
"""The whole name, also if it is in quotes or one of a schema: others can define a function `x.length`."""
_LONG_NAME = lazy_re.compile(rf"(?<!{_PART}){_PART}{{201}}")
"""One that is longer is not found by that pattern, which begins at the first letter of a name and nowhere else in it."""
_HARMLESS = word_set(
    "and as any all between by case distinct else except exists filter from having in intersect join not on or order "
    "over partition select then union using values when where with is like limit abs avg cast ceil ceiling "
    "char_length coalesce concat concat_ws convert count cume_dist curdate current_database current_date "
    "current_setting current_timestamp curtime data_length database date date_add date_format date_part date_sub "
    "date_trunc datediff datetime dense_rank extract first_value floor format format_bytes from_unixtime greatest "
    "group_concat hour iif if ifnull instr interval isnull json_array_length json_extract julianday lag last_value "
    "lead least left length lower ltrim max min minute mod month monthname now ntile nullif octet_length "
    "pg_database_size pg_indexes_size pg_is_in_recovery pg_postmaster_start_time pg_relation_size pg_size_pretty "
    "pg_table_size pg_tablespace_size pg_total_relation_size pg_wal_lsn_diff position pow power quarter rank "
    "regexp_replace right round row_number rtrim schema sign split_part sqrt strftime string_agg substr substring sum "
    "time timediff timestampdiff to_char to_date to_timestamp total trim trunc truncate typeof unix_timestamp "
    "unixepoch upper user version week year "
)
"""Words before a bracket: of the language, and functions that only compute."""

_SECRET = lazy_re.compile(
    r"(?i)passw|passwd|passphrase|authentication_string|secret|token|credential|rolpass|pg_shadow|pg_authid|api_?key|private"
    r"|cookie|salt|hash|user_mapping|umoptions|srvoptions|subscription|conninfo|plugin_data|global_priv|\bgrants\b"
)
_EVERYTHING = lazy_re.compile(
    r"(?:select|,|\.|distinct) ?\*|(?<!\()\* ?(?:[,)]|from\b|\Z)|(?:[(]|\b(?:all|distinct|union|as)\b) ?table "
)
"""Columns that the statement does not name."""
_ROW = lazy_re.compile(r"(?:\bselect |\bdistinct |\ball |[,(|] ?)([a-z_]\w{0,60})(?= ?(?:[,)|]|::|\bas\b|\bfrom\b|\Z))")
_TABLE = lazy_re.compile(r"(?:\b(?:from|join) |, ?)(?:only )?(?:\w{1,60}\.){0,2}(\w{1,60})(?: (?:as )?(\w{1,60}))?")
_TABLES_OF_FILES = lazy_re.compile(r"\b(?:fsdir|lsdir|zipfile|csv|sqlite_dbpage)\b")
"""Tables of sqlite3 that are files: their arguments may be in the condition."""
_OF_PEOPLE = lazy_re.compile(
    r"(?i)user|account|auth|login|member|session|config|setting|option|key|secret|customer|person|priv"
)
_NAME = lazy_re.compile(r"[\w-]{1,60}")
_AMBIGUOUS = lazy_re.compile(r"--|/\*|[\\$#]")
"""Where comments and texts begin and end differs between databases, so that one may execute what another takes for data."""
_MAX_TEXT = 4_000


def only_queries(program: ProgramRun, where: Where) -> bool:
    words, name = program.words, program.name
    if words.unknown or not all(
        "harmless" in option.entry.traits or option.entry.name == "--list" for option in words.given
    ):
        return False
    texts = [option.value.text for option in words.given if option.entry.role == "script"]
    operands = list(words.texts)
    if name == "sqlite3":
        database, texts = (operands or [""])[0], operands[1:]
        if not _is_database(database, program, where):
            return False
    elif not all(map(_NAME.fullmatch, operands)):
        return False
    return (bool(texts) or words.has("--list")) and all(_only_queries(text, name) for text in texts)


def _is_database(path: str, program: ProgramRun, where: Where) -> bool:
    file = path.removeprefix("file:").partition("?")[0] if path.startswith("file:") else path
    if file != path and (file.startswith("//") or "%" in file):
        return False
    if file == ":memory:":
        return True
    full = normal(file, where, program.cwd)
    return bool(file) and not full.startswith(_OF_USERS) and place(file, where, program.cwd) not in _LINKED


_OF_USERS = ("/home/", "/root/", "/Users/")
_LINKED = frozenset(
    ["credentials", "device", "unknown", "remote", "temp", "workspace", "in-workspace", "in-home", "repository"]
)
"""Where databases are protected, or a link may stand for one of another user."""


def _only_queries(text: str, name: str) -> bool:
    if len(text) > _MAX_TEXT or _SECRET.search(text):
        return False
    meta = _META.get(name)
    if meta is not None and meta.fullmatch(text.strip()):
        return True
    quotes = '"`[' if name == "sqlite3" else '"`'
    if _AMBIGUOUS.search(text) or ("'" in text and any(quote in text for quote in quotes)):
        return False
    parts = [part.strip() for part in sql_statements.bare(text).split(";")]
    return all(_is_query(part, name) for part in parts if part) and any(parts)


def _is_query(statement: str, name: str) -> bool:
    meta = _META.get(name)
    if meta is not None and meta.fullmatch(statement):
        return True
    low = statement.lower()
    if "\\" in low or _QUERY.match(low) is None or sql_statements.may_change(low):
        return False
    if _OF_PEOPLE.search(low) and (_EVERYTHING.search(low) or (name == "psql" and _has_rows(low))):
        return False
    if name == "sqlite3" and _TABLES_OF_FILES.search(low):
        return False
    if _LONG_NAME.search(low):
        return False
    return all(word in _HARMLESS for word in _BEFORE_BRACKET.findall(low))


def _has_rows(statement: str) -> bool:
    """Whether a value is the name of a table, which PostgreSQL takes for the whole row."""
    tables = {name for groups in _TABLE.findall(statement) for name in groups if name}
    return any(value in tables for value in _ROW.findall(statement))
