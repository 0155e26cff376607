"""All languages that code is written in, by their names."""

from __future__ import annotations

from toolguard_engine.effects.languages import searched_languages
from toolguard_engine.effects.languages.applescript.applescript_language import LANGUAGE as APPLESCRIPT
from toolguard_engine.effects.languages.awk.awk_language import LANGUAGE as AWK
from toolguard_engine.effects.languages.go.go_language import LANGUAGE as GO
from toolguard_engine.effects.languages.javascript.javascript_language import LANGUAGE as JAVASCRIPT
from toolguard_engine.effects.languages.language import Language
from toolguard_engine.effects.languages.lua.lua_language import LANGUAGE as LUA
from toolguard_engine.effects.languages.perl.perl_language import LANGUAGE as PERL
from toolguard_engine.effects.languages.php.php_language import LANGUAGE as PHP
from toolguard_engine.effects.languages.powershell.powershell_language import LANGUAGE as POWERSHELL
from toolguard_engine.effects.languages.python.python_language import LANGUAGE as PYTHON
from toolguard_engine.effects.languages.ruby.ruby_language import LANGUAGE as RUBY

_READ = (PYTHON, JAVASCRIPT, PERL, RUBY, PHP, LUA, AWK, APPLESCRIPT, POWERSHELL, GO)
LANGUAGES: dict[str, Language] = {language.name: language for language in (*_READ, *searched_languages.LANGUAGES)}
_UNKNOWN = Language("", "")

COMMANDS = {word: language.command for language in LANGUAGES.values() for word in language.tool_words.split()}
"""How an interpreter is given code, by what tools call its language."""

BY_ENDING = {ending: language for language in _READ for ending in language.files.split()}
"""The languages that are read, by the ends of the names of files with their code."""


def known(name: str) -> Language:
    """The language with this name; one without any facts if there is none."""
    return LANGUAGES.get(name, _UNKNOWN)
