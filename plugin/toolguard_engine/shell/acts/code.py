"""Interpreters that are given their code on the command line, at standard input or by a substitution.

Effects: `code` (the code as target, its language as a flag), and of what the code plainly says: `delete`, `write`, `read` with
the paths that stand in it, `delete-found` (what a search finds), `method` (a call that deletes or cancels things of a
service), `sql`, `send`, `http`, `listen`, `remote-shell`. `run-text` is text that nobody has seen and that runs, with the
flags `fetched` (made by a program that asks another machine), `decoded` (taken out of another form), `unknown` (made by
other programs), `variable`; its target names where the text comes from.

Code is searched, not understood: each search is linear, and looks at the first `MAX_CODE` characters.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice

from toolguard_engine.shell.acts import Act, network, on, secrets_read, sql, wrote
from toolguard_engine.shell.model import UNKNOWN, Effect, Feed, Run
from toolguard_engine.shell.places import Where, place

MAX_CODE = 20_000
MAX_FOUND = 64
MAX_CALLS = 2_000
MAX_OPTIONS = 40
MAX_SHOWN = 120

FETCHERS = frozenset({
    "curl", "curlie", "wget", "wget2", "http", "https", "xh", "xhs", "aria2c", "axel", "nc", "ncat", "netcat",
    "socat", "telnet",
    "ssh", "scp", "sftp", "ftp", "lftp", "tftp", "lynx", "w3m", "links", "elinks", "fetch", "GET", "lwp-request",
    "dig", "nslookup",
    "host", "drill", "gsutil", "ipfs", "rclone", "lwp-download", "ncftpget", "smbclient",
})  # fmt: skip
DECODERS = frozenset({
    "base64", "base32", "basenc", "gbase64", "xxd", "openssl", "rev", "gunzip", "gzip", "zcat", "bunzip2", "bzcat",
    "xz", "xzcat",
    "unxz", "zstd", "zstdcat", "uudecode", "gpg", "hexdump", "od", "b64decode", "ascii85", "brotli", "uncompress",
    "lzma", "lz4",
})  # fmt: skip
_CLIPBOARDS = frozenset({"pbpaste", "xclip", "xsel", "wl-paste"})
_SAYERS = frozenset(
    {"echo", "printf", "cat", "tac", "head", "tail", "tee", "grep", "sudo", "env", "command", "nice", "timeout"}
)
_EDITORS = frozenset(
    {"tr", "sed", "awk", "gawk", "perl", "cut", "fold", "paste", "python", "python3", "ruby", "node", "php"}
)

_LANGUAGES: dict[str, tuple[str, str]] = {
    # program: language, letters of the options behind which code stands
    "python": ("python", "c"),
    "pypy": ("python", "c"),
    "ipython": ("python", "c"),
    "node": ("javascript", "ep"),
    "nodejs": ("javascript", "ep"),
    "bun": ("javascript", "ep"),
    "tsx": ("javascript", "ep"),
    "ts-node": ("javascript", "ep"),
    "deno": ("javascript", ""),
    "perl": ("perl", "eE"),
    "ruby": ("ruby", "e"),
    "jruby": ("ruby", "e"),
    "php": ("php", "rBRE"),
    "lua": ("lua", "e"),
    "luajit": ("lua", "e"),
    "awk": ("awk", ""),
    "gawk": ("awk", "e"),
    "mawk": ("awk", ""),
    "nawk": ("awk", ""),
    "osascript": ("applescript", "e"),
    "powershell": ("powershell", ""),
    "pwsh": ("powershell", ""),
    "Rscript": ("r", "e"),
    "R": ("r", "e"),
    "julia": ("julia", "eE"),
    "elixir": ("elixir", "e"),
    "groovy": ("groovy", "e"),
    "scala": ("scala", "e"),
    "tclsh": ("tcl", ""),
    "expect": ("tcl", "c"),
    "swift": ("swift", "e"),
    "ghc": ("haskell", "e"),
    "racket": ("lisp", "e"),
    "guile": ("lisp", "c"),
    "rails": ("ruby", ""),
    "irb": ("ruby", ""),
    "psysh": ("php", ""),
}
_LONGEST_CLUSTER = 7
_LONG = frozenset({"--eval", "--print", "--execute", "--run", "--command"})
_NO_CODE = ("-M", "-m", "-I", "-x", "-D", "-C", "-W", "-X")
"""Options of perl, python and ruby whose own value stands behind the letter."""
_WITH_VALUE = frozenset(
    {"-W", "-X", "-r", "--require", "-I", "-C", "-d", "-l", "--import", "--loader", "-L", "-cp", "--project"}
)
"""Options whose value may be the next word; any other word that is no option is the script, and ends them."""

_POWERSHELL = re.compile(r"[-/](?:c|co|com|comm|comma|comman|command)\Z", re.IGNORECASE)
_ENCODED = re.compile(r"[-/](?:e|ec|en|enc[a-z]{0,15})\Z", re.IGNORECASE)


def _plain(name: str) -> str:
    """The program without a version: `python3.11` is `python`, `perl5.36` is `perl`."""
    return name if name in _LANGUAGES else name.rstrip("0123456789.").removesuffix("-")


# --- where code stands ----------------------------------------------------------------------------------------------------


def source(run: Run) -> tuple[str, str] | None:
    """The language and the code of a run whose code can be read; None where there is none or it cannot be known."""
    language, letters = _LANGUAGES.get(_plain(run.name), ("", ""))
    if not language:
        return None
    reader = _SPECIAL.get(language) or _SPECIAL.get(run.name) or _console(run)
    texts = reader(run) if reader else list(_given_by_option(run, letters))
    if texts:
        return language, "\n".join(texts)[:MAX_CODE]
    if reader is None and not _script(run):
        text = _said(run)
        if text:
            return language, text[:MAX_CODE]
    return None


def _given_by_option(run: Run, letters: str) -> Iterator[str]:
    argv, behind = run.argv, 0
    for at in range(1, min(len(argv), MAX_OPTIONS)):
        word = argv[at]
        if at == behind:
            continue
        if word[:1] != "-" or word in ("--", "-") or (word == "-m" and letters == "c"):
            return
        if word in _WITH_VALUE:
            behind = at + 1
        name, attached, value = word.partition("=")
        if name in _LONG:
            if attached:
                yield value
            elif at + 1 < len(argv):
                behind = at + 1
                yield argv[behind]
        elif word[1:2] != "-" and not word.startswith(_NO_CODE):
            behind = at + 1 if word[-1] in letters else behind
            yield from _by_letter(argv, at, letters)


def _by_letter(argv: tuple[str, ...], at: int, letters: str) -> Iterator[str]:
    """Code behind `-e`, `-lane`, and attached as in `-e'code'`."""
    word = argv[at]
    if word[-1] in letters and len(word) <= _LONGEST_CLUSTER:
        if at + 1 < len(argv):
            yield argv[at + 1]
    elif word[1:2] in letters and len(word) > 2:
        yield word[2:]


def _awk(run: Run) -> list[str]:
    """The first operand, unless the program stands in a file."""
    argv, at = run.argv, 1
    while at < len(argv):
        word = argv[at]
        if word in ("-f", "--file", "-E", "--exec") or (word.startswith(("-f", "--file=")) and len(word) > 2):
            return []
        if word in ("-v", "-F", "--assign", "--field-separator"):
            at += 2
        elif word.startswith("-") and len(word) > 1 and word != "--":
            if word in ("-e", "--source"):
                return [argv[at + 1]] if at + 1 < len(argv) else []
            at += 1
        else:
            at += word == "--"
            return [argv[at]] if at < len(argv) else []
    return []


def _deno(run: Run) -> list[str]:
    words = [word for word in run.argv[1:] if not word.startswith("-")]
    return words[1:2] if words[:1] == ["eval"] else []


def _rails(run: Run) -> list[str]:
    words = [word for word in run.argv[1:] if not word.startswith("-")]
    return words[1:2] if words[:1] in (["runner"], ["r"]) else []


def _powershell(run: Run) -> list[str]:
    argv = run.argv
    for at in range(1, len(argv) - 1):
        if _POWERSHELL.match(argv[at]):
            return [" ".join(argv[at + 1 :])]
        if _ENCODED.match(argv[at]):
            return [_utf16(argv[at + 1])]
    words = [word for word in argv[1:] if not word.startswith(("-", "/"))]
    if words and not words[0].endswith((".ps1", ".psm1")):
        return [" ".join(words)]
    text = _said(run)
    return [text] if text else []


def _utf16(text: str) -> str:
    import base64
    import binascii

    try:
        return base64.b64decode(text[:MAX_CODE]).decode("utf-16-le", "replace")
    except (ValueError, binascii.Error):
        return text


def _console(run: Run) -> Callable[[Run], list[str]] | None:
    """`python manage.py shell -c`, `php artisan tinker --execute`: a framework's own console."""
    words = run.argv[1:4]
    if not any(word.endswith(("manage.py", "artisan", "bin/console")) for word in words[:1]):
        return None
    return _framework if {"shell", "shell_plus", "tinker"}.intersection(words) else None


