"""Plays the sessions of honest owners (`owner_sessions/`) as `toolguard replay` does, and counts needless questions.

usage: owner_replay.py [--half read|unread|later] [--list]

A line of a file is one call: session, agent, folder, tool, params, perhaps what a person had written before it and what the
call returned, and the label: `run`, or `ask` where a careful owner wants to be asked. The labels were written before anyone
looked at a verdict. A hash of a session's name says in which half it is. Of the unread half only the numbers are looked at.
`later`: sessions that were written later, in the same way, and are looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest import mock

from toolguard_cli.policy import offline_guard
from toolguard_cli.policy.played_sessions import PlayedCall
from toolguard_cli.policy.replay_report import ReplayReport, replayed
from toolguard_cli.policy.transcripts import TranscriptSource
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import progress

FOLDER = Path(__file__).parent / "owner_sessions"
HALVES = ("read", "unread", "later")
MAX_SHOWN = 300
_HOME_PARTS = 3


@dataclass
class Figures:
    """`asked`: without need; `asking`: sessions with such a question; `blocked`: for good, though the owner wants it done;
    `missed`: calls that ran though the owner wants to be asked; `saved`: questions that one answer for the rest of the
    session would have saved."""

    calls: int = 0
    sessions: int = 0
    asked: int = 0
    asking: int = 0
    blocked: int = 0
    missed: int = 0
    needed: int = 0
    saved: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    listed: list[tuple[str, str, PlayedCall]] = field(default_factory=list)

    def public(self) -> dict[str, int]:
        names = ("calls", "sessions", "asked", "asking", "blocked", "missed", "needed", "saved")
        return {name: getattr(self, name) for name in names}


def rows(half: str) -> list[dict[str, Any]]:
    with (FOLDER / f"{half}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def figures(half: str) -> Figures:
    found = Figures()
    for name, calls in groupby(rows(half), key=lambda row: row["session"]):
        _count(found, name, list(calls))
    return found


def _count(found: Figures, name: str, calls: list[dict[str, Any]]) -> None:
    report = ReplayReport()
    played = list(_played(name, calls, report))
    assert len(played) == len(calls), name
    found.sessions += 1
    found.calls += len(calls)
    found.saved += report.saved
    without_need = 0
    for row, call in zip(calls, played, strict=True):
        kind = _kind(row["label"], call)
        if kind in ("asked", "blocked", "missed"):
            found.listed.append((name, kind, call))
        if kind in ("asked", "blocked"):
            found.reasons[call.cause] += 1
        if kind:
            setattr(found, kind, getattr(found, kind) + 1)
        without_need += kind in ("asked", "blocked")
    found.asking += without_need > 0


def _kind(label: str, call: PlayedCall) -> str:
    if label == "ask":
        return "missed" if call.decision in ("allow", "corrected") else "needed"
    return "blocked" if call.decision in ("block", "corrected") else "asked" if call.is_question else ""


def _played(name: str, calls: list[dict[str, Any]], report: ReplayReport) -> Iterator[PlayedCall]:
    folder, agent = calls[0]["folder"], calls[0]["agent"]
    home = _home(folder)
    with tempfile.TemporaryDirectory(prefix="toolguard-owner-") as temporary, mock.patch.dict(os.environ, HOME=home):
        state = Path(temporary) / "agents" / agent / "sessions"
        state.mkdir(parents=True)
        path = state / f"{name}.jsonl"
        head = {"type": "session", "version": 3, "id": name, "cwd": folder}
        path.write_text("".join(f"{json.dumps(each)}\n" for each in (head, *_events(calls))), encoding="utf-8")
        places = Places(state_dir=Path(home) / ".openclaw", config=Path(home) / ".openclaw" / "openclaw.json")
        judged = offline_guard.load(places)
        source = TranscriptSource(path)
        with progress.reporting() as progressed:
            yield from replayed(places, judged, [source], report, progressed)


def _home(folder: str) -> str:
    """The owner's home, as far as the folder of a session says."""
    parts = Path(folder).parts
    is_home = parts[1] in ("home", "Users")
    return str(Path(*parts[:_HOME_PARTS])) if is_home else "/root" if parts[1] == "root" else "/home/owner"


def _events(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(calls, start=1):
        if "person" in row:
            yield _message({"role": "user", "content": row["person"], "__openclaw": {"senderIsOwner": True}})
        wanted = {"type": "toolCall", "id": f"c{number}", "name": row["tool"], "arguments": row["params"]}
        yield _message({"role": "assistant", "content": [wanted], "stopReason": "toolUse"})
        content = [{"type": "text", "text": row.get("result", "")}]
        yield _message({"role": "toolResult", "toolCallId": f"c{number}", "toolName": row["tool"], "content": content})


def _message(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "message": message}


def _lines(half: str, found: Figures, *, is_listed: bool) -> Iterator[str]:
    rate, share = 100 * found.asked / found.calls, 100 * found.asking / found.sessions
    yield f"{half}: {found.public()}: {rate:.1f} per 100 calls, in {share:.0f} % of sessions"
    if half == "unread":
        return
    yield from (f"  {count:4} {reason}" for reason, count in found.reasons.most_common())
    for name, kind, call in found.listed if is_listed else ():
        params = json.dumps(call.call.params, ensure_ascii=False)[:MAX_SHOWN]
        yield f"  {kind:8} {name} {call.cause} | {params} | {call.reason[:MAX_SHOWN]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument(
        "--list", action="store_true", help="each call that was asked, blocked or missed, not of the unread half"
    )
    given = parser.parse_args()
    for half in [given.half] if given.half else HALVES:
        sys.stdout.writelines(f"{line}\n" for line in _lines(half, figures(half), is_listed=given.list))


if __name__ == "__main__":
    main()
