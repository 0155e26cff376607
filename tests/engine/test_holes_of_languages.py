"""Forms that once hid what follows them, so that harm behind them was allowed."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_engine.effects.languages import script_code

HIDING = {
    "perl": (
        '$x = 1 <<"1";\nsystem("ls");\n1;', '$x = 1 << "1";\nsystem("ls");\n1;', '$x = f(1) <<"A";\nsystem("ls");\nA;',
        '$y = 1; $x = $y <<"1";\nsystem("ls");\n1;', '$x = $y[0] <<E;\nsystem("ls");\nE',
    ),
    "php": (
        '$x = 1 <<"1";\nsystem("ls");\n1;', "$x = 1 <<E_ERROR;\nsystem('ls');\nE_ERROR;", "f($x <<A,\nsystem('ls'),\nA);",
    ),
    "ruby": (
        'x = [] <<"A"\nsystem("ls")\nA', 'x = []\nx <<A\nsystem("ls")\nA', 'x = []\nx << "A"\nsystem("ls")\nA = 1',
    ),
}  # fmt: skip
"""What is no here-document."""
HERE = {
    "perl": ("system <<EOT;\nls\nEOT", 'print <<"A", `ls`;\n`id`\nA', "print {$out} <<A; system('ls')\n`id`'\nA"),
    "php": ("system(<<<EOT\nls\nEOT);", "$x = <<<'A'\n`id`'\nA;\nsystem('ls');"),
    "ruby": ("system <<EOT\nls\nEOT", "system <<~'A'\n  ls\nA", "x = <<-A\nit's\nA\nsystem('ls')"),
}
EITHER = {
    "ruby": (
        "p(exec) rescue 1\nexec <<A\nls\nA", "def f; exec = 1; end\nexec <<A\nls\nA", "x = 1\nx <<A\nsystem('ls')\nA",
        "[1].each { |exec| }\nexec <<A\nls\nA", '[[]].each { |x| x <<A\nsystem("ls")\nA\n}', "def +(o) system('ls') end",
        "def w(a)\nif:a\nx = 1\nend\nsystem(a)\nend\nw('ls')",
        "def w(a)\nx = a ?1:if b then 2 else 3 end\nsystem(a)\nend\nw('ls')",
        "def w *a\nsystem('ls')\nend", "def ==(o) system('ls') end",
    ),
    "perl": ("system<<A;\nls\nA", "use constant X => 1; $y = X <<'1';\nsystem('ls');\n1;"),
    "lua": ("function w(a) ::l::if a then x=1 end os.execute(a) end w('ls')",),
}  # fmt: skip
"""What may be either, or looks like the other."""
RAW = {
    "perl": (r"eval('system(\'ls\')');", r"eval(q(system\('ls'\)));", r"$x = '\\'; system('ls');"),
    "php": (r"eval('system(\'ls\');');", r"$x = '\\'; system('ls');"),
    "ruby": (r"eval('system(\'ls\')')", r"""eval('eval("system(\\"ls\\")")')"""),
    "go": ("func main() { x := `\\`; exec.Command('sh', '-c', 'ls').Run(); y := `z` }".replace("'", '"'),),
}
VALUES = ("(1..2).end", "y&.end", ":end", "{end: 1}", "{if: 1}", ":begin", "y.class", "y.begin")
CONDITIONS = ("x = g(1, IF)", "x = [IF]", "x = 1 + IF", "x += IF", "x ||= IF", "x = a && IF", "x = !IF", "x = {k: IF}",
              "[1].each { |z| IF }", "[1].each do |z| IF end", "x = [] << IF", "g(*IF)", "y = a and IF")  # fmt: skip
BEHIND = (
    "x = 1 if a",
    "return 1 if b",
    "g(1) unless c",
    "x = [1] if a",
    "break if a",
    "x = 'a' while b",
    "begin\nb\nend while c",
)
DEFINITIONS = (
    'def w a\nsystem(a)\nend\nw "ls"', 'def w a, b\nsystem(b)\nend\nw 1, "ls"', 'def self.w a\nsystem(a)\nend\nw "ls"',
    'def self.w(a)\nsystem(a)\nend\nw("ls")', 'def w\nx = 1\nsystem("ls")\nend\nw', 'def w a; system(a); end; w "ls"',
)  # fmt: skip
METHODS = (
    "FileUtils.method(:rm_rf).call('ls')", "f = FileUtils.method(:rm_rf)\nf.call('ls')", "File.method(:delete).call('ls')",
    "m = Kernel.method(:system)\nm.call('ls')", "method(:system).call('ls')",
)  # fmt: skip


def _does(language: str, code: str) -> list[str]:
    reading = script_code.READERS[language](code)
    assert reading is not None
    return [(deed.text or " ".join(deed.argv)).split()[-1] for deed in reading.deeds]


@each_row(
    ("language", "code"), [(name, code) for table in (HIDING, HERE, RAW) for name, codes in table.items() for code in codes]
)
def test_nothing_hides_what_follows(language: str, code: str) -> None:
    assert _does(language, code) == ["ls"]


@each_row(("language", "code"), [(name, code) for name, codes in EITHER.items() for code in codes])
def test_what_may_be_either_is_read_as_both(language: str, code: str) -> None:
    assert "ls" in _does(language, code)


@pytest.mark.parametrize("value", VALUES)
def test_the_name_of_something_closes_and_opens_no_block(value: str) -> None:
    assert _does("ruby", f'def w(a)\nx = {value}\nsystem(a)\nend\nw("ls")') == ["ls"]


@each_row("statement", [*(code.replace("IF", "if a then 1 else 2 end") for code in CONDITIONS), *BEHIND])
def test_a_condition_is_a_block_only_where_a_value_begins(statement: str) -> None:
    assert _does("ruby", f'def w(a)\n{statement}\nsystem(a)\nend\nw("ls")') == ["ls"]


@each_row("code", [*DEFINITIONS, *METHODS])
def test_functions_without_brackets_and_as_values(code: str) -> None:
    assert _does("ruby", code) == ["ls"]
