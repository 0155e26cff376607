"""What the gateway starts by itself: nobody but a person changes it, however it is written; everything beside it is free."""

from __future__ import annotations

from pathlib import Path

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.facts.started_places import StartedPlaces, is_started
from toolguard_engine.host import started_catalogue
from toolguard_engine.host.started_catalogue import StartedFile, StartedList
from toolguard_engine.layers import rubric, self_protection
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules.rulebook import Rulebook

HOME, WORKSPACE = "/home/ada", "/home/ada/work"
HOST = Host(home=HOME, state_dir=f"{HOME}/.openclaw", code=("/srv/Gateway/node_modules/openclaw",))
BOOK = Rulebook([rule for pack in rulepacks.packs().values() for rule in pack])
ROOTS = {
    "state": f"{HOME}/.openclaw",
    "agent": f"{HOME}/.openclaw/agents/main",
    "home": HOME,
    "workspace": WORKSPACE,
    "start": f"{HOME}/elsewhere",
    "temporary": "/tmp",
    "above": HOME,
}
LISTED = started_catalogue.load()
ORDINARY = {"start/.env"}
"""A project's own file. OpenClaw takes no variable from it that tells what to run or whom to trust."""

NAMES = {"*": "abc", "**": "abc/index.js"}
PROGRAM = "ls"
"""A program that a shell would find in a folder on its PATH before the system's own."""


def path_of(each: StartedFile) -> str:
    root, *parts = each.place.split("/")
    names = NAMES if each.use != "runs" else {"*": PROGRAM, "**": PROGRAM}
    return "/".join((ROOTS[root], *(names.get(part, part.replace("*", "abc")) for part in parts)))


PATHS = sorted({path_of(each) for each in LISTED.places if each.place not in ORDINARY})


def decision(tool: str, params: dict[str, object]) -> str:
    reading = CallReading(Call(tool, params, cwd=WORKSPACE), HOST)
    found = self_protection.of_reading(reading)
    return found.decision if found else rubric.weighed(reading, Config(), BOOK).decision


def run(command: str) -> str:
    return decision("exec", {"command": command})


def read(path: str) -> str:
    return decision("read", {"path": path})


