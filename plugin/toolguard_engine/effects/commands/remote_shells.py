"""Shells that are connected to another machine, and searches of many machines for open ports."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.commands.combinations import SOCKET
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.programs.web_targets import host_flags
from toolguard_engine.effects.programs.wrappers import SHELLS

CONNECTORS = program_catalogue.programs("connector")
MANY_ENDS = 8


def port_scans(reading: Reading) -> Iterator[Effect]:
    """Many ports through the shell's own sockets, or one that a loop supplies."""
    ends = {redirect.target for run in reading.runs for redirect in run.redirects if redirect.target.startswith(SOCKET)}
    if len(ends) >= MANY_ENDS or any(UNKNOWN in end or ".." in end for end in ends):
        run = next(run for run in reading.runs for redirect in run.redirects if redirect.target in ends)
        yield Effect("scan", min(ends), "remote", frozenset(), run)


def _sends_from_shell(run: ProgramRun) -> bool:
    """Whether a program sends what a shell prints to another machine."""
    return run.name in CONNECTORS and run.stdin is not None and bool(SHELLS.intersection(run.stdin.programs))


def shell_connections(reading: Reading) -> Iterator[Effect]:
    socket = ""
    fed_by_shell = {run.pipeline for run in reading.runs if _bare_shell(run)}
    for run in reading.runs:
        if run.name == "ztcp":
            socket = " ".join(run.argv[1:3])
        for opened in (redirect.target for redirect in run.redirects if redirect.target.startswith(SOCKET)):
            socket = opened
            if run.name not in SHELLS and run.name != "exec":
                yield Effect("connect", socket, "remote", host_flags(socket.split("/")[3]), run)
        if run.stdin is not None and (_bare_shell(run) or _evaluates(run)) and _from_socket(run, reading):
            yield Effect("remote-shell", " ".join(run.stdin.programs[:4]), "remote", frozenset(), run)
        elif _sends_from_shell(run):
            if run.pipeline in fed_by_shell:
                yield Effect("remote-shell", " ".join(run.argv[1:4]), "remote", frozenset(), run)
        elif socket and (run.name.startswith(UNKNOWN) or _bare_shell(run)):
            yield Effect("remote-shell", socket, "remote", frozenset(), run)


def _evaluates(run: ProgramRun) -> bool:
    return run.name == "eval" or run.name.startswith(UNKNOWN)


def _from_socket(run: ProgramRun, reading: Reading) -> bool:
    """Whether it gets its commands from a plain connection."""
    made_by = run.stdin.programs if run.stdin is not None else ()
    if "openssl" in made_by and not any("s_client" in other.argv[1:3] for other in reading.runs):
        return False
    return not CONNECTORS.isdisjoint(made_by)


def _bare_shell(run: ProgramRun) -> bool:
    """A shell without a script, which runs its standard input."""
    return run.name in SHELLS and {"-"}.issuperset(run.words.texts) and not run.words.has("-c", "--command")
