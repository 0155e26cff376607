"""The console script itself: exit codes, help, and that no fault of the person shows a traceback."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from cli_stage import LIMIT, envelope, put_in, toolguard

from tables import each_row
from toolguard_cli import main
from toolguard_cli.commands import show_status as status
from toolguard_cli.commands.command_table import ConfigGroup, RootGroup
from toolguard_cli.policy import check_stream
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.lazy_group import LazyGroup
from toolguard_engine import __version__
from toolguard_engine.effects.manuals import manual_catalogue


def commands(group: Any, *words: str) -> Iterator[tuple[str, Any]]:
    """Each command with its words, those of groups as well."""
    for name, command in group.commands.items():
        yield " ".join([*words, name]), command
        yield from commands(command, *words, name) if hasattr(command, "commands") else ()


FORMER = "constraints "
"""The former name of `rules `: its commands are the same, and their help names them as they are called now."""

EVERY = {
    name: command
    for name, command in commands(typer.main.get_command(main.app))
    if not command.hidden and not name.startswith(FORMER)
}
OF_NO_GATEWAY = {"demo", "config schema", "rules packs", "help", "version", "fleet demo", "fleet policy check"}
GROUPS = {"audit", "config", "containment", "fleet", "fleet audit", "fleet policy", "notify", "state"}
"""Those that do nothing by themselves."""

PLACES = {"state_dir", "config"}


def test_help() -> None:
    done = toolguard("--help", COLUMNS="120")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: toolguard [OPTIONS] COMMAND [ARGS]...\n")
    assert "  toolguard doctor        check that the guard works\n" in done.stdout
    titles = (*RootGroup.sections, "More")
    listed = done.stdout[done.stdout.index(f"{titles[0]}:\n") :].splitlines()
    assert [line.removesuffix(":") for line in listed if line and not line.startswith(" ")] == list(titles)
    assert {line.split()[0] for line in listed if line.startswith("  ")} >= set(RootGroup.table)
    assert (
        toolguard("-h", COLUMNS="120").stdout == toolguard("help", COLUMNS="120").stdout.rstrip("\n") + "\n" == done.stdout
    )


@each_row("command", EVERY)
def test_help_of_each_command(command: str) -> None:
    done = toolguard(*command.split(), "--help", COLUMNS="120")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: toolguard {command} [OPTIONS]")
    assert f"toolguard {command}" in done.stdout.partition("Example")[2]
    assert [word for word in ("<str>", "<path>", "<list[") if word in done.stdout] == []


def test_the_manual_has_all_options() -> None:
    """What the guard knows of its own command line: the options, and which of them take a value with some command."""
    manual = manual_catalogue.manual("toolguard")
    assert manual is not None
    root = typer.main.get_command(main.app)
    given = [each for command in (root, *EVERY.values()) for each in command.params if each.param_type_name == "option"]
    valued: dict[str, bool] = {}
    for each in given:
        for name in (*each.opts, *each.secondary_opts):
            valued[name] = valued.get(name, False) or not (each.is_flag or each.count)
    found = {name: entry.takes != "nothing" for name, entry in manual.known("").items() if name not in {"-h", "--help"}}
    of_policies = {"--version"}  # `fleet policy show` has one with a value, but changes nothing that is left to agents
    assert {name: found.get(name) for name in valued.keys() - of_policies} == {
        name: valued[name] for name in valued.keys() - of_policies
    }


def test_every_command_can_be_told_its_gateway_and_asked_for_json() -> None:
    for name, command in EVERY.items():
        if name not in GROUPS:
            taken = {parameter.name for parameter in command.params}
            assert {"as_json"} | (PLACES if name not in OF_NO_GATEWAY else set()) <= taken, name


def test_the_module_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolguard_cli", "--version"], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"toolguard {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["check", "--stdin"], ["check", "--tool", "exec", "--stdin"]], ids=["fast", "parsed"])
def test_garbage_is_collected_while_a_command_works(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    collects = []

    def read(_: int, __: int) -> bytes:
        collects.append(gc.isenabled())
        return b""

    monkeypatch.setattr(check_stream, "os", SimpleNamespace(read=read))
    assert toolguard(*arguments).returncode == 0
    assert collects == [True]
    assert gc.isenabled()


def test_garbage_is_collected_after_an_error() -> None:
    assert toolguard("check", "--stdin", "--rules").returncode != 0
    assert gc.isenabled()


def test_a_stream_of_calls_needs_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_stream, "os", SimpleNamespace(read=lambda *_: b""))
    monkeypatch.setattr(main, "app", None)
    for arguments in ([], ["--json"], ["--json", "--state-dir", "/s"], ["--config", "/c", "--json"]):
        done = toolguard("check", "--stdin", *arguments)
        assert (done.returncode, done.stdout) == (0, "")


def test_version() -> None:
    done = toolguard("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"toolguard {__version__}\n", "")


@each_row(
    ("arguments", "words"),
    [
        pytest.param(["instal"], "no such command 'instal'", id="command"),
        pytest.param(["install", "--lnk"], "no such option: --lnk", id="option"),
        pytest.param(["install", "more"], "unexpected: more", id="argument"),
        pytest.param(["demo", "--requests", "4"], "--requests: must be ", id="range"),
        pytest.param(["revoke"], "is missing", id="missing"),
        pytest.param(["grant", "/srv/site"], "--tool: name it for a path", id="a path without its tool"),
        pytest.param(["explain", "ls"], "no such command 'explain'. Did you mean 'check'?", id="the word of other programs"),
        pytest.param(["check", "--tool", "raed", "x"], "did you mean read?", id="a tool misspelled"),
        pytest.param(["audit", "show", "--last", "x"], "--last: must be a whole number", id="no number"),
        pytest.param(["check", ""], "the command is empty", id="empty"),
        pytest.param(["help", "nosuch"], "there is no command nosuch", id="help"),
        pytest.param(["demo", "--yes"], "only has an effect with --hold", id="demo"),
        pytest.param(["check"], "give a command to check", id="check"),
        pytest.param(["doctor", "--yes"], "only has an effect with --fix", id="two options"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str) -> None:
    """One line says what is wrong, the next one what to do; the same as JSON."""
    done = toolguard(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    what, fix, *more = done.stderr.splitlines()
    assert more == []
    assert words in what
    assert what.startswith("error ")
    assert fix.startswith("      -> toolguard")
    for_scripts = toolguard(*arguments, "--json")
    found = envelope(for_scripts)
    assert (for_scripts.returncode, for_scripts.stderr, found["ok"]) == (2, "", False)
    assert (found["errors"], found["messages"]) == ([what.removeprefix("error ")], [fix.strip()])


def test_help_of_a_command_misspelled() -> None:
    assert "did you mean approve?" in toolguard("help", "aprove").stderr
    assert "did you mean check?" in toolguard("help", "explain").stderr


def test_words_of_other_programs_name_commands() -> None:
    assert set(RootGroup.meant.values()) <= set(RootGroup.table)
    assert set(RootGroup.meant).isdisjoint(RootGroup.table)


@pytest.mark.parametrize("arguments", [[], ["audit"], ["config"]])
def test_nothing_shows_the_help(arguments: list[str]) -> None:
    done = toolguard(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Usage: {' '.join(['toolguard', *arguments])} [OPTIONS] COMMAND")


@pytest.mark.parametrize("command", ["approve", "config set", "audit"])
def test_help_in_each_spelling(command: str) -> None:
    texts = {
        toolguard(*words, COLUMNS="90").stdout.strip()
        for words in ([*command.split(), "-h"], [*command.split(), "--help"], ["help", *command.split()])
    }
    assert len(texts) == 1
    assert texts.pop().startswith(f"Usage: toolguard {command}")


def test_the_help_names_no_type_of_python() -> None:
    """Each value has a word of its own; without one, the option parser shows the type."""
    todo = [RootGroup().commands[name] for name in RootGroup.table]
    while todo:
        command = todo.pop()
        todo += getattr(command, "commands", {}).values()
        typed = [each.name for each in command.params if not (each.metavar or getattr(each, "is_flag", False))]
        assert typed == [], command.name


def test_help_of_what_does_not_exist() -> None:
    done = toolguard("help", "config", "nix")
    assert (done.returncode, done.stderr) == (
        2, "error there is no command config nix\n      -> toolguard config --help lists the commands\n",
    )  # fmt: skip


def _broken(places: Places) -> None:
    places.config.write_text("{ a: 1 b: 2 }")


def _damaged_record(places: Places) -> None:
    places.own.mkdir()
    places.record.write_text("{")


def _installed_then_broken(places: Places) -> None:
    put_in(places)
    places.config.write_text("{")


def _loop(places: Places) -> None:
    places.config.symlink_to(places.config)


def _nothing(places: Places) -> None:
    pass


USER_ERRORS = [
    pytest.param(_broken, ["install"], "config is not valid JSON5: line 1, column 8: ", id="broken config"),
    pytest.param(_loop, ["install"], "cannot read config: Too many levels of symbolic links", id="symlink to itself"),
    pytest.param(_damaged_record, ["uninstall"], "install.json cannot be read: ", id="damaged record, uninstall"),
    pytest.param(_damaged_record, ["status"], "install.json cannot be read: ", id="damaged record, status"),
    pytest.param(_installed_then_broken, ["uninstall"], "config is not valid JSON5: line 1, column 2: ", id="uninstall"),
    pytest.param(
        _nothing, ["install", "--config", "/dev/null/c"], "cannot read /dev/null/c: Not a directory", id="no folder"
    ),
    pytest.param(_nothing, ["install", "--config", "\udcff"], "is not UTF-8", id="no name"),
    pytest.param(_nothing, ["install", "--config", "--dry-run"], "'--dry-run' is read as a path here", id="an option"),
    pytest.param(_nothing, ["status", "--state-dir", "c" * 300], "File name too long", id="no place"),
]


@pytest.mark.parametrize(("make", "arguments", "words"), USER_ERRORS)
def test_errors_of_the_person(places: Places, make: Callable[[Places], None], arguments: list[str], words: str) -> None:
    make(places)
    command, *options = arguments
    asked = [command, "--state-dir", str(places.state_dir), *options]
    words = words.replace("config", str(places.config), 1)

    for_people = toolguard(*asked)
    assert (for_people.returncode, for_people.stdout) == (1, "")
    assert for_people.stderr.startswith("error ")
    assert words in for_people.stderr
    assert "\n      -> " in for_people.stderr
    assert "Traceback" not in for_people.stderr
    assert "\x1b" not in for_people.stderr

    for_scripts = toolguard(*asked, "--json")
    output = envelope(for_scripts)
    assert (for_scripts.returncode, for_scripts.stderr) == (1, "")
    assert {**output, "errors": [], "messages": []} == {
        "schema": 1,
        "command": command,
        "ok": False,
        "data": {},
        "messages": [],
        "errors": [],
    }
    assert words in output["errors"][0]
    assert output["messages"][0].startswith("-> ")


def test_install_status_doctor_uninstall(places: Places) -> None:
    """The way of a new user, as processes."""
    asked = ("--state-dir", str(places.state_dir), "--json")
    for command, expected in (
        ("install", {"ok": True, "changed": True}),
        ("install", {"ok": True, "changed": False}),
        ("status", {"ok": True, "installed": True}),
        ("doctor", {"ok": True}),
        ("uninstall", {"ok": True, "changed": True}),
        ("uninstall", {"ok": True, "changed": False}),
        ("status", {"ok": True, "installed": False}),
        ("doctor", {"ok": False}),
    ):
        done = toolguard(command, *asked)
        output = envelope(done)
        assert {"ok": output["ok"], **{key: output["data"][key] for key in expected if key != "ok"}} == expected, output
        assert (done.returncode, done.stderr) == (0 if expected["ok"] else 1, "")


def test_output_has_no_colour_where_it_is_no_terminal(places: Places) -> None:
    done = toolguard("install", "--state-dir", places.state_dir)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr


def run(monkeypatch: pytest.MonkeyPatch, raised: BaseException, *arguments: str) -> int | str | None:
    """`toolguard status` in this process, whose command raises this; the exit code."""

    def command(_record: Path) -> None:
        raise raised

    monkeypatch.setattr(status.install_record, "load", command)
    monkeypatch.setattr(sys, "argv", ["toolguard", "status", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.run()
    return caught.value.code


def test_a_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, KeyError("x")) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("Traceback (most recent call last):\n")
    assert output.err.endswith("KeyError: 'x'\nerror this is a bug in toolguard; please report it with the lines above\n")


def test_a_bug_for_scripts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, AssertionError(), "--json") == 3
    output = capsys.readouterr()
    assert json.loads(output.out) == {
        "schema": 1,
        "command": "status",
        "ok": False,
        "data": {},
        "messages": [],
        "errors": ["this is a bug in toolguard; please report it with the lines above"],
    }
    assert output.err.startswith("Traceback (most recent call last):\n")


@pytest.mark.parametrize(
    ("raised", "output"),
    [
        pytest.param(
            UserError("what is wrong", "how to fix it"), "error what is wrong\n      -> how to fix it\n", id="both"
        ),
        pytest.param(UserError("what is wrong"), "error what is wrong\n", id="no fix"),
        pytest.param(
            PermissionError(13, "Permission denied", "/f"),
            "error /f: Permission denied\n"
            "      -> check whether it exists, and its owner, its mode and the space on its disk\n",
            id="of the system",
        ),
        pytest.param(
            OSError(28, "No space left on device"),
            "error the system: No space left on device\n"
            "      -> check whether it exists, and its owner, its mode and the space on its disk\n",
            id="full disk",
        ),
    ],
)
def test_what_can_be_mended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: Exception, output: str
) -> None:
    assert run(monkeypatch, raised) == 1
    assert capsys.readouterr() == ("", output)


def test_help_imports_no_command() -> None:
    code = (
        "import atexit, sys; from toolguard_cli import main; sys.argv[1:] = ['--help']\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr)); main.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False)
    imported = set(done.stderr.split())
    assert done.stdout.startswith("Usage: ")
    assert "toolguard_cli.commands.command_table" in imported
    assert not imported & {listed.module for group in (RootGroup, ConfigGroup) for listed in group.table.values()}


@pytest.mark.parametrize("group", [RootGroup, ConfigGroup])
def test_the_summary_is_the_first_sentence_of_the_help(group: type[LazyGroup]) -> None:
    helps = {name: " ".join(command.help.split()) for name, command in group().commands.items()}
    assert {name: text for name, text in helps.items() if not text.startswith(group.table[name].summary)} == {}


def test_environment_names_the_gateway(tmp_path: Path) -> None:
    state = tmp_path / "of the environment"
    done = toolguard("install", "--json", TOOLGUARD_STATE_DIR=str(state))
    assert envelope(done)["data"]["config"] == str(state / "openclaw.json")
