"""What the names of JavaScript mean: Node, Deno, Bun and the packages that scripts use most."""

from __future__ import annotations

from functools import lru_cache

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import python_folding as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.python_values import (
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
from toolguard_engine.effects.languages.script_calls import at, texts
from toolguard_engine.effects.languages.script_run import (
    ENVIRONMENT,
    FROM_INPUT,
    Act,
    LanguageLibrary,
    Routine,
    ScriptRun,
    element,
)
from toolguard_engine.effects.programs import web_targets

_MODULES = {
    "fs/promises": "fs", "fs-extra": "fs", "fs-extra/esm": "fs", "graceful-fs": "fs", "fs.promises": "fs",
    "path/posix": "path", "path.posix": "path",
    "upath": "path", "os.default": "os", "child_process.default": "child_process", "import": "require",
    "cross-spawn": "child_process.spawn", "shelljs/global": "shelljs", "https": "http", "follow-redirects.https": "http",
    "follow-redirects.http": "http", "node-fetch": "fetch", "cross-fetch": "fetch", "undici.fetch": "fetch", "tls": "net",
    "Bun.env": "process.env", "import.meta.env": "process.env", "bun.$": "$", "Bun.$": "$", "zx.$": "$", "execa.$": "$",
    "process.mainModule.require": "require", "module.require": "require",
}  # fmt: skip
_PREFIXES = ("node:", "globalThis.", "global.", "window.", "self.")
_BARE = frozenset({"exec", "execFile", "spawn", "fork"})
_FS = frozenset({
    "rm", "rmdir", "unlink", "remove", "writeFile", "appendFile", "readFile", "readdir", "copyFile", "cp", "copy", "rename",
    "move", "symlink", "link", "chmod", "chown", "truncate", "emptyDir", "mkdtemp", "readJson", "writeJson",
    "outputFile", "opendir",
})  # fmt: skip


def full(name: str) -> str:
    """`fs.promises.rm`, `node:fs.rmSync` and a bare `rmSync` are `fs.rm`."""
    return _full(name) if len(name) <= _LONGEST else name


_LONGEST = 80


@lru_cache(maxsize=512)
def _full(name: str) -> str:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    owner, dot, last = name.rpartition(".")
    if last.endswith("Sync") and len(last) > 4:  # noqa: PLR2004 - the suffix
        last = last[:-4]
        if not owner or owner not in ("fs", "child_process", "rimraf", "execa", "shelljs", "Deno", "Bun", "glob"):
            owner, dot = ("fs", ".") if last in _FS else ("child_process", ".") if last in _BARE else (owner, dot)
    if owner.endswith((".default", ".promises")) and owner.partition(".")[0] in ("fs", "os", "path", "child_process"):
        owner = owner.partition(".")[0]
    owner = _MODULES.get(owner, owner)
    name = f"{owner}{dot}{last}"
    return _MODULES.get(name, name)


def member(run: ScriptRun, name: str) -> Value:
    if name.startswith("process.env."):
        return calls.variable(name[12:])
    return None


def _required(run: ScriptRun, args: list[Value], base: Value) -> Value:
    name = text(at(args, 0))
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return Library(full(name)) if UNKNOWN not in name else NOTHING


def _with_callback(act: Act) -> Act:
    """Calls a function among the arguments with the result."""

    def wrapped(run: ScriptRun, args: list[Value], base: Value) -> Value:
        result = act(run, args, base)
        for arg in args:
            if isinstance(arg, Routine):
                run.invoke(arg, [NOTHING, result])
        return result

    return wrapped


def _url(value: Value) -> Value:
    """The address in an argument that is a text or options of a request."""
    for one in choices(value):
        if isinstance(one, dict):
            if found := next((one[key] for key in ("url", "uri", "href") if key in one), None):
                return _below(next((one[key] for key in _ROOTS if key in one), ""), found)
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


def _fetched(run: ScriptRun, args: list[Value], base: Value) -> Value:
    body = _body(args)
    params = calls.option(args, "params") or calls.option(args, "searchParams") or calls.option(args, "query")
    url = _url(at(args, 0))
    if params is not None:
        url = folding.joined([url, "?", params]) if sources(params) else url
    return calls.requested(run, url, _method(args, "GET" if body is None else "POST"), body, calls.option(args, "headers"))


def _posted(method: str) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        rest = [arg for arg in args[1:] if not isinstance(arg, Routine)]
        body = _body(args[1:2]) if method == "DELETE" or at(args, 1) is NOTHING else at(args, 1)
        if isinstance(body, dict) and (inner := _body([body])) is not None and "headers" in body:
            body = inner
        headers = calls.option(rest[1:] if len(rest) > 1 else rest, "headers")
        return calls.requested(run, _url(at(args, 0)), method, body, headers)

    return act


_ROOTS = ("baseURL", "prefixUrl", "baseUrl")


def _root(args: list[Value]) -> Value:
    return next((value for name in _ROOTS if (value := calls.option(args, name)) is not None), None)


def _below(root: Value, path: Value) -> Value:
    """The address of a path below the one that a client has."""
    found, start = text(path), "".join(texts(root)[:1])
    return path if "://" in found[:16] or not start else f"{start.rstrip('/')}/{found.lstrip('/')}"


def _client(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`axios.create({baseURL})`: its methods get the rest of an address."""
    return Unknown(kind="client", sources=(FROM_NETWORK,), text="".join(texts(_root(args) or "")[:1]))


def _of_client(verb: str, otherwise: Act | None = None) -> Act:
    """A method of such a client; the call's own options come before the client's."""

    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        first = choices(base)[0] if base is not None else None
        if not isinstance(first, Unknown) or first.kind != "client":
            return otherwise(run, args, base) if otherwise else None
        path = at(args, 0)
        if isinstance(path, dict):
            return _fetched(run, [{"baseURL": first.text, **path}, *args[1:]], base)
        root = _root(args[1:])
        url = _below(first.text if root is None else root, path)
        return (_fetched if verb == "GET" else _posted(verb))(run, [url, *args[1:]], base)

    return act


def _http_request(run: ScriptRun, args: list[Value], base: Value) -> Value:
    _fetched(run, args, base)
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [Unknown(kind="response", sources=(FROM_NETWORK,))])
    return Unknown(kind="request", sources=(FROM_NETWORK,), text="".join(texts(_url(at(args, 0)))[:1]))


def _connected(run: ScriptRun, args: list[Value], base: Value) -> Value:
    host = calls.option(args, "host") or at(args, 1)
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [])
    return Unknown(kind="request", sources=(FROM_NETWORK,), text=text(host) if isinstance(host, str) else UNKNOWN)


def _socket(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Unknown(kind="request", sources=(FROM_NETWORK,), text="".join(texts(at(args, 0))[:1]))


def _listened(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`connection.on("data", function)`: what comes from there reaches the function."""
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [Unknown(sources=sources(base))])
    return base


def _sent(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`.write(data)`, `.end(data)`, `.send(data)` of a request or a connection."""
    first = choices(base)[0] if base is not None else None
    if isinstance(first, Unknown) and first.kind == "request" and args and not isinstance(args[0], Routine):
        run.add(deeds.send(first.text if first.text.strip(UNKNOWN) else "", "POST", feed(args[0])))
        return first
    return run.unknown(".write", args, base)


def _file_gone(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = choices(base)[0] if base is not None else None
    if isinstance(first, Unknown) and first.kind == "file":
        run.add(deeds.delete(first.text))
        return NOTHING
    return run.unknown(".delete", args, base)


def _shelljs(name: str) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        return calls.program(run, [name, *args], base)

    return act


def _deno_command(run: ScriptRun, args: list[Value], base: Value) -> Value:
    rest = calls.option(args, "args")
    return calls.program(run, [at(args, 0), rest if rest is not None else []], base)


def _spawned(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`Bun.spawn(["rm", "x"])`, `Deno.run({cmd: [...]})`."""
    command = calls.option(args, "cmd")
    return calls.program(run, [command if command is not None else at(args, 0)], base)


def _buffer(run: ScriptRun, args: list[Value], base: Value) -> Value:
    form = text(at(args, 1)) if len(args) > 1 else ""
    if form in ("base64", "hex", "base64url"):
        return folding.decoded({"base64url": "base64.urlsafe"}.get(form, form), at(args, 0))
    return calls.characters(run, args, base) if isinstance(at(args, 0), list) else at(args, 0)


def _to_string(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Unknown(sources=sources(base)) if args and text(args[0]) in ("base64", "hex") and sources(base) else base


def _killed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    signal = text(at(args, 1)).removeprefix("SIG") if len(args) > 1 else "TERM"
    run.add(deeds.stop(text(at(args, 0)), signal if UNKNOWN not in signal else "TERM"))
    return NOTHING


def _mode(run: ScriptRun, args: list[Value], base: Value) -> Value:
    mode = text(at(args, 1)).removeprefix("0o").removeprefix("0")
    for path in texts(at(args, 0)):
        run.add(deeds.permit(path, mode if mode.isdigit() else "u+rw"))
    return NOTHING


def _keys(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = at(args, 0)
    return list(first) if isinstance(first, dict) else [Unknown(sources=sources(first))]


def _values(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = at(args, 0)
    return (
        list(first.values())
        if isinstance(first, dict)
        else first
        if isinstance(first, list)
        else [Unknown(sources=sources(first))]
    )


def _array(run: ScriptRun, args: list[Value], base: Value) -> Value:
    values = args[0] if args and isinstance(args[0], list) else [element(at(args, 0))]
    return calls.mapped(run, args[1:2], values) if len(args) > 1 else values


def _pushed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if isinstance(base, list) and len(base) < 200:  # noqa: PLR2004 - elements
        base.extend(args)
    return NOTHING


def _timer(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return run.invoke(args[0], []) if isinstance(at(args, 0), Routine) else calls.evaluating(run, args[:1], base)


def _repeated(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """A script that starts itself again and again."""
    before = len(run.deeds)
    found = _timer(run, args, base)
    if any(not _OWN_NAMES.isdisjoint(deed.argv[:2]) for deed in run.deeds[before:]):
        run.add(deeds.run(("fork-bomb",)))
    return found


_OWN_NAMES = frozenset({"./script.js"})


def _mailer(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`nodemailer.createTransport({host, port})`, also with an address; `text`: `local` for a server for tests."""
    return Unknown(kind="mailer", text="local" if _stays(at(args, 0)) else "")


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


def _mailed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    people = [text(value) for name in ("to", "cc", "bcc") if (value := calls.option(args, name)) is not None]
    attached = calls.option(args, "attachments")
    parts = attached if isinstance(attached, list) else [attached]
    paths = [path for part in parts[:MAX_ATTACHED] for path in texts(calls.option([part], "path") or [])]
    found = Unknown(sources=(*sources(*args), *(f"file:{path}" for path in paths)))
    mailers = choices(base) if base is not None else ()
    server = ("local",) if mailers and all(isinstance(each, Unknown) and each.text == "local" for each in mailers) else ()
    shown = ", ".join(people).replace(UNKNOWN, "?")
    run.add(deeds.mail(shown or "an address in the code", feed(found), server=server))
    return NOTHING


MAX_ATTACHED = 16


def _in_place(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.variable(text(at(args, 0)))


FUNCTIONS: dict[str, Act] = calls.rows(
    ("fs.rm fs.rmdir fs.unlink Deno.remove", _with_callback(calls.deleting)),
    (
        (
            "fs.remove fs.emptyDir fs.emptydir fs.delete rimraf rimraf.rimraf rimraf.native rimraf.manual"
            " rimraf.windows rimraf.default rimraf.sync del del.del del.delete del.deleteAsync del.sync trash"
            " premove"
        ),
        _with_callback(calls.on_paths(calls.tree)),
    ),
    (
        (
            "fs.writeFile fs.outputFile fs.writeJson fs.outputJson fs.createWriteStream Deno.writeTextFile"
            " Deno.writeFile Deno.create Bun.write"
        ),
        _with_callback(calls.writing()),
    ),
    ("fs.appendFile", _with_callback(calls.writing(append=True))),
    ("fs.truncate Deno.truncate", calls.on_paths(deeds.empty)),
    (
        "fs.readFile fs.createReadStream fs.readJson fs.readJSON Deno.readTextFile Deno.readFile",
        _with_callback(calls.reading),
    ),
    ("Bun.file fs.open Deno.open", _with_callback(calls.opened)),
    ("fs.readdir fs.opendir Deno.readDir", _with_callback(calls.listing)),
    (
        (
            "glob glob.glob glob.globSync glob.sync fast-glob fast-glob.sync fast-glob.glob globby globby.globby"
            " globby.sync globby.globbySync fs.glob tinyglobby.glob"
        ),
        _with_callback(calls.matching),
    ),
    ("fs.copyFile fs.cp fs.copy Deno.copyFile", calls.on_two(deeds.copy)),
    ("fs.rename fs.move Deno.rename", calls.on_two(deeds.move)),
    ("fs.symlink Deno.symlink", calls.on_two(deeds.link)),
    ("fs.link Deno.link", calls.on_two(calls.hard_link)),
    ("fs.chmod Deno.chmod", _mode),
    ("fs.mkdtemp Deno.makeTempDir", calls.constant(calls.TEMP)),
    ("path.join join", calls.path_joined),
    ("path.resolve resolve", calls.resolved),
    ("path.dirname", calls.folded(folding.parent)),
    ("path.basename", calls.folded(folding.base)),
    (
        (
            "path.normalize fs.realpath url.fileURLToPath fileURLToPath URL String encodeURIComponent encodeURI"
            " String.raw untildify util.promisify promisify Promise.all Promise.allSettled Promise.resolve"
        ),
        calls.same,
    ),
    ("os.homedir homedir", calls.constant("~")),
    ("os.tmpdir tmpdir", calls.constant("/tmp")),  # noqa: S108 - a name
    ("os.userInfo", calls.constant({"homedir": "~", "username": UNKNOWN})),
    ("process.cwd Deno.cwd", calls.constant(".")),
    ("process.chdir Deno.chdir", calls.on_paths(deeds.change_folder)),
    ("Deno.env.get", _in_place),
    ("Deno.env.toObject", calls.constant(ENVIRONMENT)),
    (
        ("child_process.exec exec execaCommand execa.execaCommand execa.command shelljs.exec $ execa.$ util.promisify.exec"),
        calls.shell,
    ),
    (
        (
            "child_process.spawn child_process.execFile child_process.fork spawn execFile execa execa.execa"
            " execa.sync execa.default"
        ),
        calls.program,
    ),
    ("Deno.Command", _deno_command),
    ("Deno.run Bun.spawn", _spawned),
    ("process.kill Deno.kill", _killed),
    (
        "eval Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction",
        calls.evaluating,
    ),
    ("setInterval", _repeated),
    ("setTimeout setImmediate process.nextTick queueMicrotask", _timer),
    ("require", _required),
    ("atob", calls.decoding("base64")),
    ("Buffer.from Buffer buffer.Buffer.from", _buffer),
    ("JSON.stringify", calls.as_json),
    ("btoa JSON.parse", calls.encoded),
    ("String.fromCharCode String.fromCodePoint", calls.characters),
    ("Object.keys", _keys),
    ("Object.values Object.entries", _values),
    ("Array.from", _array),
    (
        (
            "fetch axios axios.get axios.request axios.head got got.get ky ky.get undici.request needle request"
            " request.get superagent.get Bun.fetch dns.lookup dns.resolve dns.resolveTxt"
        ),
        _fetched,
    ),
    ("axios.create got.extend ky.create ky.extend axios.default.create", _client),
    ("http.request http.get", _http_request),
    ("http2.connect WebSocket ws ws.WebSocket", _socket),
    ("net.connect net.createConnection net.Socket Deno.connect Bun.connect dgram.createSocket", _connected),
    ("navigator.sendBeacon", _posted("POST")),
)
FUNCTIONS |= {f"shelljs.{name}": _shelljs(name) for name in ("rm", "mv", "cp", "chmod", "ln", "cat", "cd")}
FUNCTIONS |= {
    f"{owner}.{verb}": _posted(verb.upper())
    for owner in ("axios", "got", "ky", "superagent", "request", "needle")
    for verb in ("post", "put", "patch", "delete")
}
METHODS: dict[str, Act] = calls.rows(
    (
        (
            "trim trimEnd trimStart toLowerCase normalize valueOf flat sort concat unref blob arrayBuffer text"
            " json bytes stdout output outputSync spawn values entries promise quiet nothrow filter find some"
            " every pipe catch finally"
        ),
        calls.itself,
    ),
    ("forEach each", calls.each),
    ("map flatMap reduce", calls.mapped),
    ("toString", _to_string),
    ("then", calls.then),
    ("on once addListener addEventListener", _listened),
    ("join", calls.joined_by),
    ("split", calls.split_by),
    ("reverse", calls.backwards),
    ("replace replaceAll", calls.replaced),
    ("push", _pushed),
    ("write end send", _sent),
    ("unlink", _file_gone),
    ("get head request", _of_client("GET")),
    ("post", _of_client("POST")),
    ("put", _of_client("PUT")),
    ("patch", _of_client("PATCH")),
    ("delete", _of_client("DELETE", _file_gone)),
    ("createTransport", _mailer),
    ("sendMail", _mailed),
    ("doShellScript", calls.shell),
)
CONSTANTS: dict[str, Value] = {
    "true": True, "false": False, "null": None, "undefined": None, "__dirname": ".", "__filename": "./script.js",
    "path.sep": "/", "process.execPath": "node", "process.platform": "linux", "import.meta.dirname": ".",
    "import.meta.dir": ".", "os.EOL": "\n",
    "import.meta.url": "./script.js", "import.meta.filename": "./script.js", "process.stdin": FROM_INPUT,
}  # fmt: skip
JAVASCRIPT_LIBRARY = LanguageLibrary(CONSTANTS, FUNCTIONS, METHODS, full, member, frozenset({"process.env"}), program="node")
