"""Statements given to databases: on the command line, at standard input, in a here-document, or bare.

The kinds: `sql` for each statement that changes more than named rows (the statement as target), `nosql` for commands of
other stores (`FLUSHALL`, `db.users.drop()`). Flags of a statement: `drop`, `database` (a whole database or schema),
`truncate`, `unfiltered` (changes or deletes rows without a condition, or with one that is always true), `delete`, `alter`
(drops a column, constraint or partition), `grant`, `user`, `program` (the server runs a program or writes a file).

Text in quotes or comments is data; a statement that only queries or explains has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.programs import Act, sql_meta_commands

MAX_TEXT = 40_000
MAX_STATEMENTS = 200
MAX_MARKS = 20

_NOISE = lazy_re.compile(
    r"'(?>(?:[^'\\]|\\.|''){0,40000})'|\$(\w{0,20}+)\$.{0,400}?\$\1\$|--[^\n]{0,4000}+|/\*.{0,400}?\*/", re.DOTALL
)
_DELIMITER = lazy_re.compile(
    r"^[ \t]{0,20}(?:delimiter[ \t]{1,20}(\S{1,20})|\\d[ \t]{1,20}([^\w\s]{1,20}))[^\n]{0,400}", re.IGNORECASE | re.MULTILINE
)
_SPACE = lazy_re.compile(r"\s{1,1000}+")
_CHANGES = lazy_re.compile(
    r"\b(?:drop|truncate|delete|update|alter|grant|revoke|pg_terminate_backend|create|set|flush|purge|reset|shutdown|kill|detach|copy|into|xp_cmdshell|sys_exec|lo_export|load_extension"
    r"|load|replace|vacuum|optimize|system|exec|execute|pragma|attach|deactivate|remove|undrop|rename|dbcc|restore)\b"
)
_ALWAYS = lazy_re.compile(
    r"\bwhere\s(?:\(\s?)?(?:1\s?=\s?1|true|''\s?=\s?''|1|0\s?=\s?0|not\sfalse|1\s?<>\s?0|2\s?>\s?1)\s?\)?(?:$|\s(?:limit|returning|order|or)\b)"
)
_TABLES = r"(?:only\s)?[\w.\"`\[\]$*@#-]{1,200}"

_TEST_NAME = r"(?:[\w-]{1,60}[_-](?:test|tests|testing|ci|tmp|scratch|sandbox)|test[_-][\w-]{1,60})"
_FLAGS: tuple[tuple[str, re.Pattern[str]], ...] = (
    # a statement that matches gets these flags; patterns see lower-case text without strings and comments
    (
        "drop database",
        lazy_re.compile(r"^drop\s(?:database|schema|catalog|keyspace|tablespace|cluster|owned|dataset)\b|^dropdatabase\b"),
    ),
    ("drop user", lazy_re.compile(r"^drop\s(?:user|role|login|group)\b")),
    (
        "drop",
        lazy_re.compile(
            r"^drop\s(?!(?:temporary|temp)\s)(?:if\sexists\s)?(?:foreign\s|external\s|materialized\s|unique\s|columnfamily\b|or\sreplace\s)?\w"
        ),
    ),
    ("truncate", lazy_re.compile(r"^truncate\s")),
    ("alter drop", lazy_re.compile(r"^alter\s.{1,400}?\sdrop\s(?!default\b|not\snull\b|identity\b|expression\b)")),
    (
        "alter",
        lazy_re.compile(
            r"^alter\s(?:database|schema|system|keyspace|cluster|role|user|login|account)\s|^alter\stable\s.{1,200}?\s(?:rename|set\sschema|detach\spartition|disable\srow|delete|clear|freeze|remove)\b"
            r"|^rename\s(?:database|schema)\s|^rename\stable\s.{1,400}?\sto\s[\"`]?" + _TEST_NAME + r"[\"`]?\."
        ),
    ),
    ("grant", lazy_re.compile(r"^(?:grant|revoke|reassign|deny)\s")),
    ("user", lazy_re.compile(r"^(?:create|alter)\s(?:or\sreplace\s)?(?:user|role|login)\s|^set\spassword\b")),
    (
        "program",
        lazy_re.compile(
            r"\s(?:to|from)\sprogram\b|\binto\s(?:out|dump)file\b|\bxp_cmdshell\b|\bsys_exec\b|\blo_export\(|\bload_extension\("
            r"|^create\s(?:or\sreplace\s)?(?:function|procedure)\s.{1,400}?\blanguage\s'?(?:c|plpythonu|plpython3u|plperlu|plsh)\b"
        ),
    ),
    ("shutdown", lazy_re.compile(r"^(?:shutdown|kill)\b|\bpg_terminate_backend\(")),
    (
        "logs",
        lazy_re.compile(
            r"^(?:reset\s(?:master|slave|replica)|purge\s(?:binary|master|recyclebin|dba_recyclebin))\b|^flush\slogs"
        ),
    ),
    (
        "settings",
        lazy_re.compile(
            r"^set\s(?:global|persist)\s|^system\s(?:stop|drop|shutdown|kill)\b|^pragma\swritable_schema\s?=\s?(?:1|on)"
        ),
    ),
)
_REWRITES = lazy_re.compile(
    r"\b(?P<delete>delete\s(?:low_priority\s|quick\s|ignore\s)*?from\s|delete\s(?=\w{1,60}+\s(?:where|from)\b|\w{1,60}+$))|\b(?P<update>update)\s"
    + _TABLES
    + r"(?:\s(?:as\s)?\w{1,60})?\sset\s"
)


_SCRATCH = lazy_re.compile(r"drop\s(?:temporary\s)?table\s(?:if\sexists\s)?(?:\w{1,60}\.)?[\"`]?(?:tmp|temp)_\w{1,60}[\"`]?")
"""One table whose name says that it is temporary."""

_TEST_DATABASE = lazy_re.compile(
    rf"drop\s(?:database|schema)\s(?:if\sexists\s)?[\"`]?{_TEST_NAME}[\"`]?(?:\scascade|\swith\s\(\s?force\s?\))?"
)
"""One database whose name says that it is for tests, as with `dropdb`."""

_ANALYSED = lazy_re.compile(
    r"explain\s(?:\([^()]{0,80}\banaly[sz]e\b(?!\s(?:off|false))[^()]{0,80}\)|analy[sz]e)\s(?:verbose\s)?"
)
"""`analyze` executes the statement that it explains."""


def statements(text: str) -> Iterator[str]:
    """The statements of a text that may change something: white space collapsed to single spaces, strings replaced by `''`,
    comments removed."""
    text = text[:MAX_TEXT]
    yield from _between(text)
    if "delimiter" in text.lower() or "\\d" in text:
        yield from _between(_undelimited(text))


def _undelimited(text: str) -> str:
    """The text with a semicolon in place of each mark that mysql's `delimiter` defines."""
    marks = dict.fromkeys(mark for found in _DELIMITER.finditer(text) for mark in found.groups() if mark)
    text = _DELIMITER.sub(";", text)
    for mark in list(marks)[:MAX_MARKS]:
        text = text.replace(mark, ";")
    return text


