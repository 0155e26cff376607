"""What the names of JavaScript mean: Node, Deno, Bun and the packages that scripts use most."""

from __future__ import annotations

from functools import lru_cache

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import (
    NOTHING,
    Library,
    Unknown,
    Value,
    choices,
    sources,
    text,
)
from toolguard_engine.effects.languages.javascript.javascript_requests import (
    client,
    connected,
    fetched,
    http_request,
    listened,
    mailed,
    mailer,
    of_client,
    posted,
    sent,
    socket,
)
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import (
    ENVIRONMENT,
    FROM_INPUT,
    Act,
    LanguageLibrary,
    Routine,
    ScriptRun,
    element,
)

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
    name = text(argument_at(args, 0))
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    if UNKNOWN in name:
        run.runs_unknown()
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
    return calls.program(run, [argument_at(args, 0), rest if rest is not None else []], base)


def _spawned(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`Bun.spawn(["rm", "x"])`, `Deno.run({cmd: [...]})`."""
    command = calls.option(args, "cmd")
    return calls.program(run, [command if command is not None else argument_at(args, 0)], base)


def _buffer(run: ScriptRun, args: list[Value], base: Value) -> Value:
    form = text(argument_at(args, 1)) if len(args) > 1 else ""
    if form in ("base64", "hex", "base64url"):
        return folding.decoded({"base64url": "base64.urlsafe"}.get(form, form), argument_at(args, 0))
    return calls.characters(run, args, base) if isinstance(argument_at(args, 0), list) else argument_at(args, 0)


def _to_string(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Unknown(sources=sources(base)) if args and text(args[0]) in ("base64", "hex") and sources(base) else base


def _killed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    signal = text(argument_at(args, 1)).removeprefix("SIG") if len(args) > 1 else "TERM"
    run.add(deeds.stop(text(argument_at(args, 0)), signal if UNKNOWN not in signal else "TERM"))
    return NOTHING


def _mode(run: ScriptRun, args: list[Value], base: Value) -> Value:
    mode = text(argument_at(args, 1)).removeprefix("0o").removeprefix("0")
    for path in texts(argument_at(args, 0)):
        run.add(deeds.permit(path, mode if mode.isdigit() else "u+rw"))
    return NOTHING


def _keys(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = argument_at(args, 0)
    return list(first) if isinstance(first, dict) else [Unknown(sources=sources(first))]


def _values(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = argument_at(args, 0)
    return (
        list(first.values())
        if isinstance(first, dict)
        else first
        if isinstance(first, list)
        else [Unknown(sources=sources(first))]
    )


def _array(run: ScriptRun, args: list[Value], base: Value) -> Value:
    values = args[0] if args and isinstance(args[0], list) else [element(argument_at(args, 0))]
    return calls.mapped(run, args[1:2], values) if len(args) > 1 else values


def _pushed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if isinstance(base, list) and len(base) < 200:  # noqa: PLR2004 - elements
        base.extend(args)
    return NOTHING


def _timer(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return run.invoke(args[0], []) if isinstance(argument_at(args, 0), Routine) else calls.evaluating(run, args[:1], base)


def _repeated(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """A script that starts itself again and again."""
    before = len(run.deeds)
    result = _timer(run, args, base)
    if any(not _OWN_NAMES.isdisjoint(deed.argv[:2]) for deed in run.deeds[before:]):
        run.add(deeds.run(("fork-bomb",)))
    return result


_OWN_NAMES = frozenset({"./script.js"})


def _in_place(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.variable(text(argument_at(args, 0)))


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
    ("fs.mkdtemp Deno.makeTempDir", calls.constant(deeds.TEMPORARY)),
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
        fetched,
    ),
    ("axios.create got.extend ky.create ky.extend axios.default.create", client),
    ("http.request http.get", http_request),
    ("http2.connect WebSocket ws ws.WebSocket", socket),
    ("net.connect net.createConnection net.Socket Deno.connect Bun.connect dgram.createSocket", connected),
    ("navigator.sendBeacon", posted("POST")),
)


FUNCTIONS |= {f"shelljs.{name}": _shelljs(name) for name in ("rm", "mv", "cp", "chmod", "ln", "cat", "cd")}


FUNCTIONS |= {
    f"{owner}.{verb}": posted(verb.upper())
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
    ("forEach each", calls.for_each_text),
    ("map flatMap reduce", calls.mapped),
    ("toString", _to_string),
    ("then", calls.then),
    ("on once addListener addEventListener", listened),
    ("join", calls.joined_by),
    ("split", calls.split_by),
    ("reverse", calls.backwards),
    ("replace replaceAll", calls.replaced),
    ("push", _pushed),
    ("write end send", sent),
    ("unlink", _file_gone),
    ("get head request", of_client("GET")),
    ("post", of_client("POST")),
    ("put", of_client("PUT")),
    ("patch", of_client("PATCH")),
    ("delete", of_client("DELETE", _file_gone)),
    ("createTransport", mailer),
    ("sendMail", mailed),
    ("doShellScript", calls.shell),
)
CONSTANTS: dict[str, Value] = {
    "true": True, "false": False, "null": None, "undefined": None, "__dirname": ".", "__filename": "./script.js",
    "path.sep": "/", "process.execPath": "node", "process.platform": "linux", "import.meta.dirname": ".",
    "import.meta.dir": ".", "os.EOL": "\n",
    "import.meta.url": "./script.js", "import.meta.filename": "./script.js", "process.stdin": FROM_INPUT,
}  # fmt: skip
JAVASCRIPT_LIBRARY = LanguageLibrary(CONSTANTS, FUNCTIONS, METHODS, full, member, frozenset({"process.env"}), program="node")
