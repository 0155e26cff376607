"""What a person has chosen from several waiting calls."""

from __future__ import annotations

from typing import Literal, NamedTuple

Command = Literal["approve", "deny"]


class Choice(NamedTuple):
    """What is to be done with which call; no nonce: nothing."""

    command: Command
    nonce: str