def _between(text: str) -> Iterator[str]:
    spaced = (statement.strip() for statement in bare(text).split(";"))
    yield from islice((statement for statement in spaced if may_change(statement.lower())), MAX_STATEMENTS)


def bare(text: str) -> str:
    """The text with `''` for strings and without comments, its white space collapsed."""
    return _SPACE.sub(" ", _NOISE.sub(lambda match: "''" if match.group()[0] in "'$" else " ", text))


def may_change(statement: str) -> bool:
    """Whether a statement in lower-case letters has a word that may change something."""
    return _CHANGES.search(statement) is not None


def flags(statement: str) -> frozenset[str]:
    """What a statement from `statements` would change; empty if it queries, adds, or changes only named rows."""
    text = statement.lower().removeprefix("begin ")
    if text.startswith(("select ", "show ", "describe ", "insert ", "\\d")) and "into " not in text and "(" not in text:
        return frozenset()
    if not _CHANGES.search(text):
        return frozenset()
    if text.startswith("explain "):
        analysed = _ANALYSED.match(text)
        if analysed is None:
            return frozenset()
        text = text[analysed.end() :]
    found: set[str] = set()
    for names, pattern in _FLAGS:
        if pattern.search(text):
            found.update(names.split())
    if _SCRATCH.fullmatch(text):
        found.discard("drop")
    if _TEST_DATABASE.fullmatch(text):
        found -= {"drop", "database"}
    if text.startswith(("create ", "insert ", "comment ", "grant ", "revoke ")):
        return frozenset(found)
    rewrite = _REWRITES.search(text)
    if rewrite is not None:
        found.add("delete" if rewrite.group("delete") else "update")
        if not re.search(r"\swhere\s", text[rewrite.start() :]) or _ALWAYS.search(text):
            found.add("unfiltered")
    return frozenset(found)


