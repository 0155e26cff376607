"""What code evidently does to files, services, databases and other machines.

Code is searched, not parsed. Each search takes linear time and is skipped if none of its words is in the code (`any_of`).
The entry point is `code_effects`; `interpreters` documents the effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import sql_statements
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.programs import effect_on, posted_messages, secrets_read, write_effects
from toolguard_engine.effects.programs.code_methods import methods
from toolguard_engine.effects.programs.code_search import MAX_FOUND, any_of, clip, found_in, text_of


def code_effects(code: str, program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _files(code, program, where)
    yield from _method_effects(code, program)


STRING = (
    r"""[rbfuRBFU@$]{0,2}+(?:"((?>(?:[^"\\]|\\.){0,1000}))"|'((?>(?:[^'\\]|\\.){0,1000}))'|`((?>(?:[^`\\]|\\.){0,1000}))`)"""
)
_HOME_CALL = (
    r"""(?:os\.path\.)?(?:expanduser|join|joinpath|file\.path|[Pp]ath\.(?:expand|join|of)|filepath\.Join|resolve|Path"""
    r"""|new File|expand)"""
    r"""\(\s{0,9}+|os\.homedir\(\)\s{0,4}+\+\s{0,4}+|Path\(\s{0,9}+"""
    r"""|Dir\.home\s{0,4}+\+\s{0,4}+"""
)
_HOME_VALUE = (
    r"""os\.environ(?:\.get\(|\[)['"]HOME['"][\])]|os\.getenv\(['"]HOME['"]\)|process\.env(?:\.HOME|\[['"]HOME['"]\])|(?:pathlib\.)?Path\.home\(\)"""
    r"""|os\.homedir\(\)|homedir\(\)|NSHomeDirectory\(\)|System\.user_home!?(?:\(\))?|(?:os\.Getenv|System\.getenv|Sys\.getenv|getEnv)\(["']HOME["']\)"""
    r"""|System\.getProperty\(["']user\.home["']\)|ENV\[:HOME\]|Dir\.home|ENV\[['"]HOME['"]\]|\$ENV\{['"]?HOME['"]?\}|getenv\(['"]HOME['"]\)|expanduser\(['"]~['"]\)"""
)
_HOME_TAIL = r"""(?:\s{0,3}+[+,/.]\s{0,3}+['"](?P<tail>[^'"\n]{1,300}+)['"])?"""
_LITERAL = rf"(?:{_HOME_CALL}){{0,3}}+(?:(?P<home>{_HOME_VALUE}){_HOME_TAIL}|{STRING})"
_DELETES_ALL = (
    r"rmtree|remove_tree|FileUtils\.(?:rm_rf|rm_r|remove_dir|remove_entry(?:_secure)?)|rimraf(?:\.sync|Sync|\.rimraf)?"
    r"|emptyDir(?:Sync)?|removedirs|del(?:Sync)?\b(?=\(\[)|fse?\.remove|removeSync|rimraf['\"]\)(?:\.\w{1,10})?|trash"
)
_DELETES_ALL_RARER = (
    r"os\.RemoveAll|remove_dir_all|rmdir_all|removeItem(?=\(at)|File\.rm_rf!?|delete-directory(?:/files)?|rmdirRecurse|removeDir|os\.remove\.all"
    r"|remove(?:Directory|PathForcibly|DirectoryRecursive)|confirm_recursive_rmdir|file delete(?: -force)?(?: --)?"
)
"""Of languages whose variables are not followed: with a literal only."""

