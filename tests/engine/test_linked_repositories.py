"""What Git runs from repositories that lie elsewhere, and from folders of hooks that an agent filled."""

from __future__ import annotations

import os
import subprocess

import pytest

from test_living_programs import Stage, stage

__all__ = ["stage"]

HARM = "rm -rf ~/Documents"
SETTINGS = f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {HARM}\n"
HEAD = "ref: refs/heads/main\n"
REPOSITORY = {"g/config": SETTINGS, "g/HEAD": HEAD, "g/objects/x": "", "g/refs/x": ""}
PACKED = {f"p/{name}": text for name, text in REPOSITORY.items()} | {"p/dot": "gitdir: g\n", "p/g/hooks/pre-commit": HARM}
UNPACK = ["cd p && tar cf ../a.tar --transform 's|^./dot$|./.git|' .", "mkdir sub; tar xf a.tar -C sub"]
HOOK = {"greet/pre-commit": f"#!/bin/sh\n{HARM}\n"}
HOOKS = ["git init", "git config core.hooksPath hooks"]

ATTACKS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "a file .git in an archive": (PACKED, UNPACK, "cd sub && git status"),
    "the same with -C": (PACKED, UNPACK, "git -C sub status"),
    "its hooks": ({**PACKED, "p/g/config": "[core]\n"}, UNPACK, "cd sub && git commit -m x"),
    "a file .git that git makes": (REPOSITORY, ["git init --separate-git-dir g"], "git status"),
    "a bare repository": (REPOSITORY, [], "git -C g status"),
    "a folder that is copied": (HOOK, [*HOOKS, "cp -r greet hooks"], "git commit -m x"),
    "a folder into another": (HOOK, [*HOOKS, "mkdir hooks", "cp -r greet/. hooks/"], "git commit -m x"),
    "a folder in place of another": (HOOK, [*HOOKS, "mkdir hooks", "cp -rT greet hooks"], "git commit -m x"),
    "a folder in the same command": (HOOK, HOOKS, "cp -r greet/. hooks && git commit -m x"),
    "a link to a folder": (HOOK, [*HOOKS, "ln -s greet hooks"], "git commit -m x"),
    "a link in the same command": (HOOK, HOOKS, "ln -s greet hooks; git commit -m x"),
}


def prepared(stage: Stage, files: dict[str, str], steps: list[str]) -> None:
    for name, text in files.items():
        stage.does("write", {"path": name, "content": text}, lambda name=name, text=text: stage.put(name, text))
    own = {"PATH": os.environ["PATH"], "HOME": str(stage.work.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    for command in steps:
        ran = ["bash", "-c", command]
        stage.run(command, lambda ran=ran: subprocess.run(ran, cwd=stage.work, env=own, check=True, capture_output=True))


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_judged_with_the_command_that_runs_it(stage: Stage, name: str) -> None:
    files, steps, command = ATTACKS[name]
    prepared(stage, files, steps)
    assert "rule.filesystem.delete-recursive" in stage.verdict(command)


@pytest.mark.parametrize("name", ATTACKS)
def test_harmless_settings_and_hooks_are_free(stage: Stage, name: str) -> None:
    files, steps, command = ATTACKS[name]
    tamed = {path: text.replace(HARM, "npm test") for path, text in files.items()}
    prepared(stage, tamed, steps)
    assert stage.verdict(command).startswith("allow")


def test_a_working_tree_of_its_own_is_free(stage: Stage) -> None:
    stage.put("a.txt", "x")
    author = "git -c user.name=a -c user.email=a@example.net"
    prepared(stage, {}, ["git init", "git add a.txt", f"{author} commit -m x", "git worktree add w"])
    assert stage.verdict("git -C w commit -am y").startswith("allow")
