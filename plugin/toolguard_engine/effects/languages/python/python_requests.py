"""What the libraries of Python do with other machines: requests, sockets, mail, remote shells."""

from __future__ import annotations

from collections.abc import Sequence

from toolguard_engine.effects.facts import web_targets
from toolguard_engine.effects.facts.command import UNKNOWN, StdinSource
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages.code_values import (
    FROM_NETWORK,
    FROM_SOCKET,
    NOTHING,
    Sources,
    Unknown,
    Value,
    choices,
    feed,
    items,
    sources,
    text,
    texts,
)
from toolguard_engine.effects.languages.outside_values import address, carried, data_headers, logs_in
from toolguard_engine.effects.languages.python.python_calling import Arguments, PythonCalling
from toolguard_engine.effects.languages.python.python_files import open_file, written
from toolguard_engine.effects.languages.python.python_tables import Act, constant, passing, table

_BODIES = ("data", "json", "files", "content", "body", "params", "fields")
_VERIFIES = ("verify", "verify_ssl", "ssl")
_QUESTIONS = frozenset({"GET", "HEAD", "OPTIONS"})

RESPONSE = Unknown("response", (FROM_NETWORK,))


def _unverified(given: Arguments) -> Sequence[str]:
    """The flag of a request that accepts any server."""
    return ["unverified"] if any(given.named.get(name) is False for name in _VERIFIES) else ()


def sent(code: PythonCalling, method: str, given: Arguments, at: int = 0) -> Value:
    """One HTTP request."""
    bodies = [given.named[name] for name in _BODIES if given.named.get(name) is not None]
    if method not in _QUESTIONS and given.get(at + 1) is not None:
        bodies.append(given.get(at + 1))
    headers = data_headers(given.named.get("headers"))
    for value in choices(given.get(at, "url", "fullurl")):
        url = address(value)
        if code.repeats and url and "local" not in web_targets.target(url).flags:
            code.add(deeds.other("load", "sends requests to another machine endlessly"))
        if url and logs_in(*given.all):
            code.add(deeds.log_in(url, _unverified(given)))
        if method in _QUESTIONS and not {"data", "json", "files"} & given.named.keys():
            code.add(deeds.request(url, method, carried(url, value, *bodies, *headers)))
        else:
            code.add(deeds.send(url, method, carried(url, value, *bodies, *headers)))
    return RESPONSE


def _verb(method: str) -> Act:
    return lambda code, given: sent(code, method, given)


def _asked(code: PythonCalling, given: Arguments) -> Value:
    """`requests.request(METHOD, url)`."""
    return sent(code, given.text(0, "method").upper() or "GET", given, 1)


def _opened(code: PythonCalling, given: Arguments) -> Value:
    """`urlopen(url, data)`, also with a `Request`."""
    request = given.get(0, "url")
    if isinstance(request, Unknown) and request.kind == "urllib.request.Request":
        code.add(
            deeds.send(request.text, request.mode, feed(Unknown(sources=request.sources)))
        ) if request.mode != "GET" else (
            code.add(deeds.request(request.text, "GET", feed(Unknown(sources=request.sources))))
        )
        return RESPONSE
    data = given.get(1, "data")
    return sent(code, "GET" if data is None else "POST", Arguments([request], {} if data is None else {"data": data}))


def _request(code: PythonCalling, given: Arguments) -> Value:
    value, data = given.get(0, "url"), given.get(1, "data")
    url = address(value)
    method = given.text(5, "method").upper() or ("GET" if data is None else "POST")
    own = carried(url, value, data, *data_headers(given.get(2, "headers")))
    if url and logs_in(*given.all):
        code.add(deeds.log_in(url))
    sources_named = (*(f"program:{name}" for name in own.programs), *(f"file:{path}" for path in own.files))
    return Unknown("urllib.request.Request", sources_named, url, method)


def _retrieved(code: PythonCalling, given: Arguments) -> Value:
    """A download into a file."""
    url = address(given.get(0, "url"))
    code.add(deeds.request(url))
    path = given.get(1, "filename", "out")
    if path is not None:
        written(code, open_file(code, path, "w"), RESPONSE) if isinstance(path, str) else None
    return (path, NOTHING) if path is not None else RESPONSE


# --- sockets --------------------------------------------------------------------------------------------------------------


_SOCKET = Unknown("socket.socket", (FROM_SOCKET,))


def _connected(code: PythonCalling, given: Arguments) -> Value:
    ends = [text(part) for part in items(given.get(0, "address"))] or [given.text(0, "host"), given.text(1, "port")]
    code.state["connected"] = ":".join(end.replace(UNKNOWN, "?") for end in ends[:2])
    return _SOCKET


