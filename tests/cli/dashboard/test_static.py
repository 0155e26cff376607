"""The page's static files: no requests to other hosts, no markup from data, vendored files unchanged, shapes as the API."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from toolguard_cli import dashboard
from toolguard_cli.dashboard.routes import ENDPOINTS

STATIC = Path(dashboard.__file__).parent / "static"
VENDOR = STATIC / "vendor"
OURS = sorted(path for path in STATIC.rglob("*") if path.is_file() and VENDOR not in path.parents)
TEXTS = {path.relative_to(STATIC).as_posix(): path.read_text("utf-8") for path in OURS if path.suffix != ".png"}
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'

PAGE_ONLY = {"Column"}
"""Types in the tabs that describe no answer."""
UNREAD = {"/api/hello", "/metrics"}
"""Paths whose answers the page reads without a type."""

MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|srcdoc"
CODE = r"\beval\s*\(|new Function|\bimport\s*\(|set(?:Timeout|Interval)\s*\(\s*[\"'`]|javascript:"
ELSEWHERE = r"https?://|[\"'(]//[a-z]|wss?://[a-z]|@import|sendBeacon|EventSource"
INLINE = r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)"
STYLE_TEXT = r"cssText|setAttribute\(\s*[\"']style"


def test_nothing_reads_markup_runs_data_or_asks_elsewhere() -> None:
    found = [
        (name, match[0])
        for name, text in TEXTS.items()
        for pattern in (MARKUP, CODE, ELSEWHERE, STYLE_TEXT)
        for match in re.finditer(pattern, _without_comments(text).replace(NAMESPACE, ""), re.IGNORECASE)
    ]
    assert found == []


def _without_comments(text: str) -> str:
    """Types are in comments, where they look like imports."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", ["index.html", "answer.html", "icon.svg"])
def test_nothing_is_inline(name: str) -> None:
    assert re.findall(INLINE, TEXTS[name], re.IGNORECASE) == []


def test_every_file_is_used() -> None:
    texts = "\n".join(TEXTS.values())
    types = {"shapes.js", "vendor/uPlot.esm.d.ts", "vendor/vendor.json", "vendor/uPlot.LICENSE"}
    every = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert {name for name in every - types if f'{name.rsplit("/")[-1]}"' not in texts} == {"index.html", "answer.html"}


def test_what_is_imported_is_there() -> None:
    missing = [
        f"{name}: {target}"
        for name, text in TEXTS.items()
        for target in re.findall(r"(?:from|import\()\s*\"(\.[^\"]+)\"", text)
        if not (STATIC / name).parent.joinpath(target).is_file()
    ]
    assert missing == []


def test_vendored_files_are_unchanged() -> None:
    parts = json.loads((VENDOR / "vendor.json").read_bytes())
    recorded = {file["path"]: file["sha256"] for part in parts for file in part["files"]}
    files = [path for path in VENDOR.iterdir() if path.name != "vendor.json"]
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert recorded == there
    assert [(part["name"], part["version"], part["licence"]) for part in parts] == [("uPlot", "1.6.32", "MIT")]


def _page_shapes() -> dict[str, set[str]]:
    """The fields of each type that the page defines for an answer: in `shapes.js`, or in the tab that alone uses it."""
    texts = "\n".join(text for name, text in TEXTS.items() if name == "shapes.js" or name.startswith("tabs/"))
    found = re.findall(r"@typedef \{\{ (.*) \}\} ([A-Z]\w+) \*/", texts)
    return {name: set(re.findall(r"(?:^|, )(\w+):", fields)) for fields, name in found if name not in PAGE_ONLY}


def _server_shapes() -> dict[str, set[str]]:
    """The fields of each type in an answer that the page reads."""
    found: dict[str, set[str]] = {}
    todo: list[Any] = [each.answers for each in ENDPOINTS if each.method == "GET" and each.path not in UNREAD]
    while todo:
        shape = todo.pop()
        if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
            found[shape.__name__] = set(shape.__struct_encode_fields__)
            todo += get_type_hints(shape).values()
        else:
            todo += get_args(shape)
    return found


def test_the_page_knows_every_shape_as_it_is() -> None:
    assert _page_shapes() == _server_shapes()
