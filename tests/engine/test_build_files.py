"""Build files in XML: what stands for a letter in them is read as that letter."""

from __future__ import annotations

import html

import pytest

from toolguard_engine.effects.syntax.build_scripts import build_xml


@pytest.mark.parametrize("text", [
    "a &amp; b", "&lt;&gt;&quot;&apos;", "&#47;etc", "&#0000000000047;etc", "&#x2F;etc", "&#x00000000002f;etc", "&amp;lt;",
    "a&b;c&", "&#128512;", "&#x110000;", "&#9999999;", "&#xD800;",
])  # fmt: skip
def test_entities_are_read_as_html_has_them(text: str) -> None:
    (found,) = build_xml(f"<apply command='echo {text}'/>")
    assert found == (1, f"echo {html.unescape(text)}")


@pytest.mark.parametrize("text", ["&sol;etc", "&#0;", "&#x0;"])
def test_what_is_no_letter_in_xml_stays_as_it_is(text: str) -> None:
    assert build_xml(f"<apply command='echo {text}'/>") == [(1, f"echo {text}")]


def test_a_program_whose_words_have_entities() -> None:
    assert build_xml('<exec executable="rm"><arg value="-rf"/><arg value="&#47;etc"/></exec>') == [(1, "rm -rf /etc")]
