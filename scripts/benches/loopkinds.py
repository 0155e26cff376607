"""Kinds of runs, made up: the calls that a model makes in them, and what OpenClaw 2026.9.6 answers to each.

The answers were read off real runs, so that a kind can be played without a gateway; with one only its calls are used. A kind
goes on for ever unless it says after how many calls it is done: those are honest work, which must not be stopped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CAP = 60
"""Requests after which a run that did not end is given up."""

WORKSPACE = "/home/u/workspace"
PROCESS = "{process}"
"""Stands for the name that the gateway gave to the command in the background."""

_PROCESS = re.compile(r"Command still running \(session ([\w-]{1,100}),")
_WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "islet", "jetty"]


@dataclass(frozen=True)
class Result:
    """What came of a call. `refused`: it did not get as far as being judged. `failed`: the gateway calls it an error."""

    text: str
    failed: bool = False
    status: str = ""
    exit_code: int | None = None
    refused: bool = False


@dataclass(frozen=True)
class Act:
    """One call; `result` is None where it is not known what came of it."""

    tool: str
    params: Any
    result: Result | None


@dataclass(frozen=True)
class Kind:
    """`act` gives the call of the n-th request, from 0. `calls`: how many it takes to be done; None where it never is.

    `files`: what lies in the workspace. `by_default`, `watched`: requests within which toolguard has to end it, closing
    answer included, with its default settings and with `loopDetection.enabled`; None where it is not meant to.
    """

    name: str
    act: Callable[[int], Act]
    calls: int | None = None
    files: dict[str, str] = field(default_factory=dict)
    by_default: int | None = None
    watched: int | None = None

    @property
    def honest(self) -> bool:
        return self.calls is not None

    @property
    def acts(self) -> list[Act]:
        """The calls of a run that nobody ends, at most `CAP` requests long, closing answer included."""
        return [self.act(number) for number in range(min(self.calls or CAP, CAP - 1))]


def with_process(params: Any, result: str) -> Any:
    """The params with the name of the process put in, once a result has told it."""
    found = _PROCESS.search(result)
    return json.loads(json.dumps(params).replace(PROCESS, found[1])) if found else params


def ran(text: str, code: int = 0) -> Result:
    """Of a command that ended."""
    return Result(f"{text}\n\n(Command exited with code {code})" if code else text, status="completed", exit_code=code)


def error(tool: str, text: str) -> Result:
    """Of a tool that says what went wrong."""
    return Result(json.dumps({"status": "error", "tool": tool, "error": text}, indent=2), failed=True, status="error")


def refused(text: str) -> Result:
    return Result(text, failed=True, refused=True)


def _command(command: str, result: Result) -> Act:
    return Act("exec", {"command": command}, result)


def _read(path: str, text: str) -> Act:
    return Act("read", {"path": path}, Result(text))


def _in_turn(*acts: Act) -> Callable[[int], Act]:
    return lambda number: acts[number % len(acts)]


def _counted(number: int) -> Act:
    found = ran("head: cannot open 'report.csv' for reading: No such file or directory", 1)
    return _command(f"head -n {10 * (number + 1)} report.csv", found)


def _not_found(number: int) -> Act:
    first, second = _WORDS[number % 10], _WORDS[number // 10 % 10]
    told = "Could not find the exact text in plan.md. The old text must match exactly including all whitespace and newlines."
    edits = [{"oldText": f"The {first} {second} was", "newText": f"The {first} {second} is"}]
    result = error("edit", f"{told}\nCurrent file contents:\n{PLAN}")
    return Act("edit", {"path": "plan.md", "edits": edits}, result)


def _polled(command: str, output: Callable[[int], str]) -> Callable[[int], Act]:
    """A command in the background, and then nothing but looks at it."""
    hint = "Use process (list/poll/log/write/send-keys/submit/paste/kill/clear/remove) for follow-up."
    begun = Result(f"Command still running (session swift-lobster, pid 9803). {hint}", status="running")

    def act(number: int) -> Act:
        if number == 0:
            return Act("exec", {"command": command, "background": True}, begun)
        result = Result(f"{output(number)}\n\nProcess still running.", status="running")
        return Act("process", {"action": "poll", "sessionId": PROCESS}, result)

    return act


def _clock(number: int) -> Act:
    at = f"2026-11-22T15:{number // 60:02}:{number % 60:02}+00:00"
    return _command("date -Is; cat job.state", ran(f"{at}\nqueued"))


def _work(number: int) -> Act:
    """Another call each time, each of another kind than the one before."""
    word, which = _WORDS[number // 5], number % 5
    if which == 0:
        return _read(f"{word}.md", NOTE.format(word=word))
    if which == 1:
        return _command(f"grep -c {word} {word}.md", ran("2"))
    if which == 2:  # noqa: PLR2004
        text = f"{word} was read.\n"
        return Act(
            "write", {"path": f"{word}.txt", "content": text}, Result(f"Successfully wrote {len(text)} bytes to {word}.txt")
        )
    if which == 3:  # noqa: PLR2004
        edits = [{"oldText": f"About {word}", "newText": f"All about {word}"}]
        return Act("edit", {"path": f"{word}.md", "edits": edits}, Result(f"Successfully replaced 1 block(s) in {word}.md."))
    return _command(f"wc -w {word}.md", ran(f"9 {word}.md"))


def _mend(number: int) -> Act:
    """An edit, then the test that still fails in the same way, as often as it takes."""
    if number % 2:
        return _command("sh check.sh", ran(CHECKED.strip(), 1))
    old, new = number // 2, number // 2 + 1
    edits = [{"oldText": f"step = {old}\n", "newText": f"step = {new}\n"}]
    return Act("edit", {"path": "step.py", "edits": edits}, Result("Successfully replaced 1 block(s) in step.py."))


def _fetch(number: int) -> Act:
    page, last = divmod(number, 4)
    if last == 3:  # noqa: PLR2004
        return _command("sh fetch.sh", ran(f"page {page + 1} of the report"))
    return _command("sh fetch.sh", ran("curl: (28) Operation timed out after 5000 milliseconds with 0 bytes received", 28))


PLAN = "# Plan\nNothing is written here yet.\n"
NOTE = "About {word}\nThe {word} stands where it stood.\n"
NO_PATH = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}'
CHECKED = "FAIL test_report: FileNotFoundError: [Errno 2] No such file or directory: 'out/report.json'\n"
FETCH = """\
n=$(cat fetched 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > fetched
if [ $((n % 4)) = 0 ]; then
  echo "page $((n / 4)) of the report"
else
  echo 'curl: (28) Operation timed out after 5000 milliseconds with 0 bytes received' >&2
  exit 28
fi
"""
STEPS = 'for i in $(seq 1500); do echo "[$i/1500] Compiling"; sleep 0.01; done'
NOTES = {name: f"What is known about {name}.\n" for name in ("north.md", "south.md", "west.md")}

KINDS = (
    Kind(
        "read of a missing file",
        _in_turn(Act("read", {"path": "missing.md"}, error("read", f"File not found: {WORKSPACE}/missing.md."))),
        by_default=8,
        watched=8,
    ),
    Kind("command with a counter, same error", _counted, by_default=8, watched=8),
    Kind("edit of text that is not there", _not_found, files={"plan.md": PLAN}, by_default=8, watched=8),
    Kind("malformed call, read({})", _in_turn(Act("read", {}, refused(NO_PATH))), by_default=4, watched=4),
    Kind(
        "tool that does not exist",
        _in_turn(Act("search_docs", {"query": "report"}, refused("Tool search_docs not found"))),
        by_default=7,
        watched=7,
    ),
    Kind(
        "same call, same answer",
        _in_turn(_command("cat job.state", ran("queued"))),
        files={"job.state": "queued\n"},
        watched=25,
    ),
    Kind(
        "same call, only its time of day differs",
        _clock,
        files={"job.state": "queued\n"},
        watched=25,
    ),
    Kind(
        "ping-pong of two calls",
        _in_turn(*(_read(name, NOTES[name]) for name in ("north.md", "south.md"))),
        files=NOTES,
        watched=25,
    ),
    Kind("cycle of three calls", _in_turn(*(_read(name, text) for name, text in NOTES.items())), files=NOTES, watched=40),
    Kind("poll without progress", _polled("sleep 90", lambda _: "(no new output)"), watched=26),
    Kind("poll with progress", _polled(STEPS, lambda number: f"[{number}/1500] Compiling"), calls=45),
    Kind(
        "fifty different calls",
        _work,
        calls=50,
        files={f"{word}.md": NOTE.format(word=word) for word in _WORDS},
    ),
    Kind(
        "edit and test, which goes on failing",
        _mend,
        calls=50,
        files={"step.py": "step = 0\n", "check.sh": f'echo "{CHECKED.strip()}"; exit 1\n'},
    ),
    Kind("unreliable network", _fetch, calls=48, files={"fetch.sh": FETCH}),
)
