"""Which tests one run of the gate leaves to others: a start of OpenClaw with the first turn of an agent costs 40 s of
processor time, and a change of its settings as much as ten turns.

`scripts/test` sets `TOOLGUARD_TEST_SHARE` by the commit, so that each commit runs another third of these tests. Where it is
not set all are run: in the nightly run of `scripts/test --all`, and where a person runs a single file. What approves a call
and what uses an approval is in every run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import pytest

import effort

COUNT = 3
_NAMED = os.environ.get("TOOLGUARD_TEST_SHARE", "")
MINE = int(_NAMED) % COUNT if _NAMED not in ("", "all") and not effort.ALL else None

WHOLE: tuple[frozenset[str], ...] = tuple(
    frozenset(f"tests/gateway/test_{name}.py" for name in names.split())
    for names in (
        """containment_on_gateway judging_on_gateway living_programs_on_gateway typing_on_gateway options_on_gateway""",
        """session_answers_on_gateway usage_on_gateway limits_on_gateway secrets_on_gateway notify_on_gateway
        config_on_gateway blinding_on_gateway started_files_on_gateway paths_on_gateway
        first_use_on_gateway""",
        """self_approval_ways chat_senders guard_proof_on_gateway claude_cli control_plane_on_gateway agent_tool
        approvals_native fail_mode meaning_on_gateway files_on_gateway round_the_guard_on_gateway""",
    )
)
"""Files that are in one share, all of each. The three cost about the same."""

PARTS = frozenset(
    f"tests/{folder}/test_{name}.py"
    for folder, names in {
        "cli": """cli_containment cli_dashboard cli_doctor cli_doctor_engine cli_doctor_faults cli_install cli_live
        cli_uninstall cli_watch migrations_undo notify person_processes""",
        "cli/dashboard": """dashboard_api dashboard_links dashboard_openapi dashboard_security dashboard_serve
        dashboard_ws""",
        "cli/json5_edit": "json5_properties",
        "dashboard": "accessibility board live numbers phone",
        "engine": """built_texts effects_code file_memory landing_law landings metrics_import option_grammar
        packed_code pattern_cost readtypes recorder runners serve_process toolacts work_allowance work_limit""",
        "fleet": """access audit_append audit_shipping crashes failover fleet_commands fleet_engine fleet_page
        fleet_persons meaning_in_fleet metrics_shipping page_passkeys policy policy_engine schema store_law""",
    }.items()
    for name in names.split()
)
"""Files that start many processes, or judge long tables: every third test of each is in a share."""


def mine(items: Sequence[pytest.Item], share: int | None = MINE) -> list[pytest.Item]:
    """Those of this run, in their order."""
    if share is None:
        return list(items)
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        file = item.nodeid.partition("::")[0]
        seen[file] += 1
        if _is_in(share, file, seen[file]):
            kept.append(item)
    return kept


def _is_in(share: int, file: str, number: int) -> bool:
    """Whether the test of this number in the file is in this share."""
    if file in PARTS:
        return (number + crc32(file.encode())) % COUNT == share  # not the same share for all files with one test
    return file in WHOLE[share] or not any(file in files for files in WHOLE)
