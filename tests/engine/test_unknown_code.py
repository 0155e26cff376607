"""Which commands run code that cannot be read, and what becomes of them by `containment.unknown`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.config.settings import parse
from toolguard_engine.containment import unknown_code
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.model.rehearsals import Rehearsed
from toolguard_engine.rules import packs
from toolguard_engine.server.file_reader import FileReader

FILES = {
    "tool": b"\x7fELF\x02\x01\x01" + bytes(200),
    "plain.py": b"import json\nprint(json.load(open('a.json')))\nopen('out.txt', 'w').write('x')\n",
    "by-name.py": b"import os\nfor line in open('steps'):\n    getattr(os, line.split()[0])(*line.split()[1:])\n",
    "by-data.py": b"from pathlib import Path\nfor name in open('steps'):\n    Path(Path.home() / name.strip()).unlink()\n",
    "by-data.js": b"const fs = require('fs');\nfs[process.argv[2]](process.argv[3]);\nrequire(process.argv[4]);\n",
    "plain.js": b"const fs = require('fs');\nconsole.log(fs.readFileSync('a.json', 'utf8'));\n",
    "code.cfg": b"import os\ngetattr(os, open('n').read())()\n",
    "as-shell.py": b"#!/bin/sh\nimport os\ngetattr(os, open('n').read())()\n",
    "any.txt": b"#!/bin/sh\nnew Function(x)\n",
    "dict.py": b"import os\nos.__dict__[open('n').read()]('x')\n",
    "index.js": b"const fs = require('fs');\nfor (const n of names) fs[n]('x');\n",
    "method.rb": b"names.each { |n| File.method(n).call('x') }\n",
    "called.php": b"<?php $x = $argv[1]; $x('y');\n",
    "indexed.php": b"<?php foreach ($d as $x) $x[0]($x[1]);\n",
    "later.py": b"import os\nos.remove(open('d').read())\n",
    "tree.py": b"import shutil, sys\nfor p in sys.stdin: shutil.rmtree(p.strip())\n",
    "named.py": b"import os\npath = 'out.txt'\nos.remove(path)\nos.rename(path + '.new', path)\n",
    "imported.py": b"from os import remove as r\nfor line in open('d'):\n    r(line.strip())\n",
    "variable.py": b"import os\nf = os.remove\nf(open('d').read())\n",
    "passed.py": b"import os\nlist(map(os.remove, open('d').read().split()))\n",
    "starts.py": b"import subprocess, sys\nsubprocess.run(sys.argv[1:])\n",
    "text.py": b"e = exec\ne(open('d').read())\n",
    "taken.js": b"const {unlinkSync: u} = require('fs');\nu(process.argv[2]);\n",
    "starts.js": b"require('child_process').execSync(require('fs').readFileSync('d', 'utf8'));\n",
    "own.rb": b"include FileUtils\nrm_rf(ARGV[0])\n",
    "each.pl": b"while (<>) { chomp; unlink }\n",
    "mapped.php": b"<?php array_map('unlink', file('d'));\n",
    "ordinary.py": b"import glob, os, re, shutil, subprocess, tempfile\nword = re.compile('a+')\n"
    b"here = os.path.dirname(os.path.abspath(__file__))\nfor p in glob.glob('build/*.o'):\n    os.remove(p)\n"
    b"shutil.rmtree(os.path.join(here, 'build'))\ndef run(*words):\n    subprocess.run(words, check=True)\n"
    b"run('git', 'status')\nd = tempfile.mkdtemp()\nshutil.rmtree(d)\nprint(getattr(os, 'name'))\n",
    "ordinary.js": b"const fs = require('fs');\nconst p = 'out.txt';\nconst m = /a+/.exec(fs.readFileSync('a', 'utf8'));\n"
    b"fs.unlinkSync(p);\nfs.rmSync('dist', {recursive: true});\n",
    "socket.py": b"import socket\ns = socket.create_connection(('localhost', 80))\ns.send(b'x')\n",
    "plain.sh": b"#!/bin/sh\nls\ngit status\n",
    "runs.sh": b"#!/bin/sh\n./tool\n",
    "Makefile": b"all:\n\tgcc -o a a.c\nrun:\n\t./tool\n",
}
UNKNOWN = [
    "./tool", "./tool --all && ls", "bash -c ./tool", "./absent", "sh runs.sh", "./runs.sh", "python3 by-name.py",
    "python3 by-data.py", "node by-data.js x y z", "make run", "gcc -o t a.c && ./t", "mytool --do",
    "find . -exec ./tool {} +", "python3 code.cfg", "python3 as-shell.py", "python3 dict.py", "node index.js",
    "ruby method.rb", "php called.php", "php indexed.php", "python3 later.py", "python3 tree.py",
    "python3 imported.py", "python3 variable.py", "python3 passed.py", "python3 starts.py x", "python3 text.py",
    "node taken.js x", "node starts.js", "ruby own.rb x", "perl each.pl", "php mapped.php",
    "python3 -c 'import sys; getattr(__import__(sys.argv[1]), sys.argv[2])()' os abort", "env A=1 ./tool", "$TOOL x",
]  # fmt: skip
KNOWN = [
    "ls -la", "git status", "git commit -am x", "python3 plain.py", "node plain.js", "sh plain.sh", "./plain.sh", "make",
    "grep -rn x . | head", "npm test", "cargo build", "echo $HOME", "for i in 1 2; do echo $i; done", "trusted --do",
    "python3 -c 'print(1)'", "sed -i s/a/b/ notes.md", "cd src && ls", "f() { ls; }; f", "curl -s http://localhost:3000/x",
    "/usr/bin/env python3 plain.py", "jq . a.json > b.json", "tar xzf a.tgz", "docker ps", "test -f x && rm x",
    "python3 named.py", "python3 ordinary.py", "node ordinary.js", "python3 socket.py",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("unknown")
    for name, data in FILES.items():
        (made / name).write_bytes(data)
        (made / name).chmod(0o755)
    return made


def _call(folder: Path, command: str) -> Call:
    return Call("exec", {"command": command}, cwd=str(folder))


def _why(folder: Path, command: str) -> str:
    host = Host("/home/u", "/home/u/.openclaw")
    return unknown_code.why(CallReading(_call(folder, command), host, files=FileReader()), lambda name: name == "trusted")


@pytest.mark.parametrize("command", UNKNOWN)
def test_unknown(folder: Path, command: str) -> None:
    assert _why(folder, command)


def test_what_any_interpreter_is_given_is_code_whatever_its_name_says(folder: Path) -> None:
    """A script with the first line of a shell, in each language."""
    shown = set[str]()
    for name in (*program_catalogue.programs("script_interpreter"), "python3.12", "node@22"):
        option = "-f " if name in program_catalogue.programs("awk") else "run " if name == "deno" else ""
        if not _why(folder, f"{name} {option}any.txt"):
            shown.add(name)
    assert shown == set()


@pytest.mark.parametrize("command", KNOWN)
def test_known(folder: Path, command: str) -> None:
    assert _why(folder, command) == ""


class Found:
    """Rehearsals of which this is known."""

    def __init__(self, found: Rehearsed) -> None:
        self._found = found

    def rehearse(self, call: Call) -> Rehearsed:  # noqa: ARG002
        return self._found

    def is_trusted(self, program: str) -> bool:  # noqa: ARG002
        return False


def _verdict(folder: Path, command: str, found: Rehearsed | None = None, **containment: Any) -> Verdict:
    guard = Guard(parse({"containment": containment}), {}, Host(), packs.load(), files=FileReader())
    if found is not None:
        guard.rehearsals = Found(found)
    return guard.judge(_call(folder, command))


def test_by_default_it_runs(folder: Path) -> None:
    assert _verdict(folder, "./tool").code == "allow"


def test_held(folder: Path) -> None:
    verdict = _verdict(folder, "./tool", unknown="hold")
    assert (verdict.decision, verdict.code) == ("hold", "containment.unknown")
    assert "tool cannot be read" in verdict.reason
    assert _verdict(folder, "git status", unknown="hold").code == "allow"


def test_rehearsed(folder: Path) -> None:
    done = (("delete", "/home/u/Documents"), ("write", "/home/u/.bashrc"))
    seen = Rehearsed(("deletes ~/Documents/", "writes ~/.bashrc"), "/record", done)
    assert _verdict(folder, "./tool", Rehearsed(), unknown="rehearse").code == "allow"
    verdict = _verdict(folder, "./tool", seen, unknown="rehearse")
    assert (verdict.decision, verdict.code) == ("hold", "containment.rehearsed")
    assert "deletes ~/Documents/; writes ~/.bashrc." in verdict.reason
    assert verdict.details is not None
    assert [(effect.kind, effect.path) for effect in verdict.details.effects] == list(done)
    assert _verdict(folder, "git status", seen, unknown="rehearse").code == "allow"


@pytest.mark.parametrize(("unavailable", "code"), [("run", "allow"), ("hold", "containment.unavailable")])
def test_where_nothing_can_be_rehearsed(folder: Path, unavailable: str, code: str) -> None:
    none = Rehearsed(unavailable="the kernel does not let it")
    verdict = _verdict(folder, "./tool", none, unknown="rehearse", whenUnavailable=unavailable)
    assert verdict.code == code
    assert ("the kernel does not let it" in verdict.reason) == (unavailable == "hold")


def test_no_verdict_becomes_milder(folder: Path) -> None:
    packed = base64.b64encode(b"print(1)").decode()
    (folder / "packed.py").write_text(f"import base64\nexec(base64.b64decode('{packed}'))\n")
    assert _verdict(folder, "python3 packed.py", Rehearsed(), unknown="rehearse").code.startswith("rule.")


def test_an_agent_may_have_its_own(folder: Path) -> None:
    config = parse({"agents": {"a": {"containment": {"unknown": "hold"}}}})
    guard = Guard(config, {}, Host(), packs.load(), files=FileReader())
    calls = {agent: Call("exec", {"command": "./tool"}, cwd=str(folder), agent=agent) for agent in "ab"}
    assert {agent: guard.judge(call).decision for agent, call in calls.items()} == {"a": "hold", "b": "allow"}
