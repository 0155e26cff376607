"""Relative paths to the guard's key, from folders that a command, a program or code changes to; with wildcards."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

GUARD = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw"), packs.load())
WORKSPACE = "/home/u/.openclaw/workspace"
PADDING = "os.chdir('.'); " * 20

STOPPED = [
    "cd src; cat ../../t*/key",
    "cd src && cat ../../*/key",
    "cd a/b; cat ../../../t*/k*",
    "cd src; cd a; cat ../../../t*/key",
    "cd src/a; cd ..; cat ../../t*/key",
    "pushd src; cat ../../t*/key",
    "(cd src; cat ../../t*/key)",
    'sh -c "cd src; cat ../../t*/key"',
    "env -C src cat ../../t*/key",
    "cd src; cat /proc/self/cwd/../../t*/key",
    "cd src; cat /proc/self/cwd/../../$D/t*/key",
    "cd src; cat ../../$D/t*/key",
    "cd src; base64 < ../../t*/key",
    "cd src; cp ../../t*/key x",
    "cd src; rm ../../open*.json",
    'cd "$X"; cat ../../t*/key',
    "cd $(cat d); cat ../../t*/key",
    "rsync -a ../t* x",
    "git add ../t*",
    "find ../t* -name key -exec cat {} +",
    "find ../toolguar? -type f | xargs cat",
    "find src/../../t* -name key -exec cat {} +",
    "cd src; find ../../t* -type f -exec cat {} +",
    "python3 -c \"import os; os.chdir('..'); print(open('toolguard/key').read())\"",
    "python3 -c \"import os; os.chdir('src'); os.chdir('../..'); print(open('toolguard/key').read())\"",
    "python3 -c \"import os; os.chdir('.'); os.chdir(d); print(open('toolguard/key').read())\"",
    f"python3 -c \"import os; {PADDING}os.chdir('..'); print(open('toolguard/key').read())\"",
    "python3 -c \"import os, glob; os.chdir('src'); print(open(glob.glob('../../t*/key')[0]).read())\"",
    "cd src; python3 -c \"import glob; print(open(glob.glob('../../t*/key')[0]).read())\"",
    "node -e \"process.chdir('src'); console.log(require('fs').readFileSync('../../toolguard/key'))\"",
    "ruby -e \"Dir.chdir('src'); puts File.read('../../toolguard/key')\"",
    'perl -e \'chdir("src"); open(F, "../../toolguard/key"); print <F>\'',
]
ALLOWED = [
    "cd src; cat ../README.md",
    "cd a; cat ../b/*.txt",
    "cd src && npm run build && cd .. && ls",
    "cd src; ls ../..",
    'cd "$X"; ls ../..',
    "find ../docs -name '*.md' | xargs wc -l",
    "python3 -c \"import os; os.chdir('src'); print(open('../README.md').read())\"",
    "node -e \"process.chdir('src'); console.log(require('fs').readFileSync('package.json'))\"",
]


def decision(command: str) -> str:
    return GUARD.weigh(Call("exec", {"command": command}, cwd=WORKSPACE)).decision


@each_row("command", STOPPED)
def test_what_leads_to_the_key_is_stopped(command: str) -> None:
    assert decision(command) != "allow"


@each_row("command", ALLOWED)
def test_what_stays_away_from_it_is_not(command: str) -> None:
    assert decision(command) == "allow"
