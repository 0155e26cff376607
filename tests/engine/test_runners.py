"""Programs that run what stands in files: an attack and its honest neighbour for each row of `runners.toml`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from effort import some
from tables import each_row
from test_run_files import HOME, WORK, guard, weighed
from toolguard_engine.effects.commands import code_sources, runner_table, runners
from toolguard_engine.effects.syntax import configured_values, language_table
from toolguard_engine.model.call import Call
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import Unread
from toolguard_engine.rules.judgement import Judgement

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "runner_rows.jsonl").read_text("utf-8").splitlines()
]
"""`run`: the command; `files`: what an agent wrote, null for a file that cannot be read. `kind`: `otherwise` if the command
is also held for another reason, `opaque` if the file cannot be read, `handed` if the program is not in the table, `honest`
if there is no harm in it."""

AGENT = FileRecord("agent", "write", "s", digest="d")
TAMED = [
    ("~/important", "build/tmp"), (f"{HOME}/important", "build/tmp"), ("$ENV{HOME}/important", "build/tmp"),
    ("require('os').homedir() + '/important'", "'dist'"), ("${user.home}/important", "build/tmp"),
    ("${System.getProperty('user.home')}/important", "build/tmp"), ('Path.expand("build/tmp")', '"build/tmp"'),
    ("/home/ada:/h", "./data:/h"), ("- /:/h", "- ./d:/h"), ("privileged: true", "init: true"),
]  # fmt: skip


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row.get("kind", "") in kinds]


def judged(row: dict[str, Any], *, tamed: bool = False, made: bool = True) -> Judgement:
    texts = {name.replace("~", HOME): Unread("binary") if text is None else text for name, text in row["files"].items()}
    if tamed:
        texts = {name: _tamed(text) if isinstance(text, str) else text for name, text in texts.items()}
    return weighed(_tamed(row["run"]) if tamed else row["run"], texts, dict.fromkeys(texts, AGENT) if made else None)


def _tamed(text: str) -> str:
    for harmful, ordinary in TAMED:
        text = text.replace(harmful, ordinary)
    return text


def named(rows: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(row, id=f"{at} {row['run']}") for at, row in enumerate(rows)]


@each_row("row", some(named(of_kind("", "handed", "otherwise"))))
def test_what_an_agent_wrote_is_held_when_a_program_runs_it(row: dict[str, Any]) -> None:
    found = judged(row)
    assert found.decision in ("hold", "block"), found


LONG = [
    row for row in of_kind("") if len(row["files"]) == 1 and "#!" not in str(row["files"]) and "parallel" not in row["run"]
]


@each_row("row", some(some(named(LONG))))
def test_nothing_in_front_of_it_hides_it(row: dict[str, Any]) -> None:
    """What is too long to be read to its end is held, not left out."""
    for padded in PADDED:
        files = {name: padded(text) for name, text in row["files"].items() if isinstance(text, str)}
        found = judged({**row, "files": files})
        assert found.decision in ("hold", "block"), found


PADDED = [lambda text: "\n" * 3_000 + text, lambda text: "\n" * 70_000 + text]


@each_row("row", some(named(of_kind("", "handed"))))
def test_the_same_file_that_does_something_ordinary_passes(row: dict[str, Any]) -> None:
    assert judged(row, tamed=True).decision == "allow"


@each_row("row", some(named(of_kind("honest"))))
def test_an_ordinary_project_is_not_asked_about(row: dict[str, Any]) -> None:
    found = judged(row)
    assert found.decision == "allow", found


@each_row("row", named(of_kind("opaque")))
def test_a_file_that_cannot_be_read_is_held_where_an_agent_made_it(row: dict[str, Any]) -> None:
    assert judged(row).decision == "hold"
    if "LD_" not in row["run"]:  # held for every library
        assert judged(row, made=False).decision == "allow"


def test_each_row_of_the_table_has_an_attack() -> None:
    """Named by its program, or found as what it stands for (`python3 -m pip`, a variable)."""
    stand_ins = ("git-config-file", "aws-config-file", "ld.so")
    tried = " ".join([*(row["run"] for row in of_kind("", "handed", "otherwise", "opaque")), *stand_ins])
    words = set(re.split(r"[\s=/]+", tried))
    table = runner_table.load()
    assert [each.programs for each in table.runners if words.isdisjoint(each.programs)] == []
    assert [each.names for each in table.variables if words.isdisjoint(each.names)] == []


OWN_LANGUAGES = {"shell", "code", "opaque", "git", "package", "playbook"}
"""Those that `read_files` knows by itself."""


def test_each_language_of_the_table_is_known() -> None:
    for each in runner_table.load().runners:
        known = OWN_LANGUAGES.union(language_table.RULES, language_table.KEYED, language_table.LINES)
        assert each.language in known or code_sources.language(each.language), each
        assert not (each.language in language_table.KEYED and not each.keys), each


def test_a_call_before_the_program_makes_no_difference_to_what_it_reads() -> None:
    """What the same command writes counts as well: nobody made that file before."""
    assert weighed("echo 'web: rm -rf ~/important' > Procfile; foreman start", {}).decision == "hold"
    assert weighed("echo 'web: rm -rf build/tmp' > Procfile; foreman start", {}).decision == "allow"


def test_what_runs_once_is_not_read_twice() -> None:
    files: dict[str, str | Unread] = {"Procfile": "web: node server.js\n", "build.gradle": "apply plugin: 'java'\n"}
    guarded, there = guard(files, dict.fromkeys(files, AGENT))
    guarded.weigh(Call("exec", {"command": "ls; git status; gradle build; gradle test"}, cwd=WORK))
    assert there.reads.count(f"{WORK}/build.gradle") == 1
    assert f"{WORK}/Procfile" not in there.reads


@pytest.mark.parametrize(
    "row",
    [
        {"programs": "x", "language": "shell"},
        {"programs": "x x", "reads": "a", "language": "shell"},
        {"programs": "x", "reads": "a", "language": "shell", "colour": 1},
    ],
)
def test_a_row_that_says_nothing_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the row of x"):
        runner_table.parse({"runner": [row], "variable": []})


def test_what_a_file_takes_in_is_sought_once_if_it_runs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    monkeypatch.setattr(runners, "names_in", lambda file: read.append(file.path) or iter(()))
    weighed("foreman start", {"Procfile": "web: foreman start\n" * 200}, {"Procfile": AGENT})
    assert read == [f"{WORK}/Procfile"]


def test_a_key_with_very_many_parts_is_read_by_lines() -> None:
    values = configured_values.of_toml(f'a{".a" * 20_000} = 1\n[scripts]\nb = "date"\n')
    assert [(each.keys[-1], each.text) for each in values] == [("b", "date")]


def test_a_module_that_was_taken_in_first_is_read_where_it_is_run() -> None:
    """More of a file is searched that runs than of one that another takes in."""
    files = {
        "m.R": 'x <- "rm -rf ~/important"; run_it(x)\n', "a.R": 'source("m.R")\n',
        "one.sh": "Rscript m.R\n", "both.sh": "Rscript a.R; Rscript m.R\n",
    }  # fmt: skip
    for script in ("one.sh", "both.sh"):
        assert weighed(f"bash {script}", files, dict.fromkeys(files, AGENT)).decision == "hold", script
