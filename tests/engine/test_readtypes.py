"""Types that were read before there were threads can be decoded into by many at once."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolguard_engine.stores import decode_first

ENGINE = Path(decode_first.__file__).parents[1]

SCRIPT = """
import sys, threading
from typing import Annotated
import msgspec
from toolguard_engine.stores import decode_first

sys.setswitchinterval(1e-6)

def one(number):
    fields = [(f"f{each}", Annotated[str, msgspec.Meta(max_length=1000 + each)], "") for each in range(40)]
    kind = msgspec.defstruct(f"Kind{number}", fields)
    if "read" in sys.argv:
        decode_first.read()
    barrier = threading.Barrier(8)
    def decode():
        barrier.wait()
        msgspec.json.decode(b'{"f0": "x", "f39": "y"}', type=kind)
    threads = [threading.Thread(target=decode) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

for number in range(60):
    one(number)
print("done")
"""


@pytest.mark.parametrize("imported", ["toolguard_engine.server.loop", "toolguard_cli.dashboard.run_server"])
def test_all_of_ours_can_be_read(imported: str) -> None:
    script = f"import {imported}; from toolguard_engine.stores import decode_first; decode_first.read()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_after_that() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, "read"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


UNREAD = """
import sys
from importlib import import_module

import msgspec
from msgspec import _utils
from toolguard_engine.server import composition, preload
from toolguard_engine.stores import decode_first

preload.load()
composition.packs.load()
decode_first.read_stored()
read = []

def note(frame, event, arg):
    if event == "call" and frame.f_code is _utils.get_class_annotations.__code__:
        read.append(frame.f_locals["obj"].__qualname__)

found = [(import_module(module), name) for module, name in (each.split(":") for each in sys.argv[1:])]
sys.setprofile(note)
for module, name in found:  # what a module reads when it is loaded is read
    msgspec.json.Decoder(getattr(module, name))
sys.setprofile(None)
print(*read)
"""


def decoded() -> Iterator[str]:
    """The types that the components which judge name where they decode, with their modules."""
    for component in decode_first.JUDGING:
        path = ENGINE / component.replace(".", "/")
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            tree, module = (
                ast.parse(source.read_text("utf-8")),
                ".".join(source.relative_to(ENGINE.parent).with_suffix("").parts),
            )
            defined = {each.name for each in tree.body if isinstance(each, ast.ClassDef)}
            imported = {alias.name for each in tree.body if isinstance(each, ast.ImportFrom) for alias in each.names}
            for call in (each for each in ast.walk(tree) if isinstance(each, ast.Call)):
                if isinstance(call.func, ast.Attribute) and call.func.attr in ("decode", "convert", "Decoder"):
                    given = [*call.args, *(each.value for each in call.keywords)]
                    names = {each.id for one in given for each in ast.walk(one) if isinstance(each, ast.Name)}
                    yield from (
                        f"{module}:{name}"
                        for name in names & (defined | imported)
                        if name.lstrip("_")[:1].isupper() and not name.isupper()  # a class, not a constant
                    )


def test_those_who_judge_have_read_theirs() -> None:
    """An engine does not read them again before its second thread."""
    types = sorted(set(decoded()))
    assert "toolguard_engine.effects.manuals.manual_catalogue:Manual" in types
    done = subprocess.run([sys.executable, "-c", UNREAD, *types], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
