"""Programs that make HTTP requests, and what is known of the hosts and of the data sent to them.

`network_programs` documents the effects and their flags; `PROGRAMS` has `curl`, `wget` and the like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import key_owners, program_catalogue, web_services
from toolguard_engine.effects.facts.addresses import canonical, is_quad
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, Place, ProgramRun, StdinSource
from toolguard_engine.effects.facts.places import Where, marks, place
from toolguard_engine.effects.manuals.command_words import CommandWords, ParsedWord
from toolguard_engine.effects.programs import Act, by_manual, lookalikes, write_effects
from toolguard_engine.effects.programs.getopt import OptionTable, given, options

_QUESTIONS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "REPORT", "SEARCH", "QUERY"})
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "ip6-localhost", "host.docker.internal"})  # noqa: S104 - a name, nothing is bound
_PRIVATE_ENDS = (".local", ".internal", ".lan", ".home", ".intranet", ".corp", ".svc", ".test", ".localhost", ".home.arpa")
_LAN = lazy_re.compile(r"(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.)[\d.]{3,9}\Z|f[de][0-9a-f]{2}:")
_PAYLOADS = (".json", ".graphql", ".gql", ".xml", ".ndjson", ".jsonl", ".yaml", ".yml", ".form")
_DUMPS = program_catalogue.programs("environment_printer") | program_catalogue.programs("variable_lister")
_FILTERS = program_catalogue.programs("data_filter")
_VAULTS = program_catalogue.programs("vault")
_PERSONAL = program_catalogue.programs("personal_recorder")


MAX_PATH = 600
_STEPS = lazy_re.compile(r"[/?&=#:.;]")
_SERVICES = frozenset(
    # data stores, gateways, secret stores, brokers and orchestrators with an HTTP API
    [
        "9200",
        "9201",
        "9600",
        "8001",
        "8444",
        "9180",
        "7700",
        "8108",
        "6333",
        "5984",
        "8086",
        "8091",
        "8200",
        "8500",
        "2375",
        "2376",
        "2379",
        "4646",
        "15672",
        "9090",
        "9091",
        "9093",
        "4242",
        "8089",
        "8087",
        "2019",
        "6443",
        "8983",
        "7474",
        "8529",
        "8123",
        "8083",
        "3100",
        "5601",
        "8161",
        "19530",
        "8222",
        "9870",
        "8088",
        "7070",
        "2480",
    ]
)
_ENDS = frozenset({
    "delete", "_delete", "destroy", "purge", "purge_cache", "purge_everything", "wipe", "truncate", "drop", "shutdown",
    "terminate", "deactivate", "cancel", "revoke", "void", "refund", "refunds", "payouts", "transfers", "close", "_close",
    "remove", "erase", "flush", "_flush", "reset", "quit", "-/quit", "unpublish", "uninstall", "suspend", "disable",
    "archive", "rollback", "expire", "clear", "undeploy", "decommission", "failover", "seal", "rotate", "stop", "kill",
    "_delete_by_query", "delete_by_query", "delete-by-query", "delete_series", "_shrink", "delete-batch", "batchdelete",
    "bulk_delete", "bulk-delete", "bulkdelete", "_bulk_delete", "delete_all", "delete-all", "deleteall",
    "clean_tombstones", "removal", "cancellation", "invalidate", "invalidations", "unsubscribe", "step-down", "leave",
    "reboot", "poweroff", "_rollover", "_forcemerge", "clearall",
})  # fmt: skip
_STARTS = (
    "purge_",
    "purge-",
    "delete_",
    "delete-",
    "bulk_delete",
    "bulk-delete",
    "batch_delete",
    "batch-delete",
    "cancel_",
    "cancel-",
)
_SETTINGS = frozenset({
    "_cluster", "_settings", "_security", "_snapshot", "_ilm", "_template", "_index_template", "_all", "admin",
    "policies", "policy", "mounts", "_reroute", "provisioning", "_xpack",
})  # fmt: skip


_DUMPERS = program_catalogue.programs("dumper")
"""Programs that output whole stores and files."""
_OWN: frozenset[Place] = frozenset({"workspace", "in-workspace", "artefact", "repository", "temp"})
_REVEALING = program_catalogue.programs("host_revealer")
"""Programs whose output describes the user or the machine."""


class Target(Struct, frozen=True):
    """The destination of a request: the whole URL and the flags `local`, `private`, `tls`."""

    url: str
    host: str
    port: str
    flags: frozenset[str]


def target(text: str) -> Target:
    """Parses a URL, or what curl and httpie accept as one (`:9200/x`, `host/path`)."""
    url = text if "://" in text[:16] else f"http://localhost{text}" if text[:1] in (":", "/") else f"http://{text}"
    scheme, _, rest = url.partition("://")
    authority = rest[:512]
    for end in "/?#":
        authority = authority.partition(end)[0]
    host = authority.rpartition("@")[2]
    port = host.rpartition(":")[2]
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    plain = canonical(host)
    if plain != host:
        at = url.find(host, len(scheme) + 3 + authority.rfind("@") + 1)
        url, host = url[:at] + plain + url[at + len(host) :], plain
    flags = set(host_flags(host))
    if text.startswith(UNKNOWN):  # a variable, which has its own scheme
        flags.add("tls")
    if scheme.lower() in ("https", "ftps", "sftp", "scp", "wss"):
        flags.add("tls")
    return Target(url, host, port if port.isdigit() else "", frozenset(flags))


def request_flags(method: str, to: Target) -> frozenset[str]:
    """Flags of a request beside its method: `service`, `destroys`, `settings`, and those of `web_services`."""
    path = to.url.partition("://")[2].partition("/")[2][:MAX_PATH].lower()
    steps = _STEPS.split(path)
    found = set(web_services.service_flags(to.host, path))
    if to.port in _SERVICES:
        found.add("service")
    if method != "DELETE" and any(step in _ENDS or step.startswith(_STARTS) for step in steps):
        found.add("destroys")
    if not _SETTINGS.isdisjoint(steps):
        found.add("settings")
    return frozenset(found)


def acting_flags(to: Target) -> frozenset[str]:
    """Flags of a request that asks something, for services that act on that as well."""
    return web_services.service_flags(to.host, to.url.partition("://")[2].partition("/")[2][:MAX_PATH], asks=True)


def host_flags(host: str) -> frozenset[str]:
    """`local` for this machine, `private` for the local network, nothing for any other host."""
    host = canonical(host.lower())
    if host in _LOCAL or (host.startswith("127.") and is_quad(host)):
        return frozenset({"local"})
    if _LAN.match(host):
        return frozenset({"private", "lan"})
    if host.endswith(_PRIVATE_ENDS) or ("." not in host and ":" not in host and UNKNOWN not in host):
        return frozenset({"private"})
    return frozenset()


_RELAYING = frozenset({25, 465, 587})
"""Ports on which a mail server of this machine may pass mail on; on any other port it is one for tests."""
_MAX_PORT = 65_535
_MAIL_ADDRESS = lazy_re.compile(r"(?:smtps?://)?(?:[^@/?#\\\s]{0,80}@)?([A-Za-z0-9.-]{1,80})(?::([^:/@?#]{1,12}))?/?")


def mail_flags(server: str, port: str = "") -> frozenset[str]:
    """`local` if mail to this server, which may name its port itself, stays on this machine."""
    named = _MAIL_ADDRESS.fullmatch(server)
    ports = {each for each in (port, (named and named[2]) or "") if each}
    if named is None or len(ports) != 1:
        return frozenset()
    (port,) = ports
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) <= _MAX_PORT and int(port) not in _RELAYING
    return host_flags(named[1]) & {"local"} if is_port else frozenset()


def data_flags(feed: StdinSource | None, where: Where, cwd: str) -> frozenset[str]:
    """Flags of data that is sent on: `file`, `output`, `personal`, `secret` (a variable), `credentials`."""
    if feed is None:
        return frozenset()
    places = {place(path, where, cwd) for path in feed.files} - {"null"}
    found = {"file"} if places else set()
    if "credentials" in places:
        found.add("credentials")
    elif places and all(path.endswith(_PAYLOADS) for path in feed.files):
        found.add("payload")
    if not (places | {"in-workspace"} <= _OWN) or not _REVEALING.isdisjoint(feed.programs):
        found.add("reveals")
    for i, name in enumerate(feed.programs):
        follower = feed.programs[i + 1] if i + 1 < len(feed.programs) else "cat"
        if name in _VAULTS or (name in _DUMPS and follower in _FILTERS):
            found.add("credentials")
        elif name in _PERSONAL:
            found.add("personal")
        elif name == "$secret":
            found.add("secret")
    if feed.text is None and feed.programs:
        found.add("output")
    if not _DUMPERS.isdisjoint(feed.programs):
        found.add("file")
    return frozenset(found)


def file_flags(path: str, run: ProgramRun, where: Where) -> frozenset[str]:
    kind = place(path, where, run.cwd)
    if kind == "null":
        return frozenset()
    found = {"file"}
    if kind == "credentials":
        found.add("credentials")
    elif path.endswith(_PAYLOADS):
        found.add("payload")
    return frozenset(found)


def _words(run: ProgramRun, at: int, where: Where) -> frozenset[str]:
    return data_flags(given(run, at), where, run.cwd) | _literal(run.argv[at])


def _literal(text: str) -> frozenset[str]:
    return frozenset({"credentials"}) if "PRIVATE KEY-----" in text else frozenset()


def stdin_flags(run: ProgramRun, where: Where) -> frozenset[str]:
    """Flags of the data that arrives through the pipe or `<`."""
    found = data_flags(run.stdin, where, run.cwd)
    for redirect in run.redirects:
        if redirect.kind == "read" and redirect.fd in ("", "0"):
            found |= file_flags(redirect.target, run, where)
    return found


def fed(run: ProgramRun) -> bool:
    return run.stdin is not None or any(r.kind in ("read", "text") and r.fd in ("", "0") for r in run.redirects)


def _request(run: ProgramRun, url: str, method: str, sent: frozenset[str] | None) -> Iterator[Effect]:
    """The effects of one HTTP request. `sent` is None if it has no body."""
    to = target(url)
    if method in _QUESTIONS and sent is None:
        yield from _asked(to, method, run)
        yield from lookalikes.of_host(to.url, run)
        return
    if sent is not None:
        yield Effect("send", to.url, "remote", to.flags | sent, run)
    if method not in _QUESTIONS:
        flags = to.flags | (sent or frozenset()) | request_flags(method, to)
        yield Effect("http", f"{method} {to.url}", "remote", flags, run)


def _asked(to: Target, method: str, run: ProgramRun) -> Iterator[Effect]:
    yield Effect("fetch", to.url, "remote", to.flags, run)
    if acts := acting_flags(to):
        yield Effect("http", f"{method} {to.url}", "remote", to.flags | acts, run)


def _data_in_address(run: ProgramRun, at: int, url: str, where: Where) -> Iterator[Effect]:
    """Data that leaves inside the address itself."""
    inside = _words(run, at, where)
    if inside:
        to = target(url)
        yield Effect("send", to.url, "remote", to.flags | inside | {"address"}, run)


def _saved(run: ProgramRun, path: str, where: Where) -> Iterator[Effect]:
    return write_effects(path, run, where, "fetched")


def _base(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]


def _under(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder and name and not name.startswith("/") else name


# --- curl -------------------------------------------------------------------------------------------------------------

_CURL_DATA = (
    "-d",
    "--data",
    "--data-ascii",
    "--data-binary",
    "--json",
    "--data-raw",
    "--data-urlencode",
    "-F",
    "--form",
    "--form-string",
)
_CURL_LITERAL = ("--data-raw", "--form-string")


def _curl(run: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    found = _curl_asks(run, read, where)
    return (_through_proxy(effect) for effect in found) if _through_others(run, read) else found


def _through_proxy(effect: Effect) -> Effect:
    return replace(effect, flags=effect.flags - {"local", "private", "lan"})


def _through_others(run: ProgramRun, read: CommandWords) -> bool:
    """Whether a proxy or a chosen address is used, so that the host name says nothing."""
    ends = [value.text for value in read.values(*_PROXIES)]
    ends += [value for name, value in run.assigns if name.lower() in _PROXY_VARIABLES]
    ends += [value.text.partition(":")[2].partition(":")[2] for value in read.values("--resolve", "--connect-to")]
    return any(end and "local" not in target(end.partition(",")[0]).flags for end in ends)


_PROXIES = ("-x", "--proxy", "--preproxy", "--socks4", "--socks4a", "--socks5", "--socks5-hostname", "--proxy1.0")
_PROXY_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy"})


def _curl_asks(run: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    sent = _curl_sent(run, read, where)
    if sent is not None and "file" in sent and _is_own_service(run, read, where):
        sent |= {"own-service"}
    url_query = read.has("-G", "--get") and sent is not None
    methods = _curl_methods(read, sent)
    urls = tuple(read.named("url"))
    for url in urls:
        if url_query:
            to = target(url.text)
            yield from _asked(to, "GET", run)
            yield from lookalikes.of_host(to.url, run)
            if sent:
                yield Effect("send", to.url, "remote", to.flags | sent | {"address"}, run)
        else:
            for method in methods:
                yield from _request(run, url.text, method, sent)
            yield from _data_in_address(run, url.at, url.text, where)
    if urls:
        yield from _curl_headers(run, read, urls[0].text, where)
        yield from _curl_logs_in(run, read, urls[0].text, where)
        if read.has("-k", "--insecure", "--proxy-insecure"):
            yield from _unverified(run, urls, where)
    yield from _curl_saved(run, read, urls, where)


def _is_own_service(run: ProgramRun, read: CommandWords, where: Where) -> bool:
    """Whether files of the work go to a known service together with a key that it has issued, which is its use."""
    urls = [word.text for word in read.named("url")]
    names = [name[1:] for _, feed in run.given for name in feed.programs if name[:1] == "$" and len(name) > 1]
    services = [service for name in names if (service := key_owners.of_variable(name))]
    files = [_curl_file(name, value.text) for name, value in read.options if name in _CURL_DATA]
    files += [value.text for value in read.values("-T", "--upload-file")]
    return (
        len(urls) == 1
        and any(key_owners.is_own(service, target(urls[0]).host) for service in services)
        and all(place(path, where, run.cwd) in _OWN for path in files if path)
    )


def _curl_methods(read: CommandWords, sent: frozenset[str] | None) -> list[str]:
    """Each method that is named: which of them counts is left open, so that none hides another."""
    if named := [value.text.upper() for value in read.values("--request") if value.text]:
        return list(dict.fromkeys(named))
    if read.has("--upload-file"):
        return ["PUT"]
    return ["GET" if read.has("--head") or sent is None or read.has("--get") else "POST"]


def _curl_sent(run: ProgramRun, read: CommandWords, where: Where) -> frozenset[str] | None:
    """The flags of all bodies; None if there is none."""
    found: set[str] = set()
    bodies = 0
    for name, value in read.options:
        if name in ("-T", "--upload-file"):
            bodies += 1
            found |= (
                stdin_flags(run, where) | {"upload"}
                if value.text in ("-", ".")
                else file_flags(value.text, run, where) | {"upload"}
            )
        elif name in _CURL_DATA:
            bodies += 1
            found |= _curl_body(run, name, value, where)
    return frozenset(found) if bodies else None


def _curl_body(run: ProgramRun, name: str, value: ParsedWord, where: Where) -> frozenset[str]:
    path = ""
    if name not in _CURL_LITERAL:
        path = _curl_file(name, value.text)
    if path == "-":
        return stdin_flags(run, where)
    flags = file_flags(path, run, where) if path else frozenset[str]()
    if path and name in ("-F", "--form"):
        flags |= {"upload"}
    return flags | _words(run, value.at, where)


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


def _curl_headers(run: ProgramRun, read: CommandWords, url: str, where: Where) -> Iterator[Effect]:
    """A header with a program's output or a file's content. A token from a password store is normal authentication."""
    to = target(url)
    for name, value in read.options:
        if name in ("-H", "--header", "-A", "--user-agent", "-b", "--cookie", "-e", "--referer"):
            if value.text.lower().startswith(("authorization:", "x-api-key:", "private-token:", "x-auth-token:")):
                continue
            feed = given(run, value.at)
            flags = data_flags(feed, where, run.cwd)
            if name in ("-H", "--header") and value.text.startswith("@"):
                flags |= file_flags(value.text[1:], run, where)
            if name in ("-b", "--cookie") and place(value.text, where, run.cwd) == "credentials":
                flags |= {"file", "credentials"}
            if flags & {"file", "credentials", "personal"}:
                yield Effect("send", to.url, "remote", to.flags | flags | {"address"}, run)


def _curl_logs_in(run: ProgramRun, read: CommandWords, url: str, where: Where) -> Iterator[Effect]:
    """A key file used as the login name, or as the options themselves."""
    to = target(url)
    for name, value in read.options:
        if name in ("-u", "--user", "-U", "--proxy-user", "-K", "--config"):
            feed = given(run, value.at)
            paths = [*(feed.files if feed else ()), *([value.text] if name in ("-K", "--config") else [])]
            if any(place(path, where, run.cwd) == "credentials" for path in paths):
                yield Effect("send", to.url, "remote", to.flags | {"file", "credentials", "address"}, run)


def _unverified(run: ProgramRun, urls: tuple[ParsedWord, ...], where: Where) -> Iterator[Effect]:
    """A secret, even one that logs in, for a server that need not prove who it is."""
    if any(data_flags(feed, where, run.cwd) & {"secret", "credentials"} for _, feed in run.given):
        for url in urls:
            to = target(url.text)
            yield Effect("fetch", to.url, "remote", to.flags | {"unverified"}, run)


def _curl_saved(run: ProgramRun, read: CommandWords, urls: tuple[ParsedWord, ...], where: Where) -> Iterator[Effect]:
    folders = [value.text for value in read.values("--output-dir")] or [""]
    names = [value.text for value in read.values("--output")]
    if read.has("--remote-name", "--remote-name-all", "--remote-header-name"):
        names += [_base(url.text) for url in urls]
    for folder, name in product(folders[:_MAX_FOLDERS], names):
        yield from _saved(run, _under(folder, name), where)


_MAX_FOLDERS = 4


# --- wget and other fetchers ------------------------------------------------------------------------------------------


def _wget(run: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    sent: frozenset[str] | None = None
    for value in read.values("--post-data", "--body-data"):
        sent = (sent or frozenset()) | _words(run, value.at, where)
    for value in read.values("--post-file", "--body-file"):
        sent = (sent or frozenset()) | file_flags(value.text, run, where) | {"upload"}
    for value in read.values("--header", "--user", "--password", "--http-user", "--http-password", "--referer", "-U"):
        secret = data_flags(given(run, value.at), where, run.cwd) & {"file", "credentials", "personal"}
        if secret >= {"file", "credentials"}:
            sent = (sent or frozenset()) | secret
    urls = tuple(read.named("url"))
    methods = [value.text.upper() for value in read.values("--method")] or ["GET" if sent is None else "POST"]
    for url in urls:
        for method in dict.fromkeys(methods):
            yield from _request(run, url.text, method, sent)
        yield from _data_in_address(run, url.at, url.text, where)
    if read.has("--no-check-certificate"):
        yield from _unverified(run, urls, where)
    named = [value.text for value in read.values("--output-document")]
    if not named and not read.has("--spider"):
        folders = [value.text for value in read.values("--directory-prefix")] or [""]
        named = [_under(folder, _base(url.text)) for folder, url in product(folders[:_MAX_FOLDERS], urls)]
    for path in named:
        yield from _saved(run, path, where)


def _aria(run: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    for url in read.named("url"):
        yield from _request(run, url.text, "GET", None)
        for name in [value.text for value in read.values("--out")] or [_base(url.text)]:
            yield from _saved(run, _under(read.one("folder"), name), where)


_HTTPIE_VALUED = frozenset({
    "-a", "-A", "-o", "-p", "-s", "--auth", "--auth-type", "--output", "--print", "--style", "--session",
    "--session-read-only",
    "--verify", "--proxy", "--timeout", "--raw", "--bearer", "--max-redirects", "--format-options", "--pretty", "--boundary",
})  # fmt: skip


def _httpie(run: ProgramRun, where: Where) -> Iterator[Effect]:
    read = options(run, _HTTPIE_VALUED)
    words = read.operands
    method = ""
    if len(words) > 1 and words[0].text.isalpha() and words[0].text.isupper():
        method, words = words[0].text, words[1:]
    elif len(words) > 1 and words[0].text.lower() in ("get", "post", "put", "patch", "delete", "head", "options"):
        method, words = words[0].text.upper(), words[1:]
    if not words:
        return
    url, items = words[0], words[1:]
    sent = _httpie_sent(run, read, items, where)
    yield from _request(run, url.text, method or ("GET" if sent is None else "POST"), sent)
    yield from _data_in_address(run, url.at, url.text, where)
    if read.last("--verify").lower() in ("no", "false"):
        yield from _unverified(run, (url,), where)
    if read.has("-o", "--output"):
        yield from _saved(run, read.last("-o", "--output"), where)
    elif read.has("-d", "--download"):
        yield from _saved(run, _base(url.text), where)


def _httpie_sent(run: ProgramRun, read: OptionTable, items: tuple[ParsedWord, ...], where: Where) -> frozenset[str] | None:
    found: set[str] = set()
    bodies = 0
    for item in items:
        text = item.text
        if "==" in text or (":" in text and "=" not in text and "@" not in text):
            continue
        bodies += 1
        found |= _words(run, item.at, where)
        for mark in ("=@", "@"):
            if mark in text and not text.partition("@")[0].rstrip(":=").count("="):
                found |= file_flags(text.partition(mark)[2], run, where) | ({"upload"} if mark == "@" else set())
                break
    if read.has("--raw"):
        bodies += 1
    if fed(run) and not read.has("--ignore-stdin", "-I"):
        bodies += 1
        found |= stdin_flags(run, where)
    return frozenset(found) if bodies else None


# --- platform programs that call their API by method and path ----------------------------------------------------------

_API_VALUED = frozenset({
    "-X", "--method", "-f", "-F", "-H", "--raw-field", "--field", "--header", "--input", "-q", "--jq", "-t",
    "--template", "--hostname",
    "--url", "--uri", "-u", "--body", "-b", "--resource", "--url-parameters", "--uri-parameters", "--headers", "-p",
    "--preview", "--cache",
})  # fmt: skip


def _api(word: str) -> Callable[[ProgramRun, Where], Iterator[Effect]]:
    """`gh api -X DELETE /x`, `az rest --method delete --url x`: HTTP requests by another name. `word`: the sub-command."""

    def act(run: ProgramRun, _: Where) -> Iterator[Effect]:
        if word not in run.argv[1:4]:
            return
        read = options(run, _API_VALUED, start=run.argv.index(word) + 1)
        fields = read.has("-f", "-F", "--raw-field", "--field", "--input", "--body", "-b")
        method = read.last("-X", "--method", "-m").upper() or ("POST" if fields else "GET")
        path = read.last("--url", "--uri", "-u") or (read.operands[0].text if read.operands else "")
        if path == "graphql":
            method = "GET"
        if method not in _QUESTIONS:
            flags = request_flags(method, target(f"https://api/{path.lstrip('/')}"))
            yield Effect("http", f"{method} {path}", "remote", flags | {"tls", "api"}, run)

    return act


_KEEPS_SECRETS = frozenset({"secret", "variable", "auth", "ssh-key", "gpg-key"})


def _publishes(run: ProgramRun, where: Where) -> Iterator[Effect]:
    """`gh gist create key.pem`, `gh issue create --body "$(cat .env)"`: publishes key files."""
    if len(run.argv) < 3 or run.argv[1] in _KEEPS_SECRETS or run.argv[2] not in _PUBLISHES:  # noqa: PLR2004 - a thing and what is done
        return
    fed_in = any("credentials" in data_flags(feed, where, run.cwd) for _, feed in run.given) or (
        "credentials" in stdin_flags(run, where)
    )
    words = run.argv[3:64] if run.argv[1] in ("gist", "snippet", "release") else _files_named(run.argv)
    named = [word.partition("#")[0] for word in words if word[:1] != "-"]
    if run.argv[1] in ("gist", "snippet") and any("personal-file" in marks(path, where, run.cwd) for path in named):
        yield Effect("copy-out", " ".join((run.name, *run.argv[1:3])), "remote", frozenset({"tls", "file", "bulk"}), run)
    if fed_in or any(place(path, where, run.cwd) == "credentials" for path in named):
        flags = frozenset({"tls", "file", "credentials"})
        yield Effect("send", " ".join((run.name, *run.argv[1:3])), "remote", flags, run)


_PUBLISHES = frozenset({"create", "comment", "edit", "upload", "review", "note", "new", "add"})


def _files_named(argv: tuple[str, ...]) -> list[str]:
    named = [argv[at + 1] for at, word in enumerate(argv[:-1]) if word in ("-F", "--body-file", "--notes-file")]
    return named + [word.partition("=")[2] for word in argv if word.startswith(("--body-file=", "--notes-file="))]


def _platform(run: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _api("api")(run, where)
    yield from _publishes(run, where)


def table(*rows: tuple[Iterable[str], Act]) -> dict[str, Act]:
    return {name: act for names, act in rows for name in names}


PROGRAMS: dict[str, Act] = table(
    (program_catalogue.programs("curl"), by_manual(_curl)),
    (program_catalogue.programs("wget"), by_manual(_wget)),
    (program_catalogue.programs("download_manager"), by_manual(_aria)),
    (program_catalogue.programs("httpie"), _httpie),
    (program_catalogue.programs("code_platform"), _platform),
    ({"az"}, _api("rest")),
)
