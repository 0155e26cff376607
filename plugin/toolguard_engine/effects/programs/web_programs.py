"""Programs that make HTTP requests: wget, aria2, HTTPie, and the command lines of platforms that call their API.

`network_programs` documents the effects and their flags; `PROGRAMS` has `curl`, `wget` and the like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, marks, place
from toolguard_engine.effects.facts.web_targets import request_flags, target
from toolguard_engine.effects.manuals.command_words import CommandWords, ParsedWord
from toolguard_engine.effects.programs import Act, by_manual
from toolguard_engine.effects.programs.curl import curl_effects
from toolguard_engine.effects.programs.sent_data import data_flags, fed, file_flags, stdin_flags, word_flags
from toolguard_engine.effects.programs.web_requests import (
    MAX_FOLDERS,
    QUESTIONS,
    data_in_address,
    in_folder,
    name_in_url,
    request_effects,
    saved_file,
    unverified_effects,
)


def _wget_sent(program: ProgramRun, read: CommandWords, where: Where) -> frozenset[str] | None:
    """The flags of the data that wget sends; None if it sends none."""
    sent: frozenset[str] | None = None
    for value in read.values("--post-data", "--body-data"):
        sent = (sent or frozenset()) | word_flags(program, value.at, where)
    for value in read.values("--post-file", "--body-file"):
        sent = (sent or frozenset()) | file_flags(value.text, program, where) | {"upload"}
    for value in read.values("--header", "--user", "--password", "--http-user", "--http-password", "--referer", "-U"):
        secret = data_flags(program.fed_at(value.at), where, program.cwd) & {"file", "credentials", "personal"}
        if secret >= {"file", "credentials"}:
            sent = (sent or frozenset()) | secret
    return sent


def _wget(program: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    sent = _wget_sent(program, read, where)
    urls = tuple(read.named("url"))
    methods = [value.text.upper() for value in read.values("--method")] or ["GET" if sent is None else "POST"]
    for url in urls:
        for method in dict.fromkeys(methods):
            yield from request_effects(program, url.text, method, sent)
        yield from data_in_address(program, url.at, url.text, where)
    if read.has("--no-check-certificate"):
        yield from unverified_effects(program, urls, where)
    named = [value.text for value in read.values("--output-document")]
    if not named and not read.has("--spider"):
        folders = [value.text for value in read.values("--directory-prefix")] or [""]
        named = [in_folder(folder, name_in_url(url.text)) for folder, url in product(folders[:MAX_FOLDERS], urls)]
    for path in named:
        yield from saved_file(program, path, where)


def _aria(program: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    for url in read.named("url"):
        yield from request_effects(program, url.text, "GET", None)
        for name in [value.text for value in read.values("--out")] or [name_in_url(url.text)]:
            yield from saved_file(program, in_folder(read.one("folder"), name), where)


def _httpie(program: ProgramRun, where: Where) -> Iterator[Effect]:
    read = program.words
    words = read.operands
    method = ""
    if len(words) > 1 and words[0].text.isalpha() and words[0].text.isupper():
        method, words = words[0].text, words[1:]
    elif len(words) > 1 and words[0].text.lower() in ("get", "post", "put", "patch", "delete", "head", "options"):
        method, words = words[0].text.upper(), words[1:]
    if not words:
        return
    url, items = words[0], words[1:]
    sent = _httpie_sent(program, read, items, where)
    yield from request_effects(program, url.text, method or ("GET" if sent is None else "POST"), sent)
    yield from data_in_address(program, url.at, url.text, where)
    if read.last("--verify").lower() in ("no", "false"):
        yield from unverified_effects(program, (url,), where)
    if read.has("--output"):
        yield from saved_file(program, read.last("--output"), where)
    elif read.has("--download"):
        yield from saved_file(program, name_in_url(url.text), where)


def _httpie_sent(
    program: ProgramRun, read: CommandWords, items: tuple[ParsedWord, ...], where: Where
) -> frozenset[str] | None:
    flags: set[str] = set()
    bodies = 0
    for item in items:
        text = item.text
        if "==" in text or (":" in text and "=" not in text and "@" not in text):
            continue
        bodies += 1
        flags |= word_flags(program, item.at, where)
        for mark in ("=@", "@"):
            if mark in text and not text.partition("@")[0].rstrip(":=").count("="):
                flags |= file_flags(text.partition(mark)[2], program, where) | ({"upload"} if mark == "@" else set())
                break
    if read.has("--raw"):
        bodies += 1
    if fed(program) and not read.has("--ignore-stdin"):
        bodies += 1
        flags |= stdin_flags(program, where)
    return frozenset(flags) if bodies else None


def _api(word: str) -> Callable[[ProgramRun, Where], Iterator[Effect]]:
    """`gh api -X DELETE /x`, `az rest --method delete --url x`: HTTP requests by another name. `word`: the sub-command."""

    def act(program: ProgramRun, _: Where) -> Iterator[Effect]:
        read = next((words for words in program.readings if words.verb == word), None)
        if read is None:
            return
        fields = read.has("--raw-field", "--field", "--input", "--body")
        method = read.last("--method").upper() or ("POST" if fields else "GET")
        path = read.last("--url") or "".join(read.texts[:1])
        if path == "graphql":
            method = "GET"
        if method not in QUESTIONS:
            flags = request_flags(method, target(f"https://api/{path.lstrip('/')}"))
            yield Effect("http", f"{method} {path}", "remote", flags | {"tls", "api"}, program)

    return act


_KEEPS_SECRETS = frozenset({"secret", "variable", "auth", "ssh-key", "gpg-key"})


def _publishes(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`gh gist create key.pem`, `gh issue create --body "$(cat .env)"`: publishes key files."""
    if len(program.argv) < 3 or program.argv[1] in _KEEPS_SECRETS or program.argv[2] not in _PUBLISHES:  # noqa: PLR2004 - a thing and what is done
        return
    fed_in = any("credentials" in data_flags(feed, where, program.cwd) for _, feed in program.given) or (
        "credentials" in stdin_flags(program, where)
    )
    named = [word.text.partition("#")[0] for word in program.words.named("input")[:_MAX_FILES]]
    if program.argv[1] in ("gist", "snippet") and any("personal-file" in marks(path, where, program.cwd) for path in named):
        yield Effect(
            "copy-out", " ".join((program.name, *program.argv[1:3])), "remote", frozenset({"tls", "file", "bulk"}), program
        )
    if fed_in or any(place(path, where, program.cwd) == "credentials" for path in named):
        flags = frozenset({"tls", "file", "credentials"})
        yield Effect("send", " ".join((program.name, *program.argv[1:3])), "remote", flags, program)


_PUBLISHES = frozenset({"create", "comment", "edit", "upload", "review", "note", "new", "add"})


_MAX_FILES = 64


def _platform(program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _api("api")(program, where)
    yield from _publishes(program, where)


def table(*rows: tuple[Iterable[str], Act]) -> dict[str, Act]:
    return {name: act for names, act in rows for name in names}


PROGRAMS: dict[str, Act] = table(
    (program_catalogue.programs("curl"), by_manual(curl_effects)),
    (program_catalogue.programs("wget"), by_manual(_wget)),
    (program_catalogue.programs("download_manager"), by_manual(_aria)),
    (program_catalogue.programs("httpie"), _httpie),
    (program_catalogue.programs("code_platform"), _platform),
    ({"az"}, _api("rest")),
)
