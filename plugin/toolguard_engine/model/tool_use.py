"""A use of a tool that neither the gateway nor the guard comes with: by whom, and as what the tool describes itself."""

from __future__ import annotations

import msgspec


class ToolUse(msgspec.Struct, frozen=True):
    """`tool`, `server`: in lower case; `other`: the server by the tool's name, where the gateway has shown another one as
    `server`; `words`, `schema`: digests of the tool's description and of what it takes, empty
    where the gateway has not shown them; `about`: the beginning of the description; `reads`: it is known to only read."""

    tool: str
    server: str = ""
    agent: str = ""
    words: str = ""
    schema: str = ""
    about: str = ""
    reads: bool = False
    other: str = ""
