"""A word is a keyword only in the languages that have it. Elsewhere it is a name: it hides no argument and no function."""

from __future__ import annotations

import pytest

from test_languages import EXAMPLES
from toolguard_engine.effects.languages.language import ReadBy
from toolguard_engine.effects.languages.language_catalogue import LANGUAGES
from toolguard_engine.effects.languages.script_code import READERS

WAYS: dict[str, ReadBy] = {name: language.reading for name, language in LANGUAGES.items() if language.reading is not None}
PLACE = "/home/u/documents"


def _words(language: str) -> set[str]:
    return {word for words in WAYS[language].syntax.keywords.kinds.values() for word in words}


EVERY = sorted(set[str]().union(*map(_words, WAYS)) | {"fn", "lambda", "proc", "given", "with", "match", "loop", "until"})
DEFINED = {
    "javascript": ('function NAME(a) { require("child_process").execSync(a) }', 'NAME("CODE")'),
    "perl": ("sub NAME { system($_[0]) }", 'NAME("CODE");'),
    "ruby": ("def NAME(a)\nsystem(a)\nend", 'NAME("CODE")'),
    "php": ("function NAME($a) { system($a); }", 'NAME("CODE");'),
    "lua": ("function NAME(a) os.execute(a) end", 'NAME("CODE")'),
    "awk": ("function NAME(a) { system(a) }", 'BEGIN { NAME("CODE") }'),
    "powershell": ("function NAME($a) { Invoke-Expression $a }", 'NAME "CODE"'),
    "go": ('func NAME(a string) { exec.Command("sh", "-c", a).Run() }', 'func main() { NAME("CODE") }'),
}
"""How code of a language gives a function a name, and calls it."""

IN_ORDER = {"ruby", "lua", "powershell"}
"""Languages in which a function is defined before it is called."""


def test_each_language_with_functions_has_a_row() -> None:
    assert DEFINED.keys() == {name for name in WAYS if WAYS[name].syntax.keywords.functions}


def _deletes(language: str, code: str) -> bool:
    reading = READERS[language](code)
    return reading is None or not reading.whole or any(PLACE in str(deed) for deed in reading.deeds)


@pytest.mark.parametrize("language", DEFINED)
def test_a_function_may_have_the_name_of_a_keyword_of_another_language(language: str) -> None:
    define, call = DEFINED[language]
    missed = set[tuple[str, str]]()
    taken = _words(language) | WAYS[language].library.functions.keys()
    for word in [word for word in EVERY if word not in taken]:
        start, end = (part.replace("NAME", word).replace("CODE", f"rm -rf {PLACE}") for part in (define, call))
        codes = {"before": f"{start}\n{end}"} | ({} if language in IN_ORDER else {"behind": f"{end}\n{start}"})
        missed |= {(word, order) for order, code in codes.items() if not _deletes(language, code)}
    assert missed == set()


@pytest.mark.parametrize("language", [name for name in WAYS if WAYS[name].library.command is None])
def test_a_word_hides_no_argument(language: str) -> None:
    """Whether it is a keyword of the language or not, but for those that begin a function or say what is loaded."""
    kinds = WAYS[language].syntax.keywords.kinds
    example = EXAMPLES[language].replace("PLACE", PLACE)
    before, code, behind = "", example, ""
    if language in ("awk", "go"):
        before, _, rest = example.partition("{ ")
        code, before, behind = rest.removesuffix(" }"), f"{before}{{ ", " }"
    code = code.rstrip(";")
    words = [word for word in EVERY if word not in kinds["functions"] | kinds["uses"]]
    texts = [f"{before}{text}{behind}" for word in words for text in (f"{word}({code});", f"x = {word}({code});")]
    assert [text for text in texts if not _deletes(language, text)] == []


NO_KEYWORDS = [
    ("javascript", 'var package; package\nCODE'), ("javascript", "globalThis.namespace = 1; namespace\nCODE"),
    ("javascript", "with ({namespace: 1}) { namespace\nCODE }"), ("javascript", "try { namespace\nCODE } catch { }"),
    ("javascript", "globalThis.namespace = 1; namespace\nx = CODE"),
    ("javascript", "globalThis.interface = 1; interface\ny\nif (CODE) { }"),
    ("javascript", "globalThis.interface = 1; interface\ny\ntry { CODE } catch { }"),
    ("javascript", "globalThis.interface = 1; interface\ny\ndo { CODE } while (0)"),
    ("javascript", "globalThis.type = 1; type\ny\n= CODE"),
    ("awk", "BEGIN { x = func CODE }"), ("awk", "BEGIN { print func CODE }"), ("awk", "BEGIN { func CODE }"),
    ("awk", "func CODE { print }"), ("awk", "!func CODE { print }"), ("awk", "func CODE\n{ print }"),
    ("awk", 'function f(a) { system(a) } BEGIN { x = "rm -rf PLACE" } func f(x) { print }'),
    ("ruby", "f = 1; f ? proc : CODE"), ("ruby", "f = 1; f ? proc : `rm -rf PLACE`"),
    ("ruby", "nil ? require : `rm -rf PLACE`"),
    ("ruby", "nil ? lambda : CODE"), ("ruby", "nil ? load : `rm -rf PLACE`"), ("ruby", ':"#{`rm -rf PLACE`}"'),
]  # fmt: skip
"""Code in which a word that may be a keyword, or the sign of a symbol, is none."""
DEFINED_BELOW = {
    "awk": ("function f(a)\n{ system(a) }", 'BEGIN { f("CODE") }'),
    "powershell": ("function f($a)\n{ iex $a }", 'f "CODE"'),
}
"""Functions whose body begins on the next line, where a line end ends a statement."""
CALLS = {
    "javascript": 'require("child_process").execSync("rm -rf PLACE")', "awk": 'system("rm -rf PLACE")',
    "ruby": 'system("rm -rf PLACE")',
}  # fmt: skip


def test_what_stands_behind_a_word_that_is_no_keyword_here_runs() -> None:
    codes = [(language, code.replace("CODE", CALLS[language]).replace("PLACE", PLACE)) for language, code in NO_KEYWORDS]
    assert [code for language, code in codes if not _deletes(language, code)] == []


@pytest.mark.parametrize("language", DEFINED_BELOW)
def test_the_body_of_a_function_may_begin_on_the_next_line(language: str) -> None:
    code = "\n".join(DEFINED_BELOW[language]).replace("CODE", f"rm -rf {PLACE}")
    assert _deletes(language, code)
    assert not _deletes(language, code.replace(PLACE, "/tmp/x"))


@pytest.mark.parametrize("language", sorted(DEFINED.keys() - IN_ORDER))
def test_all_calls_in_front_of_a_definition_are_followed(language: str) -> None:
    define, call = DEFINED[language]
    codes = (*(f"ls {number}" for number in range(200)), f"rm -rf {PLACE}")
    calls = call.replace('NAME("CODE")', "; ".join(f'NAME("{code}")' for code in codes))
    reading = READERS[language](f"{calls}\n{define}".replace("NAME", "f"))
    assert reading is not None
    assert any(PLACE in str(deed) for deed in reading.deeds)
