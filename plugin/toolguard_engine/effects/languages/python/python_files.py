"""What the libraries of Python do with files."""

from __future__ import annotations

from collections.abc import Callable

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages.code_deeds import Deed
from toolguard_engine.effects.languages.code_values import (
    ENCRYPTED,
    NOTHING,
    Unknown,
    Value,
    either,
    feed,
    is_known,
    sourced,
    sources,
    text,
    texts,
)
from toolguard_engine.effects.languages.python.python_calling import Arguments, PythonCalling
from toolguard_engine.effects.languages.python.python_tables import Act, constant, table


def _on_path(make: Callable[[str], Deed]) -> Act:
    def act(code: PythonCalling, given: Arguments) -> Value:
        for path in given.texts(0, "path", "src", "filename"):
            code.add(make(path))
        return NOTHING

    return act


def _on_two(make: Callable[[str, str], Deed]) -> Act:
    def act(code: PythonCalling, given: Arguments) -> Value:
        targets = given.texts(1, "dst", "target") or [UNKNOWN]
        code.add(*(make(source, target) for source in given.texts(0, "src", "path") for target in targets))
        return given.get(1, "dst", "target")

    return act


def open_file(code: PythonCalling, path: Value, mode: str) -> Value:
    """An open file. One that is opened for writing counts as emptied unless something is written to it."""
    unknowns = []
    for name in texts(path):
        if set(mode) & set("wax+") and name != UNKNOWN:
            if "w" in mode:
                code.state.setdefault("opened", {}).setdefault(name, False)
            unknowns.append(Unknown("file", (), name, mode))
        else:
            code.add(deeds.read(name))
            unknowns.append(Unknown("file", (*sources(path), f"file:{name}"), name, mode))
    return either(unknowns)


def _dumped(code: PythonCalling, given: Arguments) -> Value:
    """`json.dump(value, file)`."""
    handle = given.get(1, "fp")
    if isinstance(handle, Unknown) and handle.kind == "file":
        written(code, handle, folding.as_json(given.get(0, "obj")))
    return NOTHING


def written(code: PythonCalling, handle: Unknown, value: Value) -> None:
    """Something is written to an open file."""
    path, known = handle.text, is_known(value)
    if known and not value:
        return
    before = code.state.setdefault("opened", {}).get(path)
    code.state["opened"][path] = True
    if ENCRYPTED in sources(value):
        code.add(deeds.encrypt(path))
    if "*" in path and "a" not in handle.mode and not any(source.startswith("file:") for source in sources(value)):
        code.add(deeds.empty(path))
    elif code.repeats:
        code.add(deeds.other("load", f"writes to {path} endlessly"))
    else:
        code.add(deeds.write(path, feed(value), append="a" in handle.mode or before is True))
    if known:
        files = code.state.setdefault("written", {})
        files[path] = (files.get(path, "") if before else "") + text(value)


def _open(code: PythonCalling, given: Arguments) -> Value:
    mode = given.text(1, "mode") or "r"
    path = given.get(0, "file", "filename", "path")
    if path in (0, "/dev/stdin"):
        return Unknown("sys.stdin", (deeds.FED,))
    return NOTHING if path is None or isinstance(path, int) else open_file(code, path, mode)


def _opened_handle(code: PythonCalling, given: Arguments) -> Value:
    handle = given.get(0, "fd")
    is_known = isinstance(handle, Unknown) and handle.kind == "handle"
    return open_file(code, handle.text, given.text(1, "mode") or "r") if is_known else NOTHING


def _os_open(code: PythonCalling, given: Arguments) -> Value:
    flags = given.get(1, "flags")
    bits = flags if isinstance(flags, int) else 0
    mode = "w" if bits & _TRUNCATES else "a" if bits & _WRITES else "r"
    return open_file(code, given.get(0, "path"), mode)


_WRITES, _TRUNCATES = 1 | 2, 0o1000
_OPEN_FLAGS = {"O_RDONLY": 0, "O_WRONLY": 1, "O_RDWR": 2, "O_CREAT": 0o100, "O_TRUNC": 0o1000, "O_APPEND": 0o2000}


def _truncate(code: PythonCalling, given: Arguments) -> Value:
    for path in given.texts(0, "path"):
        code.add(deeds.write(path) if given.get(1, "length") else deeds.empty(path))
    return NOTHING


