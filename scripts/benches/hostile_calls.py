"""Kinds of calls, each made of one text, and the guard that judges them: what `cost` searches through."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), frozenset({4242}),
            "/home/u/.openclaw/metrics.db", "127.0.0.1:18787")  # fmt: skip
OWN_RULES = [
    {"path": ["~/private/**", "*.pem", "/srv/**/keep/*", "**/a?c/*z"], "severity": "required"},
    {"path": ["/data/**"], "not_path": ["/data/tmp/**/x*"], "effect": ["delete", "write"], "severity": "required"},
    {"params": {"*": "(?i)secret.{0,20}(word|key)|(a|b)+c{3,9}x"}, "severity": "advisory"},
    {"run": ["rm|mv * **", "git !status|log"], "any": ["-f", "--force"], "severity": "required"},
]

Play = Callable[[Guard], None]


def played(*calls: Call) -> Play:
    def play(guard: Guard) -> None:
        for call in calls:
            guard.judge(call)
            guard.autonomy.settle()

    return play


def made_call(tool: str, run: str = "", **params: Any) -> Call:
    return Call(tool, params, agent="main", session="s", run=run, cwd="/home/u/work")


def shell(command: str) -> Play:
    return played(made_call("exec", command=command))


def _typed(program: str) -> Callable[[str], Play]:
    def play(guard: Guard, text: str) -> None:
        guard.processes.started("p", made_call("exec", command=program, pty=True))
        played(guard.processes.joined(made_call("process", action="write", sessionId="p", data=text + "\n")))(guard)

    return lambda text: lambda guard: play(guard, text)


def _typed_session(text: str) -> Play:
    """Lines that are typed before the results of the first ones are known."""

    def play(guard: Guard) -> None:
        guard.processes.started("p", made_call("exec", command="bash", pty=True))
        for number, line in enumerate(text.split("\n")[:3]):
            write = Call(
                "process", {"action": "write", "sessionId": "p", "data": line + "\n"}, session="s", call_id=f"c{number}"
            )
            played(guard.processes.joined(write))(guard)
            guard.processes.sent(write, keep=True)

    return play


def _after_result(text: str) -> Play:
    def play(guard: Guard) -> None:
        guard.contexts.result("r", "web_fetch", {"url": "https://a.test"}, text[: len(text) // 2])
        played(made_call("exec", "r", command=text[len(text) // 2 :]))(guard)

    return play


def _nested(text: str) -> dict[str, Any]:
    value: Any = text
    for at in range(0, min(len(text), 60 * 8), 8):
        value = {text[at : at + 8]: [value, text[at : at + 99]]}
    return {"input": value, **dict.fromkeys(text.split(), "x")}


EXEC = "exec"
KINDS: dict[str, Callable[[str], Play]] = {
    EXEC: shell,
    "python -c": lambda text: shell(f"python3 -c {shlex.quote(text)}"),
    "python heredoc": lambda text: shell(f"python3 <<'EOF'\n{text}\nEOF\n"),
    "node -e": lambda text: shell(f"node -e {shlex.quote(text)}"),
    "node heredoc": lambda text: shell(f"node <<'EOF'\n{text}\nEOF\n"),
    "perl -e": lambda text: shell(f"perl -e {shlex.quote(text)}"),
    "ssh": lambda text: shell(f"ssh a@b.test {shlex.quote(text)}"),
    "file and run": lambda text: shell(f"cat > a.py <<'EOF'\n{text}\nEOF\npython3 a.py; sh a.py"),
    "psql": lambda text: shell(f"psql -c {shlex.quote(text)}"),
    "write": lambda text: played(made_call("write", path=text[:200], content=text)),
    "edit": lambda text: played(made_call("edit", path="a.py", edits=[{"oldText": x, "newText": x} for x in text.split()])),
    "apply_patch": lambda text: played(made_call("apply_patch", input=f"*** Update File: {text}\n*** End Patch")),
    "files": lambda text: played(made_call("apply_patch", input="\n".join(f"*** Add File: {x}" for x in text.split()))),
    "gateway": lambda text: played(made_call("gateway", action="config.patch", raw=text)),
    "message": lambda text: played(made_call("message", action="send", target="u", message=text)),
    "url": lambda text: played(made_call("web_fetch", url=f"https://a.test/{text}")),
    "browser": lambda text: played(made_call("browser", action="act", fn=text, url=f"http://127.0.0.1/{text}")),
    "unknown tool": lambda text: played(Call("x__y", _nested(text), agent="main", session="s", cwd="/home/u/work")),
    "command words": lambda text: played(made_call("run_command", command=text.split(), cwd=text[:999], env={"A": text})),
    "cron": lambda text: played(made_call("cron", action="add", job={"payload": {"message": text}, "command": text})),
    "after a result": _after_result,
    "typed into bash": _typed("bash"),
    "typed session": _typed_session,
    "typed into python": _typed("python3"),
    "typed into psql": _typed("psql"),
}  # fmt: skip