_DELETES_ONE = (
    r"os\.(?:remove|unlink|rmdir)|fsp?\.(?:promises\.)?(?:rm|rmdir|unlink)(?:Sync)?|\b(?:rmSync|rmdirSync|unlinkSync)|File\.(?:delete|unlink)"
    r"|Dir\.(?:rmdir|delete|unlink)|\bunlink|\brmdir|Deno\.remove(?:Sync)?|FileUtils\.rm(?:_f)?|os\.remove|\bfile\.remove|\brm"
    r"|os\.Remove|fs::remove_file|File\.rm!?|Files\.delete(?:IfExists)?|delete-file|removeFile"
)
_DELETE = (
    rf"(?:(?P<all>{_DELETES_ALL}|{_DELETES_ALL_RARER})|(?P<one>{_DELETES_ONE}))"
    rf"(?:\s{{0,4}}+\(|\s)\s{{0,4}}+(?:atPath:\s{{0,4}}+)?{_LITERAL}"
)
_PATH_DELETE = (
    rf"(?:Path|new File|Directory|File)\(\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)"
    r"\.(?:unlink|rmdir|delete(?:Sync|OnExit)?|(?P<all>deleteDir|deleteRecursively))\b"
)
_BARE_DELETE = r"\bfile delete(?:\s{1,4}+-\w{0,9}){0,2}\s{1,4}+([~/$][^\s;\"\]}]{1,300})"
"""Tcl, where a path needs no quotes."""

_OPEN = (
    rf"""\b(?:open|fopen|File\.open|io\.open|createWriteStream)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)?\s{{0,4}}+,"""
    r"""\s{0,4}+(?:mode\s{0,4}+=\s{0,4}+)?['"](?P<mode>[rwaxbt+<>]{1,4})"""
)
_WRITE = (
    r"(?:writeFile(?:Sync)?|appendFile(?:Sync)?|createWriteStream|file_put_contents|File\.(?:write|binwrite)|IO\.write"
    rf"|Deno\.write\w{{0,14}}|Bun\.write|truncateSync|writeLines)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}"
)
_PATH_WRITE = (
    rf"Path\(\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)(?:\.expanduser\(\))?\.(?:write_text|write_bytes|touch|open\(['\"][wax])"
)
_READ = (
    r"(?:\bopen|readFile(?:Sync)?|file_get_contents|fopen|File\.(?:read|open|readlines)|IO\.read|readlines|slurp"
    rf"|createReadStream|Deno\.read\w{{0,14}}|Bun\.file|Path)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}"
)


# Words of which a search needs at least one to find anything.
_DELETING = (
    "rmtree", "unlink", "removeSync", "rimraf", "emptyDir", "del([", "delSync", "trash", "rm(", "rm '", 'rm "', "rmSync",
    "rmdir", "rm_r", "rm_f", "os.remove", "remove_tree",
    "removedirs", "remove_dir", "remove_entry", "fs.remove", "fse.remove", "Deno.remove", "file.remove",
    "File.delete", "Dir.delete", "rm(", "RemoveAll", "remove_dir_all", "removeItem", "File.rm", "delete-directory",
    "rmdirRecurse", "removeDir", "remove.all", "removePath", "confirm_recursive", "deleteDir", "deleteRec", ".delete",
    "file delete", "os.Remove", "remove_file", "Files.delete", "delete-file", "removeFile",
)  # fmt: skip
_WRITING = ("rite", "open", "touch", "put_contents", "appendFile", "truncate")
_READING = ("open", "read", "get_contents", "Path", "slurp", "file(")
_SECRETIVE = (
    "~",
    "/.",
    "'.",
    '".',
    "/etc",
    "/proc",
    "/dev",
    "HOME",
    "home",
    "id_",
    "key",
    "Key",
    "ecret",
    "red",
    "oken",
    "assw",
    "ookie",
    "ogin",
    "pem",
)
_RECURSIVE = lazy_re.compile(r"recursive['\"]?\s{0,4}+(?::|=>?)\s{0,4}+[tT1]")


def _files(code: str, program: ProgramRun, where: Where) -> Iterator[Effect]:
    if any_of(_DELETING, code):
        yield from _deletes(code, program, where)
    if any_of(_WRITING, code):
        yield from _writes(code, program, where)
    if any_of(_READING, code) and any_of(_SECRETIVE, code):
        for match in found_in(_READ, code):
            yield from secrets_read([text_of(match)], program, where, "code")


