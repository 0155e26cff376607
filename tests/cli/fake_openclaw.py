"""An OpenClaw that is none: `python fake_openclaw.py KIND FOLDER ...arguments of OpenClaw`.

It notes its environment in FOLDER, and holds a lock on `FOLDER/alive` for as long as it or its child runs. KIND says what
it is like:

  ends    its gateway ends at once and says why
  hangs   its gateway starts a child, serves nothing, and ends neither by itself nor when it is asked to
  bare    its gateway takes messages and runs no plugin
  mute    its gateway runs an engine, and hangs up on messages
  slow    it does not tell its version, and does not end
  dumb    it does not tell its version
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from toolguard_engine.wire.messages import VERSION


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args: object) -> None: ...

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Hangs up."""


def serve() -> None:
    port = json.loads(Path(os.environ["OPENCLAW_CONFIG_PATH"]).read_text())["gateway"]["port"]
    HTTPServer(("127.0.0.1", port), Handler).serve_forever()


def engine() -> None:
    process = subprocess.Popen([sys.executable, "-P", "-E", "-m", "toolguard_engine"], stdin=subprocess.PIPE)
    hello = {"id": 0, "type": "hello", "v": VERSION, "stateDir": os.environ["OPENCLAW_STATE_DIR"]}
    assert process.stdin is not None
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()


def gateway(kind: str) -> int:
    if kind == "ends":
        sys.stderr.write("reading the config\nConfig invalid: port is taken\n")
        return 78
    if kind == "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
        (FOLDER / "child").touch()
        time.sleep(600)
    if kind == "mute":
        engine()
    serve()
    return 0


kind, FOLDER, arguments = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
alive = (FOLDER / "alive").open("a")
fcntl.flock(alive, fcntl.LOCK_EX)
(FOLDER / f"{arguments[0].strip('-')}.json").write_text(json.dumps(dict(os.environ)))
if arguments == ["--version"]:
    if kind == "slow":
        (FOLDER / "child").touch()
        time.sleep(600)
    sys.stdout.write("no idea\n" if kind == "dumb" else "OpenClaw 2026.9.6 (0000000)\n")
    sys.exit(0)
sys.exit(gateway(kind))
