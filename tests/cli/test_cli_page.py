"""docs/cli.md against the commands: its lists, exit codes, and the keys that it promises to scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_stage import envelope, put_in, toolguard
from held_stage import hold

from toolguard_cli import main
from toolguard_cli.commands import check, command_page
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
TEXT = PAGE.read_text("utf-8")


def keys(cell: str) -> list[str]:
    return re.findall(r"`([\w]+)`", cell)


def table(head: str) -> list[list[str]]:
    """The rows of the table with this head, without it."""
    rows = TEXT.partition(f"{head}\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_the_lists_of_commands_are_up_to_date() -> None:
    assert command_page.page(TEXT) == TEXT


def test_the_envelope() -> None:
    shown = list(Result("x").envelope())
    assert [keys(row[0])[0] for row in table("| key | meaning |")] == shown
    example = TEXT.partition("```json\n")[2].partition("```")[0]
    assert list(json.loads(example)) == shown


def test_the_exit_codes() -> None:
    known = {0, main.EXIT_USER, main.EXIT_USAGE, main.EXIT_BUG, main.EXIT_INTERRUPTED, *check.EXIT.values()}
    assert {int(row[0]) for row in table("| code | meaning |")} == known


USED = {
    "approve": ["approve", "NONCE", "--yes"], "deny": ["deny", "NONCE"], "check": ["check", "rm -rf ~/x"],
    "config get": ["config", "get", "mode"], "config set": ["config", "set", "mode", "soft", "--offline"],
    "kill-switch": ["kill-switch", "status"],
}  # fmt: skip


@pytest.mark.parametrize("row", table("| command | keys |"), ids=lambda row: row[0])
def test_the_keys_of_the_data(places: Places, row: list[str]) -> None:
    put_in(places)
    for command in re.findall(r"`([a-z -]+)`", row[0]):
        words = [hold(places).nonce if word == "NONCE" else word for word in USED.get(command, command.split())]
        data = envelope(toolguard(*words, "--json", *(["--state-dir", places.state_dir] if command != "version" else [])))
        assert data["command"] == command
        assert set(keys(row[1])) <= set(data["data"]), command
        assert not {"created", "expires"} & set(data["data"]) or data["data"]["createdAt"].endswith("Z")
