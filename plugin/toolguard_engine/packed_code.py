"""The code of all modules of this package in one file: a process that imports hundreds of them opens one.

`toolguard install` makes the file, where Python keeps what it has compiled. As there, a source counts as unchanged if it has
the time and size with which it was compiled. Without the file, for a changed source and in another Python, modules are
imported as ever. The code is without docstrings and annotations of functions, which nothing asks for; `assert` is kept.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

ROOT = os.path.dirname(__file__)  # noqa: PTH120 - `pathlib` is not loaded yet
FILE = f"{ROOT}/__pycache__/packed.{sys.implementation.cache_tag}.code"
KEY = (1, sys.hexversion, ROOT)
"""What a file is good for: its format, the Python that can read it, and the folder that tracebacks name."""

LENGTH = 8
"""Bytes of the number at the beginning of the file, which says how long its table is. The code follows the table."""


Module = tuple[str, bool, int, int]
"""The path of a source, whether it is that of a package, its time in nanoseconds and its size."""
Place = tuple[int, int]
"""Where the code of a module begins, and how long it is."""
Table = dict[str, tuple[Module, Place]]


class PackedCode:
    """Finds and loads the modules of a table."""

    def __init__(self, file: int, table: Table) -> None:
        self._file = file
        self._table = table

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """None where Python has to look for itself."""
        if name not in self._table:
            return None
        source, is_package, time, size = self._table[name][0]
        try:
            status = os.stat(source)  # noqa: PTH116 - as above
        except OSError:
            return None
        if (status.st_mtime_ns, status.st_size) != (time, size):
            return None
        spec = ModuleSpec(name, self, origin=source, is_package=is_package)  # type: ignore[arg-type]  # `load_module` is obsolete
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(source))  # noqa: PTH120 - as above
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leaves it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        module.__file__ = self._table[name][0][0]
        exec(self.get_code(name), vars(module))  # noqa: S102 - an import does this

    def get_code(self, name: str) -> CodeType:
        """Raises `ImportError` if the file has been cut off since."""
        begin, length = self._table[name][1]
        data = os.pread(self._file, length, begin)
        if len(data) != length:
            raise ImportError(f"{FILE} is incomplete; run toolguard install again", name=name)
        code: CodeType = marshal.loads(data)  # noqa: S302 - as Python does with what it has compiled
        return code


def load() -> None:
    """Has the modules of this package imported from the file, if there is one that fits."""
    if (file := _opened()) is None:
        return
    if table := _table(file):
        sys.meta_path.insert(0, PackedCode(file, table))
    else:
        os.close(file)


def stamps() -> dict[str, tuple[int, int]]:
    """Time and size of the source of each module in the file; empty if there is no file that fits."""
    if (file := _opened()) is None:
        return {}
    try:
        return {name: (time, size) for name, ((_, _, time, size), _) in _table(file).items()}
    finally:
        os.close(file)


def _opened() -> int | None:
    try:
        return os.open(FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _table(file: int) -> Table:
    """Empty unless the file is whole, and made for this Python and this folder."""
    try:
        length, whole = int.from_bytes(os.pread(file, LENGTH, 0), "little"), os.fstat(file).st_size
        if length > whole:
            return {}
        key, code, table = marshal.loads(os.pread(file, length, LENGTH))  # noqa: S302 - as above
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    if (key, LENGTH + length + code) != (KEY, whole):
        return {}
    first = LENGTH + length
    return {name: (module, (first + begin, size)) for name, (module, (begin, size)) in table.items()}


def packed(modules: dict[str, tuple[Module, CodeType]]) -> bytes:
    """The content of the file."""
    table: Table = {}
    parts: list[bytes] = []
    begin = 0
    for name, (module, code) in modules.items():
        parts.append(marshal.dumps(code))
        table[name] = module, (begin, len(parts[-1]))
        begin += len(parts[-1])
    head = marshal.dumps((KEY, begin, table))
    return b"".join((len(head).to_bytes(LENGTH, "little"), head, *parts))
