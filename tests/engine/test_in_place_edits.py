"""What `sed -i` and `perl -pi` make of a file, compared with what the real programs do."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tables import each_row
from toolguard_engine.effects.commands.in_place_edits import MAX_TEXT, edited
from toolguard_engine.effects.facts.command import ProgramRun

TEXT = (
    "date\n#rm -rf ~/x\nconst PORT = process.env.PORT || 3000;\nfoo(bar) + a.b? x|y {z}\nindex.html 12 34\n\nend [a] a*b\n"
)
KNOWN = [
    "sed -i 's/PORT || .*/PORT || 4000;/'", "sed -i '/index.html/d'", r"sed -i -E 's/([0-9]+)/<\1>/'",
    r"sed -i 's/\([0-9]*\)4/<\1&>/g'", "sed -i '3i const x = 1;'", "sed -i '2,3d'", "sed -i 's/#//'",
    "sed -i '/^#/s/^#//'", "sed -i -e 's/a/b/' -e 's/d/e/g'", "sed -i 's|/x|/y|g; s/end/END/'", "sed -i '$d'",
    "sed -i '$a last'", "sed -i '/foo/,/index/d'", "sed -i '/foo/!d'", "sed -i 's/[a-c]*/X/'",
    "sed -i -E 's/(foo|bar)+/X/g'", "sed -i 's/a.b? x|y/OK/'", "sed -i 's/(bar)/[&]/'", r"sed -i 's/\(bar\)/[\1]/'",
    r"sed -i 's/ \{1,\}/_/g'", "sed -i -r 's/ {1,}/_/g'", r"sed -i 's/[[:digit:]]\+/N/g'", r"sed -i 's/\bend\b/E/'",
    "sed -i 's/e$/E/;s/^d/D/'", "sed -i '1c changed'", "sed -i '2s/rm/ls/'", "sed -i 's/port/X/Ig'", "sed -i 's/./&&/g'",
    "sed -i.bak 's/a/b/'", r"sed -Ei 's/(o)/<\1>/'", "sed --in-place 's/a/b/'", r"sed -i 's/\./!/g'", "sed -i 's/{z}/Z/'",
    r"sed -i 's/a\|b/Q/g'", "sed -i '/^$/d'", "sed -i '1,/foo/s/a/A/'", "sed -i '2,1d'", r"sed -i 's,/x,\n,'",
    "sed -i 's/*/X/'", r"sed -i 's/\*/X/'", "sed -i 's/a^b/X/'", "sed -i 's/[]a]/X/g'", "sed -i 's/[^]a]/X/'",
    "perl -pi -e 's/3000/4000/'", r"perl -i -pe 's/(\d+)/<$1>/g'", r"perl -pi -e 's/PORT \|\| .*/x/'",
    "perl -pi -e 's/[a-c]/X/gi; s/end/e/'",
]  # fmt: skip
UNKNOWN = [
    "sed 's/a/b/'", "sed -n -i '1p'", "sed -i 's/a/b/2'", "sed -i 's/a/date/e'", "sed -i 's/a/b/w x'", "sed -i 'y/a/b/'",
    "sed -i '1r x'", "sed -i -f x.sed", r"sed -i 's/\(a\)\1/b/'", "sed -i 's/x*/-/g'", r"sed -i 's/a/\U&/'", "sed -i 's/a'",
    "sed -i", "sed -i 'N;s/a/b/'", "sed -i '1e date'", "perl -pi -e 's/a/`date`/e'", "perl -pi -e 's/foo/$ENV{X}/'",
    "perl -pi -e 's/$x/b/'", "perl -pi -e 'system(\"date\")'", "perl -ne 'print'", "awk -i inplace '{print}'",
    f"sed -i '{'s/a/b/;' * 2_000}'", "sed -i 's/(/[/;s/[/x/'",
]  # fmt: skip


def run(command: str) -> ProgramRun:
    argv = tuple(shlex.split(command))
    return ProgramRun((*argv, "file"), argv[0])


@cache
def is_usual(program: str) -> bool:
    """Whether it is not the `sed` of another system."""
    shown = subprocess.run([program, "--version"], capture_output=True, check=False).stdout
    return b"GNU" in shown or b"perl" in shown


@pytest.mark.parametrize("command", KNOWN)
def test_as_the_real_program_does(tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text(TEXT)
    program, *words = shlex.split(command)
    found = shutil.which(program)
    if found is None or not is_usual(found):
        pytest.skip("needs Perl and GNU sed")
    subprocess.run([found, *words, "file"], cwd=tmp_path, check=True)
    assert edited(run(command), TEXT) == (tmp_path / "file").read_text()


@each_row("command", UNKNOWN)
def test_everything_else_is_not_known(command: str) -> None:
    assert edited(run(command), TEXT) is None


def test_a_long_text_is_not_changed_here() -> None:
    assert edited(run("sed -i s/a/b/"), "a" * (MAX_TEXT + 1)) is None
    assert edited(run("sed -i s/a/b/"), "a\n" * 30_000) is None
    assert edited(run("sed -i 's/a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/g'"), "a" * 60_000) is None
    assert edited(run(f"sed -i '{'s/b*c/d/;' * 400}'"), "a" * 100_000) is None
