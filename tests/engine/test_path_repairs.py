"""Paths are judged as the gateway's tools open them, not as they are written."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.guard import Guard
from toolguard_engine.host import file_addresses, patch_headers, repair_catalogue
from toolguard_engine.layers.self_protection import judge
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

HOME = "/home/u"
STATE = f"{HOME}/.openclaw"
RELEASES = ("2026.9.6", "2026.8.2", "2026.6.11", "2027.1.1", "")
WRITTEN = (
    "../openclaw.json",
    "../openclaw.json</arg_value>>",
    "../openclaw.json</arg_value>>>></arg_value>>",
    "$HOME/../../openclaw.json",
    " /../../openclaw.json",
    "~x/../../openclaw.json",
    "file:/../../openclaw.json",
    "FILE:///../../openclaw.json",
    "x://../../openclaw.json",
    f"file://{STATE}/openclaw.json#x.md",
    f"file://{STATE}/openclaw.json?x",
    f"file://{HOME}/.ope\tnclaw/%6fpenclaw.json",
    f"file://{HOME}/x/%2e%2e/.openclaw/openclaw.json",
    f"@file://{STATE}/openclaw.json</arg_value>>",
)
PLAIN = (
    "notes.md", "docs/a b.md", "caf\u00e9.md", "\u65e5\u672c/\u8a9e.md", "\U0001f600.md", "~/notes/a.md", "/srv/x.md",
    "routes/[id].tsx", "a+b=c,d.md",
)  # fmt: skip


def host(release: str) -> Host:
    return Host(home=HOME, state_dir=STATE, config_path=f"{STATE}/openclaw.json", release=release)


def call(tool: str, **params: object) -> Call:
    return Call(tool, params, cwd=f"{STATE}/workspace")


def opened(tool: str, release: str = "2026.9.6", **params: object) -> tuple[str, ...]:
    return CallReading(call(tool, **params), host(release)).paths


@each_row("path", WRITTEN)
def test_the_config_is_protected_however_its_path_is_written(path: str) -> None:
    verdict = judge(call("edit", path=path, edits=[]), host("2026.9.6"))
    assert verdict is not None
    assert verdict.decision == "hold"


@each_row("release", RELEASES)
@each_row("path", ["../toolguard/key</arg_value>>", "@../toolguard/key</arg_value>>", "~/.openclaw/toolguard/key"])
def test_the_key_is_protected_on_every_release(path: str, release: str) -> None:
    verdict = judge(call("read", path=path), host(release))
    assert verdict is not None
    assert verdict.decision == "block"


@pytest.mark.parametrize("media", ["MEDIA:~/.openclaw/toolguard/key", "@MEDIA: ~/.openclaw/toolguard/key"])
def test_an_attachment_is_what_follows_the_prefix(media: str) -> None:
    assert "~/.openclaw/toolguard/key" in opened("message", action="send", media=media)
    assert "~/.openclaw/toolguard/key" in opened("message", action="send", attachments=[{"media": media}])


@each_row("tool", ["read", "write", "edit", "message", "view_image"])
@each_row("path", PLAIN)
def test_an_ordinary_path_stays_as_it_is(tool: str, path: str) -> None:
    params = {"path": path, "media": path}
    reading = CallReading(call(tool, **params), host("2026.9.6"))
    assert path in reading.paths
    if path.isascii():
        assert reading.params is reading.call.params


def test_the_call_itself_keeps_what_was_sent() -> None:
    reading = CallReading(call("write", path="~/.bashrc</arg_value>>", content="x"), host("2026.9.6"))
    assert reading.paths == ("~/.bashrc",)
    assert reading.call.params == {"path": "~/.bashrc</arg_value>>", "content": "x"}


def test_a_path_that_may_be_two_is_judged_as_both() -> None:
    assert opened("write", path="@a.md", content="") == ("a.md", f"{STATE}/workspace/@a.md")


@pytest.mark.parametrize(
    "header", ["*** Update File: ../a.md", "\ufeff*** Update File: ../a.md\ufeff", "*** Add File: ../a.md\u00a0"]
)
def test_the_files_of_a_patch_are_those_that_the_tool_finds(header: str) -> None:
    assert opened("apply_patch", input=f"*** Begin Patch\n{header}\n*** End Patch") == ("../a.md",)


@pytest.mark.parametrize(
    ("workdir", "folder"), [("docs ", "docs"), ("docs</arg_value>>", "docs"), ("docs</arg_value>></arg_value>>", "docs")]
)
def test_the_folder_of_a_command_is_the_repaired_one(workdir: str, folder: str) -> None:
    assert CallReading(call("exec", command="ls", workdir=workdir), host("2026.9.6")).where.cwd.endswith(f"/{folder}")


@each_row(
    ("address", "path"),
    [
        ("file:///a/b", "/a/b"), ("file:/a/b", "/a/b"), ("FILE://localhost/a", "/a"), ("file:///a/../b", "/b"),
        ("file:///a/%2e%2E/b", "/b"), ("file:///a%20b", "/a b"), ("file:\\\\\\a\\b", "/a/b"), ("file:///a?b", "/a"),
        ("file:///a#b", "/a"), ("file:///\ta", "/a"), (" file:///a ", "/a"), ("file:///../../a", "/a"),
    ],
)  # fmt: skip
def test_file_urls_are_read_as_node_reads_them(address: str, path: str) -> None:
    assert list(file_addresses.paths(address)) == [path]


def test_the_catalogue_is_generated_from_its_source() -> None:
    bundled = repair_catalogue.load()
    assert repair_catalogue.encode(repair_catalogue.from_toml(bundled.releases)) == repair_catalogue.encode(bundled)
    assert {"read", "write", "edit", "apply_patch", "exec"} <= set(bundled.releases["2026.9.6"])


@each_row("media", ["MEDIA:~/.ssh/id_rsa", "@MEDIA: ~/.ssh/id_rsa", "~/.ssh/id_rsa", "media:/home/u/.ssh/id_rsa"])
@each_row("release", RELEASES)
def test_a_key_is_not_sent_along_with_a_message(media: str, release: str) -> None:
    guard = Guard(Config(), {}, host(release), packs.load())
    for params in ({"media": media}, {"mediaUrls": [media]}, {"attachments": [{"media": media}]}):
        found = guard.weigh(call("message", action="send", target="anna", message="hi", **params))
        assert found.decision in ("hold", "block"), params
    assert guard.weigh(call("message", action="send", target="anna", message="hi", media="MEDIA:chart.png")).code == "allow"


@each_row("path", ["@a{n}", "@a"])
def test_the_paths_of_a_patch_are_repaired_once_and_not_without_end(path: str) -> None:
    looked = list[str]()
    patch = "\n".join(f"*** Add File: {path.format(n=n)}\n+x" for n in range(3 * patch_headers.MAX_SPELLINGS))
    found = patch_headers.rewritten(patch, lambda each: (looked.append(each), (each[1:],))[1])
    assert len(looked) == (patch_headers.MAX_SPELLINGS if "{" in path else 1)
    assert "@" not in found


def test_what_is_behind_the_paths_that_are_repaired_may_be_any_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patch_headers, "MAX_SPELLINGS", 20)
    guard = Guard(Config(), {}, host(RELEASES[0]), packs.load())
    same = "".join(f"*** Update File: @{'./' * n}a.py\n+x\n" for n in range(20))
    assert guard.weigh(call("apply_patch", input=same)).decision == "allow"
    for path in ("@~/.openclaw/openclaw.json", "@b.py"):
        assert guard.weigh(call("apply_patch", input=f"{same}*** Update File: {path}\n+x\n")).decision != "allow"
