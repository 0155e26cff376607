"""A tool server (MCP over standard input and output) with one tool, `look_up`: it returns the file that the command names
as structured content, or in two blocks, cut inside the value of the first `token`."""

import json
import sys
from pathlib import Path

TOOL = {
    "name": "look_up",
    "description": "Returns a file.",
    "inputSchema": {"type": "object", "properties": {"blocks": {"type": "boolean"}}},
}


def answer(method, params):
    if method == "initialize":
        info = {"name": "shelf", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = Path(sys.argv[1]).read_text()
        middle = text.find('"token": "') + len('"token": "') + 12
        blocks = [{"type": "text", "text": part} for part in (text[:middle], text[middle:])]
        return (
            {"content": blocks}
            if params["arguments"].get("blocks")
            else {"content": [], "structuredContent": {"text": text}}
        )
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params") or {})}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
