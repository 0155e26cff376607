"""Texts for the model about repetition without progress: notes appended to a result, blocks, and the end of a run.

Names and arguments come from the model: they are redacted, bounded and on one line, as in `correction`.
"""

from __future__ import annotations

from toolguard_engine.model.call import Call
from toolguard_engine.wording import correction, redact

NOTE = "[TOOLGUARD NOTE]"
MAX_ARGUMENTS = 200

THE_END = "This turn ends here: tell the user what could not be done, why, and what is needed to continue."
_OTHERWISE = "Use what you already know, try another way, or tell the user what is missing."


def repeats(call: Call, count: int, critical: int) -> str:
    """The same call returned the same result `count` times."""
    return (
        f"{NOTE} {_spelled(call)} was called {count} times, and the result was the same each time. "
        f"{_block(count, critical)} Do not repeat it. {_OTHERWISE}"
    )


def polls(call: Call, count: int, critical: int) -> str:
    """A poll showed the same state `count` times."""
    return (
        f"{NOTE} {_spelled(call)} was polled {count} times, and nothing changed. {_block(count, critical)} "
        "Wait longer between two such calls, do something else in the meantime, or tell the user what is being waited for."
    )


def alternates(call: Call, count: int, critical: int) -> str:
    """The last `count` calls alternated between two."""
    return (
        f"{NOTE} The last {count} calls alternated between the same two, one of them {_spelled(call)}, and neither returned "
        f"anything new. {_block(count, critical)} Repeat neither of them. {_OTHERWISE}"
    )


def nothing_new(call: Call, count: int, end: int) -> str:
    """`count` calls in a row returned only known results."""
    return (
        f"{NOTE} The last {count} calls, the newest {_spelled(call)}, returned only what earlier ones had returned. "
        f"After {end} such calls in a row this turn ends. {_OTHERWISE}"
    )


def leads_nowhere(call: Call, count: int, end: int) -> str:
    """`count` calls in a row changed nothing and returned only known results."""
    return (
        f"{NOTE} {count} calls in a row, the newest {_spelled(call)}, changed nothing and returned the same results. "
        f"After {end} such calls this turn ends. If something has to happen first, wait between the calls. "
        f"{_OTHERWISE}"
    )


def leads_nowhere_in_rounds(call: Call, count: int, end: int) -> str:
    """`count` calls in a row, the same ones over and over, returned only known results."""
    return (
        f"{NOTE} {count} calls in a row, the newest {_spelled(call)}, repeated earlier ones, with the same results. "
        f"After {end} such calls this turn ends. If something has to happen first, wait between the calls. "
        f"{_OTHERWISE}"
    )


def same_error(call: Call, count: int, end: int) -> str:
    """The call failed in the same way `count` times. `end`: the failure that ends the run; 0 for none."""
    ends = f" After {end} such failures this turn ends." if end else ""
    return (
        f"{NOTE} {_spelled(call)} failed {count} times in the same way, and a retry cannot fix that.{ends} "
        f"First change what makes it fail. {_OTHERWISE}"
    )


def one_error(call: Call, count: int, end: int) -> str:
    """`count` calls of one tool failed with the same error, with different arguments. `end`: as in `same_error`."""
    ends = f" After {end} such failures this turn ends." if end else ""
    return (
        f"{NOTE} {count} calls of {_name(call)} failed with the same error, the newest {_spelled(call)}.{ends} "
        f"Other arguments do not seem to help: first find out what makes them fail. {_OTHERWISE}"
    )


def blocked(call: Call, how: str) -> str:
    """`how`: what was found, as a sentence."""
    return (
        f"{correction.LOOP_DETECTED} {how} This call to {_name(call)} was not executed. "
        "Do NOT repeat it, or this turn ends.\n"
        "Stop here and tell the user what could not be done, or do something else."
    )


def ends(how: str) -> str:
    """`how`: what was found, as a sentence."""
    return f"{correction.LOOP_DETECTED} {how}\n{THE_END}"


def repeated(call: Call, count: int) -> str:
    return f"{_name(call)} was called {count} times with the same result each time."


def polled(call: Call, count: int) -> str:
    return f"{_name(call)} was polled {count} times, and nothing changed."


def alternated(call: Call, count: int) -> str:
    return f"The last {count} calls alternated between the same two, one of them {_name(call)}, with no new results."


def stale(call: Call, count: int) -> str:
    return f"{count} tool calls in a row returned nothing new; the last one was {_name(call)}."


def failed_alike(call: Call, count: int) -> str:
    return f"{_name(call)} failed {count} times in the same way."


def no_such_tool(call: Call, count: int) -> str:
    return f"{_name(call)} was called {count} times, but there is no such tool."


def vetoed(call: Call) -> str:
    """The gateway stopped the call."""
    return f"{_name(call)} was not executed: the gateway's own loop detection stopped it."


def still_looping(code: str, call: Call, count: int) -> str:
    """Says that a loop goes on after a compaction."""
    return (
        f"{code}: after the conversation was shortened, {_name(call)} was called {count} times with the same arguments "
        "and the same result."
    )


def _block(count: int, critical: int) -> str:
    return f"After {critical} such calls the next one is blocked." if count < critical else "The next such call is blocked."


def _name(call: Call) -> str:
    return f'Tool "{correction.name(call.tool)}"'


def _spelled(call: Call) -> str:
    return f"{correction.name(call.tool)}({redact.cut(redact.shown(call.params), MAX_ARGUMENTS)})"