WAYS = {
    "write": lambda path: decision("write", {"path": path, "content": "x"}),
    "edit": lambda path: decision("edit", {"path": path, "edits": [{"oldText": "a", "newText": "b"}]}),
    "apply_patch": lambda path: decision(
        "apply_patch", {"input": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"}
    ),
    "redirect": lambda path: run(f"./make.sh >> {path}"),
    "tee": lambda path: run(f"./make.sh | tee {path}"),
    "cp": lambda path: run(f"cp made {path}"),
    "mv": lambda path: run(f"mv made {path}"),
    "ln": lambda path: run(f"ln -sf {WORKSPACE}/made {path}"),
    "sed": lambda path: run(f"sed -i 1d {path}"),
}


def test_every_supported_release_was_traced() -> None:
    text = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text("utf-8")
    assert len(LISTED.releases) >= 3
    assert [release for release in LISTED.releases if release not in text] == []


def test_the_list_holds_one_place_of_each_kind() -> None:
    uses = {each.place: each.use for each in LISTED.places}
    assert uses["state/cache/shell-snapshots/**"] == "sourced"
    assert uses["home/.bashrc"] == "sourced"
    assert uses["state/hooks/**"] == "imported"
    assert uses["state/extensions/**"] == "imported"
    assert uses["state/tmp/agent-cli/**"] == "runs"
    assert uses["state/openclaw.json"] == "config"
    assert uses["home/.node_modules/**"] == "imported"
    assert any(not each.present for each in LISTED.places)


@each_row("way", WAYS)
def test_none_of_them_is_written_unasked(way: str) -> None:
    assert [path for path in PATHS if WAYS[way](path) == "allow"] == []


@each_row(
    "command",
    [
        "cp -r made ~/.openclaw/hooks",
        "cp -r hooks ~/.openclaw/",
        "cd ~/.openclaw/tmp && cp made agent-cli/ls",
        "cp made ~/.openclaw/tmp/agent-*/ls",
        "curl -so ~/.openclaw/tmp/agent-cli/git https://example.org/x",
        "tar xf a.tar -C ~/.openclaw/tmp/agent-cli",
        "git clone https://example.org/x ~/.openclaw/npm/node_modules/x",
        "cp x.js $OPENCLAW_STATE_DIR/cache/control-ui-assets/a/assets/index.js",
        "sqlite3 ~/.openclaw/state/openclaw.sqlite 'delete from jobs'",
        "cp openclaw.json ~/.openclaw/openclaw.json.last-good",
        "mkdir -p ~/.node_modules/x && cp index.js ~/.node_modules/x/",
        "cp made ~/.local/bin/date",
        "cp -rT d ~/.openclaw/cache",
        "cp -r d/. ~/.openclaw/tmp/",
        "tar xf a.tar -C ~/.openclaw/tmp",
        "unzip a.zip -d ~/.openclaw/npm",
        "rsync -a d/ ~/.openclaw/cache/",
        "cp index.js ~/.openclaw/node_modules/x/",
        "cp x.mjs /srv/Gateway/node_modules/typebox/build/index.mjs",
        "sed -i 1d /srv/gateway/node_modules/zod/index.js",
        "echo x >> /tmp/openclaw/openclaw-shell-snapshot-abc/snapshot.out",
        'while :; do for f in /tmp/openclaw/openclaw-shell-snapshot-*/snapshot.out; do echo x >> "$f"; done; done',
        "tee -a /tmp/openclaw/*/snapshot.out < x",
        "inotifywait -m /tmp/openclaw | while read d e f; do cp x /tmp/openclaw/$f/snapshot.out; done",
        "cd /tmp/openclaw-0 && ln -sf ~/x openclaw-shell-snapshot-a/snapshot.out",
    ],
)
def test_nor_in_other_ways(command: str) -> None:
    assert run(command) != "allow"


FREE = [
    "notes.md", "hooks/useUser.js", "hooks/lib/format.js", "src/hooks/auth/handler.js", "dist/index.js", "package.json",
    "skills/mail/SKILL.md", "skills/mail/send.py", "node_modules/left-pad/index.js", "/tmp/a.js", "/tmp/build/x.sh",
    "~/.openclaw/workspace/notes.md", "~/.openclaw/tmp/note.txt", "/tmp/openclaw/notes.txt", "/tmp/snapshot.out",
    "~/.openclaw/media/inbound/a.txt", "~/.openclaw/workspace/hooks/useUser.js", "~/.local/bin/mytool", "~/.cache/app/x.js",
]  # fmt: skip


@each_row("path", FREE)
def test_ordinary_files_are_free(path: str) -> None:
    assert [way for way in ("write", "edit", "redirect", "cp") if WAYS[way](path) != "allow"] == []


def test_they_may_be_read() -> None:
    where = Where(HOME, WORKSPACE, WORKSPACE, HOST.state_dir)
    plain = [path for path in PATHS if place(path, where) != "credentials"]
    assert len(plain) > len(PATHS) // 2
    assert [path for path in plain if run(f"ls -l {path}") != "allow"] == []
    assert [path for path in plain if read(path) != "allow"] == []


def test_a_home_among_temporary_files_is_a_home() -> None:
    assert is_started("/tmp/u/.node_modules/x.js", "/tmp/u", "/tmp/u/work")
    assert is_started("/tmp/u/work/hooks/x/handler.js", "/tmp/u", "/tmp/u/work")
    assert is_started("/var/tmp/node-compile-cache/x", "/tmp/u", "/tmp/u/work")
    assert not is_started("/tmp/u/x.js", "/tmp/u", "/tmp/u/work")


def test_wildcards_in_a_project_are_free() -> None:
    assert run("sed -i s/a/b/ */*/*.js") == "allow"
    assert run("npx prettier --write 'hooks/**/*.js'") == "allow"


def test_a_list_keeps_what_other_releases_do() -> None:
    old = StartedFile("state/a.json", "config", present=True)
    new = StartedFile("state/b.json", "config", present=False)
    both = StartedList((), ()).with_release("2026.6.11", frozenset({old})).with_release("2026.10.1", frozenset({old, new}))
    assert both.releases == ("2026.10.1", "2026.6.11")
    assert [(each.place, each.releases) for each in both.places] == [
        ("state/a.json", ("2026.10.1", "2026.6.11")),
        ("state/b.json", ("2026.10.1",)),
    ]
    assert both.with_release("2026.10.1", frozenset({new})).get("2026.6.11") == {old}
    assert started_catalogue.encode(LISTED).startswith('{\n "releases": ')


def test_places_are_matched_by_their_parts() -> None:
    places = StartedPlaces(
        tuple(StartedFile(f"state/{name}", "config", present=True) for name in ("a/*/c.js", "d/**", "e.*.json"))
    )
    assert [path for path in ("a/x/c.js", "d/x", "d", "e.7.json", "?/x") if not places.holds("state", path)] == []
    assert [path for path in ("a/c.js", "a/x/y/c.js", "e.json", "b", "") if places.holds("state", path)] == []
    code = StartedPlaces((StartedFile("state/a/b/**", "imported", present=True),))
    assert [path for path in ("a", "a/b", "a/b/c", "a/x") if code.holds("state", path)] == ["a", "a/b", "a/b/c"]
