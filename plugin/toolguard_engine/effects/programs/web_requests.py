"""The effects that the requests of all web clients have in common: what is asked, sent, saved and not verified."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.facts import graphql_requests
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.facts.web_targets import Target, acting_flags, request_flags, target
from toolguard_engine.effects.manuals.command_words import ParsedWord
from toolguard_engine.effects.programs import lookalikes, write_effects
from toolguard_engine.effects.programs.sent_data import data_flags, word_flags

QUESTIONS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "REPORT", "SEARCH", "QUERY"})


def request_effects(program: ProgramRun, url: str, method: str, sent: frozenset[str] | None) -> Iterator[Effect]:
    """The effects of one HTTP request. `sent` is None if it has no body."""
    to = target(url)
    if method in QUESTIONS and sent is None:
        yield from question_effects(to, method, program)
        yield from lookalikes.of_host(to.url, program)
        return
    if sent is not None:
        yield Effect("send", to.url, "remote", to.flags | sent, program)
    if method not in QUESTIONS:
        flags = to.flags | (sent or frozenset()) | request_flags(method, to)
        if sent is not None and "local" not in flags and any(map(graphql_requests.takes_away, _texts(program))):
            flags |= {"destroys"}
        yield Effect("http", f"{method} {to.url}", "remote", flags, program)


MAX_WORDS = 64


def _texts(program: ProgramRun) -> Iterator[str]:
    """What a request may send, as far as it is known."""
    yield from program.argv[1:MAX_WORDS]
    yield program.stdin_text


def question_effects(to: Target, method: str, program: ProgramRun) -> Iterator[Effect]:
    yield Effect("fetch", to.url, "remote", to.flags, program)
    if acts := acting_flags(to):
        yield Effect("http", f"{method} {to.url}", "remote", to.flags | acts, program)


def data_in_address(program: ProgramRun, at: int, url: str, where: Where) -> Iterator[Effect]:
    """Data that leaves inside the address itself."""
    inside = word_flags(program, at, where)
    if inside:
        to = target(url)
        yield Effect("send", to.url, "remote", to.flags | inside | {"address"}, program)


def saved_file(program: ProgramRun, path: str, where: Where) -> Iterator[Effect]:
    return write_effects(path, program, where, "fetched")


def name_in_url(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]


def in_folder(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder and name and not name.startswith("/") else name


def unverified_effects(program: ProgramRun, urls: tuple[ParsedWord, ...], where: Where) -> Iterator[Effect]:
    """A secret, even one that logs in, for a server that need not prove who it is."""
    if any(data_flags(feed, where, program.cwd) & {"secret", "credentials"} for _, feed in program.given):
        for url in urls:
            to = target(url.text)
            yield Effect("fetch", to.url, "remote", to.flags | {"unverified"}, program)


MAX_FOLDERS = 4
