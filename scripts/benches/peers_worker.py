"""The part of `peers` that runs inside one guard's environment: judges commands and says what each cost.

Each line of the input is a JSON list of commands; each line of the output a list of pairs: microseconds of processor time,
and whether the command was not simply allowed.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

Judge = Callable[[str], tuple[int, bool]]
"""Judges a command: nanoseconds, and whether it was not simply allowed."""


def timed(judge: Callable[[str], Any], stopped: Callable[[Any], bool]) -> Judge:
    def measured(command: str) -> tuple[int, bool]:
        begun = time.thread_time_ns()
        found = judge(command)
        return time.thread_time_ns() - begun, stopped(found)

    return measured


def toolguard() -> Judge:
    """Ask through its session, as the gateway does. The result of each call is handed in as well, and not measured."""
    from answer_worker import HELLO, parts  # noqa: PLC0415 - not in the other environments
    from reference_worker import done, result_of, warm_up  # noqa: PLC0415 - as above

    session, messages = parts()
    session.answer(messages.decode(json.dumps({**HELLO, "stateDir": str(Path.cwd())}).encode()))
    warm_up(session)
    takers = [getattr(session.outbox, name) for name in ("take_events", "take_verdicts", "take_records")]
    place = {"agent": "main", "session": "agent:main:main", "cwd": "/home/u/work"}
    numbers = count()

    def measured(command: str) -> tuple[int, bool]:
        own = {"run": f"r{next(numbers)}", "call": "c"}  # a run of its own: one that repeats what is refused is ended
        question = {"id": 1, "type": "judge", "tool": "exec", "params": {"command": command}, **place, **own}
        data = json.dumps(question).encode()
        begun = time.thread_time_ns()
        answer = session.answer(messages.decode(data))
        spent = time.thread_time_ns() - begun
        done(session, takers)
        stopped = answer is None or answer.decision != "allow"  # None: the store of held calls is asked for its nonce
        if not stopped:
            session.answer(messages.decode(json.dumps(result_of(question)).encode()))
            done(session, takers)
        return spent, stopped

    return measured


def nah() -> Judge:
    from nah.bash import classify_command  # type: ignore[import-not-found] # noqa: PLC0415 - only in its environment

    return timed(classify_command, lambda found: found.final_decision != "allow")


def agentguard() -> Judge:
    """Its whole decision, of a policy that leaves commands to its scores; without its audit log."""
    from agentguard import Guard  # type: ignore[import-not-found] # noqa: PLC0415 - as above

    policy = {"version": 1, "rules": [{"capability": "shell.execute", "effect": "allow"}]}
    guard = Guard(policy, audit="audit.jsonl")

    @guard.tool(capability="shell.execute")  # type: ignore[untyped-decorator]
    def run(cmd: str) -> str:
        return cmd

    tool = guard._tools["run"]  # noqa: SLF001 - it has no public way to decide without running

    def decided(command: str) -> Any:
        session = guard.new_session()
        return guard._evaluate(session, guard._normalize(session, "run", {"cmd": command}, tool))  # noqa: SLF001 - as above

    return timed(decided, lambda found: found.effect.value != "allow")


def agentos() -> Judge:
    from agent_os.semantic_policy import (  # type: ignore[import-not-found] # noqa: PLC0415 - as above
        SemanticPolicyEngine,
    )

    engine = SemanticPolicyEngine()
    return timed(lambda command: engine.classify("exec", {"command": command}), lambda found: found.is_dangerous)


def policyshield() -> Judge:
    from policyshield.shield.engine import ShieldEngine  # type: ignore[import-not-found] # noqa: PLC0415 - as above

    program = Path(sys.executable).with_name("policyshield")
    subprocess.run([program, "init", "--preset", "openclaw", "--no-interactive"], check=True, stdout=sys.stderr)
    engine = ShieldEngine("policies/rules.yaml")
    allows, numbers = ("ALLOW", "REDACT"), count()  # a session of its own for each: it limits the calls of a session
    return timed(
        lambda command: engine.check("exec", {"command": command}, session_id=str(next(numbers))),
        lambda found: found.verdict.name not in allows,
    )


def main() -> int:
    judge = {each.__name__: each for each in (toolguard, nah, agentguard, agentos, policyshield)}[sys.argv[1]]()
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        found = [judge(command) for command in json.loads(line)]
        print(json.dumps([(spent / 1000, stopped) for spent, stopped in found]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
