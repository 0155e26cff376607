"""A grant keeps what it was given for: its folder, its places with links followed, and the scripts as they were."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from changing_world import ChangingWorld
from effort import some
from toolguard_engine.approvals import repeatable_calls
from toolguard_engine.approvals.grant_record import IN_POLICY, Grant
from toolguard_engine.effects.calls import named_places
from toolguard_engine.model.call import Call
from toolguard_engine.stores import signing_key
from toolguard_engine.stores.state_files import GRANT_MEANINGS

Step = Callable[[ChangingWorld], Any]
Asked = Callable[[ChangingWorld], Call]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangingWorld:
    made = ChangingWorld(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def nothing(_: ChangingWorld) -> None: ...


def runs(command: str, **params: Any) -> Asked:
    return lambda world: world.call(command, **params)


def writes(path: str, tool: str = "write") -> Asked:
    content = {"content": "x"} if tool == "write" else {"edits": []} if tool == "edit" else {}
    return lambda world: world.file_call(tool, path, **content)


def moved(world: ChangingWorld, name: str, target: str) -> None:
    path = world.home / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    world.link(name, target)


# what is there, the grant (pattern, tool, more), what changes, the call, and what the approver reads
MORE: dict[str, tuple[Step, tuple[str, str, dict[str, Any]], Step, Asked, str]] = {
    "the script was rewritten": (
        lambda w: w.put("w/deploy.sh", "rm -rf build\n"), ("sh deploy.sh", "exec", {}),
        lambda w: w.put("w/deploy.sh", "rm -rf ~/Documents\n"), runs("sh deploy.sh"), "~/w/deploy.sh has changed since",
    ),
    "a script that it runs was rewritten": (
        lambda w: (w.put("w/deploy.sh", "sh ./clean.sh\n"), w.put("w/clean.sh", "rm -rf build\n")),
        ("sh deploy.sh", "exec", {}), lambda w: w.put("w/clean.sh", "rm -rf ~\n"), runs("sh deploy.sh"),
        "~/w/clean.sh has changed since",
    ),
    "the script came later": (
        nothing, ("sh deploy.sh", "exec", {}), lambda w: w.put("w/deploy.sh", "rm -rf ~/Documents\n"),
        runs("sh deploy.sh"), "now also runs ~/w/deploy.sh",
    ),
    "another folder": (
        nothing, ("rm -rf build", "exec", {}), lambda w: w.put("proj/build/a"), runs("rm -rf build", workdir="/srv/proj"),
        "it would now run in /srv/proj",
    ),
    "another folder with a wildcard": (
        nothing, ("git push origin *", "exec", {}), nothing, runs("git push origin main", workdir="/srv/proj"),
        "it would run in /srv/proj",
    ),
    "a word that is no place from the root": (
        nothing, ("mv build ~/old", "exec", {}), nothing, runs("mv build ~/old", workdir="/srv/proj"),
        "it would now run in /srv/proj",
    ),
    "a program without an effect, from the root": (
        nothing, ("rm -rf ~/x && make", "exec", {}), nothing, runs("rm -rf ~/x && make", workdir="/srv/proj"),
        "it would now run in /srv/proj",
    ),
    "a folder below": (
        lambda w: w.put("w/sub/build/a"), ("rm -rf build", "exec", {}), nothing, runs("rm -rf build", workdir="sub"),
        "it would now run in ~/w/sub",
    ),
    "the target is a link now": (
        lambda w: w.put("w/build/a"), ("rm -rf build/", "exec", {}), lambda w: moved(w, "w/build", "Documents"),
        runs("rm -rf build/"), "now also: delete ~/Documents",
    ),
    "the target leads elsewhere": (
        lambda w: w.link("w/cache", "Pictures/old"), ("rm -rf cache/thumbs", "exec", {}),
        lambda w: moved(w, "w/cache", "Documents"), runs("rm -rf cache/thumbs"), "now also: delete ~/Documents/thumbs",
    ),
    "a wildcard in a folder that leads elsewhere": (
        lambda w: w.link("w/cache", "Pictures/old"), ("rm -rf cache/*", "exec", {}),
        lambda w: moved(w, "w/cache", "Documents"), runs("rm -rf cache/a"), "it would delete ~/Documents/a",
    ),
    "a link below a wildcard": (
        lambda w: w.put("w/site/a/x"), ("rm -rf site/*/x", "exec", {}), lambda w: w.link("w/site/b", "Documents"),
        runs("rm -rf site/b/x"), "it would delete ~/Documents/x",
    ),
    "a write through a link in the folder": (
        lambda w: w.put("notes/a"), ("~/notes/**", "write", {}), lambda w: (w.put(".bashrc"), w.link("notes/b", ".bashrc")),
        writes("~/notes/b"), "it would write ~/.bashrc",
    ),
    "a write below a link in the folder": (
        lambda w: w.put("notes/a"), ("~/notes/**", "write", {}), lambda w: w.link("notes/up", ""),
        writes("~/notes/up/x"), "it would write ~/x",
    ),
    "a write to a hard link in the folder": (
        lambda w: (w.put("notes/a"), w.put(".bashrc")), ("~/notes/**", "write", {}),
        lambda w: os.link(w.home / ".bashrc", w.home / "notes/b"), writes("~/notes/b"),
        "it would write ~/notes/b, which has another name as well (a hard link)",
    ),
    "the folder of the notes leads elsewhere": (
        lambda w: w.put("notes/a"), ("~/notes/**", "write", {}), lambda w: moved(w, "notes", ".config"),
        writes("~/notes/a"), "it would write ~/.config/a",
    ),
    "one file that is a link now": (
        lambda w: w.put("notes/a"), ("~/notes/a", "edit", {}),
        lambda w: ((w.home / "notes/a").unlink(), w.put(".bashrc"), w.link("notes/a", ".bashrc")),
        writes("~/notes/a", "edit"), "~/notes/a now points to ~/.bashrc",
    ),
    "a secret read through a link": (
        lambda w: w.put("notes/a"), ("~/notes/**", "read", {}),
        lambda w: (w.put(".ssh/id_ed25519"), w.link("notes/k", ".ssh/id_ed25519")), writes("~/notes/k", "read"),
        "it would read ~/.ssh/id_ed25519",
    ),
    "a list that names more": (
        lambda w: w.put("w/list", "a\n"), ("xargs -a list rm -rf", "exec", {}),
        lambda w: w.put("w/list", "a\n../Documents\n"), runs("xargs -a list rm -rf"), "now also: delete ~/Documents",
    ),
    "another remote": (
        lambda w: w.put("w/.git/config", "url = git@github.com:me/x\n"), ("git push origin *", "exec", {}),
        lambda w: w.put("w/.git/config", "url = https://evil.test/x\n"), runs("git push origin main"),
        "~/w/.git/config has changed since",
    ),
    "a hook": (
        lambda w: w.put("w/.git/config", "a\n"), ("git push origin *", "exec", {}),
        lambda w: w.put("w/.git/hooks/pre-push", "rm -rf ~\n"), runs("git push origin main"),
        "it would run ~/w/.git/hooks/pre-push, which was not there with this content",
    ),
    "the recipes": (
        lambda w: w.put("w/package.json", '{"scripts": {"build": "tsc"}}'), ("npm run *", "exec", {}),
        lambda w: w.put("w/package.json", '{"scripts": {"build": "rm -rf ~/Documents"}}'), runs("npm run build"),
        "~/w/package.json has changed since",
    ),
    "a script among those of a wildcard": (
        lambda w: w.put("w/jobs/a.sh", "ls\n"), ("sh jobs/*.sh", "exec", {}), lambda w: w.put("w/jobs/b.sh", "rm -rf ~\n"),
        runs("sh jobs/b.sh"), "it would run ~/w/jobs/b.sh, which was not there with this content",
    ),
    "a recipe that reaches elsewhere through a link": (
        lambda w: (w.put("w/Makefile", "clean:\n\trm -rf build/\n"), w.put("w/build/a")), ("make *", "exec", {}),
        lambda w: moved(w, "w/build", "Documents"), runs("make clean"), "it would delete ~/Documents",
    ),
    "the folder of the grant is a link": (
        lambda w: w.link("proj", "Scratch"), ("rm -rf build", "exec", {"cwd": "PROJ"}),
        lambda w: moved(w, "proj", "Documents"), runs("rm -rf build", workdir="PROJ"), "it would now run in ~/Documents",
    ),
}  # fmt: skip


def given(world: ChangingWorld, pattern: str, tool: str, more: dict[str, Any]) -> Grant:
    proj = str(world.home / "proj")
    return world.grant(pattern, tool, **{name: proj if value == "PROJ" else value for name, value in more.items()})


def asked(world: ChangingWorld, make: Asked) -> Any:
    call = make(world)
    folder = {"PROJ": world.home / "proj", "WORK": world.work}.get(call.params.get("workdir", ""))
    if folder:
        call.params["workdir"] = str(folder)
    return world.ask(call)


@pytest.mark.parametrize("shape", some([*MORE]))
def test_a_call_beyond_its_grant_is_held_and_says_what_is_new(world: ChangingWorld, shape: str) -> None:
    before, (pattern, tool, more), change, call, line = MORE[shape]
    before(world)
    grant = given(world, pattern, tool, more)
    change(world)
    settled = asked(world, call)
    assert (settled.verdict.decision, settled.verdict.code) == ("hold", "approval.pending")
    assert f"beyond the grant {grant.id}: {line}" in settled.entry.changes
    assert f"It goes beyond the grant {grant.id}: " in settled.entry.reason


SAME: dict[str, tuple[Step, tuple[str, str, dict[str, Any]], Step, Asked]] = {
    "the same again": (nothing, ("rm -rf build", "exec", {}), nothing, runs("rm -rf build")),
    "the folder is filled by then": (
        nothing, ("rm -rf build", "exec", {}), lambda w: w.put("w/build/a"), runs("rm -rf build"),
    ),
    "the folder is gone": (
        lambda w: w.put("w/build/a"), ("rm -rf build", "exec", {}), lambda w: shutil.rmtree(w.work / "build"),
        runs("rm -rf build"),
    ),
    "the workspace as workdir": (nothing, ("rm -rf build", "exec", {}), nothing, runs("rm -rf build", workdir="WORK")),
    "a place from the root, in any folder": (
        lambda w: w.put("photos/cache/a"), ("rm -rf ~/photos/cache", "exec", {}), nothing,
        runs("rm -rf ~/photos/cache", workdir="/srv/proj"),
    ),
    "a wildcard from the root, in any folder": (
        lambda w: w.put("photos/cache/a"), ("rm -rf ~/photos/*", "exec", {}), nothing, runs("rm -rf ~/photos/cache"),
    ),
    "the script is the same": (
        lambda w: w.put("w/deploy.sh", "rm -rf build\n"), ("sh deploy.sh", "exec", {}),
        lambda w: w.put("w/deploy.sh", "rm -rf build\n"), runs("sh deploy.sh"),
    ),
    "what the script reads": (
        lambda w: (w.put("w/report.py", "open('sales.csv')\n"), w.put("w/sales.csv")), ("python3 report.py", "exec", {}),
        lambda w: w.put("w/sales.csv", "y\n"), runs("python3 report.py"),
    ),
    "one of the scripts": (
        lambda w: (w.put("w/jobs/a.sh", "rm -rf build\n"), w.put("w/jobs/b.sh", "ls\n")), ("sh jobs/*.sh", "exec", {}),
        nothing, runs("sh jobs/a.sh"),
    ),
    "a new file where a wildcard is": (
        lambda w: w.put("w/cache/a"), ("rm -rf cache/*", "exec", {}), lambda w: w.put("w/cache/b"), runs("rm -rf cache/b"),
    ),
    "a link among what is deleted": (
        lambda w: w.put("w/cache/a"), ("rm -rf cache/*", "exec", {}), lambda w: w.link("w/cache/d", "Documents"),
        runs("rm -rf cache/d"),
    ),
    "the link still leads there": (
        lambda w: w.link("w/cache", "Pictures/old"), ("rm -rf cache/*", "exec", {}), nothing, runs("rm -rf cache/a"),
    ),
    "a new note": (lambda w: w.put("notes/a"), ("~/notes/**", "write", {}), nothing, writes("~/notes/deep/b.md")),
    "a note that was changed": (
        lambda w: w.put("notes/a"), ("~/notes/a", "write", {}), lambda w: w.put("notes/a", "2\n"), writes("~/notes/a"),
    ),
    "a note through a link inside": (
        lambda w: w.put("notes/a"), ("~/notes/**", "write", {}), lambda w: w.link("notes/today", "notes/a"),
        writes("~/notes/today"),
    ),
    "notes behind a link of the person": (
        lambda w: w.link("notes", "Cloud/notes"), ("~/notes/**", "write", {}), nothing, writes("~/notes/b"),
    ),
    "a file in the workspace": (nothing, ("docs/**", "write", {}), nothing, writes("docs/a.md")),
    "a note that had two names": (
        lambda w: (w.put("notes/a"), os.link(w.home / "notes/a", w.home / "notes/b")), ("~/notes/a", "write", {}), nothing,
        writes("~/notes/a"),
    ),
    "any content": (nothing, ("~/notes/**", "edit", {}), lambda w: w.put("notes/a"), writes("~/notes/a", "edit")),
    "another branch": (
        lambda w: w.put("w/.git/config", "a\n"), ("git push origin *", "exec", {}),
        lambda w: (w.put("w/.git/index", "DIRC"), w.put("w/.git/refs/heads/dev", "1")), runs("git push origin dev"),
    ),
    "another recipe of the same file": (
        lambda w: w.put("w/package.json", '{"scripts": {"build": "tsc", "clean": "rm -rf build"}}'),
        ("npm run *", "exec", {}), lambda w: w.put("w/node_modules/x/index.js"), runs("npm run clean"),
    ),
    "a recipe for a place of its own": (
        lambda w: w.put("w/Makefile", "clean:\n\trm -rf ~/scratch/out\n"), ("make *", "exec", {}), nothing,
        runs("make clean"),
    ),
    "files that are copied": (
        lambda w: w.put("w/dist/a.html"), ("cp dist/* /srv/site", "exec", {}), lambda w: w.put("w/dist/b.html"),
        runs("cp dist/b.html /srv/site"),
    ),
    "a log that is sent": (
        lambda w: w.put("w/app.log"), ("scp app.log me@host:/srv/logs/", "exec", {}), lambda w: w.put("w/app.log", "2\n"),
        runs("scp app.log me@host:/srv/logs/"),
    ),
    "in its own folder": (
        lambda w: w.put("proj/build/a"), ("rm -rf build", "exec", {"cwd": "PROJ"}), lambda w: w.put("proj/build/b"),
        runs("rm -rf build", workdir="PROJ"),
    ),
    "in folders with a wildcard": (
        lambda w: w.put("proj/a"), ("git push origin *", "exec", {"params": {"workdir": "/srv/*"}}), nothing,
        runs("git push origin main", workdir="/srv/one"),
    ),
    "a document that it wrote before": (
        lambda w: (w.put("w/a.pdf"), w.put("Documents/x")), ("cp a.pdf ~/Documents/b.pdf", "exec", {}),
        lambda w: w.put("Documents/b.pdf"), runs("cp a.pdf ~/Documents/b.pdf"),
    ),
    "an address": (nothing, ("https://docs.example.com/**", "web_fetch", {}), nothing,
                   lambda w: Call("web_fetch", {"url": "https://docs.example.com/a"}, agent="main", cwd=str(w.work))),
    "a message": (nothing, ("telegram 42 send", "message", {}), nothing,
                  lambda w: Call("message", {"channel": "telegram", "target": "42", "action": "send"}, cwd=str(w.work))),
    "another tool, word for word, in any folder": (
        nothing, ('{"name":"ab"}', "deploy", {}), nothing, lambda _: Call("deploy", {"name": "ab"}, cwd="/srv/other"),
    ),
    "another tool": (nothing, ('{"name":"a*"}', "deploy", {}), nothing, lambda _: Call("deploy", {"name": "ab"})),
}  # fmt: skip


@pytest.mark.parametrize("shape", some([*SAME]))
def test_a_call_within_its_grant_runs(world: ChangingWorld, shape: str) -> None:
    before, (pattern, tool, more), change, call = SAME[shape]
    before(world)
    grant = given(world, pattern, tool, more)
    change(world)
    world.restart()
    for _ in range(2):
        settled = asked(world, call)
        assert (settled.verdict.code, settled.entry and settled.entry.changes) == (f"grant.{grant.id}", None)


def test_a_grant_of_an_earlier_version_covers_its_words(world: ChangingWorld) -> None:
    world.put("w/deploy.sh", "rm -rf build\n")
    old = world.grants.add(Grant("g-old", "exec", "sh deploy.sh"))
    world.put("w/deploy.sh", "rm -rf ~/Documents\n")
    world.restart()
    assert world.grants.grants() == (old,)
    assert world.ask(world.call("sh deploy.sh", workdir="/srv")).verdict.code == "grant.g-old"


def test_an_earlier_version_does_not_count_a_grant_with_a_meaning(world: ChangingWorld) -> None:
    """It signs and checks all members of the policy, and knows of no other file."""
    grant = world.grant("rm -rf build")
    own = (world.state / "toolguard" / "key").read_bytes()
    members = {name: getattr(grant, name) for name in IN_POLICY if name != "uncontained"} | {"mac": ""}
    assert not signing_key.fits(own, b"grant " + msgspec.json.encode(members, order="sorted"), grant.mac)


@pytest.mark.parametrize("harm", ["lost", "emptied", "of another grant", "no JSON"])
def test_a_grant_does_not_count_without_its_meaning(world: ChangingWorld, harm: str) -> None:
    grant, other = world.grant("rm -rf build"), world.grant("rm -rf dist")
    path = world.state / "toolguard" / GRANT_MEANINGS
    stored = msgspec.json.decode(path.read_bytes())
    if harm == "emptied":
        stored["bound"][grant.mac] = []
    elif harm == "of another grant":
        stored["bound"][grant.mac] = stored["bound"][other.mac]
    path.write_bytes(b"{" if harm == "no JSON" else msgspec.json.encode(stored))
    if harm == "lost":
        path.unlink()
    world.restart()
    assert grant.id in [each.id for each in world.grants.unsigned()]
    assert world.ask(world.call("rm -rf build")).verdict.decision == "hold"


def test_a_grant_that_comes_with_an_approval_is_bound_to_what_was_shown(world: ChangingWorld) -> None:
    world.put("w/build/a")
    call = world.call("rm -rf build/")
    entry = world.ask(call).entry
    assert entry is not None
    assert entry.meaning is not None
    narrow = repeatable_calls.narrow_grant(msgspec.structs.replace(entry, code="rule.files.delete"))
    assert narrow.grant is not None, narrow.why_not
    grant = world.grants.add(msgspec.structs.replace(narrow.grant, id=""))
    assert world.ask(call).verdict.code == f"grant.{grant.id}"
    moved(world, "w/build", "Documents")
    assert world.ask(call).verdict.decision == "hold"


@pytest.mark.parametrize(
    ("given", "command", "is_outside"),
    [
        ({"uncontained": True}, "./tool --check a", True),
        ({"uncontained": True}, "./tool --repair a", False),
        ({"uncontained": True, "agent": "other"}, "./tool --check a", False),
        ({"uncontained": True, "expires": 1.0}, "./tool --check a", False),
        ({}, "./tool --check a", False),
    ],
)
def test_a_grant_lets_a_command_run_outside_of_its_room(
    world: ChangingWorld, given: dict[str, Any], command: str, *, is_outside: bool
) -> None:
    world.grant("./tool --check *", **given)
    assert outside(world, command) is is_outside


def outside(world: ChangingWorld, command: str) -> bool:
    call = world.call(command)
    return world.approvals.runs_outside(call, lambda: named_places.places_to_look_at(world.guard.read(call)))


def test_a_script_that_changed_runs_in_its_room_again(world: ChangingWorld) -> None:
    world.put("w/deploy.sh", "rm -rf build\n")
    world.grant("sh deploy.sh", uncontained=True)
    assert outside(world, "sh deploy.sh")
    world.put("w/deploy.sh", "rm -rf ~/Documents\n")
    assert not outside(world, "sh deploy.sh")


def test_nobody_adds_it_to_a_signed_grant(world: ChangingWorld) -> None:
    world.grant("./tool --check *")
    policy = world.state / "toolguard" / "policy.toml"
    policy.write_text(policy.read_text().replace("mac =", "uncontained = true\nmac ="))
    world.restart()
    assert world.grants.active(world.now) == []
    assert not outside(world, "./tool --check a")


BY_RULES = ("rule.cloud.delete", "constraint.folders", "approval.always-block")
NOT_BY_RULES = (
    "rule.self-protection", "rule.self-protection.possible", "rule.too-intricate", "provenance.order", "budget.spent",
    "tool.first-use",
)  # fmt: skip


@pytest.mark.parametrize("code", [*BY_RULES, *NOT_BY_RULES])
def test_only_what_a_call_is_may_be_allowed_beforehand(code: str) -> None:
    assert repeatable_calls.is_by_rules(code) is (code in BY_RULES)
