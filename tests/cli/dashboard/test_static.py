"""The page's files: nothing in them asks elsewhere or reads markup out of data; what is not ours is what it was."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest

from toolguard_cli import dashboard
from toolguard_cli.dashboard import shapes as server
from toolguard_engine.metrics import shapes as metrics

STATIC = Path(dashboard.__file__).parent / "static"
VENDOR = STATIC / "vendor"
OURS = sorted(path for path in STATIC.rglob("*") if path.is_file() and VENDOR not in path.parents)
TEXTS = {path.relative_to(STATIC).as_posix(): path.read_text("utf-8") for path in OURS}
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'

MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|srcdoc"
CODE = r"\beval\s*\(|new Function|\bimport\s*\(|set(?:Timeout|Interval)\s*\(\s*[\"'`]|javascript:"
ELSEWHERE = r"https?://|[\"'(]//[a-z]|wss?://[a-z]|@import|sendBeacon|EventSource"
INLINE = r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)"
STYLE_TEXT = r"cssText|setAttribute\(\s*[\"']style"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("pattern", [MARKUP, CODE, ELSEWHERE, STYLE_TEXT], ids=["markup", "code", "elsewhere", "style"])
def test_nothing_reads_markup_runs_data_or_asks_elsewhere(name: str, pattern: str) -> None:
    assert re.findall(pattern, _without_comments(TEXTS[name]).replace(NAMESPACE, ""), re.IGNORECASE) == []


def _without_comments(text: str) -> str:
    """Types stand in comments, and look like imports there."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", ["index.html", "icon.svg"])
def test_nothing_is_inline(name: str) -> None:
    assert re.findall(INLINE, TEXTS[name], re.IGNORECASE) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MARKUP, "node.innerHTML = text"),
        (CODE, "setTimeout('go()', 1)"),
        (CODE, "await import(name)"),
        (ELSEWHERE, 'src="//cdn.example/x.js"'),
        (ELSEWHERE, "fetch(`https://example.org`)"),
        (STYLE_TEXT, 'node.setAttribute("style", text)'),
        (INLINE, "<p onclick=x>"),
        (INLINE, "<script>go()</script>"),
    ],
)
def test_the_patterns_find_what_they_are_for(pattern: str, text: str) -> None:
    assert re.search(pattern, text, re.IGNORECASE)


def test_every_file_is_used() -> None:
    told = "\n".join(TEXTS.values())
    types = {"shapes.js", "vendor/uPlot.esm.d.ts", "vendor/vendor.json", "vendor/uPlot.LICENSE"}
    every = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert {name for name in every - types if f'{name.rsplit("/")[-1]}"' not in told} == {"index.html"}


def test_what_is_imported_is_there() -> None:
    missing = [
        f"{name}: {target}"
        for name, text in TEXTS.items()
        for target in re.findall(r"(?:from|import\()\s*\"(\.[^\"]+)\"", text)
        if not (STATIC / name).parent.joinpath(target).is_file()
    ]
    assert missing == []


def test_what_others_wrote_is_what_it_was() -> None:
    parts = json.loads((VENDOR / "vendor.json").read_bytes())
    told = {file["path"]: file["sha256"] for part in parts for file in part["files"]}
    files = [path for path in VENDOR.iterdir() if path.name != "vendor.json"]
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert told == there
    assert [(part["name"], part["version"], part["licence"]) for part in parts] == [("uPlot", "1.6.32", "MIT")]


def _typed() -> dict[str, set[str]]:
    """The names of the fields of each type that the page knows."""
    found = re.findall(r"@typedef \{\{ (.*) \}\} (\w+) \*/", TEXTS["shapes.js"])
    return {name: set(re.findall(r"(?:^|, )(\w+):", fields)) for fields, name in found}


def test_the_page_knows_the_shapes_as_they_are() -> None:
    modules = vars(server) | vars(metrics)
    shapes = {name: set(modules[name].__struct_encode_fields__) for name in _typed()}
    assert _typed() == shapes


def test_the_page_knows_every_shape_that_answers() -> None:
    answers = {metrics.Overview, metrics.Timeseries, metrics.Gateways, metrics.Gateway, metrics.Models, metrics.Live}
    answers |= {metrics.Decisions, metrics.Guard, server.State, server.Pending}
    assert {name for answer in answers for name in _within(answer)} == set(_typed())


def _within(shape: type[msgspec.Struct]) -> set[str]:
    """The shape and all that it holds, by name."""
    hints = (str(hint) for hint in get_type_hints(shape).values())
    names = {name for hint in hints for name in re.findall(r"shapes\.(\w+)", hint)}
    modules = vars(server) | vars(metrics)
    return {shape.__name__}.union(*(_within(modules[name]) for name in names if isinstance(modules.get(name), type)))