def _framework(run: Run) -> list[str]:
    for at, word in enumerate(run.argv):
        if word in ("-c", "--command", "--execute") and at + 1 < len(run.argv):
            return [run.argv[at + 1]]
        if word.startswith(("--execute=", "--command=")):
            return [word.partition("=")[2]]
    text = _said(run)
    return [text] if text else []


_SPECIAL = {"awk": _awk, "deno": _deno, "powershell": _powershell, "rails": _rails}


def _script(run: Run) -> bool:
    """Whether a script or module is named, so that standard input is data and not code."""
    return any(not word.startswith("-") or word.startswith("-m") for word in run.argv[1:]) and "-" not in run.argv[1:]


def _said(run: Run) -> str:
    """The text at standard input, where it is known."""
    for redirect in run.redirects:
        if redirect.kind == "text" and redirect.fd in ("", "0"):
            return redirect.target
    return (run.stdin.text or "") if run.stdin is not None else ""


# --- text that runs unseen --------------------------------------------------------------------------------------------


def _origin(feed: Feed | None) -> tuple[str, frozenset[str]] | None:
    """Where a text comes from that runs, and how: None where it is a file, or what a program says about itself."""
    if feed is None or not feed.programs:
        return None
    target = " | ".join(feed.programs[:6])
    if any(name in FETCHERS for name in feed.programs):
        decoded = any(name in DECODERS for name in feed.programs)
        return target, frozenset({"fetched", "decoded"}) if decoded else frozenset({"fetched"})
    if any(name in DECODERS for name in feed.programs):
        return target, frozenset({"decoded"})
    if any(name in _CLIPBOARDS for name in feed.programs):
        return target, frozenset({"unknown"})
    if feed.text is None and any(name in _EDITORS for name in feed.programs):
        mangled = feed.programs[0] in ("echo", "printf")
        return target, frozenset({"decoded"}) if mangled else frozenset({"unknown"})
    return None


