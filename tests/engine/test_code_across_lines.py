"""A call in code is the same call when it stands in several lines: a line end ends no statement behind an open bracket or a
comma, nor in front of a closing bracket."""

from __future__ import annotations

import pytest

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ())
FOLDER = '"/home/u/Documents"'
CODES = {
    "ruby -e '{}'": (
        '¦system(¦"rm -rf ~/Documents"¦)¦', '¦File.delete(¦"/etc/passwd"¦)¦', f'system("rm",¦"-rf",¦{FOLDER}¦)',
        f"[¦{FOLDER}¦].each {{ |f| File.delete(f) }}",
        f"[{FOLDER}].each {{¦File.delete(_1)¦}}", f"[{FOLDER}].each {{¦File.delete it¦}}",
        f"[{FOLDER}].map {{ FileUtils.rm_rf(¦it¦) }}",
        '(¦system "rm -rf ~/Documents"¦)',
    ),
    "pwsh -c '{}'": ('[IO.File]::Delete(¦"/etc/passwd"¦)', 'Remove-Item -Recurse (¦"~/Documents"¦)'),
    "awk 'BEGIN {{ {} }}'": ('system(¦"rm -rf ~/Documents"¦)',),
    "lua -e '{}'": ('os.execute(¦"rm -rf ~/Documents"¦)',),
    "perl -e '{}'": ('system(¦"rm -rf ~/Documents"¦)', f'system("rm",¦"-rf",¦{FOLDER})'),
    "php -r '{}'": ('unlink(¦"/etc/passwd"¦);',),
    "node -e '{}'": (f'require("fs").rmSync(¦{FOLDER},¦{{recursive: true}}¦)',),
    "python3 -c '{}'": ('__import__("os").system(¦"rm -rf ~/Documents"¦)',),
}  # fmt: skip


@pytest.mark.parametrize("between", ["", "\n", "\n\n  "], ids=["one line", "lines", "more lines"])
@pytest.mark.parametrize("around", CODES)
def test_a_call_over_several_lines_is_the_same_call(around: str, between: str) -> None:
    guard = Guard(Config(), {}, HOST, packs.load())
    for code in CODES[around]:
        call = Call("exec", {"command": around.format(code.replace("¦", between))}, cwd="/home/u/work")
        assert guard.judge(call).decision == "hold", code
