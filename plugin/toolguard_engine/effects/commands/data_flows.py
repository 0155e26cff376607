"""Effects of the programs of a command taken together.

The kinds: `exfiltrate` (credentials that leave through a pipe, a substitution or an intermediate file; with the flag `bulk`
whole folders of the user or the system), `remote-shell` (a shell and a connection that feed each other), `run-text` with the
flags `fetched` and `later` (a file that was downloaded and then runs), `stage` (keys collected in one place), `scan`,
`method` (text in the form of a method call in place of a program), `kill-found` (processes that another program lists).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.combinations import MAX_PARTNERS, MAX_SHOWN, SOCKET, line_wrapper
from toolguard_engine.effects.commands.fetched_then_run import (
    CLONERS,
    UNPACKERS,
    cloned_then_run,
    downloaded_then_run,
    fetched_command,
    fetched_instructions,
    run_by_xargs,
    run_from_variable,
)
from toolguard_engine.effects.commands.interpreters import FETCHERS
from toolguard_engine.effects.commands.leaving_credentials import RESOLVERS, exfiltrated_by_dns, exfiltrations, foreign_keys
from toolguard_engine.effects.commands.pushed_refs import new_address_pushes, pushed_from_list
from toolguard_engine.effects.commands.remote_shells import CONNECTORS, port_scans, shell_connections
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.programs import accepted_keys, instruction_files
from toolguard_engine.effects.programs.code_methods import methods
from toolguard_engine.effects.programs.sent_data import data_flags
from toolguard_engine.effects.programs.wrappers import SHELLS

_MAKERS = program_catalogue.programs("data_maker")
_PUBLISHERS = program_catalogue.programs("text_publisher")
_TALKERS = CONNECTORS | {"ztcp"}
_COLLECTORS = program_catalogue.programs("found_file_collector")
_KEYS = lazy_re.compile(
    r"(?i)id_(?:rsa|dsa|ecdsa|ed25519)|\.pem$|\.ppk$|\.p12$|\.pfx$|\.kdbx?|\.keychain|\.ovpn$|\.aws|\.netrc|\.pgpass|\.kube|shadow"
    r"|wallet|login data|logins\.json|cookies|credential|\.npmrc|\.git-credentials|password|\.gnupg|secret"
)


def effects(reading: Reading, acts: tuple[Effect, ...], where: Where) -> Iterable[Effect]:
    """The effects of combinations. `acts`: those of the programs themselves."""
    names: set[str] = set()
    sockets = given = False
    for program in reading.runs:
        names.add(program.name)
        given = given or bool(program.given)
        for redirect in program.redirects:
            sockets = sockets or redirect.target.startswith(SOCKET)
    if acts or sockets:
        yield from exfiltrations(reading, acts, where)
        yield from _mail_passed_on(reading, acts)
    if sockets or not _TAKING_PART.isdisjoint(names):
        yield from _of_programs(reading, names, acts, where, sockets=sockets)
    if given:
        yield from foreign_keys(reading, acts)
    if not RESOLVERS.isdisjoint(names):
        yield from exfiltrated_by_dns(reading, acts)
    spelled = " ".join(names)
    if UNKNOWN in spelled:
        yield from fetched_command(reading)
    if "." in spelled or "::" in spelled:
        yield from _method_calls(reading)


_TAKING_PART = frozenset({"git", "kill", "find"}).union(
    accepted_keys.PROGRAMS,
    CLONERS,
    _MAKERS,
    FETCHERS,
    UNPACKERS,
    instruction_files.PROGRAMS,
    _PUBLISHERS,
    _TALKERS,
    SHELLS,
)
"""Programs of which one takes part in each combination that `_of_programs` looks for."""


def _of_several(reading: Reading, names: set[str], acts: tuple[Effect, ...]) -> Iterator[Effect]:
    """What takes at least two programs."""
    if not CLONERS.isdisjoint(names) or not UNPACKERS.isdisjoint(names):
        yield from cloned_then_run(reading)
    if not instruction_files.PROGRAMS.isdisjoint(names):
        yield from fetched_instructions(reading)
    if not FETCHERS.isdisjoint(names):
        yield from run_from_variable(reading, acts)
    if "git" in names:
        yield from new_address_pushes(reading)
        yield from pushed_from_list(reading)


def _of_programs(
    reading: Reading, names: set[str], acts: tuple[Effect, ...], where: Where, *, sockets: bool
) -> Iterator[Effect]:
    if not _MAKERS.isdisjoint(names):
        yield from downloaded_then_run(reading, acts)
    if len(reading.runs) > 1:
        yield from _of_several(reading, names, acts)
    if not _PUBLISHERS.isdisjoint(names):
        yield from _published(reading, where)
    if not accepted_keys.PROGRAMS.isdisjoint(names):
        yield from accepted_keys.effects(reading, where)
    if sockets or not _TALKERS.isdisjoint(names):
        yield from shell_connections(reading)
        yield from port_scans(reading)
    if not SHELLS.isdisjoint(names):
        yield from run_by_xargs(reading)
    if "kill" in names:
        yield from _killed(reading)
    if "find" in names:
        yield from _stages(reading)


def _mail_passed_on(reading: Reading, acts: tuple[Effect, ...]) -> Iterator[Effect]:
    """Mail to a server for tests on this machine, whose port the same call forwards or which is only the default."""
    local = [effect for effect in acts if {"mail", "local"} <= effect.flags and effect.program is not None]
    if not local:
        return
    runs = [*reading.runs, *(effect.program for effect in acts if effect.program is not None)]
    forwarded = any(map(_forwards, runs))
    for effect in local:
        code = (
            (*effect.program.argv[1:], (effect.program.stdin and effect.program.stdin.text) or "") if effect.program else ()
        )
        if forwarded or ("code" in effect.flags and any(_DEFAULT_SERVER.search(text[:MAX_CODE]) for text in code)):
            yield Effect("send", effect.target, "remote", effect.flags - {"local"}, effect.program)
            return


MAX_CODE = 20_000
_FORWARDERS = frozenset({"socat", "stunnel", "stunnel4", "rinetd", "redir", "simpleproxy"})
_FORWARD = lazy_re.compile(r"-[A-Za-z0-9]{0,12}L|(?:-o)?[lL]ocal[fF]orward")
_DEFAULT_SERVER = lazy_re.compile(r"(?:\|\||\?\?)\s{0,3}[\"'`]?(?:localhost\b|127\.\d|\d{4,5}\b)")
"""The server or the port is another one if a variable says so."""


def _forwards(program: ProgramRun) -> bool:
    return program.name in _FORWARDERS or (
        program.name in ("ssh", "autossh") and any(map(_FORWARD.match, program.argv[1:24]))
    )


_TEXTS = frozenset({"commit", "tag", "notes", "issue", "pr", "mr", "gist", "release", "snippet", "comment", "api"})


def _published(reading: Reading, where: Where) -> Iterator[Effect]:
    """Secrets in the text of a commit, an issue or a comment: `git commit -m "$(env)"`, `echo $TOKEN | gh gist create -`."""
    for program in reading.runs:
        if program.name not in _PUBLISHERS or _TEXTS.isdisjoint(program.argv[1:4]) or not (program.given or program.stdin):
            continue
        feeds = [feed for _, feed in program.given] + ([program.stdin] if program.stdin is not None else [])
        flags = frozenset[str]().union(*(data_flags(feed, where, program.cwd) for feed in feeds[:MAX_PARTNERS]))
        if flags & {"credentials", "secret"}:
            yield Effect(
                "exfiltrate", f"the text of {program.name} {program.argv[1]}", "remote", flags & {"secret"}, program
            )


def _killed(reading: Reading) -> Iterator[Effect]:
    """Ends processes that another program lists. Listing who listens on a port that the command names does not count."""
    for program in reading.runs:
        hander = line_wrapper(program) if program.name == "kill" else ""
        if not hander:
            if program.name == "kill" and any(feed.programs in _LISTS_ALL for _, feed in program.given):
                yield Effect("kill-found", " ".join(program.argv[:4]).replace(UNKNOWN, "?"), "", frozenset(), program)
            continue
        feeders = [other for other in reading.runs if other.name == hander and other.stdin is not None]
        by_port = feeders and all(
            other.stdin is not None and other.stdin.programs == ("lsof",) and _of_port(reading) for other in feeders
        )
        if not by_port:
            yield Effect("kill-found", " ".join(program.argv[:4]).replace(UNKNOWN, "?"), "", frozenset(), program)
            return


_LISTS_ALL = (("ps",), ("ps", "awk"), ("ps", "tail"), ("ps", "cut"))
"""Processes that nothing was chosen from."""


def _of_port(reading: Reading) -> bool:
    return all(any(_PORT.match(word) for word in program.argv[1:]) for program in reading.runs if program.name == "lsof")


_PORT = lazy_re.compile(r"(?:-[tiTnPQ]{0,4})?i?(?:tcp|udp|TCP|UDP)?:[0-9]{1,5}\Z")


def _stages(reading: Reading) -> Iterator[Effect]:
    for program in reading.runs:
        if program.name == "find" and any(_KEYS.search(word) for word in program.argv[1:24] if len(word) < MAX_SHOWN):
            for other in reading.runs:
                if other.name in _COLLECTORS and ("find" in other.via or (other.via[-1:] in (("xargs",), ("parallel",)))):
                    yield Effect("stage", " ".join(program.argv[1:8]), "credentials", frozenset(), other)
                    break


def _method_calls(reading: Reading) -> Iterator[Effect]:
    for program in reading.runs[:8]:
        head = program.argv[0]
        if (
            ("." in head or "::" in head)
            and "/" not in head
            and ("broken" in reading.flaws or "(" in " ".join(program.argv[:6]))
        ):
            yield from (
                Effect("method", text[:MAX_SHOWN], "remote", frozenset({"bare"}), program) for text in methods(f"{head}('")
            )
