"""An agent that sends a message in the gateway's own web chat, with the gateway's own browser tool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from browser import PROGRAM
from toolguard_cli.rig.scripted_model import Reply, Request, call

HOST: dict[str, Any] = {
    "tools": {"toolSearch": False},
    "browser": {
        "headless": True, "noSandbox": os.geteuid() == 0, "executablePath": PROGRAM,
        "ssrfPolicy": {"allowedHostnames": ["127.0.0.1"]},
    },
}  # fmt: skip
"""The gateway's settings with which the tool opens pages of this machine."""

WIDE = {"action": "act", "kind": "resize", "width": 1200, "height": 800}
LOOK = {"action": "snapshot", "interactive": True}
MOST = 60
ENTERS = 3
"""The first one may choose a command from a menu."""

_FAILED = '"status": "error"'
_FIELD = re.compile(r"textbox[^\n]*\[ref=(\w+)\]")


@dataclass
class Typist:
    """The script: opens the page and looks at it until there is a field. Then types `text` into that, presses the keys
    `before` at its beginning, and sends it."""

    address: str
    text: str
    before: str = ""
    steps: list[dict[str, Any]] = field(default_factory=list)
    typed: bool = False

    def __post_init__(self) -> None:
        self.steps = self._opening()

    def __call__(self, request: Request) -> Reply:
        if not self.typed and (found := _FIELD.search(request.last_result)):
            self.typed, self.steps = True, list(self._typing(found[1]))
        elif not self.typed and not self.steps:
            self.steps = self._opening() if _FAILED in request.last_result else [LOOK]
        if not request.tools or request.index > MOST or not self.steps:
            return Reply("Done.")
        return call("browser", self.steps.pop(0))

    def _opening(self) -> list[dict[str, Any]]:
        return [{"action": "start"}, {"action": "open", "url": self.address}, WIDE, LOOK]

    def _typing(self, ref: str) -> Iterator[dict[str, Any]]:
        yield {"action": "act", "kind": "type", "ref": ref, "text": self.text}
        for key in ("Home", *self.before, "End", *["Enter"] * ENTERS):
            yield {"action": "act", "kind": "press", "key": key}
            yield {"action": "snapshot", "query": "Chat composer"}  # the page has to take one key before the next
