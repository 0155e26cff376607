"""Methods of values: of paths and strings, lists and dictionaries, open files, processes, clients."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable
from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages.code_values import (
    ENCRYPTED,
    FROM_SOCKET,
    MAX_ITEMS,
    NOTHING,
    Library,
    Unknown,
    Value,
    feed,
    is_known,
    items,
    sources,
    text,
    texts,
)
from toolguard_engine.effects.languages.outside_values import environment
from toolguard_engine.effects.languages.python import python_builtins, python_clients, python_files, python_programs
from toolguard_engine.effects.languages.python.python_builtins import ALIASES, CONSTANTS
from toolguard_engine.effects.languages.python.python_calling import Arguments, PythonCalling
from toolguard_engine.effects.languages.python.python_files import mode_text, open_file, written
from toolguard_engine.effects.languages.python.python_requests import REQUESTS, uploaded
from toolguard_engine.effects.programs.code_methods import grants_access, methods

_TABLE = {**python_builtins.CALLS, **python_files.CALLS, **python_programs.CALLS, **REQUESTS, **python_clients.CALLS}
_BY_NAME = {**python_programs.BY_NAME, "upload_file": uploaded, "upload_fileobj": uploaded}
_REQUEST = Unknown("socket.socket", (FROM_SOCKET,))
_BUILTINS = ("builtins.", "__builtins__.", "__builtin__.")
_HUGE = 1 << 32

# --- paths and strings ----------------------------------------------------------------------------------------------------

_SAME = word_set("expanduser resolve absolute as_posix relative_to expandvars __str__ __fspath__ copy")
_OF_PATH: dict[str, Callable[[Value], Value]] = {
    ".parent": folding.parent, ".name": folding.base, ".stem": folding.stem, ".suffix": folding.suffix,
    ".path": lambda path: path,
    ".parents": lambda path: [folding.parent(path), folding.parent(folding.parent(path))],
}  # fmt: skip


def _on_text(code: PythonCalling, value: str | bytes, name: str, given: Arguments) -> Value:
    if name in _OF_PATH:
        return _OF_PATH[name](value)
    if name in _SAME:
        return value
    if name == "replace" and len(given.args) == 1:
        name = "rename"
    act = _PATH_METHODS.get(name)
    if act is not None:
        return act(code, text(value), given)
    return folding.string_method(value, name, given.args, given.named)


def _deleted(code: PythonCalling, path: str, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.add(deeds.delete(path))
    return NOTHING


def _renamed(code: PythonCalling, path: str, given: Arguments) -> Value:
    code.add(*(deeds.move(path, target) for target in given.texts(0, "target")))
    return given.get(0, "target")


def _content_written(code: PythonCalling, path: str, given: Arguments) -> Value:
    handle = open_file(code, path, "w")
    if isinstance(handle, Unknown):
        written(code, handle, given.get(0, "data"))
    return NOTHING


def _content_read(code: PythonCalling, path: str, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    return _read(code, open_file(code, path, "r"))


def _read(code: PythonCalling, handle: Value) -> Value:
    if not isinstance(handle, Unknown):
        return Unknown(sources=sources(handle))
    known = code.state.get("written", {}).get(handle.text)
    return Unknown(sources=handle.sources) if known is None else known


def _permitted(code: PythonCalling, path: str, given: Arguments) -> Value:
    code.add(deeds.permit(path, mode_text(given.get(0, "mode"))))
    return NOTHING


def _linked(code: PythonCalling, path: str, given: Arguments) -> Value:
    code.add(deeds.link(given.text(0, "target") or UNKNOWN, path))
    return NOTHING


def _touched(code: PythonCalling, path: str, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.add(deeds.run(("touch", path)))
    return NOTHING


_PATH_METHODS: dict[str, Callable[[PythonCalling, str, Arguments], Value]] = {
    "unlink": _deleted, "rmdir": lambda _, __, ___: NOTHING, "mkdir": lambda _, __, ___: NOTHING, "rename": _renamed,
    "write_text": _content_written, "write_bytes": _content_written, "read_text": _content_read, "read_bytes": _content_read,
    "open": lambda code, path, given: open_file(code, path, given.text(0, "mode") or "r"), "chmod": _permitted,
    "touch": _touched,
    "symlink_to": _linked, "hardlink_to": _linked, "iterdir": lambda _, path, __: [folding.path_join([path, "*"])],
    "glob": lambda _, path, given: [folding.path_join([path, piece]) for piece in given.texts(0, "pattern")],
    "rglob": lambda _, path, given: [folding.path_join([path, "**", piece]) for piece in given.texts(0, "pattern")],
    "walk": lambda _, path, __: [(folding.path_join([path, "**"]), ["*"], ["*"])],
    "joinpath": lambda _, path, given: folding.path_join([path, *given.args]),
    "with_name": lambda _, path, given: folding.with_name(path, given.get(0)),
    "with_suffix": lambda _, path, given: folding.with_name(path, f"{folding.stem(path)}{given.text(0)}"),
    "exists": lambda _, __, ___: NOTHING, "is_file": lambda _, __, ___: NOTHING, "is_dir": lambda _, __, ___: NOTHING,
    "stat": lambda _, __, ___: NOTHING,
}  # fmt: skip


# --- lists and dictionaries -----------------------------------------------------------------------------------------------


def _on_list(code: PythonCalling, value: list[Value] | tuple[Value, ...], name: str, given: Arguments) -> Value:
    if isinstance(value, list) and name in ("append", "add", "insert", "extend", "update"):
        more = items(given.get(0)) if name in ("extend", "update") else given.args[-1:]
        value += more[: max(MAX_ITEMS - len(value), 0)]
        if code.repeats:
            code.add(deeds.other("load", "uses up all memory"))
        return None
    if name == "pop" and value:
        return value[-1]
    return value if name == "copy" else Unknown(sources=sources(*value))


def _on_dict(code: PythonCalling, value: dict[Value, Value], name: str, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    if name in ("get", "pop", "setdefault"):
        key = given.get(0)
        return folding.item(value, key) if isinstance(key, str | int) and key in value else given.get(1)
    if name == "update" and isinstance(given.get(0), dict):
        value.update(given.get(0))
    results = {"items": list(value.items()), "values": list(value.values()), "keys": list(value), "copy": dict(value)}
    return results.get(name, Unknown(sources=sources(value)))


# --- what a library made --------------------------------------------------------------------------------------------------


def _on_file(code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    if name in ("write", "writelines"):
        written(code, value, given.get(0))
    elif name == "truncate" and not given.get(0):
        code.add(deeds.empty(value.text))
    elif name in ("read", "readline", "readlines", "__iter__"):
        return _read(code, value)
    elif name == ".name":
        return value.text
    elif name in ("fileno", ".buffer"):
        return value
    return Unknown(sources=value.sources)


def _on_environment(code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    if name in ("get", "__getitem__", "pop", "setdefault"):
        return environment(given.text(0), given.get(1))
    if name in ("__setitem__", "update"):
        pairs = given.get(0).items() if isinstance(given.get(0), dict) else [(given.get(0), given.get(1))]
        code.add(*(deeds.run(("export", f"{text(key)}={text(part)}")) for key, part in pairs if is_known(key)))
    return Unknown(sources=value.sources)


def _on_variables(code: PythonCalling, _: Unknown, name: str, given: Arguments) -> Value:
    return code.lookup(given.text(0)) if name in ("__getitem__", "get") and is_known(given.get(0)) else None


def _on_process(code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    """A method of a process, which may get text as its standard input."""
    handed = given.get(0, "input")
    if name in ("communicate", ".stdin.write") and is_known(handed):
        code.add(deeds.run(shlex.split(value.text) if "'" in value.text else value.text.split(), feed(handed)))
    return (Unknown(sources=value.sources), NOTHING) if name == "communicate" else None


def _on_cipher(_: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    return Unknown(sources=(*sources(*given.all), ENCRYPTED)) if name.startswith("encrypt") else value


def _on_archive(code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    if name in ("write", "add"):
        code.add(*(deeds.pack(value.text, path) for path in given.texts(0, "filename", "name")))
    elif name.startswith("extract"):
        code.add(deeds.unpack(value.text, given.text(0, "path") or "."))
    return value


def _on_running(code: PythonCalling, _: Unknown, name: str, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    if name in ("kill", "terminate", "suspend", "send_signal"):
        code.add(deeds.other("kill-found", "processes that the code lists"))
    return None


def _on_cloud(code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    if value.mode == "local":
        return NOTHING
    act = _BY_NAME.get(name)
    return act(code, given) if act is not None else python_clients.on_cloud(code, value, name, given)


def _on_repository(code: PythonCalling, _: Unknown, name: str, given: Arguments) -> Value:
    """`Repo.git.push("--force")` of GitPython."""
    if name[:1] != ".":
        options = [f"--{key}" for key, value in given.named.items() if value is True]
        code.add(deeds.run(("git", name.replace("_", "-"), *map(text, given.args), *options)))
    return None


def _on_database(code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    if name.startswith("execute") and value.text != ":memory:":
        code.add(*(deeds.sql_text(piece) for piece in given.texts(0, "sql") if piece.strip(UNKNOWN)))
    return value if name in ("cursor", "execute", "executemany") else None


_BY_KIND: dict[str, Callable[[PythonCalling, Unknown, str, Arguments], Value]] = {
    "file": _on_file, "os.environ": _on_environment, "variables": _on_variables, "process": _on_process,
    "cipher": _on_cipher, "archive": _on_archive, "psutil.Process": _on_running, "database": _on_database,
    "git.Repo.git": _on_repository, python_clients.AWS: _on_cloud,
}  # fmt: skip


_ALL = frozenset({"sys.modules", "__builtins__", "__builtins__.__dict__", "builtins.__dict__"})
"""What holds libraries and built-in functions by their names."""

# --- the libraries --------------------------------------------------------------------------------------------------------


class PythonLibraries:
    """`python_calling.Libraries`: the tables of calls, and what is recognised by the name of a method."""

    def constant(self, name: str) -> Value:
        name = _plain(name)
        value = CONSTANTS.get(name)
        return Library(ALIASES[name]) if value is None and name in ALIASES else value

    def named(self, name: str) -> Value:
        """What this name of a module stands for; None if no table has it."""
        value = self.constant(name)
        return Library(name) if value is None and _plain(name) in _TABLE else value

    def inherited(self, name: str) -> dict[str, Value]:
        """What the objects of a class have because of this base class."""
        return dict.fromkeys(("request", "rfile"), _REQUEST) if name.endswith("RequestHandler") else {}

    def call(self, code: PythonCalling, name: str, given: Arguments) -> Value:
        act = _TABLE.get(_plain(name)) or python_clients.act_of(name)
        if act is None:
            return None
        result = act(code, given)
        return NOTHING if result is None else result

    def method(self, code: PythonCalling, value: Value, name: str, given: Arguments) -> Value:
        if isinstance(value, str | bytes):
            return _on_text(code, value, name, given)
        if isinstance(value, list | tuple):
            return _on_list(code, value, name, given) if name[:1] != "." else NOTHING
        if isinstance(value, dict):
            return _on_dict(code, value, name, given) if name[:1] != "." else NOTHING
        if isinstance(value, Library):
            key = given.text(0)
            if name != "__getitem__" or not is_known(given.get(0)):
                return None
            return Library(key) if value.name in _ALL else code.member(Library(value.name.removesuffix(".__dict__")), key)
        return self._on_unknown(code, value, name, given) if isinstance(value, Unknown) else None

    def _on_unknown(self, code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
        """A method of a value of which only the kind is known."""
        kind = value.kind
        if kind.startswith("process.") and name == "write":
            return _on_process(code, value, f"{kind.removeprefix('process')}.write", given)
        handler = _BY_KIND.get(kind)
        if handler is not None:
            return handler(code, value, name, given)
        if value.sources and (part := python_clients.without_secret(value, name)) is not None:
            return part
        full = f"{kind}.{name}"
        act = _TABLE.get(full) or _BY_NAME.get(name) or python_clients.act_of(full)
        return act(code, given) if act is not None else None

    def other(self, code: PythonCalling, name: str, given: Arguments) -> None:
        """A call that no table has, an endless loop, a repetition."""
        if name == "while":
            code.add(deeds.other("load", "an endless loop"))
        elif name == "*":
            self._repeated(code, given)
        elif not name.startswith(python_clients.EMULATED):
            self._handles(code, given)
            python_clients.shown(code, name, given)
            python_clients.posted(code, name, given)
            self._by_name(code, name.rpartition(".")[2], given)

    def reads(self, name: str, given: Arguments) -> list[str]:
        """The files that a call reads which no table has, by its name."""
        last = name.rpartition(".")[2]
        return _paths(given) if _READS.search(last) and not _SENDS.fullmatch(last) else []

    def _repeated(self, code: PythonCalling, given: Arguments) -> None:
        if any(isinstance(number, int) and number >= _HUGE for number in given.args) and not all(
            isinstance(number, int) for number in given.args
        ):
            code.add(deeds.other("load", "uses up all memory"))

    def _handles(self, code: PythonCalling, given: Arguments) -> None:
        """An open file that is handed to a function is written by it."""
        for value in given.all:
            if isinstance(value, Unknown) and value.kind == "file" and set(value.mode) & set("wax+"):
                written(code, value, Unknown(sources=sources(*(source for source in given.all if source is not value))))

    def _by_name(self, code: PythonCalling, last: str, given: Arguments) -> None:
        node = code.state["node"]
        if _SQL.fullmatch(last):
            code.add(*(deeds.sql_text(piece) for piece in given.texts(0, "sql", "query") if " " in piece))
        elif _SAVES.fullmatch(last) and isinstance(given.get(0, "path", "fname", "path_or_buf"), str):
            for path in given.texts(0, "path", "fname", "path_or_buf"):
                code.add(deeds.write(path, feed(Unknown(sources=sources(*given.all)))))
        elif _SENDS.fullmatch(last):
            files = [f"file:{path}" for value in given.all for path in texts(value) if path[:1] in ("~", "/", ".")]
            if sent := (*sources(*given.all), *files):
                code.add(deeds.send("", "POST", feed(Unknown(sources=sent))))
        elif _READS.search(last):
            code.add(*(deeds.read(path) for path in _paths(given)))
        if isinstance(node, ast.Attribute) and (last.lower().startswith(_VERBS) or grants_access(f"iam.{last}")):
            _act_at_service(code, node, last, given)


def _act_at_service(code: PythonCalling, node: ast.Attribute, last: str, given: Arguments) -> None:
    """A method of an unknown object whose name says that it deletes, cancels or grants something."""
    first = given.args[0] if given.args else None
    if _OF_LISTS.fullmatch(last) and not isinstance(first, str | dict) and (last == "remove" or _is_own(node)):
        return
    hint = "'" if isinstance(first, str) else "x" if given.all else ")"
    code.add(*(deeds.method(method) for method in methods(f"{ast.unparse(node)}({hint}")))


def _paths(given: Arguments) -> list[str]:
    return [path for path in given.texts(0, "path", "filename") if path[:1] in ("~", "/", ".")]


def _is_own(node: ast.Attribute) -> bool:
    """Whether it is a method of an attribute of `self`."""
    base = node.value
    while isinstance(base, ast.Attribute):
        base = base.value
    return isinstance(base, ast.Name) and base.id in ("self", "cls")


_OF_LISTS = lazy_re.compile(r"remove|cancel|delete|clear|drop|empty|flush|truncate")
"""Names that methods of collections, tasks and connections of a program's own have as well."""

