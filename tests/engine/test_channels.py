"""Where a conversation comes from, by the gateway's word or its name for the session."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.metrics import channels
from toolguard_engine.wording.visible_text import is_visible

KEYS = [
    ("agent:main:main", ""),
    ("agent:main:telegram:direct:123", "telegram"),
    ("agent:main:telegram:work:direct:123", "telegram"),
    ("agent:main:telegram:group:-100:topic:7", "telegram"),
    ("agent:main:slack:channel:C1:thread:17.1", "slack"),
    ("agent:main:discord:slash:42", "discord"),
    ("agent:main:direct:123", ""),
    ("agent:main:cron:nightly:run:1", "cron"),
    ("agent:main:subagent:d5e3824d", "subagent"),
    ("agent:main:acp:codex", "acp"),
    ("agent:main:hook:automation", "hook"),
    ("agent:main:dashboard:review-api", "dashboard"),
    ("agent:main:explicit:portal-1", ""),
    ("agent:main:deploy-monitor", ""),
    ("agent:main", ""),
    ("cron:nightly", "cron"),
    ("hook:1234", "hook"),
    ("global", ""),
    ("telegram:direct:1", ""),
    ("", ""),
]


@each_row(("session", "channel"), KEYS, ids=[key or "none" for key, _ in KEYS])
def test_by_the_key_of_the_session(session: str, channel: str) -> None:
    assert channels.channel("", session) == channel


def test_what_the_gateway_says_counts_first() -> None:
    assert channels.channel("webchat", "agent:main:telegram:direct:123") == "webchat"


@given(st.text(), st.text(max_size=200))
def test_any_text_gives_a_short_printable_name(reported: str, session: str) -> None:
    for found in (channels.channel(reported, session), channels.channel("", f"agent:main:{session}:direct:1")):
        assert len(found) <= 120
        assert is_visible(found)
