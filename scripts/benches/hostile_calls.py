"""Kinds of calls, each made of one text, as the messages of a gateway: what `cost` searches through.

A message is one line of the wire without its place and its number. `disk` is no message: it puts a file there, as a program
of an earlier call may have done.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
Make = Callable[[str], list[Message]]

OWN_RULES = [
    {"path": ["~/private/**", "*.pem", "/srv/**/keep/*", "**/a?c/*z"], "severity": "required"},
    {"path": ["/data/**"], "not_path": ["/data/tmp/**/x*"], "effect": ["delete", "write"], "severity": "required"},
    {"params": {"*": "(?i)secret.{0,20}(word|key)|(a|b)+c{3,9}x"}, "severity": "advisory"},
    {"run": ["rm|mv * **", "git !status|log"], "any": ["-f", "--force"], "severity": "required"},
]
NAMES = ("x.sh", "x.py", "x.mjs", "x.rb", "Makefile", "package.json", "conftest.py", "justfile", "y.sql", "d/x.sh")
"""Of the files that are written; the text begins with what chooses one."""


def judge(tool: str, **params: Any) -> Message:
    return {"type": "judge", "tool": tool, "params": params}


def exec_(command: str, **more: Any) -> Message:
    return judge("exec", command=command, **more)


def came(text: str, *, failed: bool = False) -> Message:
    return {
        "type": "came",
        "tool": "exec",
        "params": {"command": "npm test"},
        "text": text,
        "size": len(text),
        "failed": failed,
    }


def _name(text: str) -> str:
    return NAMES[len(text) % len(NAMES)]


def _code(program: str) -> Make:
    return lambda text: [exec_(f"{program} {shlex.quote(text)}")]


def _heredoc(program: str) -> Make:
    return lambda text: [exec_(f"{program} <<'EOF'\n{text}\nEOF\n")]


def _typed(program: str) -> Make:
    def make(text: str) -> list[Message]:
        started = {**exec_(program, pty=True), "process": "p"}
        return [started, judge("process", action="write", sessionId="p", data=text + "\n")]

    return make


def _typed_session(text: str) -> list[Message]:
    """Lines that are typed before the results of the first ones are known."""
    lines = [judge("process", action="write", sessionId="p", data=line + "\n") for line in text.split("\n")[:3]]
    return [{**exec_("bash", pty=True), "process": "p"}, *lines]


def _nested(text: str) -> dict[str, Any]:
    value: Any = text
    for at in range(0, min(len(text), 60 * 8), 8):
        value = {text[at : at + 8]: [value, text[at : at + 99]]}
    return {"input": value, **dict.fromkeys(text.split(), "x")}


def _runs(text: str) -> list[Message]:
    """The file of that name, by the program that runs it."""
    commands = {
        "x.sh": "sh x.sh", "x.py": "python3 x.py", "x.mjs": "node x.mjs", "x.rb": "ruby x.rb", "Makefile": "make",
        "package.json": "npm test && npm run build", "conftest.py": "pytest -q", "justfile": "just",
        "y.sql": "psql -f y.sql", "d/x.sh": "cd d && ./x.sh",
    }  # fmt: skip
    return [exec_(commands[_name(text)])]


def _script(text: str) -> str:
    """The text as a file of its kind has it."""
    match _name(text):
        case "package.json":
            return json.dumps({"scripts": {"test": text, **{f"s{n}": line for n, line in enumerate(text.split("\n"))}}})
        case "Makefile" | "justfile":
            return "all:\n\t" + text.replace("\n", "\n\t")
    return text


def _model(text: str) -> list[Message]:
    """A message of the model with a call for each line."""
    return [{"type": "message", "calls": [{"tool": "exec", "params": {"command": line}} for line in text.split("\n")]}]


EXEC, DISK, WRITE, RUN = "exec", "a file on disk", "write a script", "run a script"
KINDS: dict[str, Make] = {
    EXEC: lambda text: [exec_(text)],
    "python -c": _code("python3 -c"),
    "python heredoc": _heredoc("python3"),
    "node -e": _code("node -e"),
    "node heredoc": _heredoc("node"),
    "perl -e": _code("perl -e"),
    "ruby -e": _code("ruby -e"),
    "php -r": _code("php -r"),
    "lua -e": _code("lua -e"),
    "awk": _code("awk"),
    "sed": _code("sed -i.bak x.py -e"),
    "powershell": _code("pwsh -c"),
    "ssh": _code("ssh a@b.test"),
    "psql": _code("psql -c"),
    "file and run": lambda text: [exec_(f"cat > a.py <<'EOF'\n{text}\nEOF\npython3 a.py; sh a.py")],
    DISK: lambda text: [{"type": "disk", "path": _name(text), "text": _script(text)}],
    WRITE: lambda text: [judge("write", path=_name(text), content=_script(text))],
    RUN: _runs,
    "write": lambda text: [judge("write", path=text[:200], content=text)],
    "edit": lambda text: [judge("edit", path="x.py", edits=[{"oldText": x, "newText": x} for x in text.split()])],
    "apply_patch": lambda text: [judge("apply_patch", input=f"*** Update File: {text}\n*** End Patch")],
    "files": lambda text: [judge("apply_patch", input="\n".join(f"*** Add File: {x}" for x in text.split()))],
    "gateway": lambda text: [judge("gateway", action="config.patch", raw=text)],
    "message": lambda text: [judge("message", action="send", target="u", message=text)],
    "url": lambda text: [judge("web_fetch", url=f"https://a.test/{text}")],
    "browser": lambda text: [judge("browser", action="act", fn=text, url=f"http://127.0.0.1/{text}")],
    "unknown tool": lambda text: [judge("x__y", **_nested(text))],
    "command words": lambda text: [judge("run_command", command=text.split(), cwd=text[:999], env={"A": text})],
    "cron": lambda text: [judge("cron", action="add", job={"payload": {"message": text}, "command": text})],
    "typed into bash": _typed("bash"),
    "typed session": _typed_session,
    "typed into python": _typed("python3"),
    "typed into psql": _typed("psql"),
    "result": lambda text: [came(text)],
    "failed result": lambda text: [came(text, failed=True)],
    "from outside": lambda text: [{"type": "heard", "tool": "web_fetch", "params": {"url": "https://a.test"}, "text": text}],
    "said": lambda text: [{"type": "said", "text": text, "person": True}],
    "malformed": lambda text: [{"type": "failed", "tool": text[:60], "params": {"a": text}, "text": text}],
    "model": _model,
}  # fmt: skip
