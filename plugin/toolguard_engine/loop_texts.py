"""What the model is told about repetition without progress: notes behind a result, blocks, and the end of a run.

Names and arguments come from the model: they are redacted, bounded and in one line, as in `texts`.
"""

from __future__ import annotations

from toolguard_engine import redact, texts
from toolguard_engine.model import Call

NOTE = "[TOOLGUARD NOTE]"
MAX_ARGUMENTS = 200

THE_END = "This turn ends here: tell the user what could not be done, why, and what is needed to go on."
_OTHERWISE = "Use what you know already, try another way, or tell the user what is missing."


def repeats(call: Call, count: int, critical: int) -> str:
    """The same call brought the same result `count` times."""
    return (
        f"{NOTE} {_spelled(call)} was called {count} times, and the result was the same each time. "
        f"{_block(count, critical)} Do not repeat it. {_OTHERWISE}"
    )


def polls(call: Call, count: int, critical: int) -> str:
    """A poll showed the same state `count` times."""
    return (
        f"{NOTE} {_spelled(call)} was asked {count} times, and nothing has changed. {_block(count, critical)} "
        "Wait longer between two such calls, do something else in the meantime, or tell the user what is being waited for."
    )


def alternates(call: Call, count: int, critical: int) -> str:
    """Two calls took turns for `count` calls."""
    return (
        f"{NOTE} The last {count} calls were the same two in turn, {_spelled(call)} is one of them, and neither brought "
        f"anything new. {_block(count, critical)} Repeat neither of them. {_OTHERWISE}"
    )


def nothing_new(call: Call, count: int, end: int) -> str:
    """`count` calls in a row brought what was known."""
    return (
        f"{NOTE} The last {count} calls, {_spelled(call)} is the newest, only brought what earlier ones had brought. "
        f"After {end} such calls in a row this turn ends. {_OTHERWISE}"
    )


def same_error(call: Call, count: int, end: int) -> str:
    """The call failed in one way `count` times; at `end` the run ends, never where that is 0."""
    ends = f" After {end} such failures this turn ends." if end else ""
    return (
        f"{NOTE} {_spelled(call)} failed {count} times in the same way, and repeating cannot mend that.{ends} "
        f"First change what makes it fail. {_OTHERWISE}"
    )


def blocked(call: Call, how: str) -> str:
    """`how`: what was found, as a sentence."""
    return (
        f"{texts.LOOP_DETECTED} {how} This call of {_name(call)} was not executed. Do NOT repeat it, or this turn ends.\n"
        "Stop here and tell the user what could not be done, or do something else."
    )


def ends(how: str) -> str:
    """`how`: what was found, as a sentence."""
    return f"{texts.LOOP_DETECTED} {how}\n{THE_END}"


def repeated(call: Call, count: int) -> str:
    return f"{_name(call)} was called {count} times with the same result each time."


def polled(call: Call, count: int) -> str:
    return f"{_name(call)} was asked {count} times, and nothing has changed."


def alternated(call: Call, count: int) -> str:
    return f"The last {count} calls were the same two in turn, {_name(call)} is one of them, without anything new."


def stale(call: Call, count: int) -> str:
    return f"{count} tool calls in a row brought nothing new; the last one was {_name(call)}."


def failed_alike(call: Call, count: int) -> str:
    return f"{_name(call)} failed {count} times in the same way."


def no_such_tool(call: Call, count: int) -> str:
    return f"{_name(call)} was called {count} times, and there is no such tool."


def vetoed(call: Call) -> str:
    """By the gateway."""
    return f"{_name(call)} was not executed: the gateway's own loop detection stopped it."


def still_looping(code: str, call: Call, count: int) -> str:
    """After a compaction."""
    return (
        f"{code}: after the conversation was shortened, {_name(call)} was called {count} times with the same arguments "
        "and the same result."
    )


def _block(count: int, critical: int) -> str:
    return f"After {critical} such calls the next one is blocked." if count < critical else "The next such call is blocked."


def _name(call: Call) -> str:
    return f'Tool "{texts.name(call.tool)}"'


def _spelled(call: Call) -> str:
    return f"{texts.name(call.tool)}({redact.cut(redact.shown(call.params), MAX_ARGUMENTS)})"