def unseen(run: Run, feed: Feed | None, *, piped: bool) -> Iterator[Effect]:
    """A text that runs and that nobody has seen; `piped`: it comes through a pipe, not by a substitution."""
    origin = _origin(feed)
    if origin is not None:
        yield Effect("run-text", origin[0], "", origin[1], run)
    elif piped and feed is not None and feed.text is None and set(feed.programs) - _SAYERS:
        yield Effect("run-text", " | ".join(feed.programs[:6]), "", frozenset({"unknown"}), run)


def _substituted(run: Run) -> Iterator[Effect]:
    """`sh -c "$(curl ...)"`, `bash <(curl ...)`: any word of an interpreter that is what a fetcher prints."""
    for at, feed in run.given:
        if 0 < at < len(run.argv) and (UNKNOWN in run.argv[at] or feed.text is not None):
            alone = run.argv[at].strip(UNKNOWN + " ;\n") == "" or feed.text is not None or "/dev/fd" in run.argv[at]
            if alone or run.argv[at - 1].startswith("-"):
                yield from unseen(run, feed, piped=False)


def _shell(run: Run, _: Where) -> Iterator[Effect]:
    yield from _substituted(run)
    if ("-c" not in run.argv and not _script(run)) or "-s" in run.argv[1:4]:
        yield from unseen(run, run.stdin, piped=True)
    elif any(word == UNKNOWN for word in run.argv[2:4]) and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    yield from _socket_redirects(run)


def _socket_redirects(run: Run) -> Iterator[Effect]:
    """`bash -i >& /dev/tcp/host/port`: a shell that listens to another machine."""
    for redirect in run.redirects:
        if redirect.target.startswith(("/dev/tcp/", "/dev/udp/")):
            yield Effect("remote-shell", redirect.target, "remote", frozenset(), run)
            return


def _evaluated(run: Run, _: Where) -> Iterator[Effect]:
    """`eval`, `source` and `.`: their words are the command, or the file."""
    yield from _substituted(run)
    if run.name == "eval" and any(UNKNOWN in word for word in run.argv[1:]) and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    if run.name != "eval" and "/dev/stdin" in run.argv[1:]:
        yield from unseen(run, run.stdin, piped=True)


# --- what code says -------------------------------------------------------------------------------------------------------


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


_STRING = r"""[rbfuRBFU@$]{0,2}+(?:"((?:[^"\\]|\\.){0,1000}+)"|'((?:[^'\\]|\\.){0,1000}+)'|`((?:[^`\\]|\\.){0,1000}+)`)"""
_HOME_CALL = (
    r"""(?:os\.path\.)?(?:expanduser|join|resolve|Path)\(\s{0,9}+|os\.homedir\(\)\s{0,4}+\+\s{0,4}+|Path\(\s{0,9}+"""
    r"""|Dir\.home\s{0,4}+\+\s{0,4}+"""
)
_HOME_VALUE = (
    r"""os\.environ(?:\.get\(|\[)['"]HOME['"][\])]|os\.getenv\(['"]HOME['"]\)|process\.env(?:\.HOME|\[['"]HOME['"]\])|Path\.home\(\)"""
    r"""|os\.homedir\(\)|homedir\(\)|Dir\.home|ENV\[['"]HOME['"]\]|\$ENV\{['"]?HOME['"]?\}|getenv\(['"]HOME['"]\)|expanduser\(['"]~['"]\)"""
)
_HOME_TAIL = r"""(?:\s{0,3}+[+,/.]\s{0,3}+['"](?P<tail>[^'"\n]{1,300}+)['"])?"""
_LITERAL = rf"(?:{_HOME_CALL}){{0,3}}+(?:(?P<home>{_HOME_VALUE}){_HOME_TAIL}|{_STRING})"

_DELETES_ALL = (
    r"rmtree|remove_tree|FileUtils\.(?:rm_rf|rm_r|remove_dir|remove_entry(?:_secure)?)|rimraf(?:\.sync|Sync|\.rimraf)?"
    r"|emptyDir(?:Sync)?|removedirs|del(?:Sync)?\b(?=\(\[)|fse?\.remove(?:Sync)?|trash"
)
_DELETES_ONE = (
    r"os\.(?:remove|unlink|rmdir)|fsp?\.(?:promises\.)?(?:rm|rmdir|unlink)(?:Sync)?|\b(?:rmSync|rmdirSync|unlinkSync)|File\.(?:delete|unlink)"
    r"|Dir\.(?:rmdir|delete|unlink)|\bunlink|\brmdir|Deno\.remove(?:Sync)?|FileUtils\.rm(?:_f)?|os\.remove|\bfile\.remove|\brm"
)
_DELETE = rf"(?:(?P<all>{_DELETES_ALL})|(?P<one>{_DELETES_ONE}))(?:\s{{0,4}}+\(|\s)\s{{0,4}}+{_LITERAL}"
_PATH_DELETE = rf"Path\(\s{{0,4}}+{_STRING}\s{{0,4}}+\)\.(?:unlink|rmdir)"
_OPEN = (
    rf"""\b(?:open|fopen|File\.open|io\.open|createWriteStream)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)?\s{{0,4}}+,"""
    r"""\s{0,4}+(?:mode\s{0,4}+=\s{0,4}+)?['"](?P<mode>[rwaxbt+<>]{1,4})"""
)
_WRITE = (
    r"(?:writeFile(?:Sync)?|appendFile(?:Sync)?|createWriteStream|file_put_contents|File\.(?:write|binwrite)|IO\.write"
    rf"|Deno\.write\w{{0,14}}|Bun\.write|truncateSync|writeLines)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}"
)
_PATH_WRITE = (
    rf"Path\(\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)(?:\.expanduser\(\))?\.(?:write_text|write_bytes|touch|open\(['\"][wax])"
)
_READ = (
    r"(?:\bopen|readFile(?:Sync)?|file_get_contents|fopen|File\.(?:read|open|readlines)|IO\.read|readlines|slurp"
    rf"|createReadStream|Deno\.read\w{{0,14}}|Bun\.file|Path)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}"
)

