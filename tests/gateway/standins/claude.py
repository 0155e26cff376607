"""Stands in for Claude Code as the `claude-cli` backend of a gateway, as far as its tool calls go.

It speaks stream-json on its pipes. Each line `CALL {"tool": ..., "input": ...}` of a message is a tool call: it asks the
gateway's `PreToolUse` hook, obeys the answer, and really runs a `Bash` that was allowed. The reply says what became of each
call.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

MARK = "CALL "
Message = dict[str, Any]


def main() -> None:
    if "--version" in sys.argv:
        sys.stdout.write("2.1.98 (Claude Code)\n")
    elif "--print" in sys.argv:
        serve(_value_of("--session-id") or _value_of("--resume"))


def serve(session: str) -> None:
    while message := receive():
        if message["type"] == "control_request":
            send({"type": "control_response", "response": _success(message["request_id"])})
        elif message["type"] == "user":
            reply(session, "\n".join(outcome(session, call) for call in calls(message)) or "nothing to do")


def calls(message: Message) -> Iterator[Message]:
    content = message["message"]["content"]
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    for line in "\n".join(texts).splitlines():
        _, mark, rest = line.partition(MARK)
        if mark:
            yield json.JSONDecoder().raw_decode(rest)[0]


def outcome(session: str, call: Message) -> str:
    decision = ask(session, call)
    if decision["permissionDecision"] != "allow":
        return f"DENIED {decision['permissionDecisionReason']}"
    if call["tool"] != "Bash":
        return f"ALLOWED {json.dumps(decision['updatedInput'])}"
    done = subprocess.run(
        ["/bin/sh", "-c", decision["updatedInput"]["command"]], capture_output=True, text=True, check=False
    )
    return f"RAN {done.stdout}{done.stderr}"


def ask(session: str, call: Message) -> Message:
    """What the host's PreToolUse hook decides."""
    request, use = str(uuid4()), f"toolu_{uuid4().hex}"
    reported = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "cwd": str(Path.cwd()),
        "tool_name": call["tool"],
        "tool_input": call["input"],
        "tool_use_id": use,
    }
    body = {"subtype": "hook_callback", "callback_id": "PreToolUse", "tool_use_id": use, "input": reported}
    send({"type": "control_request", "request_id": request, "request": body})
    while answer := receive():
        response = answer.get("response", {})
        if answer["type"] == "control_response" and response.get("request_id") == request:
            decided: Message = response["response"]["hookSpecificOutput"]
            return decided
    sys.exit("the gateway closed the pipe before it answered")


def reply(session: str, text: str) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    content = {"role": "assistant", "content": [{"type": "text", "text": text}], "usage": usage}
    send({"type": "system", "subtype": "init", "session_id": session, "tools": ["Bash"], "model": "stand-in"})
    send({"type": "assistant", "message": content, "session_id": session})
    result = {"subtype": "success", "is_error": False, "result": text, "num_turns": 1, "usage": usage}
    send({"type": "result", "session_id": session, **result})


def send(message: Message) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def receive() -> Message:
    """The next message; empty at the end."""
    line = sys.stdin.readline()
    message: Message = json.loads(line) if line else {}
    return message


def _success(request: str) -> Message:
    return {"subtype": "success", "request_id": request, "response": {}}


def _value_of(option: str) -> str:
    return sys.argv[sys.argv.index(option) + 1] if option in sys.argv else ""


if __name__ == "__main__":
    main()