def _effects(text: str, program: ProgramRun) -> Iterator[Effect]:
    if not _CHANGES.search(text.lower()):
        return
    for statement in statements(text):
        found = flags(statement)
        if found:
            yield Effect("sql", statement[:400], "", found, program)


def _stdin_text(program: ProgramRun) -> str:
    return program.stdin_text or ((program.stdin.was or "") if program.stdin is not None else "")


# --- clients of SQL -------------------------------------------------------------------------------------------------------


def _client(program: ProgramRun, _: Where, *, loads: bool = False) -> Iterator[Effect]:
    """A program that takes statements by option, as words, and at standard input.

    `loads`: a statement may load code from a file, or run an editor.
    """
    given = [each.value.text for each in program.words.given if each.entry.role == "script"]
    texts = (*given, *(word for word in program.words.texts if " " in word), _stdin_text(program))
    in_memory = loads and _is_in_memory(program, texts)
    for text in _undotted(texts) if loads else texts:
        yield from (each for each in _effects(text, program) if not in_memory or "program" in each.flags)
    for text in (*program.argv[1:], _stdin_text(program)):
        if sql_meta_commands.runs_programs(text, loads=loads):
            yield Effect("sql", text[:400], "", frozenset({"program"}), program)


def _is_in_memory(program: ProgramRun, texts: Iterable[str]) -> bool:
    """Whether the statements are for a database that ends with the program, and reach no other one."""
    argv = program.argv[1:]
    return argv[:1] in _NO_FILE and len(argv) <= MAX_WORDS and not any(_OTHER_DATABASE.search(text) for text in texts)


def _undotted(texts: Iterable[str]) -> Iterator[str]:
    """Each text, and the rest of it without lines for the client itself; such a line may also continue a statement."""
    for text in texts:
        yield text
        if _DOTTED_LINE.search(text):
            yield _DOTTED_LINE.sub("", text)


_DOTTED_LINE = lazy_re.compile(r"^\s{0,99}\.[^\n]*", re.MULTILINE)
"""What the client does itself (`.open x`): a statement may follow on the next line."""

_NO_FILE = ((":memory:",), ("",))
MAX_WORDS = 2
"""The database and its statements. An option may run a file first (`-init`)."""

_OTHER_DATABASE = lazy_re.compile(
    r"\b(?:attach|vacuum|virtual|copy|export|import|load|install|call|\w+_(?:execute|query))\b|^\s{0,99}\.|\0",
    re.IGNORECASE | re.MULTILINE,
)
"""What may bring another database into one that is in memory, or a file: `ATTACH`, `.open`, a table that is an archive."""

_dotted: Act = partial(_client, loads=True)
"""sqlite3: `.shell` and `.system` run programs."""


def _cloud(*wanted: str) -> Callable[[ProgramRun, Where], Iterator[Effect]]:
    """`bq query "..."`, `wrangler d1 execute --command "..."`: statements after sub-commands."""

    def guarded(program: ProgramRun, where: Where) -> Iterator[Effect]:
        if any(word in program.argv[1:6] for word in wanted):
            yield from _client(program, where)

    return guarded


# --- other stores -------------------------------------------------------------------------------------------------------

_MONGO_CHANGES = lazy_re.compile(
    r"\b(?:dropDatabase|dropUser|dropRole|dropAllUsersFromDatabase|dropIndexes|dropIndex|shutdownServer|fsyncLock|renameCollection|drop"
    r"|deleteMany|deleteOne|remove|findOneAndDelete|updateMany|bulkWrite|convertToCapped|removeShard|rs\.remove|grantRolesToUser)(?:\s{0,3}\(|\Z)|\$out\b"
    r"|[{\s'\"](?:dropDatabase|shutdown|drop)['\"]?\s{0,3}:"
)
_EMPTY_FILTER = lazy_re.compile(r"(?:deleteMany|remove|updateMany)\s{0,3}\(\s{0,3}(?:\{\s{0,3}\}|\))")


