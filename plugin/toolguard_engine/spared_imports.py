"""Imports libraries without what they load only because it is there, and what the engine does not need of them.

Each of these modules is optional where it is imported: without it, the library takes what each Python has. OpenSSL is
3.5 MB of memory and 3 ms of a start. Its digests are five times as fast (a file of 10 kB in 7 us instead of 35), but a call
needs those of a few files at most, and each of them once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def load() -> None:
    """Imports them, unless something else has done so already."""
    with _without("typing_extensions"):  # with `inspect`, `ast` and `tokenize`: `typing` has what msgspec asks it for
        import msgspec  # noqa: F401, PLC0415 - as below, while others are hidden
    if "hashlib" not in sys.modules:
        _load_hashlib()


def _load_hashlib() -> None:
    """Some systems have no digests but those of OpenSSL."""
    with _without("_hashlib"), suppress(ImportError):
        import hashlib  # noqa: PLC0415

        if hasattr(hashlib, "sha256") and hasattr(hashlib, "blake2b"):
            import hmac  # noqa: F401, PLC0415

            return
    sys.modules.pop("hashlib", None)


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Modules of these names cannot be imported meanwhile, unless they have been already."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # this is how Python marks what is not to be imported
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
