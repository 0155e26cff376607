"""What the state file of Terraform or OpenTofu lists, which a held command would take down.

A state that is kept elsewhere is not asked, as that takes a login.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from toolguard_engine.stores import atomic
from toolguard_engine.wording.printable import counted, plain

NAME = "terraform.tfstate"
MAX_BYTES = 16 * 1024 * 1024
MAX_KINDS = 3


class _Resource(msgspec.Struct):
    mode: str = "managed"
    type: str = ""
    instances: list[msgspec.Raw] = []


class _State(msgspec.Struct):
    resources: list[_Resource] = []


def describe(folder: str) -> str:
    """Returns text like "terraform.tfstate lists 2 resources: 2 aws_eip"; empty where none can be read."""
    try:
        state = msgspec.json.decode(atomic.read_bounded(Path(folder) / NAME, MAX_BYTES), type=_State)
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return ""
    kinds: Counter[str] = Counter()
    for resource in state.resources:
        if resource.mode == "managed":
            kinds[resource.type] += len(resource.instances)
    if not kinds.total():
        return f"{NAME} lists nothing"
    shown = ", ".join(f"{number:,} {plain(kind[:60])}" for kind, number in kinds.most_common(MAX_KINDS))
    return f"{NAME} lists {counted(kinds.total(), 'resource')}: {shown}{', ...' if len(kinds) > MAX_KINDS else ''}"
