"""Stands in for the Codex app server of a gateway, as far as its tool calls go.

It speaks JSON-RPC on its pipes. Each line `CALL {"tool": ..., "input": ...}` of a turn is a tool call: it runs the
`PreToolUse` hook command that the gateway put into the thread's config, obeys the answer, and really runs a `Bash` that was
not refused.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

MARK = "CALL "
VERSION = "0.154.0"
Message = dict[str, Any]

thread_id = str(uuid4())
hooks: list[Message] = []


def main() -> None:
    if "--version" in sys.argv:
        sys.stdout.write(f"codex-cli {VERSION}\n")
        return
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") is not None and "method" in message:
            answer(message["id"], message["method"], message.get("params") or {})


def answer(request: object, method: str, params: Message) -> None:
    if method == "turn/start":
        turn(request, params)
        return
    if method in ("thread/start", "thread/resume"):
        hooks[:] = (params.get("config") or {}).get("hooks.PreToolUse") or []
    send({"id": request, "result": result(method, params)})


def result(method: str, params: Message) -> Message:
    if method == "initialize":
        home = os.environ.get("CODEX_HOME", str(Path.cwd()))
        return {"userAgent": f"codex/{VERSION} (linux)", "codexHome": home, "platformFamily": "unix", "platformOs": "linux"}
    if method in ("thread/start", "thread/resume"):
        return {
            "thread": thread(params),
            "model": params.get("model"),
            "modelProvider": "openai",
            "serviceTier": None,
            "cwd": params.get("cwd"),
            "approvalPolicy": "never",
            "approvalsReviewer": "user",
            "sandbox": {"type": "dangerFullAccess"},
            "reasoningEffort": None,
            "instructionSources": [],
        }
    answers: dict[str, Message] = {
        "configRequirements/read": {"requirements": None},
        "config/read": {"config": {}, "origins": {}, "layers": []},
        "account/read": {"account": {"type": "apiKey"}, "requiresOpenaiAuth": False},
        "thread/unsubscribe": {"status": "unsubscribed"},
    }
    return answers.get(method, {"data": [], "nextCursor": None} if method.endswith("/list") else {})


def thread(params: Message) -> Message:
    known = {"id": thread_id, "sessionId": thread_id, "projectId": None, "preview": "", "ephemeral": False, "turns": []}
    about = {"cliVersion": VERSION, "source": "appServer", "modelProvider": "openai", "cwd": params.get("cwd")}
    return {**known, **about, "createdAt": 1, "updatedAt": 1, "status": {"type": "idle"}, "path": None}


def turn(request: object, params: Message) -> None:
    begun = {"id": str(uuid4()), "items": [], "status": "inProgress", "error": None, "startedAt": 1, "completedAt": None}
    of_turn = {"threadId": thread_id, "turnId": begun["id"]}
    send({"id": request, "result": {"turn": begun}})
    send({"method": "turn/started", "params": {"threadId": thread_id, "turn": begun}})
    text = "\n".join(outcome(begun["id"], call) for call in calls(params)) or "nothing to do"
    item = {"type": "agentMessage", "id": str(uuid4()), "text": text, "phase": None}
    send({"method": "item/started", "params": {**of_turn, "item": {**item, "text": ""}, "startedAtMs": 1}})
    send({"method": "item/completed", "params": {**of_turn, "item": item, "completedAtMs": 2}})
    ended = {**begun, "status": "completed", "items": [item], "completedAt": 2, "durationMs": 1}
    send({"method": "turn/completed", "params": {"threadId": thread_id, "turn": ended}})


def calls(params: Message) -> Iterator[Message]:
    texts = [part.get("text", "") for part in params.get("input", [])]
    for line in "\n".join(texts).splitlines():
        _, mark, rest = line.partition(MARK)
        if mark:
            yield json.JSONDecoder().raw_decode(rest)[0]


def outcome(turn_id: str, call: Message) -> str:
    if not hooks:
        return "UNASKED"
    for hook in hooks:
        refusal = ask(hook["hooks"][0]["command"], turn_id, call)
        if refusal:
            return f"DENIED {refusal}"
    if call["tool"] != "Bash":
        return "ALLOWED"
    done = subprocess.run(["/bin/sh", "-c", call["input"]["command"]], capture_output=True, text=True, check=False)
    return f"RAN {done.stdout}{done.stderr}"


def ask(command: str, turn_id: str, call: Message) -> str:
    """Why the hook refuses this call; empty where it does not. A hook that fails refuses, as the gateway wants it."""
    reported = {
        "hook_event_name": "PreToolUse",
        "session_id": thread_id,
        "turn_id": turn_id,
        "cwd": str(Path.cwd()),
        "model": "stand-in",
        "permission_mode": "bypassPermissions",
        "tool_name": call["tool"],
        "tool_input": call["input"],
        "tool_use_id": f"call_{uuid4().hex}",
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command], input=json.dumps(reported), capture_output=True, text=True, check=False
    )
    if done.returncode:
        return done.stderr or f"exit code {done.returncode}"
    said = json.loads(done.stdout).get("hookSpecificOutput", {}) if done.stdout.strip() else {}
    return str(said.get("permissionDecisionReason", "no reason")) if said.get("permissionDecision") == "deny" else ""


def send(message: Message) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
