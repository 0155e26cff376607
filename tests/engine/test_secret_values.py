"""Which values count as secrets, and the texts by which they are found."""

from __future__ import annotations

import html
import json
from hashlib import sha512
from urllib.parse import quote, quote_plus

import pytest

from tables import each_row
from toolguard_engine.wording import secret_values
from toolguard_engine.wording.secret_values import KnownSecret, Replacement, is_distinctive, is_random, replacements

HEX = "8f3a1c9b7e2d4f60a1b2c3d4e5f60718"
ODD = "p\"a\\ß/<1&2>' +%"
KEY = "\n".join([
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW",
    "QyNTUxOQAAACB3vR1Jm0r2Xk8p5uT6eQwYzLhN4aSdFgHjK1l2Z3x4cwAAAJgK7q3xCu6t",
    "AAAEDshort==",
    "-----END OPENSSH PRIVATE KEY-----",
])  # fmt: skip


def texts(*values: str) -> list[str]:
    return [found.text for found in replacements(KnownSecret("key", "k", value) for value in values)]


@each_row(
    "value",
    [HEX, "sk-proj-abc123def456", "hunter2hunter2", "correct-horse-battery-staple", "Tr0ub4dor&3", ODD, "123456789012",
     "1234567890:AAHk3f9d-aBcDeFgHiJkLmNoPqRsTuVwXyZ", "open sesame 12345 now"],
)  # fmt: skip
def test_distinctive(value) -> None:
    assert is_distinctive(value)


@each_row(
    "value",
    ["", "short1", "true", "localhost", "openclaw", "rehearsal", "password", "local-dev-server", "changeme123",
     "your-api-key-1", "${GATEWAY_TOKEN}", "<your token>", "xxxxxxxx1", "abababab", "20261128",
     "127.0.0.1:8080", "192.168.100.200",
     "localhost:18789", "https://api.example.com/v1", "/home/me/.openclaw/key1", "~/secrets/key1", "OPENAI_API_KEY",
     "me@mail.host1.net", "__OPENCLAW_REDACTED__", "secretref-managed", "a" * 5_000 + "b1c2d3"],
)  # fmt: skip
def test_not_distinctive(value) -> None:
    assert not is_distinctive(value)


@pytest.mark.parametrize("value", [HEX, "ntn_48291037465aBcDeFgHiJkLmNoPq", "AKIA1234ABCD5678EFGH"])
def test_random(value) -> None:
    assert is_random(value)


@each_row("value", ["claude-sonnet-4-20250514", "my-project-2026-11", "production", "eu-central-1"])
def test_not_random(value) -> None:
    assert not is_random(value)


@each_row(
    "written",
    [
        ODD, json.dumps(ODD)[1:-1], json.dumps(ODD, ensure_ascii=False)[1:-1], json.dumps(json.dumps(ODD))[3:-3],
        json.dumps(json.dumps(json.dumps(ODD)))[7:-7],
        quote(ODD), quote(ODD, safe=""), quote_plus(ODD), "p%22a%5c%c3%9f%2f%3c1%262%3e%27%20%2b%25",
        html.escape(ODD), ODD.replace("'", "'\\''"),
    ],
)  # fmt: skip
def test_every_spelling_is_found(written) -> None:
    assert written in texts(ODD)


def test_a_plain_value_has_one_spelling() -> None:
    assert texts(HEX) == [HEX]


def test_a_private_key_is_known_by_its_lines() -> None:
    """Not by the line that all keys have in common, nor by one that is too short to tell anything."""
    assert set(texts(KEY)) == {KEY.splitlines()[2]}


def test_the_first_secret_with_a_text_names_it() -> None:
    found = replacements([KnownSecret("gateway token", "gateway.auth.token", HEX), KnownSecret("secret", "other", HEX)])
    assert found == (Replacement(HEX, "[redacted: gateway token]", "gateway.auth.token"),)


def test_bounds() -> None:
    """However many secrets there are, and however long."""
    many = [sha512(str(number).encode()).hexdigest() * 2 for number in range(5_000)]
    found = texts(*many)
    assert len(found) <= secret_values.MAX_TEXTS
    assert sum(map(len, found)) <= secret_values.MAX_CHARACTERS
