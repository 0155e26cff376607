"""What a program sends: the flags of files, of words and of what it reads from a pipe."""

from __future__ import annotations

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Place, ProgramRun, StdinSource
from toolguard_engine.effects.facts.places import Where, place

_PAYLOADS = (".json", ".graphql", ".gql", ".xml", ".ndjson", ".jsonl", ".yaml", ".yml", ".form")
_DUMPS = program_catalogue.programs("environment_printer") | program_catalogue.programs("variable_lister")
_FILTERS = program_catalogue.programs("data_filter")
_VAULTS = program_catalogue.programs("vault")
_PERSONAL = program_catalogue.programs("personal_recorder")
_DUMPERS = program_catalogue.programs("dumper")
"""Programs that output whole stores and files."""

OWN: frozenset[Place] = frozenset({"workspace", "in-workspace", "artefact", "repository", "temp"})
_REVEALING = program_catalogue.programs("host_revealer")
"""Programs whose output describes the user or the machine."""


def data_flags(feed: StdinSource | None, where: Where, cwd: str) -> frozenset[str]:
    """Flags of data that is sent on: `file`, `output`, `personal`, `secret` (a variable), `credentials`."""
    if feed is None:
        return frozenset()
    places = {place(path, where, cwd) for path in feed.files} - {"null"}
    flags = {"file"} if places else set()
    if "credentials" in places:
        flags.add("credentials")
    elif places and all(path.endswith(_PAYLOADS) for path in feed.files):
        flags.add("payload")
    if not (places | {"in-workspace"} <= OWN) or not _REVEALING.isdisjoint(feed.programs):
        flags.add("reveals")
    for i, name in enumerate(feed.programs):
        follower = feed.programs[i + 1] if i + 1 < len(feed.programs) else "cat"
        if name in _VAULTS or (name in _DUMPS and follower in _FILTERS):
            flags.add("credentials")
        elif name in _PERSONAL:
            flags.add("personal")
        elif name == "$secret":
            flags.add("secret")
    if feed.text is None and feed.programs:
        flags.add("output")
    if not _DUMPERS.isdisjoint(feed.programs):
        flags.add("file")
    return frozenset(flags)


def file_flags(path: str, program: ProgramRun, where: Where) -> frozenset[str]:
    kind = place(path, where, program.cwd)
    if kind == "null":
        return frozenset()
    flags = {"file"}
    if kind == "credentials":
        flags.add("credentials")
    elif path.endswith(_PAYLOADS):
        flags.add("payload")
    return frozenset(flags)


def word_flags(program: ProgramRun, at: int, where: Where) -> frozenset[str]:
    return data_flags(program.fed_at(at), where, program.cwd) | _literal(program.argv[at])


def _literal(text: str) -> frozenset[str]:
    return frozenset({"credentials"}) if "PRIVATE KEY-----" in text else frozenset()


def stdin_flags(program: ProgramRun, where: Where) -> frozenset[str]:
    """Flags of the data that arrives through the pipe or `<`."""
    flags = data_flags(program.stdin, where, program.cwd)
    for redirect in program.redirects:
        if redirect.kind == "read" and redirect.fd in ("", "0"):
            flags |= file_flags(redirect.target, program, where)
    return flags


def fed(program: ProgramRun) -> bool:
    return program.stdin is not None or any(
        redirect.kind in ("read", "text") and redirect.fd in ("", "0") for redirect in program.redirects
    )
