"""Keys that a command makes this account trust, or that it replaces.

The kinds: `trust` (a key that another machine has just sent, accepted without a comparison), `replace-key` (a new key in the
place of an existing one, with the question answered beforehand)."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.facts.program_catalogue import words
from toolguard_engine.effects.facts.web_targets import host_flags

_GPG = program_catalogue.programs("gpg")
_FETCHERS = program_catalogue.programs("fetcher")
_CODE_HOSTS = words("code_host")
_SCANNER, _MAKER = "ssh-keyscan", "ssh-keygen"
_KEPT = ("known_hosts", "known_hosts2", "ssh_known_hosts")
_YES = frozenset(["y", "yes", "Y", "YES", "Yes"])

PROGRAMS = _GPG | {_SCANNER, _MAKER}


def effects(reading: Reading, where: Where) -> Iterator[Effect]:
    for program in reading.runs:
        if program.name == _SCANNER:
            yield from _scanned(program, reading)
        elif program.name == _MAKER:
            yield from _replaced(program, where)
        elif program.name in _GPG:
            yield from _imported(program)


def is_code_host(host: str) -> bool:
    """Whether everybody knows this host as one that keeps code; hosts below it count too."""
    steps = host.lower().rstrip(".").split(".")
    return any(".".join(steps[at:]) in _CODE_HOSTS for at in range(len(steps) - 1))


def _scanned(program: ProgramRun, reading: Reading) -> Iterator[Effect]:
    """`ssh-keyscan HOST >> ~/.ssh/known_hosts`, also through `tee` or a filter."""
    if not any(_keeps(other) for other in reading.runs if other is program or other.pipeline == program.pipeline):
        return
    hosts = [word.rpartition("@")[2] for word in program.words.texts] or [UNKNOWN]
    for host in hosts[:_MOST]:
        flags = host_flags(host)
        if not flags & {"local", "private"} and not is_code_host(host):
            yield Effect("trust", host.replace(UNKNOWN, "?"), "remote", flags, program)


_MOST = 16


def _keeps(program: ProgramRun) -> bool:
    written = (redirect.target for redirect in program.redirects if redirect.kind in ("write", "append"))
    named = program.argv[1:] if program.name in ("tee", "sponge") else ()
    return any(path.endswith(_KEPT) for path in (*written, *named))


def _replaced(program: ProgramRun, where: Where) -> Iterator[Effect]:
    if not _says_yes(program) or program.words.trait("instead"):
        return
    path = program.words.last("-f") or "~/.ssh/id_ed25519"
    if place(path, where, program.cwd) not in ("workspace", "in-workspace", "artefact", "temp"):
        yield Effect("replace-key", path, place(path, where, program.cwd), frozenset(), program)


def _says_yes(program: ProgramRun) -> bool:
    """Whether `ssh-keygen` is given an answer; without one it keeps a key that exists."""
    texts = [redirect.target for redirect in program.redirects if redirect.kind == "text"]
    if program.stdin is not None:
        if "yes" in program.stdin.programs:
            return True
        texts.append(program.stdin.text or "")
    return any(line.strip() in _YES for text in texts for line in text[:_MAX_TEXT].splitlines())


_MAX_TEXT = 200


def _imported(program: ProgramRun) -> Iterator[Effect]:
    """`gpg --import <(curl ...)`, `curl ... | gpg --import`, `gpg --fetch-keys URL`, `gpg --import-ownertrust`."""
    read = program.words
    if read.has("--fetch-keys"):
        yield Effect("trust", program.argv[-1], "remote", frozenset(), program)
    elif read.has("--import-ownertrust"):
        yield Effect("trust", "--import-ownertrust", "", frozenset(), program)
    elif read.has("--import", "--fast-import") and not read.has("--dry-run"):
        feeds = [feed for _, feed in program.given] + ([program.stdin] if program.stdin is not None else [])
        if any(not _FETCHERS.isdisjoint(feed.programs) for feed in feeds):
            yield Effect("trust", " ".join(program.argv[:4]).replace(UNKNOWN, "?"), "remote", frozenset(), program)