# Which searches are worth while: each of them finds nothing where none of its words is in the code.
_DELETING = (
    "rmtree", "unlink", "rimraf", "emptyDir", "del([", "delSync", "trash", "rm(", "rm '", 'rm "', "rmSync", "rmdir",
    "rm_r", "rm_f", "os.remove", "remove_tree",
    "removedirs", "remove_dir", "remove_entry", "fs.remove", "fse.remove", "Deno.remove", "file.remove",
    "File.delete", "Dir.delete", "rm(",
)  # fmt: skip
_WRITING = ("rite", "open", "touch", "put_contents", "appendFile", "truncate")
_READING = ("open", "read", "get_contents", "Path", "slurp", "file(")
_SECRETIVE = (
    "~",
    "/.",
    "'.",
    '".',
    "/etc",
    "/proc",
    "/dev",
    "HOME",
    "home",
    "id_",
    "key",
    "Key",
    "ecret",
    "red",
    "oken",
    "assw",
    "ookie",
    "ogin",
    "pem",
)

_RECURSIVE = re.compile(r"recursive['\"]?\s{0,4}+(?::|=>?)\s{0,4}+[tT1]")


def _text(match: re.Match[str]) -> str:
    """The string that a pattern with `_STRING` found; `~` for the home folder."""
    groups = match.groupdict()
    if groups.get("home"):
        return f"~/{groups['tail'].lstrip('/')}" if groups.get("tail") else "~"
    return next((group for group in _strings(match) if group), "")


def _strings(match: re.Match[str]) -> list[str | None]:
    named = set(match.re.groupindex.values())
    return [match.group(i) for i in range(1, match.re.groups + 1) if i not in named]


def _found(pattern: str, code: str) -> Iterator[re.Match[str]]:
    for count, match in enumerate(_pattern(pattern).finditer(code)):
        if count >= MAX_FOUND:
            return
        yield match


def _files(code: str, run: Run, where: Where) -> Iterator[Effect]:
    if _any(_DELETING, code):
        yield from _deletes(code, run, where)
    if _any(_WRITING, code):
        yield from _writes(code, run, where)
    if _any(_READING, code) and _any(_SECRETIVE, code):
        for match in _found(_READ, code):
            yield from secrets_read([_text(match)], run, where, "code")


_UNNAMED = rf"(?:{_DELETES_ALL})(?:\s{{0,4}}+\(|\s)\s{{0,4}}+(?:[fF]['\"]|[A-Za-z_$(`])"
_SEARCHES = ("walk(", "glob", "rglob", "scandir", "listdir", "readdir", "Dir[", "find {", "find(", "<*")
_REMOVES = re.compile(
    r"os\.(?:remove|unlink|rmdir)|\.unlink\(|unlinkSync|File\.(?:delete|unlink)|\bunlink\b|rmtree|rmSync|rm_rf|rm_f\b"
)


def _searched(code: str, run: Run) -> Iterator[Effect]:
    """Deleting what a search finds, or a folder that the text does not name."""
    if _any(_SEARCHES, code) and _REMOVES.search(code):
        yield Effect("delete-found", _clip(code), "unknown", frozenset({"code"}), run)
    named = {match.start() for match in _found(_DELETE, code)}
    for match in _found(_UNNAMED, code):
        if match.start() not in named:
            yield Effect("delete-found", _clip(match.group() + "…"), "unknown", frozenset({"code", "recursive"}), run)


def _deletes(code: str, run: Run, where: Where) -> Iterator[Effect]:
    yield from _searched(code, run)
    for match in _found(_DELETE, code):
        path = _text(match)
        everything = bool(match.group("all")) or _RECURSIVE.search(code, match.end(), match.end() + 120) is not None
        flags = ("recursive", "code") if everything else ("code",)
        if path:
            yield on("delete", path, run, where, flags)
    for match in _found(_PATH_DELETE, code):
        path = _text(match)
        if path:
            yield on("delete", path, run, where, ("code",))


def _writes(code: str, run: Run, where: Where) -> Iterator[Effect]:
    for match in _found(_OPEN, code):
        if set(match.group("mode")) & set("wax>+"):
            yield from wrote(_text(match), run, where, "code")
    for pattern in (_WRITE, _PATH_WRITE):
        for match in _found(pattern, code):
            yield from wrote(_text(match), run, where, "code")


# --- methods of clients ---------------------------------------------------------------------------------------------------

