"""A path with an invisible or unusual sign is held unless its file exists; ordinary names of any language are not."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.layers.odd_paths import CODE
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.files import FileText, NoFiles, Unread, WhyUnread
from toolguard_engine.rules import packs
from toolguard_engine.rules.judgement import Judgement

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", release="2026.9.6")
WORKSPACE = "/home/u/.openclaw/workspace"

ODD = {
    "a<b.md": "U+003C", "a>.md": "U+003E", "notes.md</arg_value>>x": "U+003C", "a\x07.md": "U+0007", "a\x1bb.md": "U+001B",
    "a\nb.md": "U+000A", "a\x7f.md": "U+007F", "a\x85.md": "U+0085", "no\u200btes.md": "U+200B", "a\u202egnp.md": "U+202E",
    "a\u2066b.md": "U+2066", "a\u200f.md": "U+200F", "a\u2060b.md": "U+2060", "\u2800.md": "U+2800", "a\u3164.md": "U+3164",
    "a\uffa0.md": "U+FFA0", "a\u115f.md": "U+115F", "a\u034fb.md": "U+034F", "so\u00adft.md": "U+00AD",
    "a.md\ufeff": "U+FEFF",
    "a\ufe0f.md": "U+FE0F", "a\U000e0041.md": "U+E0041", "a\U000e0100.md": "U+E0100", "docs/\u3000a.md": "U+3000",
    "a\u200db.md": "U+200D", "a\u200cb.md": "U+200C", "\u200d\U0001f600.md": "U+200D", "\u065f\u200dx.md": "U+200D",
    "docs\u1680/a.md": "U+1680",
}  # fmt: skip
HONEST = (
    "notes.md", "a b c.md", "caf\u00e9.md", "cafe\u0301.md", "\u65e5\u672c\u8a9e.md", "routes/[id].tsx", "it\u2019s.md",
    "\U0001f600.md", "\u2764\ufe0f.md", "\U0001f468\u200d\U0001f469\u200d\U0001f467.md",
    "\U0001f469\U0001f3fd\u200d\U0001f4bb.md",
    "\U0001f3f3\ufe0f\u200d\U0001f308.md", "\u2764\ufe0f\u200d\U0001f525.md", "1\ufe0f\u20e3 first.md", "\u00a9\ufe0f.md",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f.md",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.md",
    "\u0915\u094d\u200d\u0937.md", "\u0d28\u0d4d\u200d.md", "\u845b\U000e0100\u57ce.md", "Screenshot 9.41\u202fAM.png",
    "\uc548\ub155.md", "\u05e9\u05dc\u05d5\u05dd.md", "a+b=c,(d)!.md",
)  # fmt: skip


class Disk(NoFiles):
    """Has the files of `paths`; says `why` about any other."""

    def __init__(self, *paths: str, why: WhyUnread = "absent") -> None:
        self.paths = paths
        self.why: WhyUnread = why

    def read(self, path: str) -> FileText | Unread:
        return FileText(path, "x", "", (0, 0, 1, 0)) if path in self.paths else Unread(self.why)


def weighed(tool: str, disk: Disk | None = None, **params: object) -> Judgement:
    return Guard(Config(), {}, HOST, packs.load(), files=disk or Disk()).weigh(Call(tool, params, cwd=WORKSPACE))


def patch(path: str) -> str:
    return f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"


@each_row("path", ODD)
@each_row("tool", ["read", "write", "edit"])
def test_an_odd_sign_is_held_and_named(tool: str, path: str) -> None:
    found = weighed(tool, path=path, content="x", edits=[])
    assert (found.decision, found.code) == ("hold", CODE)
    assert f"contains {ODD[path]}" in found.reason


@each_row("path", HONEST)
@each_row("tool", ["read", "write", "edit"])
def test_ordinary_names_pass(tool: str, path: str) -> None:
    assert weighed(tool, path=path, content="x", edits=[]).code == "allow"


@pytest.mark.parametrize("path", ["a\u200b.md", "a<b.md"])
def test_other_tools_are_asked_too(path: str) -> None:
    assert weighed("apply_patch", input=patch(path)).code == CODE
    assert weighed("view_image", path=path).code == CODE
    assert weighed("image", images=["x.png", path]).code == CODE
    assert weighed("pdf", pdf=path).code == CODE


@each_row("path", ["a\u200b.md", "./docs/../a\u200b.md", "~/.openclaw/workspace/a\u200b.md", f"{WORKSPACE}/a\u200b.md"])
def test_a_file_that_exists_passes(path: str) -> None:
    assert weighed("read", Disk(f"{WORKSPACE}/a\u200b.md"), path=path).code == "allow"


@each_row(
    ("why", "code"),
    [
        ("absent", CODE), ("too-slow", CODE), ("too-many", CODE), ("forbidden", CODE),
        ("binary", "allow"), ("too-large", "allow"), ("not-regular", "allow"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_counts_as_absent(why: WhyUnread, code: str) -> None:
    assert weighed("read", Disk(why=why), path="a\u200b.md").code == code


def test_a_repaired_path_that_is_ordinary_passes() -> None:
    assert weighed("read", path="notes.md</arg_value>>").code == "allow"


def test_texts_that_are_no_paths_may_have_any_sign() -> None:
    assert weighed("write", path="a.md", content="<b>\u200b</b>").code == "allow"
    assert weighed("image", image="https://example.com/?q=<x>").code == "allow"
    assert weighed("exec", command="echo '<b>'").code == "allow"


def test_a_block_stays_a_block() -> None:
    assert weighed("edit", path="../toolguard/key\u200b/../key", edits=[]).decision == "block"


def test_the_number_of_files_looked_up_is_bounded() -> None:
    names = [f"a\u200b{number}.md" for number in range(40)]
    assert weighed("image", Disk(*(f"{WORKSPACE}/{name}" for name in names)), images=names).code == CODE
