"""Whatever a pattern of a principle matches has one of its hints, or nothing would be searched for it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from toolguard_engine.effects.programs import principles

LEADING = {
    "destroys": (
        "destroys",
        "destroyer",
        "verbs",
        "emptied",
        "forgets",
        "compound",
        "code",
        "statement",
        "resets",
        "wholly",
        "sole",
        "thing",
        "back",
        "overwrites",
        "deletes",
        "all",
        "ender",
    ),
    "reveals": (
        "shows_it",
        "secret",
        "column",
        "keeper",
        "issued",
        "keyring",
        "private",
        "listed",
        "opens",
        "opener",
        "kept",
        "bare",
        "unseals",
    ),
    "pays": ("pays", "wholly", "code", "earnest"),
    "pushes": ("pushes", "copies"),
    "halts": ("power", "alone", "everything", "state"),
    "trusts": ("authority",),
    "rights": ("rights", "moved"),
    "messages": ("sends",),
    "autostart": ("temporary",),
    "physical": ("opens",),
    "weakens": ("switch", "assigned"),
}
"""By principle the patterns of which one has to match, whatever else must."""


@pytest.mark.parametrize(
    ("name", "purpose"), [(name, purpose) for name, purposes in LEADING.items() for purpose in purposes]
)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_what_a_leading_pattern_matches_has_a_hint(name: str, purpose: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(principles.principles()[name].patterns[purpose], fullmatch=True))
    assert any(hint in text.lower() for hint in principles.hints(name)), text