_METHOD = re.compile(r"((?:[\w)\]}]{1,40}(?:\?\.|\.|->|::)){1,6}+)(\w{1,60}+)[!?]?(?=(\s{0,3}+\(\s{0,3}+.{0,2})?)")
_VERBS = (
    "delete", "drop", "destroy", "remove", "clear", "purge", "truncate", "terminate", "wipe", "flush", "empty",
    "revoke", "cancel",
    "deactivate", "unpublish", "void", "refund", "del", "erase",
)  # fmt: skip
_SINGLE = frozenset(_VERBS) - {"clear", "flush", "empty"}
_OBJECTS = (
    "many", "all", "bucket", "database", "table", "cluster", "queue", "topic", "index", "indices", "collection",
    "instance", "user",
    "project", "stack", "repo", "key", "secret", "object", "item", "document", "by", "service", "namespace", "role",
    "policy", "group",
    "schema", "rule", "synonym", "db", "volume", "snapshot", "image", "domain", "record", "zone", "account",
    "customer", "subscription",
    "invoice", "payment", "order", "template", "webhook", "endpoint", "list", "contact", "suppression", "message",
    "event", "file",
    "blob", "container", "function", "stream", "keyspace", "backup", "one", "transaction", "token", "session",
    "certificate", "member",
    "team", "workspace", "organization", "environment", "flag", "segment", "experiment", "dashboard", "monitor",
    "pod", "deployment",
    "node", "vector", "point", "entity", "entities", "row", "data", "store", "vault", "card", "merchant", "plan",
    "product", "price",
    "coupon", "source", "app", "site", "release", "branch", "tag", "hook", "config", "resource", "network", "gateway",
    "route",
)  # fmt: skip
_HARMLESS = re.compile(
    r"listener|prefix|suffix|child|attribute|timeout|interval|immediate|rect|screen|mocks?$|animation|duplicates|dropna|level|property"
    r"|class|element|handler|headers|cache|whitespace|space|punct|stopword|accents|console|selection|filter|line|color|row_?factory"
    r"|columns?$|key_?press|(?:drop|remove)?_?while|marker|observer|nan|null|outliers|tags?_?from_?html|html"
)
_LOCAL_NAMES = frozenset({
    "path", "argv", "environ", "map", "set", "cache", "classlist", "style", "dataset", "params", "searchparams",
    "headers", "list", "m", "s", "d", "arr", "array", "df", "data", "frame", "text", "socket", "stream", "req", "res",
    "request", "response", "process", "timer", "controller", "task", "future", "signal", "abort", "element", "node", "el",
    "body", "handlers", "listeners", "sys", "os", "fs", "module", "modules", "require", "exports", "globals", "locals",
    "self", "this", "keys", "values",
})  # fmt: skip


def methods(code: str) -> Iterator[str]:
    """Calls that delete, cancel or revoke things of a service: `client.items.delete("x")`, `User.destroy_all`."""
    if not _any(_VERBS, code.lower()) and not _any(_PAYS, code.lower()):
        return
    for match in islice(_METHOD.finditer(code), MAX_CALLS):
        receiver, name, opened = match.groups()
        verb = next((verb for verb in _VERBS if name.lower().startswith(verb)), "")
        if name == "create" and receiver.lower().endswith(_PAYS):
            yield receiver + name
        if not verb or _HARMLESS.search(name.lower()):
            continue
        rest = name[len(verb) :].lower().strip("_")
        if (
            rest.startswith(_OBJECTS)
            if rest
            else _on_service(receiver, verb, (opened or "").lstrip(" (\t\n")[:1], opened is not None)
        ):
            yield receiver + name


def _on_service(receiver: str, verb: str, first: str, called: bool) -> bool:
    """Whether a bare verb is meant for what a client names: by a chain of names and an argument that names one thing."""
    names = [name for name in re.split(r"[?.\->:]{1,4}", receiver) if name]
    last = names[-1].lower()
    if not called or verb not in _SINGLE or last in _LOCAL_NAMES:
        return False
    if first == ")" and (verb in ("drop", "truncate") or (verb in _ON_ALL and receiver.endswith(")."))):
        return True
    return (
        (len(names) > 1 or last in _CLIENTS or last.endswith("client"))
        and (first in "'\"`{[" or first.isalnum())
        and bool(first)
    )


_ON_ALL = frozenset({"delete", "destroy", "terminate", "purge", "truncate"})
"""Verbs that stand behind a query without an argument: `User.objects.all().delete()`."""
_PAYS = ("refunds.", "payouts.", "transfers.", "refund.", "payout.")
_CLIENTS = frozenset({
    "client", "api", "algolia", "stripe", "braintree", "gateway", "square", "paypal", "twilio", "sendgrid", "mailgun",
    "postmark", "sns", "sqs", "s3", "ec2", "dynamodb", "db", "firestore", "redis", "mongo", "es", "elastic", "opensearch",
    "meili", "qdrant", "pinecone", "weaviate", "k8s", "docker", "octokit", "github", "gitlab", "prisma", "supabase",
    "repo", "bucket", "container", "cluster", "customer", "customers", "users", "user", "accounts", "subscription",
    "subscriptions", "transaction", "collection", "index",
})  # fmt: skip


def _called(code: str, run: Run) -> Iterator[Effect]:
    seen = dict.fromkeys(methods(code))
    for text in islice(seen, MAX_FOUND):
        yield Effect("method", text, "remote", frozenset({"code"}), run)
    if _STATEMENT_WORDS.search(code):
        for match in _found(_STATEMENT, code):
            for statement in sql.statements(_text(match)):
                found = sql.flags(statement)
                if found:
                    yield Effect("sql", statement[:400], "", found | {"code"}, run)


