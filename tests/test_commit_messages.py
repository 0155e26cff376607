"""The check of commit messages, which the hook commit-msg runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tables import each_row

SCRIPT = Path(__file__).parent.parent / "scripts" / "check_commit_message"


@each_row(
    ("message", "why"),
    [
        ("Hold what cannot be undone\n\nBecause nobody asked.\n", ""),
        ("Hold what cannot be undone\n", "no body"),
        ("Hold what cannot be undone\n\n  \n# Because nobody asked.\n", "no body"),
        ("Hold it\n# a comment of Git\n\nWhy.\n", ""),
        ('Revert "Hold what cannot be undone"\n\nThis reverts commit 0.\n', ""),
        ("", "the subject is empty"),
        ("# only a comment\n", "the subject is empty"),
        (f"Hold {'x' * 68}\n", "the subject has 73 characters"),
        (f"Hold {'x' * 67}\n\nWhy.\n", ""),
        ("Hold it.\n", "full stop"),
        ("hold it\n", "capital letter"),
        ("Added a hold\n", "not imperative"),
        ("Adding a hold\n", "not imperative"),
        ("Hold it\nbecause\n", "no blank line"),
    ],
)
def test_messages(tmp_path: Path, message: str, why: str) -> None:
    file = tmp_path / "message"
    file.write_text(message)
    done = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True, check=False)
    assert (done.returncode, why in done.stderr) == (1 if why else 0, True), done.stderr


def test_wrong_usage() -> None:
    assert subprocess.run([sys.executable, SCRIPT], capture_output=True, check=False).returncode == 2
