"""What is filled into a text is code of its own, with quotes and brackets of its own: none of them ends the text."""

from __future__ import annotations

import cProfile

import pytest

from toolguard_engine.effects.languages.language_catalogue import LANGUAGES
from toolguard_engine.effects.languages.script_code import READERS

PLACE = "/home/u/documents"
DELETE = {
    "javascript": ('require("child_process").execSync(`{}`)', '${["r", "m"].join("")}', '${fTEXT, "rm"}', 'f("TEXT")'),
    "perl": ('system("{}");', "@{[ q(r) . q(m) ]}", "@{[ fTEXT, q(rm) ]}", "f(q(TEXT))"),
    "ruby": ('system("{}")', '#{"r" + "m"}', '#{fTEXT; "rm"}', 'f("TEXT")'),
    "php": ('system("{}");', '{$h["rm"]}', '{$h[fTEXT ?: "rm"]}', 'f("TEXT")'),
    "powershell": ('& "sh" "-c" "{}"', '$("r" + "m")', '$(fTEXT; "rm")', '("TEXT")'),
}  # fmt: skip
"""How a language runs a text, and two values to fill in that are `rm`, the other one with further code, and that code."""

BEFORE = {"php": '$h = ["rm" => "rm"]; '}
READ = {name: language.reading.syntax for name, language in LANGUAGES.items() if language.reading is not None}


def _deletes(language: str, code: str) -> bool:
    reading = READERS[language](BEFORE.get(language, "") + code)
    assert reading is not None
    return any(f"rm -rf {PLACE}" in " ".join((deed.text, *deed.argv)) for deed in reading.deeds)


def test_each_language_that_fills_values_in_has_a_row() -> None:
    assert DELETE.keys() == {name for name, syntax in READ.items() if syntax.filled}


@pytest.mark.parametrize("language", DELETE)
def test_a_quote_in_what_is_filled_in_does_not_end_the_text(language: str) -> None:
    run, value, _, _ = DELETE[language]
    assert _deletes(language, run.replace("{}", f"{value} -rf {PLACE}", 1))


CONFUSING = ("}", ")", "]", "# ", "// ", "it's", "{", "(", "[", "")


@pytest.mark.parametrize("text", CONFUSING)
@pytest.mark.parametrize("language", DELETE)
def test_signs_in_a_text_in_a_value_end_nothing(language: str, text: str) -> None:
    run, _, value, further = DELETE[language]
    if READ[language].flat and text in ("(", ")"):
        pytest.skip("its own quotes are brackets here")
    if READ[language].filled == text:
        pytest.skip("a bare bracket begins a value here")
    code = value.replace("fTEXT", further.replace("TEXT", text))
    assert _deletes(language, run.replace("{}", f"{code} -rf {PLACE}", 1))


@pytest.mark.parametrize("language", DELETE)
def test_a_text_in_a_text_in_a_text(language: str) -> None:
    """The value of a text that is filled in is found at any depth, and so is what follows it."""
    run, value, _, _ = DELETE[language]
    inner = run.replace("{}", f"{value} -rf {PLACE}", 1).rstrip(";")
    opening = value[: value.index("{" if "{" in value[:3] else "(") + 1]
    if READ[language].flat or language == "php":
        pytest.skip("a text of the same quotes cannot stand in a value")
    closing = "}" if opening.endswith("{") else ")"
    quote = "`" if language == "javascript" else '"'
    for _ in range(3):
        inner = f"{quote}a{opening}{inner}{closing}b{quote}"
    assert _deletes(language, f"x = {inner}".replace("x", "$x" if language == "powershell" else "x"))


@pytest.mark.parametrize("language", DELETE)
def test_a_value_after_many_others_and_after_an_escaped_escape(language: str) -> None:
    run, value, _, _ = DELETE[language]
    escape = READ[language].escape
    assert _deletes(language, run.replace("{}", value * 90 + f"; {value} -rf {PLACE}", 1))
    assert _deletes(language, run.replace("{}", f"echo {escape * 2}{value}; {value} -rf {PLACE}", 1))


@pytest.mark.parametrize("language", DELETE)
def test_a_value_without_an_end_leaves_the_reading_unsure(language: str) -> None:
    run, value, _, _ = DELETE[language]
    opening = value[: 2 if language != "perl" else 3]
    reading = READERS[language](run.replace("{}", f"{opening} -rf {PLACE}", 1))
    assert reading is not None
    assert not reading.whole or READ[language].flat


MOST_CALLS = 40
"""Calls of functions for each character that a code has more."""


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "unended"])
@pytest.mark.parametrize(("language", "opening", "closing"), [("ruby", '"#{', '}"'), ("javascript", "`${", "}`")])
def test_texts_in_texts_cost_what_their_characters_cost(language: str, opening: str, closing: str, *, ended: bool) -> None:
    """Each end is looked for once, however many texts are around it."""

    def calls(depth: int) -> int:
        with cProfile.Profile() as profile:
            READERS[language](opening * depth + "1" + closing * depth * ended)
        return sum(entry.callcount for entry in profile.getstats())

    first = calls(200)
    assert calls(1_200) - first < MOST_CALLS * 1_000 * len(opening + closing * ended)


def test_each_value_in_a_text_is_charged() -> None:
    reading = READERS["ruby"]('x = "' + '#{"a"}' * 2_000 + '"')
    assert reading is not None
    assert reading.steps > 4 * 2_000
