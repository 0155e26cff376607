"""What one run of the gate leaves out, another one runs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import shares

ROOT = Path(__file__).parents[1]
NAMED = [*(file for files in shares.WHOLE for file in files), *shares.PARTS]
ALWAYS = re.compile(r"approv(e|al)s?_|_approv|self_protection|ledger|nonces|held_calls")
"""Files about what approves a call and what uses an approval. Ways in which an agent approves itself take turns."""


def test_each_file_is_there_and_named_once() -> None:
    assert [file for file in NAMED if not (ROOT / file).is_file()] == []
    assert len(NAMED) == len(set(NAMED))


def test_each_test_is_in_one_share_or_in_all() -> None:
    files = [*NAMED, "tests/engine/test_rules.py", "tests/gateway/test_risky_on_gateway.py"]
    items = [SimpleNamespace(nodeid=f"{file}::test_{number}") for file in files for number in range(7)]
    found = Counter(item.nodeid for share in range(shares.COUNT) for item in shares.mine(items, share))
    assert set(found) == {item.nodeid for item in items}
    assert {each.partition("::")[0] for each, times in found.items() if times == shares.COUNT} == set(files[-2:])
    assert set(found.values()) == {1, shares.COUNT}
    assert shares.mine(items, None) == items


def test_approvals_are_in_every_run() -> None:
    taking_turns = {"tests/gateway/test_self_approval_ways.py", "tests/gateway/test_approvals_native.py"}
    assert {file for file in NAMED if ALWAYS.search(file)} == taking_turns