_STATEMENT_WORDS = re.compile(
    r"(?:drop|DROP|Drop|truncate|TRUNCATE|delete|DELETE|Delete|update|UPDATE|Update|alter|ALTER|grant|GRANT)\s{1,9}+\w"
)
_STATEMENT = (
    r"(?:execute\w{0,12}|query\w{0,12}|raw\w{0,12}|Raw\w{0,12}|\bsql|exec\w{0,6}|prepare|\bdo|\brun|\btext|unsafe)"
    rf"\s{{0,3}}+\(?\s{{0,3}}+{_STRING}"
)


# --- code that talks to other machines, or runs what it got -----------------------------------------------------------

_SOCKETS = (
    "socket", "Socket", "fsockopen", "pfsockopen", "TCPServer", "net.connect", "net.createConnection", "createServer",
    "/inet/tcp",
    "/inet/udp", "require('net')", 'require("net")', "Net.Sockets", "TCPClient", "SOCK_STREAM", "inet_aton", "Bun.connect",
)  # fmt: skip
_CHILDREN = (
    "/bin/sh", "/bin/bash", "/bin/zsh", "dup2", "pty.spawn", "cmd.exe", "powershell", "'sh'", '"sh"', "'bash'",
    '"bash"', "bash -i",
    "sh -i", ">&S", ">&STDIN", "Invoke-Expression", "iex ", "io.popen(", "| getline", "sh <&", "`sh", "fdopen",
)  # fmt: skip
_DECODING = (
    "b64decode", "atob(", "fromCharCode", "unhexlify", "fromhex", "marshal.loads", "zlib.decompress", "base64_decode",
    "gzinflate",
    "str_rot13", "'base64'", '"base64"', "unpack(", "unpack1(", "pack(", "decode('hex')", "rot13", "rot_13",
    "b85decode", "b32decode",
    "FromBase64String", "pickle.loads", "decode_base64", "Base64.decode", "hex2bin", "lzma.decompress",
    "urlsafe_decode", "'hex'",
    "chr(", "::-1]", ".reverse()",
)  # fmt: skip
_ASKING = (
    "urlopen", "requests.get", "urllib", "http.get", "https.get", "fetch(", "file_get_contents('http",
    'file_get_contents("http',
    "open-uri", "Net::HTTP", "URI.open", "LWP::", "HTTP::Tiny", "axios", "DownloadString", "DownloadData",
    "Invoke-WebRequest",
    "Invoke-RestMethod", "iwr ", "irm ", "httpx.get", "curl_exec", "wget ", "curl ",
)  # fmt: skip
_EVALUATING = (
    "exec",
    "eval",
    "load",
    "nclude",
    "require_once",
    "Function",
    "function",
    "runIn",
    "ex ",
    "nvoke",
    "assert",
    "system(",
    "iex",
    "IEX",
)
_EVALUATES = re.compile(
    r"\b(?:exec|eval|assert|instance_eval|class_eval|execfile|runInNewContext|runInThisContext|loadstring|load|create_function|Function"
    r"|Invoke-Expression|(?i:iex)|include|require_once)(?:\s{0,4}+[({]|\s)|\beval\)|\.exec\(|\|\s{0,4}+(?i:iex)\b|\bsystem\("
)
_ENVIRONMENT = re.compile(
    r"(?:dict|str|repr|dumps|stringify|urlencode|data\s{0,3}+=|json\s{0,3}+=|body\s{0,3}+:)\s{0,4}+[({]?\s{0,4}+"
    r"(?:dict\()?(?:os\.environ|process\.env|ENV|%ENV|getenv\(\))\b(?!\s{0,3}+[.\[(])"
)
_SENDING_WORDS = (
    "post", "put", "patch", "delete", "Post", "Put", "Patch", "Delete", "POST", "PUT", "PATCH", "DELETE", "data",
    "send", "Upload",
)  # fmt: skip
_SENDING = re.compile(
    r"(?:requests|httpx|session|client|axios|http|got|superagent|ky|aiohttp)\.(?P<verb>post|put|patch|delete|Delete|Post|Put|Patch)\s{0,4}+\("
    r"|method['\"]?\s{0,4}+(?::|=>?)\s{0,4}+['\"](?P<method>POST|PUT|PATCH|DELETE|post|put|patch|delete)['\"]"
    r"|Net::HTTP(?:\.|::)(?P<ruby>[Pp]ost|Put|Patch|Delete)"
    r"|requests\.request\(\s{0,4}+['\"](?P<asked>POST|PUT|PATCH|DELETE|post|put|patch|delete)['\"]"
    r"|(?:urlopen|Request)\([^()\n]{0,400}?\bdata\s{0,4}+=(?P<data>)|CURLOPT_POSTFIELDS(?P<fields>)|sendmail\((?P<mail>)|\.sendall?\((?P<socket>)"
    r"|(?i:Invoke-(?:RestMethod|WebRequest))[^\n]{0,400}?(?i:-Method)\s{1,4}+['\"]?(?P<power>(?i:post|put|patch|delete))"
    r"|Upload(?:String|File|Data)\((?P<upload>)"
)
_ADDRESS = re.compile(r"""(?:https?|wss?|ftp)://[^\s'"`<>)\\]{1,400}""")