def _mongo(program: ProgramRun, _: Where) -> Iterator[Effect]:
    texts = [word.text for word in program.words.values("--eval")]
    for text in (*texts, _stdin_text(program)):
        if _MONGO_CHANGES.search(text[:MAX_TEXT]):
            found = frozenset({"unfiltered"}) if _EMPTY_FILTER.search(text[:MAX_TEXT]) else frozenset[str]()
            yield Effect("nosql", text[:400], "", found, program)


def _redis(program: ProgramRun, _: Where) -> Iterator[Effect]:
    words = program.words.texts
    lines = [" ".join(words)] if words else []
    if not lines:
        lines = _stdin_text(program)[:MAX_TEXT].splitlines()[:MAX_STATEMENTS]
    for line in lines:
        verb, _space, rest = line.strip().partition(" ")
        if verb:
            yield Effect("nosql", f"{verb.upper()} {rest}".rstrip()[:400], "", frozenset({"redis"}), program)


def _memcached(program: ProgramRun, _: Where) -> Iterator[Effect]:
    """`echo flush_all | nc host 11211` is recognized only if the client is one of memcached."""
    yield Effect("nosql", " ".join(program.argv[1:])[:400], "", frozenset({"memcached"}), program)


def _redis_bare(program: ProgramRun, _: Where) -> Iterator[Effect]:
    yield Effect("nosql", " ".join(program.argv).upper()[:400], "", frozenset({"redis"}), program)


# --- statements in place of programs --------------------------------------------------------------------------------------

_OBJECTS = frozenset({
    "table", "database", "schema", "index", "view", "user", "role", "from", "column", "keyspace", "materialized",
    "function", "trigger",
    "sequence", "procedure", "type", "extension", "all", "select", "insert", "set", "tablespace", "policy", "if", "domain",
})  # fmt: skip


def _bare(program: ProgramRun, _: Where) -> Iterator[Effect]:
    words = program.argv
    if len(words) > 1 and (words[1].lower() in _OBJECTS or (len(words) > 2 and words[2].lower() in _OBJECTS)):  # noqa: PLR2004 - a verb and its object
        text = " ".join(words).replace(UNKNOWN, "?")
        yield from _effects(text, program)


def _table(*rows: tuple[Iterable[str], Act]) -> dict[str, Act]:
    return {name: act for names, act in rows for name in names}


_VERBS = frozenset({"drop", "truncate", "delete", "update", "alter", "grant", "revoke"})
"""First words of a statement that is a command line of its own."""

PROGRAMS: dict[str, Act] = _table(
    (program_catalogue.programs("postgres_client"), _client),
    (program_catalogue.programs("mysql_client"), _client),
    (program_catalogue.programs("dot_command_client"), _dotted),
    (program_catalogue.programs("other_sql_client"), _client),
    ({"bq"}, _cloud("query")),
    ({"wrangler"}, _cloud("d1")),
    ({"turso"}, _cloud("shell")),
    ({"heroku"}, _cloud("pg:psql", "psql")),
    ({"supabase"}, _cloud("execute", "query")),
    ({"gcloud"}, _cloud("execute-sql", "spanner")),
    ({"aws"}, _cloud("rds-data", "redshift-data", "start-query-execution")),
    ({"prisma"}, _cloud("execute")),
    (program_catalogue.programs("fly_cli"), _cloud("postgres", "pg")),
    (program_catalogue.programs("mongo_client"), _mongo),
    (program_catalogue.programs("redis_client"), _redis),
    (program_catalogue.programs("memcached_client"), _memcached),
    ({"FLUSHALL", "FLUSHDB", "flushall", "flushdb"}, _redis_bare),
    (_VERBS | {verb.upper() for verb in _VERBS}, _bare),
)

CLIENTS = program_catalogue.programs("typed_sql_client")
"""Clients that read statements from typed input."""

STORES = program_catalogue.programs("store_client")
"""Clients of stores that read one command per typed line."""
