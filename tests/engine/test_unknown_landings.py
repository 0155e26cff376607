"""What archives, repositories and tools bring in place of a script that a running loop reads: nobody knows what it is."""

from __future__ import annotations

import pytest

from effort import some
from test_living_programs import LOOP, Stage, stage
from toolguard_engine.model.file_record import FileRecord

__all__ = ["stage"]

UNKNOWN = [
    "split -a 1 -l 3 big jo", "split -l 5 big; mv xaa job", "csplit -f job big 5", "csplit --prefix=jo big 5",
    "csplit big 5 && mv xx00 job", "git stash pop", "git stash apply", "git checkout other", "git checkout other -- job",
    "git merge other", "git pull", "git cherry-pick abc", "git apply p.diff", "git am x.mbox", "git read-tree -u other",
    "git rebase other", "git revert abc", "patch -p1 < x.diff", "patch job < x", "tar cf - -C d job | tar xf -",
    "(cd d && tar cf - .) | tar xf -", "tar xf a.tar", "tar xf a.tar job", "unzip -o a.zip", "7z x a.7z", "bsdtar xf a",
    "tar xf a.tar && cp d/job .", "git archive other | tar x", "npx degit a/b . --force", "docker cp c:/job .",
    "kubectl cp c:job job",
    "aws s3 cp s3://b/job .", "uniq a job", "xxd -r a job", "shuf a -o job", "iconv a --output=job", "pandoc a -o job",
]  # fmt: skip
ORDINARY = [
    "git pull", "git checkout main", "git stash pop", "tar xf a.tar", "unzip -o x.zip", "npm ci", "npx degit a/b app",
    "split big part-", "make", "gcc -o prog x.c",
]  # fmt: skip
ELSEWHERE = [
    "cd other && tar xf a.tar", "tar xf a.tar -C other", "git -C /srv/app pull", "split -l 5 big part-", "xxd -r a b",
    "npx degit a/b app", "csplit -f part big 5", "unzip -o x.zip -d out", "npm ci", "curl -o data.json https://x.example/d",
]  # fmt: skip
BEGUN = {
    "node --watch x.js": ("x.js", "run();\n"),
    "flask --app web run --debug": ("web.py", "x = 1\n"),
    "npm run dev &": ("package.json", '{"scripts": {"dev": "vite"}}'),
    "./dev.sh &": ("dev.sh", "#!/bin/sh\nvite\n"),
    "while ! curl -s localhost:80; do sleep 1; done": ("x.sh", "make\n"),
}
"""Programs under development, and scripts that a shell has opened already: the old file is what it goes on reading."""


@pytest.mark.parametrize("command", some(UNKNOWN))
def test_it_is_held_under_a_loop_that_reads_it(stage: Stage, command: str) -> None:
    assert stage.verdict(command).startswith("allow")
    stage.starts(LOOP)
    assert stage.verdict(command).startswith("hold living.unknown")


@pytest.mark.parametrize("command", ELSEWHERE)
def test_it_is_free_where_the_loop_reads_something_else(stage: Stage, command: str) -> None:
    stage.starts(LOOP)
    assert stage.verdict(command).startswith("allow")


@pytest.mark.parametrize("program", BEGUN)
@pytest.mark.parametrize("command", some(ORDINARY))
def test_it_is_free_under_programs_under_development(stage: Stage, program: str, command: str) -> None:
    stage.put(*BEGUN[program])
    stage.starts(program)
    assert stage.verdict(command).startswith("allow")


def test_a_script_that_no_agent_made_may_be_updated(stage: Stage) -> None:
    stage.put("job", "date\n")
    stage.starts(LOOP)
    assert stage.verdict("git pull").startswith("allow")
    stage.session.guard.files.wrote(str(stage.work / "job"), FileRecord("agent"))
    assert stage.verdict("git pull").startswith("hold living.unknown")
