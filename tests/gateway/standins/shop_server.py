"""A tool server (MCP over standard input and output) whose tools are described in the file that the command names, as JSON,
which is read again each time that the tools are listed. Each call answers with the name of the tool."""

import json
import sys
from pathlib import Path


def answer(method, params):
    if method == "initialize":
        info = {"name": "shop", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": info,
        }
    if method == "tools/list":
        described = json.loads(Path(sys.argv[1]).read_text())
        return {"tools": [{"inputSchema": {"type": "object"}, **each} for each in described]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"ran {params['name']}"}]}
    return {}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        send({"id": message["id"], "result": answer(message["method"], message.get("params") or {})})
    if message["method"] == "tools/call" and Path(f"{sys.argv[1]}.changed").exists():
        Path(f"{sys.argv[1]}.changed").unlink()
        send({"method": "notifications/tools/list_changed"})
