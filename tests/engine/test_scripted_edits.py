"""What short Python scripts make of a file, compared with what Python does."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tables import each_row
from toolguard_engine.effects.commands.scripted_edits import MAX_TEXT, edited
from toolguard_engine.effects.facts.command import ProgramRun

TEXT = "const PORT = 3000;\nfoo(bar);\n// end\n"
KNOWN = [
    "s = open('f').read()\ns = s.replace('3000', '4000')\nopen('f', 'w').write(s)",
    "p='f';s=open(p).read().replace('3000','4000');open(p,'w').write(s)",
    "import re\ns = open('f').read()\ns = re.sub(r'PORT = \\d+', 'PORT = 1', s)\nopen('f', 'w').write(s)",
    "import re\nwith open('f') as f: s = f.read()\nwith open('f', 'w') as f: f.write(re.sub('(foo)', r'<\\1>', s))",
    "from pathlib import Path\np = Path('f')\np.write_text(p.read_text().replace('foo', 'a').replace('a(', 'b('))",
    "import pathlib\npathlib.Path('f').write_text(pathlib.Path('f').read_text().replace('foo', 'a'))",
    "old = '''foo(bar);\n//'''\nnew = 'x'\ns = open('f').read()\nassert old in s\nopen('f','w').write(s.replace(old, new))",
    "s = open('f').read()\nif 'foo' in s:\n    s = s.replace('foo', 'x')\n    print(f'{len(s)}')\nopen('f', 'w').write(s)",
    "s = open('f').read()\nif 0: s = s.replace('3000', 'x')\nopen('f', 'w').write(s.replace('foo', 'a'))",
    "s = open('f').read()\nt = s.replace('foo', 'a')\nu = t.replace('a', 'b')\nopen('f', 'w').write(t)",
    "s = open('f').read()\nif s.count('foo') != 1: raise SystemExit('?')\nopen('f', 'w').write(s.replace('o', 'x', 1))",
    "import re\ns = re.sub('o.*r', 'x', open('f').read(), flags=re.S)\nopen('f', 'w').write(s)",
    "f = open('f', 'r+')\ns = f.read().replace('3000', '9')\nf.seek(0)\nf.write(s)\nf.truncate()\nf.close()",
    "open('f', 'w').write('x')",
    "x = 'rm'\nopen('f', 'w').write(x.replace('a', 'b'))",
    "x = open('f').read()\nx = 'rm'\nopen('f', 'w').write(x.replace('a', 'b'))",
]
UNKNOWN = [
    "s = open('d/f').read().replace('a', 'b')\nopen('f', 'w').write(s)",
    "s = open('g').read().replace('a', 'b')\nopen('f', 'w').write(s)",
    "s = open('f').read() + 'x'\nopen('f', 'w').write(s.replace('a', 'b'))",
    "import os\nos.replace('g', 'f')",
    "from os import replace\nreplace('g', 'f')",
    "import base64\ns = open('f').read().replace('a', base64.b64decode('cm0=').decode())\nopen('f', 'w').write(s)",
    "s = open('f').read().replace('a', 'b')\nprint('rm', file=open('f', 'w'))",
    "s = open('f').read().replace('a', 'b')\nopen('f', 'w').write(s[::-1])",
    "s = open('f').read().replace('a', 'b')\nopen('f', 'w').write(f'rm {s}')",
    "s = open('f').read().replace('a', chr(114))\nopen('f', 'w').write(s)",
    "import sys\ns = sys.stdin.read().replace('a', 'b')\nopen('f', 'w').write(s)",
    "import sys\ns = open(sys.argv[1]).read().replace('a', 'b')\nopen('f', 'w').write(s)",
    "from os import system as len\nlen('date')\ns = open('f').read().replace('a', 'b')\nopen('f', 'w').write(s)",
    "import os as re\ns = re.sub('a', 'b', open('f').read())\nopen('f', 'w').write(s)",
    "open = print\ns = open('f').read().replace('a', 'b')\nopen('f', 'w').write(s)",
    "s: str = 'rm'\nopen('f', 'w').write(s.replace('a', 'b'))",
    "def g(s): return 'rm'\ns = g(open('f').read()).replace('a', 'b')\nopen('f', 'w').write(s)",
    "exec('x')\ns = open('f').read().replace('a', 'b')\nopen('f', 'w').write(s)",
    "s = open('f').read().replace('', 'b')\nopen('f', 'w').write(s)",
    "import re\ns = re.sub('(a)(?=b)', 'b', open('f').read())\nopen('f', 'w').write(s)",
    "import re\ns = re.sub('a', lambda m: 'rm', open('f').read())\nopen('f', 'w').write(s)",
    "s = open('f').read(",
    "s = open('f').read()",
    "s = open('f').read().replace('a', 'b')\nopen('f', 'a').write(s)",
    "import re\ns = re.sub('a', 'b', open('f').read(), 1)\nopen('f', 'w').write(s)",
    "import os\ns = open('f').read()\nif os.sep: s = s.replace('a', 'b')\nopen('f', 'w').write(s)",
]


def script(code: str) -> ProgramRun:
    return ProgramRun(("python3", "-c", code), "python3")


@pytest.mark.parametrize("code", KNOWN)
def test_as_python_does(tmp_path: Path, code: str) -> None:
    (tmp_path / "f").write_text(TEXT)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert edited(script(code), TEXT, "/w/f") == (tmp_path / "f").read_text() != TEXT


@each_row("code", UNKNOWN)
def test_everything_else_is_not_known(code: str) -> None:
    assert edited(script(code), TEXT, "/w/f") is None


def test_a_long_text_is_not_changed_here() -> None:
    assert edited(script(KNOWN[0]), "a" * (MAX_TEXT + 1), "/w/f") is None
    assert edited(script("s=open('f').read().replace('a','aaaaaaaa');open('f','w').write(s)"), "a" * 60_000, "/w/f") is None
    assert edited(script(f"s=open('f').read(){'.replace(chr(1),chr(2))' * 900};open('f','w').write(s)"), "a", "/w/f") is None


def test_names_that_are_set_again_and_again_cost_little() -> None:
    names = "abcdefghijkl"
    chain = "\n".join(f"{one}={other}" for one, other in pairwise(names) for _ in range(9))
    code = f"l=open('f').read()\n{chain}\nopen('f','w').write(a.replace('3000','4000'))"
    assert edited(script(code), TEXT, "/w/f") is None