def _web_socket(code: PythonCalling, given: Arguments) -> Value:
    """Also one whose messages reach functions: `WebSocketApp(url, on_message=f)`."""
    code.state["connected"] = given.text(0, "url", "uri").replace(UNKNOWN, "?")
    if routine := given.named.get("on_message"):
        code.apply(routine, Arguments([NOTHING, Unknown(sources=(FROM_SOCKET,))]))
    return _SOCKET


def _streams(code: PythonCalling, given: Arguments) -> Value:
    """`asyncio.open_connection`."""
    _connected(code, Arguments([[given.get(0, "host"), given.get(1, "port")]]))
    return (Unknown(sources=(FROM_SOCKET,)), Unknown(sources=(FROM_SOCKET,)))


def _served(code: PythonCalling, given: Arguments) -> Value:
    """`asyncio.start_server(handler, ...)`."""
    code.state.setdefault("connected", "anyone who connects")
    return code.apply(given.get(0), Arguments([Unknown(sources=(FROM_SOCKET,))] * 2))


def _accepted(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.state.setdefault("connected", "anyone who connects")
    return (_SOCKET, NOTHING)


def _passed_on(code: PythonCalling, given: Arguments) -> Value:
    """Data that is sent through a connection."""
    carried: Sources = tuple(source for source in sources(*given.args[:1]) if source != FROM_SOCKET)
    if carried:
        url = str(code.state.get("connected", ""))
        code.add(deeds.send(address(url), "", feed(Unknown(sources=carried))))
    return NOTHING


def _duplicated(code: PythonCalling, given: Arguments) -> Value:
    if FROM_SOCKET in sources(*given.all):
        code.add(deeds.remote_shell(str(code.state.get("connected", "a connection in the code"))))
    return NOTHING


def _looked_up(code: PythonCalling, given: Arguments) -> Value:
    """A name that is resolved may carry data."""
    name = given.get(0, "host")
    if sources(name):
        code.add(deeds.send(text(name).replace(UNKNOWN, "?"), "", feed(Unknown(sources=sources(name)))))
    return NOTHING


# --- mail, files to other machines, remote commands ------------------------------------------------------------------------


_LOCAL_MAILER = "a mail server for tests"
"""The kind of an object that is connected to one on this machine."""


def _mail_server(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    """Mail stays on this machine only if the server of this very object is one for tests on it."""
    host, port = given.get(0, "host", "hostname"), given.get(1, "port")
    is_known = isinstance(host, str) and isinstance(port, str | int | None) and not isinstance(port, bool)
    is_local = is_known and web_targets.mail_flags(host, "" if port is None else str(port))
    return Unknown(_LOCAL_MAILER if is_local else "smtplib.SMTP")


def _reconnected(code: PythonCalling, given: Arguments) -> Value:
    """A server that an object is connected to later counts for every server in the code."""
    if _mail_server(code, given) != Unknown(_LOCAL_MAILER):
        code.state["mail leaves"] = True
    return NOTHING


def _parts(value: Value) -> list[Value]:
    return items(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def _mailed(code: PythonCalling, given: Arguments) -> Value:
    return _mail(code, given)


def _mailed_here(code: PythonCalling, given: Arguments) -> Value:
    return _mail(code, given, *(() if code.state.get("mail leaves") else ("local",)))


def _mail(code: PythonCalling, given: Arguments, *server: str) -> Value:
    people = items(given.get(1, "to_addrs")) or [given.get(1, "to_addrs")]
    shown = ", ".join(text(person).replace(UNKNOWN, "?") for person in people if person is not None)
    attached = [*_parts(given.named.get("attachments")), *_parts(given.named.get("contents"))]
    files = (f"file:{path}" for file in attached for path in texts(file) if path[:1] in ("~", "/", "."))
    carried_ = feed(Unknown(sources=(*sources(*given.all), *files)))
    code.add(deeds.mail(shown or "an address in the code", carried_, server=server))
    return NOTHING


def _posted(code: PythonCalling, given: Arguments) -> Value:
    """`WebClient.api_call("chat.postMessage")`: the method of the service is an argument."""
    code.add(*(deeds.method(piece, "publish") for piece in given.texts(0, "api_method") if piece.startswith(_POSTS)))
    return RESPONSE


def _submitted(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.add(deeds.method("subreddit.submit", "publish"))
    return RESPONSE


_POSTS = ("chat.postMessage", "chat.scheduleMessage", "chat.meMessage")


def _host(code: PythonCalling, given: Arguments) -> Value:
    code.state["host"] = given.text(0, "hostname", "host").replace(UNKNOWN, "host")
    return NOTHING


def _named_host(kind: str) -> Act:
    def act(code: PythonCalling, given: Arguments) -> Value:
        _host(code, given)
        return Unknown(kind)

    return act


def _stored(code: PythonCalling, given: Arguments) -> Value:
    """`FTP.storbinary("STOR name", file)`."""
    code.add(deeds.send(f"ftp://{code.state.get('host') or 'host'}/", "STOR", feed(*given.args[1:2])))
    return NOTHING


def _put(code: PythonCalling, given: Arguments) -> Value:
    code.add(
        deeds.run(("scp", given.text(0, "localpath"), f"{code.state.get('host') or 'host'}:{given.text(1, 'remotepath')}"))
    )
    return NOTHING


def _remote_command(code: PythonCalling, given: Arguments) -> Value:
    code.add(deeds.run(("ssh", str(code.state.get("host") or "host"), given.text(0, "command"))))
    return (NOTHING, Unknown(sources=(FROM_NETWORK,)), NOTHING)


def uploaded(code: PythonCalling, given: Arguments) -> Value:
    """A client of a storage service takes a file by its path."""
    path = given.text(0, "Filename", "file_path", "filename")
    code.add(deeds.send(f"https://{given.text(1, 'Bucket').replace(UNKNOWN, '') or 'storage'}.service/", "PUT",
        StdinSource(None, (), (path,))))  # fmt: skip
    return NOTHING


_CLIENTS = (
    "requests", "requests.Session", "requests.session", "requests.sessions.Session", "httpx", "httpx.Client",
    "httpx.AsyncClient", "aiohttp.ClientSession", "urllib3.PoolManager", "curl_cffi.requests", "cloudscraper.create_scraper",
)  # fmt: skip
_VERBS = ("get", "post", "put", "patch", "delete", "head", "options")
_MAILERS = ("smtplib.SMTP", "smtplib.SMTP_SSL", "aiosmtplib")

REQUESTS: dict[str, Act] = table(
    *((f"{client}.{verb}", _verb(verb.upper())) for client in _CLIENTS for verb in _VERBS),
    *((f"{client}.request", _asked) for client in _CLIENTS),
    ("http.client.HTTPSConnection.request http.client.HTTPConnection.request httpx.stream", _asked),
    ("urllib.request.urlopen urllib2.urlopen urllib.urlopen", _opened),
    ("urllib.request.Request urllib2.Request", _request),
    ("urllib.request.urlretrieve urllib.urlretrieve wget.download", _retrieved),
    ("socket.socket ssl.wrap_socket", constant(_SOCKET)),
    ("socket.create_connection socket.socket.connect socket.socket.connect_ex", _connected),
    ("websocket.create_connection websocket.WebSocketApp aiohttp.ClientSession.ws_connect", _web_socket),
    ("websockets.connect websockets.client.connect websockets.sync.client.connect", _web_socket),
    ("asyncio.open_connection", _streams), ("asyncio.start_server", _served), ("socket.socket.accept", _accepted),
    ("socket.socket.send socket.socket.sendall socket.socket.sendto", _passed_on),
    ("socket.socket.recv socket.socket.recvfrom socket.socket.fileno socket.socket.makefile socket.socket.detach",
     passing(FROM_SOCKET)),
    ("os.dup2 os.dup", _duplicated),
    ("socket.gethostbyname socket.getaddrinfo dns.resolver.resolve dns.resolver.query", _looked_up),
    *((f"{kind}.{name}", _mailed) for kind in _MAILERS for name in ("sendmail", "send_message", "send")),
    ("yagmail.SMTP.send", _mailed), ("smtplib.SMTP smtplib.SMTP_SSL", _mail_server),
    ("smtplib.SMTP.connect smtplib.SMTP_SSL.connect", _reconnected),
    ("slack_sdk.WebClient.api_call slack_sdk.web.WebClient.api_call slack.WebClient.api_call", _posted),
    ("praw.Reddit.subreddit.submit asyncpraw.Reddit.subreddit.submit", _submitted),
    ("ftplib.FTP ftplib.FTP_TLS", _named_host("ftplib.FTP")), ("ftplib.FTP.connect paramiko.SSHClient.connect", _host),
    ("ftplib.FTP.storbinary ftplib.FTP.storlines", _stored),
    ("paramiko.SSHClient.exec_command fabric.Connection.run fabric.Connection.sudo", _remote_command),
    ("paramiko.SSHClient.open_sftp paramiko.SFTPClient.from_transport", constant(Unknown("sftp"))),
    ("paramiko.Transport", _named_host("paramiko.Transport")),
    ("fabric.Connection fabric.SerialGroup fabric.ThreadingGroup", _named_host("fabric.Connection")),
    ("sftp.put fabric.Connection.put", _put),
)  # fmt: skip
REQUESTS |= {f"{_LOCAL_MAILER}.{name}": _mailed_here for name in ("sendmail", "send_message", "send")}
REQUESTS[f"{_LOCAL_MAILER}.connect"] = _reconnected
