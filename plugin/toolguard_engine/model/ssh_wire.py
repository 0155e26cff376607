"""The binary form of SSH keys and signatures (RFC 4251, section 5): numbers, and byte strings after their length."""

from __future__ import annotations

import struct

_NUMBER = struct.Struct(">I")


def string(data: bytes) -> bytes:
    return _NUMBER.pack(len(data)) + data


def number(value: int) -> bytes:
    """Encodes a number below 2**32."""
    return _NUMBER.pack(value)


def mpint(value: int) -> bytes:
    """A number of any size that is not negative."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big") if value else b"")


class WireReader:
    """Reads in order. Every method raises `ValueError` where the data ends before."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise ValueError("it ends too early")
        part = self._data[self._at : end]
        self._at = end
        return part

    def number(self) -> int:
        value: int = _NUMBER.unpack(self.take(4))[0]
        return value

    def string(self) -> bytes:
        return self.take(self.number())

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError("it goes on after its end")
