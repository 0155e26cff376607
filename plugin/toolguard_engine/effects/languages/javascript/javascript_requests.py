"""What JavaScript sends and asks for: requests, sockets, clients of web services, mail."""

from __future__ import annotations

from toolguard_engine.effects.facts import web_targets
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import (
    FROM_NETWORK,
    NOTHING,
    Library,
    Unknown,
    Value,
    choices,
    feed,
    sources,
    text,
)
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import (
    Act,
    Routine,
    ScriptRun,
)


def _url(value: Value) -> Value:
    """The address in an argument that is a text or options of a request."""
    for one in choices(value):
        if isinstance(one, dict):
            if address := next((one[key] for key in ("url", "uri", "href") if key in one), None):
                return _below(next((one[key] for key in _ROOTS if key in one), ""), address)
            host = next((text(one[key]) for key in ("hostname", "host") if key in one), "")
            path = one.get("path", "")
            return folding.joined(["https://", host, path]) if host else NOTHING
        if isinstance(one, Library) and one.name.startswith("http"):
            return one.name
    return value


def _method(args: list[Value], otherwise: str) -> str:
    value = calls.option(args, "method")
    return text(value).upper() if isinstance(value, str) and UNKNOWN not in value else otherwise


def _body(args: list[Value]) -> Value:
    for key in ("body", "data", "json", "form", "formData", "multipart"):
        if (value := calls.option(args, key)) is not None:
            return value
    return None


def fetched(run: ScriptRun, args: list[Value], base: Value) -> Value:
    body = _body(args)
    params = calls.option(args, "params") or calls.option(args, "searchParams") or calls.option(args, "query")
    url = _url(argument_at(args, 0))
    if params is not None:
        url = folding.joined([url, "?", params]) if sources(params) else url
    return calls.requested(run, url, _method(args, "GET" if body is None else "POST"), body, calls.option(args, "headers"))


def posted(method: str) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        rest = [arg for arg in args[1:] if not isinstance(arg, Routine)]
        body = _body(args[1:2]) if method == "DELETE" or argument_at(args, 1) is NOTHING else argument_at(args, 1)
        if isinstance(body, dict) and (inner := _body([body])) is not None and "headers" in body:
            body = inner
        headers = calls.option(rest[1:] if len(rest) > 1 else rest, "headers")
        return calls.requested(run, _url(argument_at(args, 0)), method, body, headers)

    return act


_ROOTS = ("baseURL", "prefixUrl", "baseUrl")


def _root(args: list[Value]) -> Value:
    return next((value for name in _ROOTS if (value := calls.option(args, name)) is not None), None)


def _below(root: Value, path: Value) -> Value:
    """The address of a path below the one that a client has."""
    file, start = text(path), "".join(texts(root)[:1])
    return path if "://" in file[:16] or not start else f"{start.rstrip('/')}/{file.lstrip('/')}"


def client(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`axios.create({baseURL})`: its methods get the rest of an address."""
    return Unknown(kind="client", sources=(FROM_NETWORK,), text="".join(texts(_root(args) or "")[:1]))


def of_client(verb: str, otherwise: Act | None = None) -> Act:
    """A method of such a client; the call's own options come before the client's."""

    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        first = choices(base)[0] if base is not None else None
        if not isinstance(first, Unknown) or first.kind != "client":
            return otherwise(run, args, base) if otherwise else None
        path = argument_at(args, 0)
        if isinstance(path, dict):
            return fetched(run, [{"baseURL": first.text, **path}, *args[1:]], base)
        root = _root(args[1:])
        url = _below(first.text if root is None else root, path)
        return (fetched if verb == "GET" else posted(verb))(run, [url, *args[1:]], base)

    return act


def http_request(run: ScriptRun, args: list[Value], base: Value) -> Value:
    fetched(run, args, base)
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [Unknown(kind="response", sources=(FROM_NETWORK,))])
    return Unknown(kind="request", sources=(FROM_NETWORK,), text="".join(texts(_url(argument_at(args, 0)))[:1]))


def connected(run: ScriptRun, args: list[Value], base: Value) -> Value:
    host = calls.option(args, "host") or argument_at(args, 1)
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [])
    return Unknown(kind="request", sources=(FROM_NETWORK,), text=text(host) if isinstance(host, str) else UNKNOWN)


def socket(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Unknown(kind="request", sources=(FROM_NETWORK,), text="".join(texts(argument_at(args, 0))[:1]))


def listened(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`connection.on("data", function)`: what comes from there reaches the function."""
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [Unknown(sources=sources(base))])
    return base


def sent(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`.write(data)`, `.end(data)`, `.send(data)` of a request or a connection."""
    first = choices(base)[0] if base is not None else None
    if isinstance(first, Unknown) and first.kind == "request" and args and not isinstance(args[0], Routine):
        run.add(deeds.send(first.text if first.text.strip(UNKNOWN) else "", "POST", feed(args[0])))
        return first
    return run.unknown(".write", args, base)


def mailer(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`nodemailer.createTransport({host, port})`, also with an address; `text`: `local` for a server for tests."""
    return Unknown(kind="mailer", text="local" if _stays(argument_at(args, 0)) else "")


def _stays(server: Value) -> bool:
    """Whether mail to this server stays here; all that decides it must be literal."""
    if isinstance(server, str):
        return bool(web_targets.mail_flags(server))
    if not isinstance(server, dict):
        return False
    if server.get("jsonTransport") is True or server.get("streamTransport") is True:
        return server.keys() <= _KEPT_OPTIONS
    host, port = server.get("host"), server.get("port")
    if not (isinstance(host, str) and isinstance(port, str | int) and server.keys() <= _SERVER_OPTIONS):
        return False
    return bool(web_targets.mail_flags(host, str(port)))


_KEPT_OPTIONS = frozenset({"jsonTransport", "streamTransport", "buffer", "newline", "skipEncoding"})
_SERVER_OPTIONS = frozenset({
    "host", "port", "secure", "ignoreTLS", "requireTLS", "auth", "authMethod", "tls", "name", "pool", "logger", "debug",
    "maxConnections", "maxMessages", "connectionTimeout", "greetingTimeout", "socketTimeout", "rateLimit", "rateDelta",
})  # fmt: skip
"""Options beside which the host is where mail goes; `service` and others take it elsewhere."""


def mailed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    people = [text(value) for name in ("to", "cc", "bcc") if (value := calls.option(args, name)) is not None]
    attached = calls.option(args, "attachments")
    parts = attached if isinstance(attached, list) else [attached]
    paths = [path for part in parts[:MAX_ATTACHED] for path in texts(calls.option([part], "path") or [])]
    unknown = Unknown(sources=(*sources(*args), *(f"file:{path}" for path in paths)))
    mailers = choices(base) if base is not None else ()
    server = (
        ("local",) if mailers and all(isinstance(mailer, Unknown) and mailer.text == "local" for mailer in mailers) else ()
    )
    shown = ", ".join(people).replace(UNKNOWN, "?")
    run.add(deeds.mail(shown or "an address in the code", feed(unknown), server=server))
    return NOTHING


MAX_ATTACHED = 16