_SQL = lazy_re.compile(r"execute\w{0,12}|raw|read_sql\w{0,8}|text|run_sql")
_SAVES = lazy_re.compile(
    r"to_(?:csv|json|excel|parquet|pickle|html|feather|markdown)|save|savefig|savetxt|imwrite|save_pretrained"
)
_READS = lazy_re.compile(r"read|load|open|parse|dump")
_SENDS = lazy_re.compile(
    r"send_(?:document|photo|video|audio|voice|file|media_group)|files_upload(?:_v2)?|upload_(?:from_filename|from_file|blob|document)"
)
"""Methods of clients of chats and storage that take a file."""
_VERBS = (
    "delete", "drop", "destroy", "remove", "clear", "purge", "truncate", "terminate", "wipe", "flush", "empty", "revoke",
    "cancel", "deactivate", "unpublish", "void", "refund", "del", "erase", "create", "batch", "begin_", "files_",
)  # fmt: skip


@lru_cache(maxsize=2_000)
def _plain(name: str) -> str:
    """The full name of a library's part, without the module of the built-in functions."""
    for prefix in _BUILTINS:
        if name.startswith(prefix):
            name = name.removeprefix(prefix)
    head, dot, rest = name.partition(".")
    return f"{ALIASES[head]}.{rest}" if dot and head in ALIASES else name
