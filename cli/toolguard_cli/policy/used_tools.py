"""Which tools of plugins and servers the agents of a gateway have used, according to its transcripts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from toolguard_cli.policy import transcripts
from toolguard_cli.policy.transcript_steps import Returned, steps
from toolguard_cli.policy.transcripts import TranscriptSource
from toolguard_cli.system.errors import UserError
from toolguard_engine.guard import inner_call
from toolguard_engine.layers.seen_tools import SeenTools
from toolguard_engine.model.call import Call
from toolguard_engine.model.tool_use import ToolUse

SECONDS = 30.0
MAX_USES = 2_000
_STOPPED = ('"status":"blocked"', '"status": "blocked"')
"""In the result of a call inside Tool Search that did not run."""


def count(state_dir: Path, seconds: float = SECONDS) -> dict[ToolUse, int]:
    """The tools that act, of each agent, with how often they ran, from the latest transcripts that can be read in time."""
    counted: Counter[ToolUse] = Counter()
    end, tools = time.monotonic() + seconds, SeenTools()
    for path in sorted(transcripts.within(state_dir / "agents"), key=_changed, reverse=True):
        for call in _ran(path):
            use = tools.use_of(call)
            if use is not None and not use.reads and (use in counted or len(counted) < MAX_USES):
                counted[use] += 1
            if time.monotonic() > end:
                return dict(counted)
    return dict(counted)


def _changed(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _ran(path: Path) -> Iterator[Call]:
    try:
        source = TranscriptSource(path)
    except UserError:
        return
    for step in steps(source):
        for wanted in step.wanted:
            if _did_run(wanted.returned):
                yield inner_call(Call(wanted.tool, wanted.params, agent=step.agent))


def _did_run(returned: Returned | None) -> bool:
    if returned is None or returned.failed or returned.status == "blocked":
        return False
    return not any(sign in returned.text for sign in _STOPPED)
