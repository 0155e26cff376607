"""Names of programs that are not spelled out: `/bin/r?`, `r${X}m`. Which of those that matter they may be."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from toolguard_engine.shell.acts import code, files, network, reading, sql, system
from toolguard_engine.shell.model import UNKNOWN
from toolguard_engine.shell.placenames import words
from toolguard_engine.shell.wrappers import SHELLS, WRAPPERS

MAX_GUESSES = 40
_LONGEST = 60
_WILD = re.compile(r"[*?\[\0]")
_OTHERS = words(
    "git docker podman kubectl terraform tofu aws gcloud az gh npm toolguard openclaw mkfs mkfs.ext4 wipefs fdisk parted"
    " shutdown reboot poweroff halt systemctl kill pkill killall crontab iptables useradd userdel passwd find xargs parallel"
)
_KNOWN = sorted(
    {
        *(name for table in (files, reading, system, network, code, sql) for name in table.PROGRAMS),
        *SHELLS, *WRAPPERS, *_OTHERS,
    }
)  # fmt: skip


def is_open(name: str) -> bool:
    """Whether a program's name may be several; one that may be any is none of them."""
    return _WILD.search(name) is not None and len(name) <= _LONGEST and name not in ("[", "[[") and name.strip("*\0") != ""


@lru_cache(maxsize=200)
def fitting(name: str) -> tuple[str, ...]:
    """The programs that matter which a name may stand for, at most `MAX_GUESSES`."""
    match = re.compile(translate(name.replace(UNKNOWN, "*"))).match
    return tuple([known for known in _KNOWN if match(known)][:MAX_GUESSES])
