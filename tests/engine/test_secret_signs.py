"""The quick looks miss no text in which a pattern of `redact` finds something."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from toolguard_engine.wording import redact, secret_signs

PATTERNS = {
    sign: [pattern.pattern for pattern, own in redact._BESIDE_NAMES if own == sign] for _, sign in redact._BESIDE_NAMES
}
AROUND = st.text(st.sampled_from("a -=:@/.\n'\"é"), max_size=12)
BOUNDED = re.compile(r"\{0,(\d{2,})\}")
"""Long repetitions, which would fill the texts that are made without a new case among them."""


def matching(source: str) -> st.SearchStrategy[str]:
    short = BOUNDED.sub("{0,3}", source)
    flags = re.IGNORECASE if "pass(?:" in source or "authorization" in source else re.NOFLAG
    return st.from_regex(re.compile(short, flags | re.DOTALL))


KEYS = [
    "sk-abc1{}", "pk_live1{}", "rk-1{}", "sk-proj-abcdefghijklmnopqrst", "dop_v1_{hex}", "AccountKey=a+/b{}", "ghp_{}",
    "ghs_{}", "hooks.slack.com/services/T0/B0/x/y/z/w", "x/api/webhooks/12345/{}", "github_pat_{}", "glpat-{}",
    "AKIA{upper}", "ASIA{upper}", "AIza{}", "ya29.{}", "xoxb-1234567890", "xoxe-{}", "npm_{}", "pypi-AgE{}", "hf_{}",
    "fw_{}", "gsk_{}", "12345678:{tele}", "1234567890:{tele}", "SG.{}.{}", "eyJabcdefgh.abcdefgh",
    "-----BEGIN PRIVATE KEY-----\nx", "-----BEGIN A PRIVATE KEY BLOCK-----",
]  # fmt: skip


def filled(key: str) -> str:
    return key.format(*["aB3" * 12] * 2, hex="0a" * 16, upper="A1" * 8, tele="Ab-_1" * 7)


@pytest.mark.parametrize("key", KEYS)
@given(before=AROUND, after=AROUND)
@settings(max_examples=examples(20), deadline=None)
def test_each_format_of_a_key_has_a_sign(key: str, before: str, after: str) -> None:
    secret = (
        key.replace("{hex}", "0a" * 16).replace("{upper}", "A1" * 8).replace("{tele}", "Ab-_1" * 7).replace("{}", "aB3" * 12)
    )
    assert redact._SECRET_VALUE.search(f" {secret}"), "the row is no key"
    text = f"{before}{secret}{after}"
    assert secret_signs.may_have_key(text) or not redact._SECRET_VALUE.search(text)


def test_each_format_of_the_pattern_has_a_row() -> None:
    """The pattern loses a format at a time; each is needed for one of the rows."""
    source = redact._SECRET_VALUE.pattern
    parts = re.split(r"\|(?=\\b|\(\?<|\Z)", source)
    assert len(parts) > 15
    for left_out in range(len(parts)):
        rest = re.compile("|".join(part for at, part in enumerate(parts) if at != left_out), re.DOTALL)
        assert any(not rest.search(f" {filled(key)}") for key in KEYS), parts[left_out]


@pytest.mark.parametrize(("sign", "source"), [(sign, source) for sign, sources in PATTERNS.items() for source in sources])
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_each_way_to_show_a_secret_has_a_sign(sign: str, source: str, data: st.DataObject) -> None:
    text = data.draw(AROUND) + data.draw(matching(source)) + data.draw(AROUND)
    patterns = [pattern for pattern, own in redact._BESIDE_NAMES if own == sign]
    assert sign in secret_signs.signs(text) or not any(pattern.search(text) for pattern in patterns)


def test_plain_texts_have_no_sign() -> None:
    for text in (
        "/home/u/work/config/a.json",
        "git push --force origin main",
        "It deletes files that nothing can bring back.",
    ):
        assert not secret_signs.may_have_key(text)
        assert not secret_signs.signs(text)
