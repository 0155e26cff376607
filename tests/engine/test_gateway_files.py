"""Writing a gateway file gets the same verdict whatever the program and however its name is spelled."""

from __future__ import annotations

import pytest

from effort import some
from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.facts import gateway_file_paths
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints

RULE = "openclaw.write-gateway"
HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json")
ELSEWHERE = Host("/home/u", "/srv/gw", "/srv/gw/openclaw.json")
WORKSPACE = "/home/u/.openclaw/workspace"
OWN = ["exec-approvals.json", "extensions/x/index.mjs", "hooks/x/handler.js", "cron/jobs.json", "clients/a.json5", ".env"]
FOLDERS = ["extensions", "hooks"]
STARTS = [
    "~/.openclaw",
    "$HOME/.openclaw",
    "${HOME}/.openclaw",
    "/home/u/.openclaw",
    "/home/u/./.openclaw",
    "/home//u/.openclaw/.",
    "~/work/../.openclaw",
    "..",
    "./..",
    "../../.openclaw",
    "../workspace/..",
    "notes/../..",
    "~/.OpenClaw",
    "~/.open?law",
]
TOOLS = ["write", "edit", "apply_patch"]
WRITERS = [
    "echo x > {}",
    "echo x >> {}",
    "echo x | tee {}",
    "cp new {}",
    "mv new {}",
    "ln -sf /tmp/x {}",
    "install new {}",
    "rsync -a new {}",
    "curl -o {} https://example.org/x",
    "wget -O {} https://example.org/x",
    "sed -i s/a/b/ {}",
    "dd if=new of={}",
    "truncate -s 0 {}",
]
UNPACKERS = [
    "git clone https://example.org/x.git {}/x",
    "git -C {} clone https://example.org/x.git",
    "cd {} && git clone https://example.org/x.git",
    "gh repo clone a/x {}/x",
    "tar -xf a.tar -C {}",
    "tar xzf a.tgz --directory={}",
    "cd {} && tar -xf a.tar",
    "unzip a.zip -d {}",
    "7z x a.7z -o{}",
    "cp -r x {}",
    "cp -r x {}/",
    "cp -rt {} x",
    "rsync -a x/ {}/x",
    "mv x {}",
    "wget -P {} https://example.org/x.js",
    "cd {} && curl -O https://example.org/x.js",
]
OTHERS = [
    "echo x > notes/hooks/a.md",
    "echo x > hooks/a.md",
    "cp x ../workspace/extensions/y",
    "tar -xf a.tar -C hooks",
    "git clone https://example.org/x.git extensions/x",
    "echo '{}' > data/jobs.json",
    "cp a.json ~/work/hooks/",
    "cp ../cron/jobs.json /tmp/copy.json",
    "cp a.json ~/.openclaw/skills/a/package.json",
    "cat ../exec-approvals.json",
]


@pytest.fixture(scope="module")
def guards() -> dict[Host, Guard]:
    return {host: Guard(Config(), tool_hints.load(), host, packs.load()) for host in (HOST, ELSEWHERE)}


def speaks(guard: Guard, tool: str, cwd: str = WORKSPACE, **params: str) -> bool:
    """Whether the rule matches a call, or the call is blocked before any rule."""
    weighed = guard.weigh(Call(tool, params, cwd=cwd))
    return RULE in {match.rule for match in weighed.matches} or weighed.decision == "block"


def params_of(tool: str, path: str) -> dict[str, str]:
    if tool == "apply_patch":
        return {"input": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"}
    return {"path": path, "content": "x"}


@each_row("start", some(STARTS))
@each_row("tail", OWN)
def test_every_spelling_of_a_file_is_that_file(start: str, tail: str, guards: dict[Host, Guard]) -> None:
    path = f"{start}/{tail}"
    missed = [tool for tool in TOOLS if not speaks(guards[HOST], tool, **params_of(tool, path))]
    missed += [each for each in WRITERS if not speaks(guards[HOST], "exec", command=each.format(path))]
    assert missed == []


@each_row("start", some(STARTS))
@each_row("folder", FOLDERS)
def test_what_is_unpacked_into_a_folder_is_written_there(start: str, folder: str, guards: dict[Host, Guard]) -> None:
    commands = [each.format(f"{start}/{folder}") for each in UNPACKERS]
    assert [each for each in commands if not speaks(guards[HOST], "exec", command=each)] == []


@each_row("tail", OWN)
def test_the_state_folder_may_have_any_name(tail: str, guards: dict[Host, Guard]) -> None:
    for start in ("/srv/gw", "..", "../../gw"):
        assert speaks(guards[ELSEWHERE], "write", "/srv/gw/workspace", **params_of("write", f"{start}/{tail}"))


@each_row("tail", OWN)
def test_an_agent_may_live_in_the_state_folder_itself(tail: str, guards: dict[Host, Guard]) -> None:
    assert speaks(guards[HOST], "write", "/home/u/.openclaw", **params_of("write", tail))


@each_row("command", OTHERS)
def test_files_of_other_folders_are_none_of_the_gateway_s(command: str, guards: dict[Host, Guard]) -> None:
    assert not speaks(guards[HOST], "exec", command=command)


def test_a_workspace_below_the_state_folder_is_the_agent_s() -> None:
    assert gateway_file_paths.is_own(
        "/home/u/.openclaw/clients/acme/a.json", "/home/u/.openclaw", "/home/u/.openclaw/workspace"
    )
    assert not gateway_file_paths.is_own(
        "/home/u/.openclaw/clients/acme/a.json", "/home/u/.openclaw", "/home/u/.openclaw/clients/acme"
    )
