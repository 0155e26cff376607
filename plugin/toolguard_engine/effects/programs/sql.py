"""Statements given to databases: on the command line, at standard input, in a here-document, or bare.

The kinds: `sql` for each statement that changes more than named rows (the statement as target, the flags of
`facts.sql_statements`) or that shows the server's passwords (`passwords`), `nosql` for commands of other stores (`FLUSHALL`,
`db.users.drop()`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue, sql_statements
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.facts.sql_statements import MAX_STATEMENTS, MAX_TEXT
from toolguard_engine.effects.programs import Act, sql_meta_commands, sql_passwords


def _effects(text: str, program: ProgramRun) -> Iterator[Effect]:
    if not sql_statements.may_change(text.lower()):
        return
    for statement in sql_statements.statements(text):
        flags = sql_statements.flags(statement)
        if flags:
            yield Effect("sql", statement[:400], "", flags, program)


def _stdin_text(program: ProgramRun) -> str:
    """What a client reads that is no file: its input, or what a process substitution prints."""
    fed = program.stdin_text or ((program.stdin.was or "") if program.stdin is not None else "")
    shown = (feed.text for at, feed in program.given if program.argv[at].endswith(UNKNOWN) and feed.text)
    return "\n".join(filter(None, (fed, *shown)))


# --- clients of SQL -------------------------------------------------------------------------------------------------------


def _client(program: ProgramRun, _: Where, *, loads: bool = False) -> Iterator[Effect]:
    """A program that takes statements by option, as words, and at standard input.

    `loads`: a statement may load code from a file, or run an editor.
    """
    given = [option.value.text for option in program.words.given if option.entry.role == "script"]
    texts = (*given, *(word for word in program.words.texts if " " in word), _stdin_text(program))
    in_memory = loads and _is_in_memory(program, texts)
    for text in _undotted(texts) if loads else texts:
        yield from (effect for effect in _effects(text, program) if not in_memory or "program" in effect.flags)
    for text in texts:
        if shown := sql_passwords.shown(text[:MAX_TEXT]):
            yield Effect("sql", shown[:400], "", frozenset({"passwords"}), program)
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
            flags = frozenset({"unfiltered"}) if _EMPTY_FILTER.search(text[:MAX_TEXT]) else frozenset[str]()
            yield Effect("nosql", text[:400], "", flags, program)


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