def mode_text(value: Value) -> str:
    return f"{value & 0o7777:04o}" if isinstance(value, int) else "u+x"


def _chmod(code: PythonCalling, given: Arguments) -> Value:
    for path in given.texts(0, "path"):
        code.add(deeds.permit(path, mode_text(given.get(1, "mode"))))
    return NOTHING


def _chown(code: PythonCalling, given: Arguments) -> Value:
    for path in given.texts(0, "path"):
        code.add(deeds.own(path, given.text(1, "uid", "user") or UNKNOWN))
    return NOTHING


def _archive(code: PythonCalling, given: Arguments) -> Value:
    root = given.text(2, "root_dir") or "."
    name = f"{given.text(0, 'base_name')}.{given.text(1, 'format')}"
    code.add(deeds.pack(name, root))
    return sourced(name, (f"file:{root}",))


def _unpack(code: PythonCalling, given: Arguments) -> Value:
    code.add(deeds.unpack(given.text(0, "filename"), given.text(1, "extract_dir") or "."))
    return NOTHING


def _scanned(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    return [either(folding.path_join([path, "*"]) for path in given.texts(0, "path") or ["."])]


def _walk(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    return [(folding.path_join([path, "**"]), ["*"], ["*"]) for path in given.texts(0, "top") or ["."]]


def _glob(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    root = given.text(5, "root_dir")
    return [folding.path_join([root, piece]) if root else piece for piece in given.texts(0, "pathname")] or NOTHING


def _read_files(code: PythonCalling, given: Arguments) -> Value:
    """Reads a file by its path: `pandas.read_csv`, `numpy.load`."""
    code.add(*(deeds.read(path) for path in given.texts(0, "filepath_or_buffer", "path") if path != UNKNOWN))
    return Unknown("data", tuple(f"file:{path}" for path in given.texts(0) if path != UNKNOWN) + sources(given.get(0)))


def _database(code: PythonCalling, given: Arguments) -> Value:
    path = given.text(0, "database")
    code.add(deeds.read(path))
    return Unknown("database", (f"file:{path}",), path)


def _packed(code: PythonCalling, given: Arguments) -> Value:
    """`zipfile.ZipFile(path, "w")`."""
    path = given.text(0, "file", "name")
    if given.text(1, "mode")[:1] not in ("w", "a", "x"):
        code.add(deeds.read(path))
    return Unknown("archive", (f"file:{path}",), path)


CALLS: dict[str, Act] = table(
    ("os.remove os.unlink", _on_path(deeds.delete)),
    ("shutil.rmtree", _on_path(lambda path: deeds.delete(path, recursive=True))),
    ("os.rmdir os.removedirs os.mkdir os.makedirs", constant(NOTHING)),
    ("json.dump yaml.dump yaml.safe_dump", _dumped),
    ("os.rename os.renames os.replace shutil.move", _on_two(deeds.move)),
    ("shutil.copy shutil.copy2 shutil.copyfile", _on_two(deeds.copy)),
    ("shutil.copytree distutils.dir_util.copy_tree", _on_two(lambda a, b: deeds.copy(a, b, recursive=True))),
    ("os.symlink", _on_two(deeds.link)), ("os.link", _on_two(lambda a, b: deeds.link(a, b, symbolic=False))),
    ("open io.open codecs.open aiofiles.open gzip.open bz2.open lzma.open", _open),
    ("os.open", _os_open), ("os.fdopen", _opened_handle),
    ("os.truncate", _truncate), ("os.chmod os.lchmod", _chmod), ("os.chown os.lchown shutil.chown", _chown),
    ("shutil.make_archive", _archive), ("shutil.unpack_archive", _unpack), ("zipfile.ZipFile tarfile.open", _packed),
    ("os.listdir", constant(["*"])), ("os.scandir", _scanned), ("os.walk", _walk), ("glob.glob glob.iglob", _glob),
    ("os.chdir", _on_path(deeds.change_folder)), ("sqlite3.connect", _database),
    (("pandas.read_csv pandas.read_json pandas.read_excel pandas.read_parquet pandas.read_table numpy.load numpy.loadtxt"
      " numpy.genfromtxt linecache.getlines PIL.Image.open dotenv_values dotenv.dotenv_values numpy.fromfile"), _read_files),
)  # fmt: skip
