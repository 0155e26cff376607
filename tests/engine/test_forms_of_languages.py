"""What `Syntax` says of a language holds whatever its words are: forms of languages that do not exist."""

from __future__ import annotations

import msgspec
import pytest

from toolguard_engine.effects.languages.language import ReadBy
from toolguard_engine.effects.languages.language_catalogue import LANGUAGES
from toolguard_engine.effects.languages.ruby.ruby_syntax import RUBY
from toolguard_engine.effects.languages.script_reader import walked
from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

replaced = msgspec.structs.replace


def _closed_by(word: str, syntax: Syntax) -> Syntax:
    keywords = syntax.keywords
    passed, blocks = keywords.passed.replace("end", word), keywords.blocks
    return replaced(syntax, closes=word, keywords=replaced(keywords, passed=passed, blocks=blocks))


def _reading(language: str) -> ReadBy:
    reading = LANGUAGES[language].reading
    assert reading is not None
    return reading


def _deeds(code: str, language: str, syntax: Syntax) -> list[str]:
    return [
        deed.text or " ".join(deed.argv) or deed.target for deed in walked(code, syntax, _reading(language).library).deeds
    ]


@pytest.mark.parametrize("word", ["end", "done", "fi"])
def test_any_word_may_close_blocks(word: str) -> None:
    syntax = _closed_by(word, RUBY)
    for code in (
        f'def w(a)\nif a then x = 1 {word}\nsystem(a)\n{word}\nw("ls")',
        f'def w(a)\nbegin\nx = 1\n{word}\nsystem(a)\n{word}\nw("ls")',
        f'while x do y() {word}\nsystem("ls")',
    ):
        assert _deeds(code, "ruby", syntax) == ["ls"], code
    code = f"while true do if a then b() {word} {word}\nsystem('ls')"
    assert _deeds(code, "ruby", syntax) == ["ls"]
    code = f"while true do if a then b() {word} system('ls') {word}"
    assert _deeds(code, "ruby", syntax) == ["starts programs endlessly", "ls"]


@pytest.mark.parametrize("between", ["\n", ";", " # a comment\n", "\n\n"])
def test_what_uses_says_ends_with_its_statement(between: str) -> None:
    syntax = replaced(RUBY, keywords=replaced(RUBY.keywords, uses="use"))
    assert _deeds(f'use x.y{between}system("ls")', "ruby", syntax) == ["ls"]
    assert _deeds('use x qw(system "ls")', "ruby", syntax) == []


def test_a_language_has_words_only_of_forms_that_it_has() -> None:
    """`blocks` mean nothing without a word that closes them."""
    for name, language in LANGUAGES.items():
        if language.reading is not None:
            syntax = language.reading.syntax
            assert bool(syntax.closes) == bool(syntax.keywords.blocks), name
    assert not Keywords().blocks
