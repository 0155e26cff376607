"""What OpenClaw is asked, with a program in its place that tells what it was given, and what is made of its answers."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_stage import LIMIT, answering

from toolguard_cli.hostconfig import config_tree, openclaw_check
from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.hostconfig.finding import ConfigFinding
from toolguard_cli.system.paths import Places

WITNESS = """
import json, os, pathlib, sys
config = pathlib.Path(os.environ["OPENCLAW_CONFIG_PATH"])
roots = os.environ.get("OPENCLAW_INCLUDE_ROOTS", "")
root = pathlib.Path(roots or config.parent)
files = {str(path): [oct(path.stat().st_mode), path.read_text()] for path in root.rglob("*.json*") if path.is_file()}
pathlib.Path(os.environ["SEEN"]).write_text(json.dumps({
    "arguments": sys.argv[1:], "config": str(config), "roots": roots, "state": os.environ["OPENCLAW_STATE_DIR"],
    "cwd": os.getcwd(), "files": files, "mode": oct(root.stat().st_mode),
}))
print('{"valid": true, "path": "x", "warnings": []}')
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "seen.txt"
    monkeypatch.setenv("SEEN", str(place))
    return place


def program(folder: Path, text: str) -> list[str]:
    script = folder / "openclaw.py"
    script.write_text(text)
    return [sys.executable, str(script)]


def read(places: Places, text: str) -> ConfigTree:
    places.config.write_text(text)
    return config_tree.read(places.config)


def test_a_config_as_it_is_on_the_disk_is_asked_about_where_it_lies(places: Places, tmp_path: Path, seen: Path) -> None:
    tree = read(places, "{ a: 1 }")
    assert openclaw_check.ask(tree, places, program(tmp_path, WITNESS)) == []
    reported = json.loads(seen.read_text())
    assert reported["arguments"] == ["config", "validate", "--json"]
    assert (reported["config"], reported["roots"]) == (str(places.config), "")
    assert (reported["state"], reported["cwd"]) == (str(places.state_dir), str(places.state_dir))


@pytest.mark.parametrize("own", [True, False], ids=["own folder", "no folder of its own"])
def test_a_draft_is_laid_out_in_private_and_goes_again(places: Places, tmp_path: Path, seen: Path, *, own: bool) -> None:
    if own:
        places.own.mkdir()
    before = sorted(tmp_path.rglob("*"))
    inside, sub = places.config.parent / "tools.json5", places.config.parent / "sub" / "deep.json5"
    sub.parent.mkdir()
    sub.write_text("{ x: 1 }")
    inside.write_text("{ deep: { $include: './sub/deep.json5' }, list: [{ $include: ['sub/deep.json5'] }] }")
    draft = Draft(read(places, f"{{ // mine\n  a: 1, tools: {{ $include: '{inside}' }} }}"))
    draft.set(("a",), 2)
    draft.set(("tools", "new"), value=True)
    assert openclaw_check.ask(draft.tree, places, program(tmp_path, WITNESS)) == []
    reported = json.loads(seen.read_text())
    folder = Path(reported["roots"])
    assert folder.is_relative_to(places.own) is own
    assert reported["mode"] == "0o40700"
    assert {mode for mode, _ in reported["files"].values()} == {"0o100600"}
    assert not folder.exists()
    assert {path.removeprefix(str(folder)): text for path, (_, text) in reported["files"].items()} == {
        str(places.config): f"{{ // mine\n  a: 2, tools: {{ $include: '{folder}{inside}' }} }}",
        str(inside): "{ deep: { $include: './sub/deep.json5' }, list: [{ $include: ['sub/deep.json5'] }], new: true }",
        str(sub): "{ x: 1 }",
    }
    assert reported["config"] == f"{folder}{places.config}"
    made = {inside, sub, sub.parent, places.config, seen, tmp_path / "openclaw.py"}
    assert sorted(tmp_path.rglob("*")) == sorted({*before, *made})
    assert places.config.read_text().startswith("{ // mine\n  a: 1")


ASK = """
import pathlib, sys
from toolguard_cli.hostconfig import config_tree, openclaw_check
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.system import paths
places = paths.find(pathlib.Path(sys.argv[1]), None)
draft = Draft(config_tree.read(places.config))
draft.set(("a",), 2)
openclaw_check.ask(draft.tree, places, sys.argv[2:])
"""


