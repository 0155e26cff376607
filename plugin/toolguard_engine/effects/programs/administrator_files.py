"""Which commands of an administrator are no more than their files, or those of a service.

A program that only copies, moves, makes or changes files is judged by which files these are, as without the rights of an
administrator: in a home, below `/srv` or on a mounted disk. A service's account, such as `www-data`, can do less than other
accounts.
"""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import Where, classify, normal
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import administrator_reads, sql_queries
from toolguard_engine.effects.programs.routine_administration import MAX_WORDS, installed

_FILES = program_catalogue.programs("file_keeper")
_SOURCES = ("/opt/", "/srv/", "/var/www/")
"""What services are installed in, which may be copied as a whole."""

_ORDINARY = ("/srv/", "/mnt/", "/media/", "/data/", "/backup/", "/backups/", "/var/www/", "/var/backups/", "/Volumes/")
_KINDS = frozenset({"in-home", "in-workspace", "workspace", "temp", "artefact", ""})
_SEDS = program_catalogue.programs("sed")
_MODES = frozenset({"chown", "chgrp", "chmod"})
_OWNERS = frozenset({"chown"})
_RUNNERS = program_catalogue.programs("shell", "elevator", "wrapper", "service_manager", "remote_copier")
_ACCOUNTS = program_catalogue.words("service_account")
"""Under which services run; nobody logs in with them."""

_OWNER = lazy_re.compile(r"([a-z_][a-z0-9_-]{0,30})(?::\1?)?")
_STATE = lazy_re.compile(r"/var/(?:lib|cache)/([a-z_][a-z0-9_-]{0,30})(?:/(?!\.{1,2}(?:/|\Z))[\w.@+-]{1,100}){0,12}/?")


def only_ordinary_files(argv: tuple[str, ...], where: Where, cwd: str) -> bool:
    """`argv`: a program and its words, run as administrator."""
    name = installed(argv)
    if name == "mkdir":
        return len(argv) <= MAX_WORDS
    if (name not in _FILES and name not in _SEDS) or len(argv) > MAX_WORDS:
        return False
    program = ProgramRun((name, *argv[1:]), name, cwd=cwd)
    words = program.words
    folder = words.last("--directory") or cwd
    if name in _SEDS:
        files = [word.text for word in words.named("input")]
        is_known = administrator_reads.has_plain_script(program) and bool(files)
        return is_known and all(_is_ordinary(file, where, cwd) for file in files)
    if words.unknown or not words.acts.isdisjoint(("runs", "unpacks")) or words.has("--reference", "--absolute-names"):
        return False
    if name in _OWNERS and words.operands[1:]:
        owner, *given = (word.text for word in words.operands)
        if all(gives_to_service(owner, path) for path in given):
            return True
    *sources, target = ["", *(word.text for word in words.operands)][1 + (name in _MODES) :] or [""]
    if name == "tar":
        sources, target = [*sources, target], words.last("--file")
    return _is_ordinary(target, where, cwd) and all(
        _is_ordinary(source, where, folder, is_source=True) for source in sources
    )


def gives_to_service(owner: str, path: str) -> bool:
    """Whether a service gets what lies in its own folder of state, which is its own unless somebody has changed that."""
    account, state = _OWNER.fullmatch(owner), _STATE.fullmatch(path)
    return account is not None and state is not None and account[1] == state[1] and account[1] in _ACCOUNTS


def _is_ordinary(word: str, where: Where, cwd: str, *, is_source: bool = False) -> bool:
    kind, flags = classify(word, where, cwd)
    full = normal(word, where, cwd)
    known = full.partition(UNKNOWN)[0]
    if not word or ".." in word or known.count("/") < 2 or "glob" in flags:  # noqa: PLR2004 - a folder and a name
        return False
    if known.startswith(_ORDINARY) or (is_source and known.startswith(_SOURCES)):
        return kind in (*_KINDS, "system")
    if is_source:  # in a home, a link may lead to what only an administrator may read
        return "service-data" in flags
    is_own = bool(where.home) and known.startswith(f"{where.home}/") and "gateway-file" not in flags
    return "service-data" in flags or (kind in _KINDS and (is_own or kind == "temp"))


def _of_the_system(command: tuple[str, ...]) -> str:
    """The name of a program in a folder to which only an administrator installs; empty for all others."""
    path = command[0] if command else ""
    is_system = path.startswith("/usr/") and not path.startswith("/usr/local/")  # where Homebrew lets its user install
    return path.rpartition("/")[2] if is_system and ".." not in path else ""


def is_for_service(words: CommandWords, command: tuple[str, ...]) -> bool:
    """Whether a program runs under the account of a service, and is neither a shell nor a client of a database."""
    users = [value.text for value in words.values("--user")]
    name = installed(command) or _of_the_system(command)
    if len(users) != 1 or users[0] not in _ACCOUNTS or not name or any(UNKNOWN in word for word in command[:1]):
        return False
    return name not in _RUNNERS and name not in sql_queries.CLIENTS
