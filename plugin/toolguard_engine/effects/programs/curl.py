"""The effects of curl."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from msgspec.structs import replace

from toolguard_engine.effects.facts import key_owners
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.facts.web_targets import target
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords, ParsedWord
from toolguard_engine.effects.programs import lookalikes
from toolguard_engine.effects.programs.sent_data import OWN, data_flags, file_flags, stdin_flags, word_flags
from toolguard_engine.effects.programs.web_requests import (
    MAX_FOLDERS,
    data_in_address,
    in_folder,
    name_in_url,
    question_effects,
    request_effects,
    saved_file,
    unverified_effects,
)

_CURL_DATA = manual_catalogue.spelled("curl", "sends")
_CURL_LITERAL = manual_catalogue.spelled("curl", "literal")


def curl_effects(program: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    effects = _curl_asks(program, read, where)
    return (_through_proxy(effect) for effect in effects) if _through_others(program, read) else effects


def _through_proxy(effect: Effect) -> Effect:
    return replace(effect, flags=effect.flags - {"local", "private", "lan"})


def _through_others(program: ProgramRun, read: CommandWords) -> bool:
    """Whether a proxy or a chosen address is used, so that the host name says nothing."""
    ends = [value.text for value in read.named("proxy")]
    ends += [value for name, value in program.assigns if name.lower() in _PROXY_VARIABLES]
    ends += [value.text.partition(":")[2].partition(":")[2] for value in read.values("--resolve", "--connect-to")]
    return any(end and "local" not in target(end.partition(",")[0]).flags for end in ends)


_PROXY_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy"})


def _sent_in_address(program: ProgramRun, url: str, sent: frozenset[str] | None) -> Iterator[Effect]:
    """A request with its data in the address (`--get`)."""
    to = target(url)
    yield from question_effects(to, "GET", program)
    yield from lookalikes.of_host(to.url, program)
    if sent:
        yield Effect("send", to.url, "remote", to.flags | sent | {"address"}, program)


def _curl_asks(program: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    sent = _curl_sent(program, read, where)
    if sent is not None and "file" in sent and _is_own_service(program, read, where):
        sent |= {"own-service"}
    url_query = read.has("-G", "--get") and sent is not None
    methods = _curl_methods(read, sent)
    urls = tuple(read.named("url"))
    for url in urls:
        if url_query:
            yield from _sent_in_address(program, url.text, sent)
        else:
            for method in methods:
                yield from request_effects(program, url.text, method, sent)
            yield from data_in_address(program, url.at, url.text, where)
    if urls:
        yield from _curl_headers(program, read, urls[0].text, where)
        yield from _curl_logs_in(program, read, urls[0].text, where)
        if read.has("-k", "--insecure", "--proxy-insecure"):
            yield from unverified_effects(program, urls, where)
    yield from _curl_saved(program, read, urls, where)


def _is_own_service(program: ProgramRun, read: CommandWords, where: Where) -> bool:
    """Whether files of the work go to a known service together with a key that it has issued, which is its use."""
    urls = [word.text for word in read.named("url")]
    names = [name[1:] for _, feed in program.given for name in feed.programs if name[:1] == "$" and len(name) > 1]
    services = [service for name in names if (service := key_owners.of_variable(name))]
    files = [_curl_file(name, value.text) for name, value in read.options if name in _CURL_DATA]
    files += [value.text for value in read.values("-T", "--upload-file")]
    return (
        len(urls) == 1
        and any(key_owners.is_own(service, target(urls[0]).host) for service in services)
        and all(place(path, where, program.cwd) in OWN for path in files if path)
    )


def _curl_methods(read: CommandWords, sent: frozenset[str] | None) -> list[str]:
    """Each method that is named: which of them counts is left open, so that none hides another."""
    if named := [value.text.upper() for value in read.values("--request") if value.text]:
        return list(dict.fromkeys(named))
    if read.has("--upload-file"):
        return ["PUT"]
    return ["GET" if read.has("--head") or sent is None or read.has("--get") else "POST"]


def _curl_sent(program: ProgramRun, read: CommandWords, where: Where) -> frozenset[str] | None:
    """The flags of all bodies; None if there is none."""
    flags: set[str] = set()
    bodies = 0
    for name, value in read.options:
        if name in ("-T", "--upload-file"):
            bodies += 1
            flags |= (
                stdin_flags(program, where) | {"upload"}
                if value.text in ("-", ".")
                else file_flags(value.text, program, where) | {"upload"}
            )
        elif name in _CURL_DATA:
            bodies += 1
            flags |= _curl_body(program, name, value, where)
    return frozenset(flags) if bodies else None


def _curl_body(program: ProgramRun, name: str, value: ParsedWord, where: Where) -> frozenset[str]:
    path = ""
    if name not in _CURL_LITERAL:
        path = _curl_file(name, value.text)
    if path == "-":
        return stdin_flags(program, where)
    flags = file_flags(path, program, where) if path else frozenset[str]()
    if path and name in ("-F", "--form"):
        flags |= {"upload"}
    return flags | word_flags(program, value.at, where)


def _curl_file(name: str, value: str) -> str:
    """The path that a value of this option names; empty if it is plain data."""
    if name in ("-F", "--form"):
        content = value.partition("=")[2]
        return content[1:].partition(";")[0].strip('"') if content[:1] in ("@", "<") else ""
    if value.startswith("@"):
        return value[1:]
    if name == "--data-urlencode" and "@" in value and "=" not in value.partition("@")[0]:
        return value.partition("@")[2]
    return ""


def _curl_headers(program: ProgramRun, read: CommandWords, url: str, where: Where) -> Iterator[Effect]:
    """A header with a program's output or a file's content. A token from a password store is normal authentication."""
    to = target(url)
    for name, value in read.options:
        if name not in ("-H", "--header", "-A", "--user-agent", "-b", "--cookie", "-e", "--referer"):
            continue
        if value.text.lower().startswith(("authorization:", "x-api-key:", "private-token:", "x-auth-token:")):
            continue
        flags = data_flags(program.fed_at(value.at), where, program.cwd)
        if name in ("-H", "--header") and value.text.startswith("@"):
            flags |= file_flags(value.text[1:], program, where)
        if name in ("-b", "--cookie") and place(value.text, where, program.cwd) == "credentials":
            flags |= {"file", "credentials"}
        if flags & {"file", "credentials", "personal"}:
            yield Effect("send", to.url, "remote", to.flags | flags | {"address"}, program)


def _curl_logs_in(program: ProgramRun, read: CommandWords, url: str, where: Where) -> Iterator[Effect]:
    """A key file used as the login name, or as the options themselves."""
    to = target(url)
    for name, value in read.options:
        if name in ("-u", "--user", "-U", "--proxy-user", "-K", "--config"):
            feed = program.fed_at(value.at)
            paths = [*(feed.files if feed else ()), *([value.text] if name in ("-K", "--config") else [])]
            if any(place(path, where, program.cwd) == "credentials" for path in paths):
                yield Effect("send", to.url, "remote", to.flags | {"file", "credentials", "address"}, program)


def _curl_saved(program: ProgramRun, read: CommandWords, urls: tuple[ParsedWord, ...], where: Where) -> Iterator[Effect]:
    folders = [value.text for value in read.values("--output-dir")] or [""]
    names = [value.text for value in read.values("--output")]
    if read.has("--remote-name", "--remote-name-all", "--remote-header-name"):
        names += [name_in_url(url.text) for url in urls]
    for folder, name in product(folders[:MAX_FOLDERS], names):
        yield from saved_file(program, in_folder(folder, name), where)
