"""Linux: at which ports logins by ssh arrive.

An unprivileged process does not see which sockets a login service holds. The ports are in its configuration and in the
command lines of running services, which everybody may read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

USUAL = 22
CONFIGS = ("/etc/ssh/sshd_config", "/etc/ssh/sshd_config.d", "/usr/etc/ssh/sshd_config", "/etc/default/dropbear")
MAX_BYTES = 100_000
_PORT = re.compile(r"^\s*(?:port[\s=\"]+|dropbear_port[\s=\"]+|listenaddress\s.*:)(\d{1,5})\b", re.IGNORECASE | re.MULTILINE)
_TOGETHER = re.compile(r"-p(?:[^\s\d]*:)?(\d{1,5})$")


def ports(services: Iterable[Path]) -> frozenset[int]:
    """`services`: the folders of running login services in /proc."""
    numbers = {USUAL}
    for path in map(Path, CONFIGS):
        numbers.update(_configured(path))
    for place in services:
        numbers.update(_of_command_line(_words(place)))
    return frozenset(numbers)


def _configured(path: Path) -> Iterator[int]:
    with suppress(OSError):
        for file in sorted(path.glob("*.conf")) if path.is_dir() else [path]:
            with file.open(errors="replace") as lines:
                yield from map(int, _PORT.findall(lines.read(MAX_BYTES)))


def _words(place: Path) -> list[str]:
    """A service that has named itself shows its words in one text, such as `sshd: /usr/sbin/sshd -D -p 2222 [listener]`."""
    try:
        with (place / "cmdline").open(errors="replace") as file:
            words = file.read(MAX_BYTES).rstrip("\0 ").split("\0")
    except OSError:
        return []
    with suppress(ValueError):
        return shlex.split(words[0]) if len(words) == 1 else words
    return words[0].split()


def _of_command_line(words: list[str]) -> Iterator[int]:
    for word, value in zip(words, [*words[1:], ""], strict=True):
        together = _TOGETHER.match(word)
        if word == "-p" and (plain := value.rpartition(":")[2]).isdecimal():
            yield int(plain)
        elif together:
            yield int(together[1])
        elif word == "-o" or word.startswith("-o"):
            yield from map(int, _PORT.findall(value if word == "-o" else word[2:]))
        elif word == "-f":
            yield from _configured(Path(value))
