"""What becomes of decoding where memory runs out: an error, which the engine answers with a block, and no crash.

msgspec 0.22 ended the process (signal 11) when the first, third or fourth allocation of a decode failed.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

ALLOCATIONS = 40
"""More than the decode makes."""

TRIAL = f"""
import _testcapi
import msgspec
from toolguard_engine.wire import messages
decoder = msgspec.json.Decoder(messages.Incoming)
line = b'{{"type": "judge", "id": 1, "tool": "exec", "params": {{"command": ["a text", {{"b": 1.5}}]}}}}'
expected = decoder.decode(line)
failed = 0
for number in range({ALLOCATIONS}):
    _testcapi.set_nomemory(number, number + 1)
    try:
        found = decoder.decode(line)
    except MemoryError:
        failed += 1
        found = expected
    finally:
        _testcapi.remove_mem_hooks()
    assert found == expected
assert decoder.decode(line) == expected
print(failed)
"""


def test_no_allocation_that_fails_ends_the_process() -> None:
    pytest.importorskip("_testcapi", reason="this Python has no module that lets allocations fail")
    done = subprocess.run([sys.executable, "-c", TRIAL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0, "no allocation failed, so nothing was tried"
