"""Secrets vanish, harmless texts stay, and no value costs more than its length."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import some
from tables import each_row
from toolguard_engine.wording import redact as module
from toolguard_engine.wording.redact import HIDDEN, MAX_NODES, MAX_SHOWN, MAX_VALUE, cut, redact, redact_text, render, shown

# Keys are put together here so that no scanner takes this file for a leak.
BODY = "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8s9T0"
KEYS = {
    "openai": "sk" + "-" + BODY,
    "openai-project": "sk" + "-proj-" + BODY,
    "anthropic": "sk" + "-ant-api03-" + BODY,
    "stripe": "sk" + "_live_" + BODY,
    "github": "gh" + "p_" + BODY,
    "github-fine": "github" + "_pat_" + BODY,
    "gitlab": "glp" + "at-" + BODY,
    "aws": "AK" + "IA" + "ABCDEFGHIJKLMNOP",
    "google": "AI" + "za" + BODY,
    "google-oauth": "ya" + "29." + BODY,
    "slack": "xo" + "xb-" + BODY,
    "npm": "np" + "m_" + BODY,
    "pypi": "py" + "pi-AgEI" + BODY,
    "huggingface": "h" + "f_" + BODY,
    "fireworks": "f" + "w_" + BODY,
    "groq": "gs" + "k_" + BODY,
    "telegram": "123456789" + ":" + BODY[:35],
    "sendgrid": "S" + "G." + BODY[:22] + "." + BODY,
    "jwt": "ey" + "J" + BODY + ".eyJ" + BODY + "." + BODY,
    "pem": "-----BEGIN " + "RSA PRIVATE KEY-----\n" + BODY + "\n-----END " + "RSA PRIVATE KEY-----",
    "pgp": "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\n" + BODY + "\n-----END " + "PGP PRIVATE KEY BLOCK-----",
}


@each_row("key", KEYS.values(), ids=KEYS)
def test_keys_of_vendors_vanish(key: str) -> None:
    assert redact_text(key) == HIDDEN
    assert redact_text(f"use {key} now") == f"use {HIDDEN} now"
    assert redact({"note": [f"({key})"]}) == {"note": [f"({HIDDEN})"]}


def test_a_key_block_without_its_end_vanishes_to_the_end() -> None:
    assert redact_text("use -----BEGIN " + f"PRIVATE KEY-----\n{BODY} now") == f"use {HIDDEN}"


TEXTS = [
    ("--password hunter2 x", "--password [redacted] x"),
    ("--password=hunter2 x", "--password=[redacted] x"),
    ("mysql --password='hunter 2' db", "mysql --password='[redacted]' db"),
    ("run --api-key hunter2", "run --api-key [redacted]"),
    ("run --db-password-file-token hunter2", "run --db-password-file-token [redacted]"),
    ("PASSWORD=hunter2 ./run", "PASSWORD=[redacted] ./run"),
    ("export DB_PASSWORD='hunter 2'", "export DB_PASSWORD='[redacted]'"),
    ('export GITHUB_TOKEN="hunter2"', 'export GITHUB_TOKEN="[redacted]"'),
    ('password="unclosed hunter2', 'password="[redacted]"'),
    ("password: hunter2", "password: [redacted]"),
    ("password=a,hunter2", "password=[redacted]"),
    ('{"password": "hunter2", "user": "bob"}', '{"password": "[redacted]", "user": "bob"}'),
    ('{"password": "hu\\"nter2", "user": "bob"}', '{"password": "[redacted]", "user": "bob"}'),
    ("{'api_key': 'hunter2'}", "{'api_key': '[redacted]'}"),
    ("curl -H 'Authorization: Bearer hunter2' https://e.org", "curl -H 'Authorization: [redacted]' https://e.org"),
    ("Authorization: Basic aHVudGVyMjpodW50ZXIy", "Authorization: [redacted]"),
    ("Cookie: sid=hunter2; b=hunter2", "Cookie: [redacted]"),
    ("X-Api-Key: hunter2", "X-Api-Key: [redacted]"),
    ("send Bearer hunter2hunter2", "send Bearer [redacted]"),
    ("https://bob:hunter2@e.org/x", "https://bob:[redacted]@e.org/x"),
    ("https://bob:hunt@er2@e.org/x", "https://bob:[redacted]@e.org/x"),
    ("postgres://:hunter2@db/x", "postgres://:[redacted]@db/x"),
    ("https://e.org/?a=1&access_token=hunter2&b=2", "https://e.org/?a=1&access_token=[redacted]&b=2"),
    ("curl -u bob:hunter2 https://e.org", "curl -u bob:[redacted] https://e.org"),
    ("curl -u 'bob:hunter 2' https://e.org", "curl -u 'bob:[redacted]' https://e.org"),
    ("curl --user=bob:hunter2 https://e.org", "curl --user=bob:[redacted] https://e.org"),
    ("curl -ubob:hunter2 https://e.org", "curl -ubob:[redacted] https://e.org"),
]


@each_row(("text", "expected"), TEXTS, ids=[row[0] for row in TEXTS])
def test_named_secrets_vanish(text: str, expected: str) -> None:
    assert redact_text(text) == expected
    assert redact_text(expected) == expected


@pytest.mark.parametrize("times", [1, 2, 3])
def test_json_inside_strings(times: int) -> None:
    value: Any = {"password": "hunter2"}
    for _ in range(times):
        value = json.dumps(value)
    assert "hunter2" not in redact_text(value)


HARMLESS: list[Any] = [
    {"max_tokens": 100},
    {"maxTokens": 100, "tokenBudget": 5, "token_count": 7},
    {"tokenizer": "bpe", "tokenize": "words"},
    {"path": "src/token.py"},
    {"path": "docs/password-reset.md"},
    {"author": "Ann", "authors": ["Ann"], "authority": "x"},
    {"key": "ArrowUp"},
    {"keys": ["Control", "c"]},
    {"secretary": "Ann"},
    {"sessionId": "tidy-harbor", "sessionKey": "agent:main:main"},
    {"token": None, "password": "", "secret": False, "secrets": []},
    {"command": "git commit -m 'fix token count'"},
    {"command": "grep -r password src"},
    {"command": "cat secrets.md | wc -l"},
    {"command": "docker run --user 1000:1000 alpine"},
    {"command": 'curl -H "X-Api-Key: $API_KEY" https://e.org'},
    {"command": "TOKEN=$GITHUB_TOKEN ./run"},
    {"command": "run --max-tokens 100"},
    {"command": "PASSWORD=$(cat file) ./run"},
    {"command": "git clone ssh://git@e.org:22/x.git"},
    {"command": "git clone https://e.org:8443/a@b"},
    {"text": "the basic structure, basic authentication, bearer certificates"},
    {"text": "the tokens are 5, the secret is to rest"},
    {"text": "pip install sk-learn-tutorial-notebooks pypi-simple-client-library"},
    {"text": "12:30 task-list-item-number-one disk_usage_of_the_machine_1"},
    {"url": "https://e.org/auth/login?next=/home"},
    {"edits": [{"oldText": "a = 1", "newText": "a = 2"}]},
    7,
    0.5,
    True,
    None,
    "",
    [],
    {},
]


def test_harmless_values_stay() -> None:
    assert [(value, found) for value in HARMLESS if (found := redact(value)) != value] == []


VALUES: list[tuple[Any, Any]] = [
    ({"password": "x"}, {"password": HIDDEN}),
    ({"pass": "x", "pwd": "x", "PIN": 1234, "otp": "1"}, {"pass": HIDDEN, "pwd": HIDDEN, "PIN": HIDDEN, "otp": HIDDEN}),
    ({"env": {"DB_PASSWORD": "x", "HOME": "/h"}}, {"env": {"DB_PASSWORD": HIDDEN, "HOME": "/h"}}),
    ({"headers": [{"Authorization": "x"}]}, {"headers": [{"Authorization": HIDDEN}]}),
    ({"api_key": {"nested": "x"}}, {"api_key": HIDDEN}),
    ({"apiKey": ["x"], "clientSecret": 5}, {"apiKey": HIDDEN, "clientSecret": HIDDEN}),
    ({"token": 123456}, {"token": HIDDEN}),
    ({"accessToken": "x", "refresh_tokens": ["x"]}, {"accessToken": HIDDEN, "refresh_tokens": HIDDEN}),
    ({KEYS["openai"]: 1}, {HIDDEN: 1}),
    (["mysql", "--password", "x", "db"], ["mysql", "--password", HIDDEN, "db"]),
    ({"a": "v" * 121}, {"a": "v" * 120 + "... (121 characters)"}),
    ("v" * 120, "v" * 120),
    ("v" * 50_000, "v" * 120 + "... (50000 characters)"),
    (list(range(45)), [*range(40), "... 5 more"]),
    ({str(i): i for i in range(41)}, {**{str(i): i for i in range(40)}, "...": "1 more"}),
    ([[[[[[[[["deep"]]]]]]]]], [[[[[[[["..."]]]]]]]]),
]


@each_row(("value", "expected"), VALUES, ids=[str(row[0])[:50] for row in VALUES])
def test_values(value: Any, expected: Any) -> None:
    assert redact(value) == expected


def test_no_half_key_is_left_at_the_end_of_what_is_scanned() -> None:
    """A long key block that shrinks to one word must not pull the beginning of a later key into view."""
    for offset in range(3_000, 4_100, 7):
        block = "-----BEGIN " + "PRIVATE KEY-----" + "A" * (offset - 60) + "-----END " + "PRIVATE KEY-----"
        assert BODY[:4] not in redact_text(f"{block} {KEYS['github']} {'z' * 5_000}"), offset


def nodes(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(nodes(item) for item in value.values())
    return 1 + sum(nodes(item) for item in value) if isinstance(value, list) else 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=60) | st.dictionaries(st.text(), inner, max_size=60),
    max_leaves=100,
)


@given(json_values)
def test_any_value_is_bounded_and_stays_json(value: Any) -> None:
    result = redact(value)
    assert json.loads(json.dumps(result)) == result
    assert all(len(text) <= MAX_VALUE + 40 for text in strings(result))
    assert len(shown(value)) <= MAX_SHOWN + 40


@given(st.text(st.sampled_from("sk-_=:/@ '\"\\\n{}[]$,.0aA") | st.characters()))
def test_any_text_is_redacted_once_and_for_all(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once).count(HIDDEN) >= once.count(HIDDEN)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.sampled_from(sorted(KEYS)))
def test_a_key_vanishes_wherever_it_stands(around: str, vendor: str) -> None:
    assert KEYS[vendor] not in redact_text(f"{around} {KEYS[vendor]} {around}")


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in [key, *strings(item)]]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_a_wide_value_is_bounded() -> None:
    value: Any = "x" * 200
    for _ in range(6):
        value = [value] * 40
    result = redact(value)
    assert nodes(result) <= MAX_NODES + 8 * 42


class CountedPattern:
    """Stands for a pattern and counts the characters that it was given."""

    seen = 0

    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern

    def sub(self, how: Any, text: str) -> str:
        CountedPattern.seen += len(text)
        result: str = self.pattern.sub(how, text)
        return result


PATTERNS = ["_SECRET_VALUE", "_HEADER", "_SCHEME", "_USERINFO", "_CURL_USER", "_OPTION", "_ASSIGNED"]
UNITS = [
    "a", "=", "-", ":", "\\", '"', " ", "\n", "sk-", "token ", "token", "eyJ-", "eyJ.", "://", "a.", "-u=", " -u ", "-u a:",
    'password"', "password=", "--token ", "bearer ", "-----BEGIN ", "AAAA:", "SG.", "$", "cookie:", "x=1 ",
]  # fmt: skip


@pytest.mark.parametrize("unit", some(UNITS))
def test_one_megabyte_is_redacted_in_bounded_work(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a text only its first part is looked at, and of many texts only so many: the patterns see no more than that."""
    for name in PATTERNS:
        monkeypatch.setattr(module, name, CountedPattern(getattr(module, name)))
    monkeypatch.setattr(CountedPattern, "seen", 0)
    long = unit * (1_000_000 // len(unit))
    assert len(shown(long)) <= MAX_SHOWN + 40
    assert CountedPattern.seen <= len(PATTERNS) * 6 * module.MAX_SCANNED
    monkeypatch.setattr(CountedPattern, "seen", 0)
    redact([[long] * 40] * 40)
    assert CountedPattern.seen <= len(PATTERNS) * 6 * (module.MAX_SCANNED_IN_ALL + module.MAX_SCANNED)


@each_row(
    ("value", "expected"),
    [
        ({}, "{}"),
        ({"path": "a b"}, '{ path: "a b" }'),
        ({"a-b": 1, "$c": [1, None, True]}, '{ "a-b": 1, $c: [1, null, true] }'),
        ({"grüße": "grüße, 5 €"}, '{ "grüße": "grüße, 5 €" }'),
        ("a\nb\x1b\x7f\x9b\u202e", '"a\\nb\\u001b<U+007F><U+009B><U+202E>"'),
        ([{}], "[{}]"),
    ],
)
def test_render(value: Any, expected: str) -> None:
    assert render(value) == expected


def test_cut() -> None:
    assert cut("abcdef", 3) == "abc... (6 characters)"
    assert cut("abc", 3) == "abc"
