"""A program of an agent that has read the dashboard's token."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

from dashboard_stage import NAMES, machine, served
from person_stage import Machine

from toolguard_engine.stores.files.audit_log_file import AuditLog

POST = """
import http.client, json, sys
port, token, path, body, out = sys.argv[1:]
connection = http.client.HTTPConnection("127.0.0.1", int(port))
connection.request("POST", path, body, {"authorization": f"Bearer {token}", "content-type": "application/json"})
answer = connection.getresponse()
open(out, "w").write(f"{answer.status} {json.loads(answer.read())['error']['code']}")
"""


def test_it_changes_nothing_and_a_person_does(tmp_path: Path) -> None:
    made = machine(tmp_path)
    entry, places = made.hold(), made.places(NAMES[0])
    approving = {"gateway": NAMES[0], "nonce": entry.nonce}
    with served(made) as shown, ExitStack() as ends:
        agent = Machine(places, entry, tmp_path, ends)
        agent.start_gateway()
        for path, body in {
            "/api/approve": approving,
            "/api/allow": {**approving, "period": "1h"},
            "/api/state": {"gateway": NAMES[0], "mode": "disabled"},
        }.items():
            posts = [str(shown.port), shown.token, path, json.dumps(body), str(tmp_path / "out")]
            agent.below_the_gateway(sys.executable, "-c", POST, *posts)
            assert (tmp_path / "out").read_text() == "403 agent", path
        assert made.status(entry.nonce) == "pending"
        assert list(AuditLog(places.state_dir).events())[-1]["code"] == "security.self-approval"
        assert shown.post("/api/approve", approving).status == 200
    assert made.status(entry.nonce) == "approved"