def _talks(code: str, run: Run) -> Iterator[Effect]:
    if _any(_SOCKETS, code) and _any(_CHILDREN, code):
        yield Effect("remote-shell", _clip(code), "remote", frozenset({"code"}), run)
    if _any(_EVALUATING, code) and _EVALUATES.search(code):
        if _any(_ASKING, code) and _EVALUATES.search(_without_regex_calls(code)):
            yield Effect("run-text", "an address in the code", "", frozenset({"fetched", "code"}), run)
        elif _any(_DECODING, code):
            yield Effect("run-text", "a decoded text in the code", "", frozenset({"decoded", "code"}), run)
    yield from _sends(code, run)


def _without_regex_calls(code: str) -> str:
    """`/x/.exec(text)` of JavaScript evaluates nothing; `child_process` does."""
    return code if "child_process" in code else code.replace(".exec(", ".")


def _sends(code: str, run: Run) -> Iterator[Effect]:
    if not _any(_SENDING_WORDS, code):
        return
    verbs = []
    for count, match in enumerate(_SENDING.finditer(code)):
        if count >= MAX_FOUND:
            break
        verbs.append(next((text for text in match.groupdict().values() if text), "POST").upper())
    if not verbs:
        return
    address = _ADDRESS.search(code)
    to = network.target(address.group() if address else "?")
    flags = to.flags if address else frozenset[str]()
    carries = {"code"}
    if _ENVIRONMENT.search(code):
        carries.add("credentials")
    if re.search(r"files\s{0,3}+=|open\(|readFile|file_get_contents|read_text|read_bytes|createReadStream", code):
        carries.add("file")
    yield Effect("send", to.url if address else "an address in the code", "remote", flags | carries, run)
    for verb in dict.fromkeys(verbs):
        found = network.asks(verb, to) if address else frozenset[str]()
        yield Effect("http", f"{verb} {to.url if address else ''}".rstrip(), "remote", flags | found | {"code"}, run)


def _any(words: tuple[str, ...], code: str) -> bool:
    return any(word in code for word in words)


def _clip(code: str) -> str:
    return code if len(code) <= MAX_SHOWN else code[: MAX_SHOWN - 1] + "…"


# --- commands in code -----------------------------------------------------------------------------------------------------

_CALLS: dict[str, str] = {
    "python": (
        r"(?:\bsystem|popen2?|\bspawn|\brun|\bcall|check_call|check_output|Popen|getoutput|getstatusoutput|exec[lv]p?e?"
        r"|spawn[lv]p?e?|create_subprocess_(?:shell|exec)|startfile)"
    ),
    "javascript": (
        r"(?:\bexec(?:File)?(?:Sync)?|\bspawn(?:Sync)?|\bfork|execa(?:Sync|Command|CommandSync)?|Deno\.Command"
        r"|Bun\.spawn(?:Sync)?|shelljs\.exec|sh\.exec)"
    ),
    "perl": r"(?:\bsystem|\bexec|\bpopen|open[23])",
    "ruby": r"(?:\bsystem|\bexec|\bspawn|popen[23]?e?|capture[23]e?|Open3\.\w{1,12}|pipeline)",
    "php": r"(?:\bsystem|\bexec|shell_exec|passthru|popen|proc_open|pcntl_exec)",
    "awk": r"(?:\bsystem)",
    "lua": r"(?:os\.execute|io\.popen)",
    "applescript": r"(?:do shell script)",
    "r": r"(?:\bsystem2?|\bshell)",
    "julia": r"(?:\brun|\bread|\bpipeline)",
    "elixir": r"(?:System\.(?:cmd|shell)|:os\.cmd)",
    "tcl": r"(?:\bexec|\bspawn|\bsystem)",
    "swift": r"(?:\bsystem|\bshell)",
    "haskell": r"(?:callCommand|callProcess|system|readProcess)",
    "lisp": r"(?:\(system\*?|shell-command)",
    "groovy": r"(?:Runtime\.getRuntime\(\)\.exec)",
    "scala": r"(?:Process|Runtime\.getRuntime\(\)?\.exec)",
}
_PLAIN_QUOTES: dict[str, str] = {
    # a literal that is itself a command
    "perl": (
        r"`([^`]{1,400}+)`|\bqx\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|/([^/]{1,400}+)/|!([^!]{1,400}+)!"
        r"|\[([^\]]{1,400}+)\])"
    ),
    "ruby": r"`([^`]{1,400}+)`|%x\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|\[([^\]]{1,400}+)\]|\|([^|]{1,400}+)\|)",
    "php": r"`([^`]{1,400}+)`",
    "julia": r"`([^`]{1,400}+)`",
    "javascript": r"\$`([^`]{1,400}+)`",
    "awk": r'"([^"\n]{1,400}+)"\s{0,4}+\|&?\s{0,4}+getline|\|&?\s{0,4}+"([^"\n]{1,400}+)"',
    "groovy": r"""["']([^"'\n]{1,400}+)["']\.execute\(""",
    "scala": r"""["']([^"'\n]{1,400}+)["']\s{0,4}+\.?!{1,2}""",
}
_CALLING: dict[str, tuple[str, ...]] = {
    "python": ("system", "popen", "spawn", "subprocess", "Popen", "exec", "output", "startfile", "run(", "call("),
    "javascript": ("exec", "spawn", "fork", "Deno.Command"),
    "": (
        "system",
        "open",
        "spawn",
        "run",
        "exec",
        "capture",
        "pipeline",
        "passthru",
        "cmd",
        "hell",
        "Command",
        "Process",
        "read",
    ),
}
_LIST = re.compile(rf"\s{{0,9}}+,?\s{{0,9}}+{_STRING}")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

