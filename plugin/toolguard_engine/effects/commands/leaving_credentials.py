"""Credentials that leave this machine: read by one program, and sent by the next or in a variable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import environment_dumps
from toolguard_engine.effects.commands.combinations import MAX_PARTNERS, MAX_SHOWN, SOCKET, line_wrapper
from toolguard_engine.effects.facts import key_owners, program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.facts.web_targets import target
from toolguard_engine.effects.programs.sent_data import data_flags

_SENDS = frozenset({"send", "copy-out", "http"})
_TAKES = frozenset({"read", "pack", "encrypt", "move", "link", "search"})
RESOLVERS = program_catalogue.programs("name_resolver")
_ENCODERS = program_catalogue.programs("encoder")


def exfiltrations(reading: Reading, effects: tuple[Effect, ...], where: Where) -> Iterator[Effect]:
    sends = [
        effect for effect in effects if effect.kind in _SENDS and "local" not in effect.flags and effect.program is not None
    ]
    sends = sends[:MAX_PARTNERS]
    redirected = [
        program
        for program in reading.runs
        if any(redirect.kind != "read" and redirect.target.startswith(SOCKET) for redirect in program.redirects)
    ]
    handed = any(effect.program is not None and line_wrapper(effect.program) for effect in effects if effect.kind in _ASKS)
    if not sends and not redirected and not handed:
        return
    yield from _sent_credentials(sends, reading, effects, where)
    yield from _exfiltrated_by_xargs(reading, effects, where)
    for program in redirected[:MAX_PARTNERS]:
        if "credentials" in _input_flags(program, reading, where) or any(
            effect.program is program and effect.place == "credentials" for effect in effects
        ):
            yield Effect("exfiltrate", program.redirects[-1].target, "remote", frozenset(), program)


_ASKS = _SENDS | {"fetch", "connect"}


def _exfiltrated_by_xargs(reading: Reading, effects: tuple[Effect, ...], where: Where) -> Iterator[Effect]:
    """`xargs -I{} curl "https://host/{}" < .env`: each line of a key file becomes an address or a word."""
    asking = [effect for effect in effects if effect.kind in _ASKS and "local" not in effect.flags]
    for effect in asking[:MAX_PARTNERS]:
        program = effect.program
        hander = line_wrapper(program) if program is not None else ""
        if program is None or not hander or not any(UNKNOWN in word for word in program.argv):
            continue
        wrappers = (run for run in reading.runs if run.name == hander)
        if any(_is_fed_credentials(wrapper, reading, where) for wrapper in wrappers):
            yield Effect("exfiltrate", effect.target.replace(UNKNOWN, "?"), "remote", frozenset(), program)


def _is_fed_credentials(wrapper: ProgramRun, reading: Reading, where: Where) -> bool:
    if not wrapper.redirects and wrapper.stdin is None:
        return False
    read = (redirect.target for redirect in wrapper.redirects if redirect.kind == "read")
    return "credentials" in _input_flags(wrapper, reading, where) or any(
        place(path, where, wrapper.cwd) == "credentials" for path in read
    )


def _sent_credentials(sends: list[Effect], reading: Reading, effects: tuple[Effect, ...], where: Where) -> Iterator[Effect]:
    """Once for each target, and last what goes by mail."""
    targets: set[str] = set()
    for send in sends:
        if send.program is None or send.target in targets or "mail" in send.flags:
            continue
        flags = _exfiltration_flags(send, send.program, reading, effects, where)
        if flags is not None:
            targets.add(send.target)
            yield Effect("exfiltrate", send.target, "remote", flags, send.program)
    for send in sends:
        if send.program is not None and "mail" in send.flags and "credentials" in send.flags:
            yield Effect("exfiltrate", send.target, "remote", frozenset({"mail"}), send.program)


def _reaches(taker: ProgramRun, program: ProgramRun, reading: Reading) -> bool:
    """Whether what one program reads gets to the other: through a pipe, a substitution or a file."""
    same = taker.piped and (taker.pipeline == program.pipeline or bool(program.given and "$()" in taker.via))
    return same or _through_file(taker, program, reading)


def _exfiltration_flags(
    send: Effect, program: ProgramRun, reading: Reading, effects: tuple[Effect, ...], where: Where
) -> frozenset[str] | None:
    """The flags of the `exfiltrate` effect that this sending amounts to, or None."""
    flags = send.flags | _input_flags(program, reading, where)
    if "credentials" in flags or (program.given and _given_secret(program, reading)):
        return frozenset()
    for taken in _secrets_before(program, reading, effects):
        if taken.program is not None and _reaches(taken.program, program, reading):
            return frozenset() if taken.place == "credentials" else frozenset({"bulk"})
    if "secret" in flags and _is_for_host(_variables(program), _host(send.target)) and not _goes_elsewhere(program):
        flags -= {"secret"}
    return frozenset({"bulk", "secret"} & flags) or None


def _given_secret(program: ProgramRun, reading: Reading) -> bool:
    """Whether what it sends contains the output of a program that shows kept secrets; logging in with that is ordinary."""
    sources = {
        name for at, feed in program.given if not _LOGS_IN.match(program.argv[at]) for name in feed.programs
    }  # fmt: skip
    return bool(sources) and any(
        other.name in sources and environment_dumps.shows_secret(other) for other in reading.runs[:MAX_PARTNERS]
    )


_LOGS_IN = lazy_re.compile(
    r"(?i)(?:authorization|x-api-key|private-token|x-auth-token|x-vault-token):|(?:x-access-token|oauth2?|bearer)?:?\0\Z"
)


def _variables(program: ProgramRun) -> list[str]:
    """The variables that hold secrets among what a program is given."""
    feeds = [feed for _, feed in program.given] + ([program.stdin] if program.stdin is not None else [])
    variables = [name[1:] for feed in feeds for name in feed.programs if name[:1] == "$" and name not in ("$secret", "$()")]
    return variables[:MAX_PARTNERS]


def _is_for_host(variables: list[str], host: str) -> bool:
    return bool(variables) and all(key_owners.belongs(name, host) for name in variables)


def _goes_elsewhere(program: ProgramRun) -> bool:
    """Whether a request may reach another machine than the one it names: through a proxy, or by an address of its own."""
    if any(name.lower().endswith("_proxy") for name, _ in program.assigns):
        return True
    return any(_ROUTES.match(word) for word in program.argv[1:])


_ROUTES = lazy_re.compile(
    r"--(?:connect-to|resolve|proxy|preproxy|socks\w*|proxy\d[\w.]*|config|doh-url|unix-socket|abstract-unix-socket|interface)\b"
    r"|-[a-zA-Z]{0,8}[xK]|-e\Z|--execute"
)


def _host(address: str) -> str:
    """The host of what a request is shown as: `POST https://host/path`."""
    method, _, rest = address.partition(" ")
    return target(rest if method.isupper() and rest else address).host


_ADDRESS = lazy_re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>]{1,500}", re.IGNORECASE)


def _hosts_of(program: ProgramRun, request: Effect | None) -> set[str]:
    """The host that a program asks, or those of the addresses among its words."""
    if request is None:
        return {target(match[0]).host for word in program.argv[1:MAX_SHOWN] for match in _ADDRESS.finditer(word)}
    return {_host(request.target)} if not {"private", "-"} & request.flags else set()


def foreign_keys(reading: Reading, effects: tuple[Effect, ...]) -> Iterator[Effect]:
    """A key of a known service in a request to another host, also in its headers, and in an address that is kept."""
    asked = {id(effect.program): effect for effect in effects if effect.kind in _ASKS and "local" not in effect.flags}
    for program in reading.runs:
        if not program.given or not (variables := _variables(program)):
            continue
        for host in sorted(_hosts_of(program, asked.get(id(program))) - {""}):
            if UNKNOWN not in host and any(key_owners.is_foreign(name, host) for name in variables):
                yield Effect("exfiltrate", host, "remote", frozenset({"secret"}), program)


def _secrets_before(program: ProgramRun, reading: Reading, effects: tuple[Effect, ...]) -> list[Effect]:
    """Credentials read and whole folders packed before this program runs; credentials first."""
    earlier: set[int] = set()
    for other in reading.runs:
        if other is program:
            break
        earlier.add(id(other))
    taken = [effect for effect in effects if effect.kind in _TAKES and id(effect.program) in earlier]
    secret = [effect for effect in taken if effect.place == "credentials"]
    whole = [effect for effect in taken if effect.place in ("root", "home", "system") and effect.kind == "pack"]
    return secret[:MAX_PARTNERS] + whole[:MAX_PARTNERS]


def _input_flags(program: ProgramRun, reading: Reading, where: Where) -> frozenset[str]:
    """Flags of the data that arrives through the pipe: from the source itself and from the programs before it."""
    flags = data_flags(program.stdin, where, program.cwd)
    if program.stdin is None:
        return flags
    for other in reading.runs:
        if other is program:
            break
        if (
            other.pipeline == program.pipeline
            and other.piped
            and (
                environment_dumps.shows(other)
                or environment_dumps.shows_secret(other)
                or any(
                    place(word, where, other.cwd) == "credentials"
                    for word in (*other.argv[1:16], *(redirect.target for redirect in other.redirects))
                    if "/" in word or word.startswith(("~", "."))
                )
            )
        ):
            flags |= {"credentials"}
    return flags


_NAME = 3
"""Characters of a word at least that is taken for the name of a file."""


def _through_file(taker: ProgramRun, sender: ProgramRun, reading: Reading) -> bool:
    """Whether the sender sends a file that the taker wrote, that is, whether they share a word."""
    options = set(taker.words.option_words(taker.argv))
    written = {word.removeprefix("@") for word in taker.argv[1:] if len(word) >= _NAME and word not in options}
    written.update(redirect.target for redirect in taker.redirects if redirect.kind in ("write", "append"))
    for other in reading.runs:
        if other.pipeline == taker.pipeline:
            written.update(redirect.target for redirect in other.redirects if redirect.kind in ("write", "append"))
    names = {word.rpartition("/")[2] for word in written} - {""}
    words = [
        *sender.argv[1:],
        *(redirect.target for redirect in sender.redirects),
        *((sender.stdin.files) if sender.stdin else ()),
    ]
    return any(_name(word) in names for word in words)


def _name(word: str) -> str:
    return word.rpartition("@")[2].partition(";")[0].rpartition("/")[2]


def exfiltrated_by_dns(reading: Reading, effects: tuple[Effect, ...]) -> Iterator[Effect]:
    """DNS names assembled from pieces, beside a program that makes such pieces out of a file."""
    secret = any(effect.place == "credentials" for effect in effects)
    if not secret and not any(
        program.name in _ENCODERS or any(word.startswith("/etc/") for word in program.argv[1:]) for program in reading.runs
    ):
        return
    for program in reading.runs:
        if program.name in RESOLVERS and any(
            UNKNOWN in word and "." in word.rpartition(UNKNOWN)[2] for word in program.argv[1:]
        ):
            yield Effect(
                "exfiltrate",
                " ".join(program.argv[1:4]).replace(UNKNOWN, "?"),
                "remote",
                frozenset({"bulk", "dns"}),
                program,
            )
            return