def hanging(folder: Path) -> tuple[list[str], Path, Path]:
    """A program that holds a lock for as long as it lives, and then tells its process."""
    alive, asked = folder / "alive", folder / "asked"
    text = f"""
import fcntl, os, pathlib, time
file = open({str(alive)!r}, "w")
fcntl.flock(file, fcntl.LOCK_EX)
pathlib.Path({str(folder / "new")!r}).write_text(str(os.getpid()))
os.rename({str(folder / "new")!r}, {str(asked)!r})
time.sleep(1000)
"""
    return program(folder, text), alive, asked


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_nothing_stays_of_a_question_that_was_broken_off(places: Places, tmp_path: Path, how: signal.Signals) -> None:
    places.own.mkdir()
    read(places, "{ a: 1, token: 'secret' }")
    line, alive, asked = hanging(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    asking = [sys.executable, "-c", ASK, str(places.state_dir), *line]
    process = subprocess.Popen(asking, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        limit = time.monotonic() + LIMIT
        while not asked.exists():
            assert time.monotonic() < limit
            time.sleep(0.02)
        (laid_out,) = places.own.iterdir()
        assert laid_out.name.startswith(f".asking-{process.pid}-")
        openclaw_check.ask(read(places, "{ a: 1 }"), places, answering(other, {"valid": True}))
        assert laid_out.exists()
        process.send_signal(how)
        assert process.wait(LIMIT) != 0
    finally:
        process.kill()
        process.wait()
    if how is signal.SIGKILL:  # which nobody can hear: the next question clears up
        os.kill(int(asked.read_text()), signal.SIGKILL)
        openclaw_check.ask(read(places, "{ a: 1 }"), places, answering(other, {"valid": True}))
    else:
        with alive.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
    assert list(places.own.iterdir()) == []


def test_only_what_was_left_there_goes(places: Places, tmp_path: Path) -> None:
    places.own.mkdir()
    kept = [places.own / name for name in (f".asking-{os.getpid()}-a", ".asking-no-number", "asking-1-a")]
    for folder in kept:
        folder.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (places.own / f".asking-{2**22 + 1}-link").symlink_to(elsewhere)
    openclaw_check.ask(read(places, "{ a: 1 }"), places, answering(tmp_path, {"valid": True}))
    assert elsewhere.is_dir()
    assert all(folder.is_dir() for folder in kept)


def test_the_folder_goes_also_where_openclaw_fails(places: Places, tmp_path: Path) -> None:
    places.own.mkdir()
    draft = Draft(read(places, "{ a: 1 }"))
    draft.set(("a",), 2)
    (found,) = openclaw_check.ask(draft.tree, places, program(tmp_path, "raise SystemExit(7)"))
    assert found == ConfigFinding(
        "warn",
        "",
        "OpenClaw could not validate the config: it printed nothing",
        "run `openclaw config validate` yourself",
        str(places.config),
    )
    assert list(places.own.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('Error: no such command')", "it printed 'Error: no such command'"),
        ("print('[1, 2]')", "it printed '[1, 2]'"),
        ("print('{\"valid\": 1}')", "it printed '{\"valid\": 1}'"),
        ("print('\\x1b[31mred')", "it printed '<U+001B>[31mred'"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "it printed '\ufffd\ufffd'"),
        ("import time; time.sleep(600)", "no answer within 0.5 s"),
    ],
    ids=["words", "a list", "odd types", "control characters", "no UTF-8", "no answer"],
)
def test_no_answer_is_a_warning(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    if "sleep" in text:
        monkeypatch.setattr(openclaw_check, "LIMIT_SECONDS", 0.5)
    (found,) = openclaw_check.ask(read(places, "{}"), places, program(tmp_path, text))
    assert (found.level, found.message) == ("warn", f"OpenClaw could not validate the config: {said}")


def test_a_program_that_is_not_there(places: Places) -> None:
    (found,) = openclaw_check.ask(read(places, "{}"), places, ["/nowhere/openclaw"])
    assert found.message == "OpenClaw could not validate the config: /nowhere/openclaw: No such file or directory"


TEXT = """\
{
  // comment
  gateway: { port: "x" },
  agents: { list: [ { id: "main" }, { id: "a.b", foo: 1 } ] },
  tools: {
    loopDetection: { enabled: true, foo: 1,
      bar: 2 },
  },
  plugins: { allow: ["nope"] },
}
"""
UNKNOWN = "OpenClaw does not know this key"


@pytest.mark.parametrize(
    ("path", "message", "found"),
    [
        (
            "gateway.port",
            "Invalid input: expected number, received string",
            [("gateway.port", 3, "OpenClaw says: Invalid input: expected number, received string")],
        ),
        (
            "tools.loopDetection",
            'Unrecognized keys: "foo", "bar"',
            [("tools.loopDetection.foo", 6, UNKNOWN), ("tools.loopDetection.bar", 7, UNKNOWN)],
        ),
        ("<root>", 'Unrecognized key: "plugins"', [("plugins", 9, UNKNOWN)]),
        ("agents.entries.a.b", 'Unrecognized key: "foo"', [("agents.list[1].foo", 4, UNKNOWN)]),
        ("agents.entries.gone", "no", [("agents.entries.gone", 4, "OpenClaw says: no")]),
        ("plugins.allow.0", "no", [("plugins.allow[0]", 9, "OpenClaw says: no")]),
        ("tools.new.thing", "no", [("tools.new.thing", 5, "OpenClaw says: no")]),
        ("<root>", "Invalid input", [("", 1, "OpenClaw says: Invalid input")]),
        (
            "plugins",
            'invalid config: must not have additional properties: "allow"',
            [("plugins.allow", 9, UNKNOWN)],
        ),
        ("gateway", "a\x1b[2Jb", [("gateway", 3, "OpenClaw says: a<U+001B>[2Jb")]),
    ],
)
def test_an_issue_is_pointed_at(
    places: Places, tmp_path: Path, path: str, message: str, found: list[tuple[str, int, str]]
) -> None:
    answer = {"valid": False, "issues": [{"path": path, "message": message}]}
    reported = openclaw_check.ask(read(places, TEXT), places, answering(tmp_path, answer))
    assert [(each.path, each.line, each.message) for each in reported] == found
    assert {each.level for each in reported} == {"error"}


def test_a_warning_and_lines_before_the_answer(places: Places, tmp_path: Path) -> None:
    answer = {"valid": True, "warnings": [{"path": "plugins.allow", "message": "plugin not found: nope"}]}
    reported = openclaw_check.ask(read(places, TEXT), places, answering(tmp_path, f"[log] one\n{json.dumps(answer)}\n"))
    assert reported == [
        ConfigFinding(
            "warn",
            "plugins.allow",
            "OpenClaw says: plugin not found: nope",
            "",
            str(places.config),
            9,
            14,
            '  plugins: { allow: ["nope"] },\n             ^',
        )
    ]


def test_an_old_form_that_is_read_is_not_told_as_if_it_was_written(places: Places, tmp_path: Path) -> None:
    moved = {"path": "", "message": "Moved agents.list to keyed agents.entries."}
    reported = openclaw_check.ask(
        read(places, TEXT), places, answering(tmp_path, {"valid": False, "warnings": [moved], "issues": [moved]})
    )
    assert [(each.level, each.message) for each in reported] == [
        ("error", "OpenClaw says: Moved agents.list to keyed agents.entries."),
        (
            "warn",
            "OpenClaw converts an old form on reading: Moved agents.list to keyed agents.entries; the file was not changed",
        ),
    ]


def test_issues_are_bounded(places: Places, tmp_path: Path) -> None:
    answer = {"valid": False, "issues": [{"path": "a." * 2000, "message": "m" * 2000}] * 300}
    reported = openclaw_check.ask(read(places, TEXT), places, answering(tmp_path, answer))
    assert len(reported) == 200
    assert len(reported[0].message) < 1100
    assert reported[0].path.count(".") < 70


def test_an_included_file_is_named(places: Places, tmp_path: Path) -> None:
    (places.state_dir / "gateway.json5").write_text("{\n  port: 'x',\n}")
    tree = read(places, "{ gateway: { $include: './gateway.json5' } }")
    answer = {"valid": False, "issues": [{"path": "gateway.port", "message": "no"}]}
    (found,) = openclaw_check.ask(tree, places, answering(tmp_path, answer))
    assert found.where == f"{places.state_dir}/gateway.json5, line 2, column 3"


def test_the_folder_is_not_named(places: Places, tmp_path: Path) -> None:
    """A person reads of the files that there are."""
    draft = Draft(read(places, "{ a: 1 }"))
    draft.set(("a",), 2)
    text = (
        "import json, os\n"
        "issue = {'path': '', 'message': 'cannot read ' + os.environ['OPENCLAW_CONFIG_PATH']}\n"
        "print(json.dumps({'valid': False, 'issues': [issue]}))"
    )
    (found,) = openclaw_check.ask(draft.tree, places, program(tmp_path, text))
    assert found.message == f"OpenClaw says: cannot read {places.config}"


def test_it_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert openclaw_check.command() == ()
    (tmp_path / "openclaw").write_text("#!/bin/sh\n")
    (tmp_path / "openclaw").chmod(stat.S_IRWXU)
    assert openclaw_check.command() == (os.path.join(tmp_path, "openclaw"),)  # noqa: PTH118 - the text that it is


@pytest.mark.parametrize(
    ("dotted", "steps"),
    [
        ("", ()),
        ("a.b.c", ("a", "b.c")),
        ("a.b.d", ("a", "b", "d")),
        ("a.b.e.f", ("a", "b", "e", "f")),
        ("l.0.x", ("l", 0, "x")),
        ("l.7.x", ("l", "7", "x")),
        ("l.x", ("l", "x")),
    ],
)
def test_steps(places: Places, dotted: str, steps: Steps) -> None:
    tree = read(places, "{ a: { 'b.c': 1, b: { d: 1 } }, l: [ { x: 1 } ] }")
    assert openclaw_check.steps_of(tree, dotted) == steps