_UNNAMED = rf"(?:{_DELETES_ALL})(?:\s{{0,4}}+\(|\s)\s{{0,4}}+(?:[fF]['\"]|[A-Za-z_$(`])"
_SEARCHES = (
    "walk(",
    "glob",
    "rglob",
    "scandir",
    "listdir",
    "readdir",
    "Dir.foreach",
    "Dir.each",
    "opendir",
    "Dir[",
    "find {",
    "find(",
    "<*",
)
_REMOVES = lazy_re.compile(
    r"(?:os\.(?:remove|unlink|rmdir)|unlinkSync|rmSync|rmtree|rm_rf|rm_f|File\.(?:delete|unlink)|\bunlink)\b\s?\(?\s?(?=[\w$<@&*\[{])"
    r"|\.unlink\(\s?\)|['\"]unlink['\"]|File\.method\(:(?:delete|unlink)"
)


def _searched(code: str, program: ProgramRun) -> Iterator[Effect]:
    """Deletes what a search finds, or a folder that the text does not name."""
    if any_of(_SEARCHES, code) and _REMOVES.search(code):
        yield Effect("delete-found", clip(code), "unknown", frozenset({"code"}), program)
    named = {match.start() for match in found_in(_DELETE, code)}
    for match in found_in(_UNNAMED, code):
        if match.start() not in named:
            yield Effect("delete-found", clip(match.group() + "…"), "unknown", frozenset({"code", "recursive"}), program)


def _deletes(code: str, program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _searched(code, program)
    for match in found_in(_DELETE, code):
        path = text_of(match)
        everything = bool(match.group("all")) or _RECURSIVE.search(code, match.end(), match.end() + 120) is not None
        flags = ("recursive", "code") if everything else ("code",)
        if path:
            yield effect_on("delete", path, program, where, flags)
    for match in found_in(_PATH_DELETE, code):
        path = text_of(match)
        if path:
            everything = bool(match.group("all")) or _RECURSIVE.search(code, match.end(), match.end() + 40) is not None
            yield effect_on("delete", path, program, where, ("recursive", "code") if everything else ("code",))
    for match in found_in(_BARE_DELETE, code):
        yield effect_on("delete", match[1], program, where, ("recursive", "code"))


def _writes(code: str, program: ProgramRun, where: Where) -> Iterator[Effect]:
    for match in found_in(_OPEN, code):
        if set(match.group("mode")) & set("wax>+"):
            yield from write_effects(text_of(match), program, where, "code")
    for pattern in (_WRITE, _PATH_WRITE):
        for match in found_in(pattern, code):
            yield from write_effects(text_of(match), program, where, "code")


def _method_effects(code: str, program: ProgramRun) -> Iterator[Effect]:
    seen = dict.fromkeys(methods(code))
    for text in islice(seen, MAX_FOUND):
        yield Effect("method", text, "remote", frozenset({"code"}), program)
    for text in posted_messages.messages(code):
        yield Effect("method", text, "remote", frozenset({"code", "publish"}), program)
    for text in statement_texts(code):
        for statement in sql_statements.statements(text):
            flags = sql_statements.flags(statement)
            if flags:
                yield Effect("sql", statement[:400], "", flags | {"code"}, program)


def statement_texts(code: str) -> Iterator[str]:
    """Literals that are given to a database."""
    if _STATEMENT_WORDS.search(code):
        yield from map(text_of, found_in(_STATEMENT, code))


_STATEMENT_WORDS = lazy_re.compile(
    r"(?:drop|DROP|Drop|truncate|TRUNCATE|delete|DELETE|Delete|update|UPDATE|Update|alter|ALTER|grant|GRANT)\s{1,9}+\S"
)
_STATEMENT = (
    r"(?:execute\w{0,12}|query\w{0,12}|raw\w{0,12}|Raw\w{0,12}|\bsql|exec\w{0,6}|prepare|\bdo|\brun|\btext|unsafe)"
    rf"\s{{0,3}}+\(?\s{{0,3}}+{STRING}"
)
