"""What an engine does not load, although libraries that it uses would take it."""

from __future__ import annotations

import subprocess
import sys

SPARED = ("_hashlib", "typing_extensions")

STARTED = f"""
import sys
from toolguard_engine import __main__
from toolguard_engine.server import preload
preload.load()
import hashlib, msgspec
print(*({set(SPARED)!r} & set(sys.modules)))
print(hashlib.sha256(b"a" * 1_000).hexdigest(), hashlib.blake2b(b"a").hexdigest()[:8])
class Kind(msgspec.Struct):
    members: dict[str, tuple[int, ...]] = {{}}
print(msgspec.json.decode(b'{{"members": {{"a": [1]}}}}', type=Kind))
"""

AFTERWARDS = """
from toolguard_engine import spared_imports
spared_imports.load()
import typing_extensions, _hashlib
print(_hashlib.openssl_sha256(b"").name, typing_extensions.__name__)
"""

NO_OTHER_DIGESTS = """
import sys
for name in ("_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_md5"):
    sys.modules[name] = None
from toolguard_engine import spared_imports
spared_imports.load()
from hashlib import sha256
print(type(sha256()).__module__)
"""

LOADED_BEFORE = """
import hashlib
before = hashlib.sha256
from toolguard_engine import spared_imports
spared_imports.load()
import hashlib
print(hashlib.sha256 is before)
"""


def said(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def test_an_engine_loads_neither_openssl_nor_what_typing_has_as_well() -> None:
    assert said(STARTED) == [
        "",
        "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3 333fcb4e",
        "Kind(members={'a': (1,)})",
    ]


def test_others_may_import_them_afterwards() -> None:
    assert said(AFTERWARDS) == ["sha256 typing_extensions"]


def test_digests_are_those_of_openssl_where_there_are_no_others() -> None:
    assert said(NO_OTHER_DIGESTS) == ["_hashlib"]


def test_what_was_loaded_before_stays() -> None:
    assert said(LOADED_BEFORE) == ["True"]
