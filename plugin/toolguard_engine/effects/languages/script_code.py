"""Reads code of scripting languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import kept_code
from toolguard_engine.effects.languages.code_deeds import CodeReading, Deed
from toolguard_engine.effects.languages.go_calls import GO_LIBRARY, as_script
from toolguard_engine.effects.languages.javascript_calls import JAVASCRIPT_LIBRARY
from toolguard_engine.effects.languages.other_calls import APPLE_LIBRARY, AWK_LIBRARY, LUA_LIBRARY
from toolguard_engine.effects.languages.perl_calls import PERL_LIBRARY
from toolguard_engine.effects.languages.php_calls import PHP_LIBRARY
from toolguard_engine.effects.languages.powershell_calls import POWERSHELL_LIBRARY
from toolguard_engine.effects.languages.ruby_calls import RUBY_LIBRARY
from toolguard_engine.effects.languages.script_reader import walked
from toolguard_engine.effects.languages.script_run import LanguageLibrary
from toolguard_engine.effects.programs import code_connections, code_methods, code_search, code_text, posted_messages

LIBRARIES: dict[str, LanguageLibrary] = {
    "javascript": JAVASCRIPT_LIBRARY, "perl": PERL_LIBRARY, "ruby": RUBY_LIBRARY, "php": PHP_LIBRARY, "awk": AWK_LIBRARY,
    "lua": LUA_LIBRARY, "applescript": APPLE_LIBRARY, "powershell": POWERSHELL_LIBRARY,
    "go": GO_LIBRARY,
}  # fmt: skip
_APPLE_WORDS = tuple((rf"(?i)\b{words}\b", meaning) for words, meaning in (
    ("do shell script", "do_shell_script"), ("run script", "run_script"), (r"do script(?=\s+[\"'(])", "do_shell_script"),
    ("(?:quoted form|POSIX path|posix path) of", ""),
    ("path to home folder", '"~/"'), ("path to (desktop|documents|downloads)(?: folder)?", r'"~/\1/"'),
    ("path to library folder", '"~/Library/"'),
    ("(?<=\\S )as (?:text|string)", ""), ("home directory of \\(system info\\)", '"~"'),
))  # fmt: skip
"""What AppleScript says in several words, as one name or text."""

_DEED = (
    r"system|exec|spawn|popen|qx|%x|`|unlink|rm|delete|remove|open|eval|glob|rename|move|copy|link|chmod|kill|LWP|[hH][tT][tT][pP]"
    r"|Net|URI|[sS]ocket|find|trunc|fork|[sS]end|[fF]ile|[dD]ir|load|include|require|assert|curl|mail|[bB]ase64|shell|pass"
    r"|proc|Kernel|IO|ENV|env|call_user|create_function|Path|\$\w{1,40}\("
)
_HINTS = dict.fromkeys(("perl", "ruby", "php", "lua"), _DEED) | {
    "javascript": (
        r"require|import|process|global|Deno|Bun|fetch|eval|Function|constructor|\bfs\b|exec|spawn|\bvm\b|Sync|axios|Socket"
        r"|while\s?\((?:true|1)\)|for\s?\(\s?;\s?;|setTimeout|setInterval|[mM]ail|\$\s?`|this\[|module|rimraf|doShell|http"
    ),
    "awk": r"system|\||>|getline",
    "applescript": r"(?i)do (?:shell )?script|run script",
}  # fmt: skip
"""What code must contain to do anything that is known here; any other code is not walked."""

_MAX_PATHS = 64


def _read(code: str, language: str) -> CodeReading:
    hints = _HINTS.get(language)
    if hints is not None and not re.search(hints, code):
        return CodeReading(tuple(_searched(code, language)))
    if language == "applescript":
        for words, meaning in _APPLE_WORDS:
            code = re.sub(words, meaning, code)
    run = walked(as_script(code) if language == "go" else code, language, LIBRARIES[language])
    found = dict.fromkeys([*run.deeds, *_searched(code, language)])
    paths = dict.fromkeys(deed.target for deed in run.deeds if deed.kind == "read" and deed.target not in code)
    found_ = deeds.unverified(found) if deeds.accepts_any(code) else tuple(found)
    return CodeReading(found_, run.steps, run.whole, tuple(paths)[:_MAX_PATHS], run.opaque)


def _searched(code: str, language: str) -> Iterator[Deed]:
    """What is searched in the text, since it depends on no value."""
    for text in islice(dict.fromkeys(code_methods.methods(code)), code_search.MAX_FOUND):
        yield deeds.method(text)
    for text in posted_messages.messages(code):
        yield deeds.method(text, "publish")
    yield from map(deeds.sql_text, code_text.statement_texts(code))
    if code_connections.connects_shell(code) or (language == "awk" and "/inet/" in code and "getline" in code):
        yield deeds.remote_shell(code_search.clip(code))


_kept = kept_code.kept(_read)


def reader(language: str) -> Callable[[str], CodeReading | None]:
    """What reads a language."""
    return lambda code: _kept(code, language)


READERS = {language: reader(language) for language in LIBRARIES}