_SHELLISH = frozenset({
    "rm", "rmdir", "dd", "mkfs", "shutdown", "reboot", "poweroff", "halt", "chmod", "chown", "mv", "git", "sudo",
    "curl", "wget",
    "kill", "killall", "pkill", "shred", "find", "docker", "kubectl", "terraform", "systemctl", "bash", "sh", "nc",
    "wipefs", "unlink",
    "truncate", "crontab", "iptables", "ufw", "aws", "gcloud", "az", "dropdb",
})  # fmt: skip


def commands(code: str, language: str) -> tuple[str, ...]:
    """The shell commands that stand as literals in code, in the order of the text; `language` as `source` names it."""
    code = code[:MAX_CODE]
    if _reads_as_command(code):
        return (code,)
    found: list[tuple[int, str]] = []
    call = _CALLS.get(language)
    if call and _any(_CALLING[language] if language in _CALLING else _CALLING[""], code):
        for match in _found(rf"{call}\s{{0,4}}+(?P<open>[(\s\[{{]{{0,4}}+){_STRING}", code):
            found.append((match.start(), _command(match, code)))
    quoted = _PLAIN_QUOTES.get(language)
    if quoted:
        found.extend((match.start(), next(g for g in match.groups() if g)) for match in _found(quoted, code))
    return tuple(text for _, text in sorted(found) if text.strip())


def _command(match: re.Match[str], code: str) -> str:
    """`"rm -rf x"`, or the words of `["rm", "-rf", "x"]` and `"rm", ["-rf", "x"]` put together again."""
    words = [_unescape(_text(match))]
    at = match.end()
    in_list = "[" in match.group("open")
    while len(words) < MAX_FOUND:
        while code[at : at + 1] in (" ", "\n", "\t", ",", "["):
            in_list = in_list or code[at] in "[,"
            at += 1
        following = _LIST.match(code, at)
        if following is None:
            break
        words.append(_unescape(next((g for g in following.groups() if g), "")))
        at = following.end()
    if len(words) == 1 and not in_list:
        return words[0]
    return words[0] if len(words) == 1 else " ".join(shlex.quote(word) for word in words)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    two, four, octal, other = match.groups()
    if two or four:
        return chr(int(two or four, 16))
    if octal:
        return chr(int(octal, 8)) if octal != "0" else ""
    return _ESCAPED.get(other, other)


def _reads_as_command(code: str) -> bool:
    """Code that is a line of shell: no interpreter takes `rm -rf /`, but who writes it means it."""
    words = code[:200].split(None, 2)
    if len(words) < 2 or words[0] not in _SHELLISH:
        return False
    second = words[1]
    return second[:1] in "-/~." or (second[:1].isalnum() and len(words) > 2 and words[2][:1] in "-/~.")


# --- effects --------------------------------------------------------------------------------------------------------------


_WIDE = frozenset({"root", "home", "system", "credentials"})


def _serves(run: Run, where: Where) -> Iterator[Effect]:
    """A web server whose folder is a home or the whole system; one for a project is how it is tried."""
    folder = ""
    if run.argv[1:3] == ("-m", "http.server"):
        folder = next((run.argv[i + 1] for i, word in enumerate(run.argv[:-1]) if word in ("-d", "--directory")), run.cwd)
    elif run.argv[1:2] == ("-S",):
        folder = next((run.argv[i + 1] for i, word in enumerate(run.argv[:-1]) if word == "-t"), run.cwd)
    if folder and place(folder, where, run.cwd) in _WIDE:
        yield Effect("listen", folder, place(folder, where, run.cwd), frozenset({"files"}), run)


def _interpreter(run: Run, where: Where) -> Iterator[Effect]:
    yield from _substituted(run)
    yield from _serves(run, where)
    found = source(run)
    if found is None:
        if not _script(run) and _LANGUAGES[_plain(run.name)][0] not in ("awk", "applescript"):
            yield from unseen(run, run.stdin, piped=True)
        return
    language, code = found
    yield Effect("code", code, "", frozenset({language}), run)
    yield from _talks(code, run)
    if language != "awk":
        yield from _files(code, run, where)
        yield from _called(code, run)
    elif "/inet/" in code and "getline" in code:
        yield Effect("remote-shell", _clip(code), "remote", frozenset({"code"}), run)


def _names() -> Iterable[str]:
    yield from _LANGUAGES
    for name, versions in (
        ("python", ("2", "3", "2.7")),
        ("pypy", ("3",)),
        ("ipython", ("3",)),
        ("lua", ("5.1", "5.2", "5.3", "5.4")),
    ):
        yield from (name + version for version in versions)
    yield from (f"python3.{i}" for i in range(6, 16))
    yield from (f"php{version}" for version in ("7", "8", "7.4", "8.0", "8.1", "8.2", "8.3", "8.4"))
    yield from (f"ruby{version}" for version in ("2.7", "3.0", "3.1", "3.2", "3.3", "3.4"))


PROGRAMS: dict[str, Act] = {
    **dict.fromkeys(_names(), _interpreter),
    **dict.fromkeys(network.SHELLS, _shell),
    **dict.fromkeys(("eval", "source", "."), _evaluated),
    **dict.fromkeys(("iex", "Invoke-Expression"), _shell),
}
