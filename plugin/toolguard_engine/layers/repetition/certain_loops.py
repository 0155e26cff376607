"""Successful calls that demonstrably make no progress: they end the run with the default settings.

Such a call changes nothing, and returned in every character what it had returned before, with nothing in between that may
have changed something. Calls of this kind in a row are counted, whichever they are. The count starts again

- with a result that is new, and with a call that failed, polls, waits, or may have changed something;
- if half a minute passed since the last result, if somebody wrote, and after a compaction.

Nothing is counted behind a call that goes on in the background: its run may be waiting for it.

Only calls that read files, fetch or search, commands that are known to be read-only, and a file that is written with the
same content once more are known to change nothing. The more different calls a cycle has, the later it is noted: somebody
who reads twenty files twice is not looping.
"""

from __future__ import annotations

import re
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.effects.calls.call_digest import call_digest
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.effects.calls.read_only import is_read_only
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers.repetition.circuit_breaker import CODE
from toolguard_engine.layers.repetition.loop_counters import LoopCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.model.history import Past, mixed
from toolguard_engine.wording import loop_notes

PAUSE_SECONDS = 30.0
"""Between two results. A slow model takes less for one call, a question that is asked now and then more."""

ROUNDS = 3
"""A cycle is noted when its calls were made so often, on average."""

_COMMANDS = program_catalogue.tools("command_line")
_READS = _COMMANDS.union(*map(program_catalogue.tools, ("looks_at_files", "fetches", "searches_web")))
_WRITES = program_catalogue.tools("writes_file")
_SPAWNS = program_catalogue.tools("spawns")
_WRITE_PARAMS = frozenset({"path", "file_path", "filePath", "content"})
_DEVICES = ("/dev/", "/proc/", "/sys/")
"""What is written there once more happens once more."""

_BACKGROUND = lazy_re.compile(r"(?<![&>|])&(?=\s|\)|\Z)|\b(?:nohup|setsid)\b")
_PADDING = lazy_re.compile(
    r"\A\s*(?:(?:true|:)\s*(?:;|&&)\s*)+|(?:;|&&|\|\|)\s{0,20}(?:true|:)\s{0,20}(?=;|&&|\|\||\Z)"
    r"|(?:\A|^|(?<=[^\\]\s))#[^\n'\"]{0,200}$",
    re.MULTILINE,
)
"""Comments and commands that do nothing."""

_SPELLING = lazy_re.compile(r"['\"\\]|(?<![^\s/'\"=])(?:\./)+")
"""Quotes, and folders that are the same folder."""

MAX_COMMAND = 4_000


class CertainLoopCounters(LoopCounters):
    """`noted_at`: the count at which the model was told; `waits`: something that the run started may still be running."""

    noted_at: int = 0
    waits: bool = False


def on_outcome(call: Call, outcome: Outcome, run: Run, settings: LoopDetection) -> Reaction:
    """Counts this call, or starts again with it."""
    past, counted = run.past, run.counters.get(CertainLoopCounters)
    writes = _replaces_file(call)
    if outcome.failed or not (writes or only_reads(call)):
        past.progressed_beside()
        counted.waits = counted.waits or goes_on(call, outcome)
        return NOTHING
    params = _without_padding(call.params)
    key = call_digest(call.tool, params if writes else _plain(params))
    result = mixed(key, outcome.exact)
    if past.in_message(result, call.request):
        return NOTHING
    known = result in past.series[past.spent :]
    if writes and not known:
        past.progressed_beside()
    past.enter(key, 0, result, result, settings.history_size)
    past.of_message(call.request)
    if not known or counted.waits or call.at - run.used >= PAUSE_SECONDS:
        past.stale = 0
        return NOTHING
    counted.noted_at = counted.noted_at if past.stale else 0
    past.stale += 1
    return _due(call, run, settings)


def beside(call: Call, past: Past) -> None:
    """A call that is not judged is not counted, but it may have changed something."""
    if not is_read_only(call.tool, call.params):
        past.progressed_beside()


def _due(call: Call, run: Run, settings: LoopDetection) -> Reaction:
    """The note, and as many calls later as the thresholds are apart the end. What was returned first counts as well."""
    past, counted, warning = run.past, run.counters.get(CertainLoopCounters), settings.warning_threshold
    different = len(set(past.series[past.spent :][-past.stale :]))
    count, grace = past.stale + different, max(1, settings.global_circuit_breaker_threshold - warning)
    if counted.noted_at and count >= counted.noted_at + grace:
        return end(run, CODE, loop_notes.stale(call, count))
    if counted.noted_at or count < warning or count < ROUNDS * different:
        return NOTHING
    counted.noted_at = count
    return Reaction(CODE, loop_notes.leads_nowhere(call, count, count + grace), reason=loop_notes.stale(call, count))


def only_reads(call: Call) -> bool:
    """Whether the call is known to do nothing but look at something."""
    return tool_name(call.tool) in _READS and is_read_only(call.tool, _without_padding(call.params))


def _replaces_file(call: Call) -> bool:
    """Whether the call writes all of a file: a second time it changes nothing."""
    params = call.params
    if tool_name(call.tool) not in _WRITES or not isinstance(params, dict) or not _WRITE_PARAMS.issuperset(params):
        return False
    return isinstance(params.get("content"), str) and not any(
        isinstance(value, str) and value.startswith(_DEVICES) for name, value in params.items() if name != "content"
    )


def goes_on(call: Call, outcome: Outcome) -> bool:
    """Whether something that this call started may still be running."""
    name = tool_name(call.tool)
    return outcome.running or name in _SPAWNS or (name in _COMMANDS and bool(_BACKGROUND.search(_command(call.params))))


def _command(params: Any) -> str:
    command = params.get("command") if isinstance(params, dict) else None
    return command if isinstance(command, str) and len(command) <= MAX_COMMAND else ""


def _without_padding(params: Any) -> Any:
    """The command without spaces, comments and commands that make no difference."""
    lines = _PADDING.sub("", _command(params)).splitlines()
    spaced = "\n".join(text for line in lines if (text := " ".join(line.split())))
    return params | {"command": spaced} if spaced else params


def _plain(params: Any) -> Any:
    """The texts without what may be spelled either way. Quotes need not be read: the same call also returned the same."""
    if not isinstance(params, dict):
        return params
    return {name: _SPELLING.sub("", value) if isinstance(value, str) else value for name, value in params.items()}
