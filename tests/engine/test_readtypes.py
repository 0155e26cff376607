"""Types that were read before there were threads can be decoded into by many at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
