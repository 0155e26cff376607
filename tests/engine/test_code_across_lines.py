"""A call in code is the same call when it stands in several lines: a line end ends no statement behind an open bracket, a
comma or a sign that needs another value, nor in front of a closing bracket or a dot."""

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
        'system("rm -rf " +¦"~/Documents")', 'x =¦"rm -rf " <<¦"~/Documents"; system x',
        f"[{FOLDER}]¦.each {{ |f| File.delete(f) }}", f"[{FOLDER}].¦each do |f|¦if f then File.delete(f) end¦end",
    ),
    "yaegi -e 'func main() {{ {} }}'": (
        'exec.Command("sh",¦"-c",¦"rm -rf " +¦"~/Documents").Run()',
        'a := "rm -rf " +¦"~/Documents"; exec.Command("sh", "-c", a).Run()',
    ),
    "osascript -e '{}'": ('do shell script "rm -rf " &¦"~/Documents"',),
    "pwsh -c '{}'": (
        "Get-Item ~/Documents |¦Remove-Item -Recurse", '$x =¦"~/Documents"; Remove-Item -Recurse $x',
        'Remove-Item -Recurse ("~/Docu" +¦"ments")',
        '[IO.File]::Delete(¦"/etc/passwd"¦)', 'Remove-Item -Recurse (¦"~/Documents"¦)'),
    "awk 'BEGIN {{ {} }}'": ('system(¦"rm -rf ~/Documents"¦)',),
    "lua -e '{}'": ('os.execute(¦"rm -rf ~/Documents"¦)',),
    "perl -e '{}'": ('system(¦"rm -rf ~/Documents"¦)', f'system("rm",¦"-rf",¦{FOLDER})'),
    "php -r '{}'": ('unlink(¦"/etc/passwd"¦);',),
    "node -e '{}'": (f'require("fs").rmSync(¦{FOLDER},¦{{recursive: true}}¦)',),
    "python3 -c '{}'": ('__import__("os").system(¦"rm -rf ~/Documents"¦)',),
}  # fmt: skip


DELETES = {
    "ruby -e '{}'": 'system "r" + "m -rf ~/Documents"', "perl -e '{}'": 'system("r" . "m -rf ~/Documents")',
    "lua -e '{}'": 'os.execute("r" .. "m -rf ~/Documents")', "php -r '{};'": 'system("r" . "m -rf ~/Documents")',
    "node -e '{}'": 'require("child_process").execSync("r" + "m -rf ~/Documents")',
    "pwsh -c '{}'": 'Remove-Item -Recurse ("~/Docu" + "ments")',
}  # fmt: skip
IN_BRACKETS = {
    "ruby -e '{}'": (
        "x = (puts 1;{})", "x = (puts 1\n{})", "(puts 1 if {})", "f((1; {}))", "f(if y then {} end)", "f(begin; {}; end)",
        "f(case y when 1 then {} end)", "x = [1, if y then {} end]", "a[puts 1; {}]", "h = {{a: 1, b: (2; {})}}",
        "x = (a rescue {})", "x = (a unless b; c while {})", "f(1, a, (b; c; {}))",
    ),
    "perl -e '{}'": ("f(do {{ my $x = 1; {} }})", "$x = do {{ 1; {} }};", "f(1 if {});", "$x[1 if {}];"),
    "pwsh -c '{}'": ("$x = (Write-Host 1; {})", "$x = $(1; {})", "$x = @(1; {})", "$x = @{{a = 1; b = {}}}", "f $(1; {})"),
    "node -e '{}'": ("let x = {{a: 1, get b() {{ {} }}}}", "f((() => {{ 1; {} }})())", "f(a satisfies B, {})"),
    "lua -e '{}'": ("x = {{a = 1; b = {}}}", "f(function() g() {} end)"),
    "php -r '{};'": ("f(match(1) {{ 1 => {} }})", "$x = [1, fn() => {}]"),
}  # fmt: skip


@pytest.mark.parametrize("around", IN_BRACKETS)
def test_all_that_stands_in_brackets_runs(around: str) -> None:
    """Brackets may have statements, words that belong to them, and members of any number."""
    guard = Guard(Config(), {}, HOST, packs.load())
    for shape in IN_BRACKETS[around]:
        command = around.format(shape.format(DELETES[around]))
        assert guard.judge(Call("exec", {"command": command}, cwd="/home/u/work")).decision == "hold", command


@pytest.mark.parametrize("between", ["", "\n", "\n\n  "], ids=["one line", "lines", "more lines"])
@pytest.mark.parametrize("around", CODES)
def test_a_call_over_several_lines_is_the_same_call(around: str, between: str) -> None:
    guard = Guard(Config(), {}, HOST, packs.load())
    for code in CODES[around]:
        call = Call("exec", {"command": around.format(code.replace("¦", between))}, cwd="/home/u/work")
        assert guard.judge(call).decision == "hold", code
