"""Reads code of scripting languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import kept_code
from toolguard_engine.effects.languages.code_deeds import CodeReading, Deed
from toolguard_engine.effects.languages.language import ReadBy
from toolguard_engine.effects.languages.language_catalogue import LANGUAGES
from toolguard_engine.effects.languages.script_reader import walked
from toolguard_engine.effects.programs import code_connections, code_methods, code_search, code_text, posted_messages

_WAYS: dict[str, ReadBy] = {name: language.reading for name, language in LANGUAGES.items() if language.reading is not None}
_MAX_PATHS = 64


def _read(code: str, language: str) -> CodeReading:
    way = _WAYS[language]
    loading = frozenset(LANGUAGES[language].loads.split())
    run = walked(way.prepared(code) if way.prepared is not None else code, way.syntax, way.library, loading)
    read = dict.fromkeys([*run.deeds, *_searched(code, language)])
    paths = dict.fromkeys(deed.target for deed in run.deeds if deed.kind == "read" and deed.target not in code)
    found_ = deeds.unverified(read) if deeds.accepts_any(code) else tuple(read)
    return CodeReading(found_, run.steps, run.whole, tuple(paths)[:_MAX_PATHS], run.opaque, tuple(run.loads), run.is_cut)


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


READERS = {language: reader(language) for language in _WAYS}
