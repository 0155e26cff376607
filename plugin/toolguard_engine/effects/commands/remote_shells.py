"""Shells that are connected to another machine, and searches of many machines for open ports."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.commands.combinations import SOCKET
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.web_targets import host_flags
from toolguard_engine.effects.programs.wrappers import SHELLS

CONNECTORS = program_catalogue.programs("connector")
MANY_ENDS = 8


def port_scans(reading: Reading) -> Iterator[Effect]:
    """Many ports through the shell's own sockets, or one that a loop supplies."""
    ends = {
        redirect.target for program in reading.runs for redirect in program.redirects if redirect.target.startswith(SOCKET)
    }
    if len(ends) >= MANY_ENDS or any(UNKNOWN in end or ".." in end for end in ends):
        program = next(program for program in reading.runs for redirect in program.redirects if redirect.target in ends)
        yield Effect("scan", min(ends), "remote", frozenset(), program)


def _sends_from_shell(program: ProgramRun) -> bool:
    """Whether a program sends what a shell prints to another machine."""
    return program.name in CONNECTORS and program.stdin is not None and bool(SHELLS.intersection(program.stdin.programs))


def shell_connections(reading: Reading) -> Iterator[Effect]:
    socket = ""
    fed_by_shell = {program.pipeline for program in reading.runs if _bare_shell(program)}
    for program in reading.runs:
        if program.name == "ztcp":
            socket = " ".join(program.argv[1:3])
        for opened in (redirect.target for redirect in program.redirects if redirect.target.startswith(SOCKET)):
            socket = opened
            if program.name not in SHELLS and program.name != "exec":
                yield Effect("connect", socket, "remote", host_flags(socket.split("/")[3]), program)
        if program.stdin is not None and (_bare_shell(program) or _evaluates(program)) and _from_socket(program, reading):
            yield Effect("remote-shell", " ".join(program.stdin.programs[:4]), "remote", frozenset(), program)
        elif _sends_from_shell(program):
            if program.pipeline in fed_by_shell:
                yield Effect("remote-shell", " ".join(program.argv[1:4]), "remote", frozenset(), program)
        elif socket and (program.name.startswith(UNKNOWN) or _bare_shell(program)):
            yield Effect("remote-shell", socket, "remote", frozenset(), program)


def _evaluates(program: ProgramRun) -> bool:
    return program.name == "eval" or program.name.startswith(UNKNOWN)


def _from_socket(program: ProgramRun, reading: Reading) -> bool:
    """Whether it gets its commands from a plain connection."""
    made_by = program.stdin.programs if program.stdin is not None else ()
    if "openssl" in made_by and not any("s_client" in other.argv[1:3] for other in reading.runs):
        return False
    return not CONNECTORS.isdisjoint(made_by)


def _bare_shell(program: ProgramRun) -> bool:
    """A shell without a script, which runs its standard input."""
    return program.name in SHELLS and {"-"}.issuperset(program.words.texts) and not program.words.has("-c", "--command")
