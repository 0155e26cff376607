"""Code that gives a function to a variable, a member or another function runs it where that is called."""

from __future__ import annotations

import pytest

from test_languages import PLACE
from toolguard_engine.effects.languages.language_catalogue import LANGUAGES
from toolguard_engine.effects.languages.script_code import READERS

FORMS = {
    "javascript": (
        'const f = (a) => require("child_process").execSync(a)\nf("CODE")',
        'const f = a => require("child_process").execSync(a); f("CODE")',
        'const f = function (a) { require("child_process").execSync(a) }\nf("CODE")',
        'const o = { g(a) { require("child_process").execSync(a) } }\no.g("CODE")',
        'const o = { g: (a) => require("child_process").execSync(a) }\no.g("CODE")',
        'const f = a => require("child_process").execSync(a); f.call(null, "CODE")',
        'const f = a => require("child_process").execSync(a); f.apply(null, ["CODE"])',
        'const f = a => require("child_process").execSync(a); Reflect.apply(f, null, ["CODE"])',
        'const f = a => require("child_process").execSync(a); f.bind(null, "CODE")()',
        'const f = async (a) => await g(a)\nrequire("child_process").execSync("CODE")',
        'const f = (a) => g(a)\n!require("child_process").execSync("CODE")',
        'const f = (a) => a instanceof Map ? 1 : new Set(a)\nrequire("child_process").execSync("CODE")',
    ),
    "perl": ('my $f = sub { system($_[0]) }; $f->("CODE");', 'my %o = (g => sub { system($_[0]) }); $o{g}->("CODE");'),
    "ruby": (
        'f = ->(a) { system(a) }\nf.call("CODE")',
        'f = -> a do system(a) end\nf.("CODE")',
        'f = lambda { |a| system(a) }\nf["CODE"]',
        'f = proc do |a| system(a) end\nf.call "CODE"',
        'f = Proc.new { |a| system(a) }\n["CODE"].each(&f)',
        'f = method(:system)\nf.call("CODE")',
        '["CODE"].each(&method(:system))',
        'def lambda(a) system(a) end\nlambda("CODE")',
    ),
    "php": (
        '$f = function($a) { system($a); }; $f("CODE");',
        '$f = fn($a) => system($a); $f("CODE");',
        'array_map(fn($a) => system($a), ["CODE"]);',
    ),
    "lua": (
        'local f = function(a) os.execute(a) end f("CODE")',
        'pcall(function(a) os.execute(a) end, "CODE")',
        't = {} function t.g(a) os.execute(a) end t.g("CODE")',
        't = {} function t:g(a) os.execute(a) end t:g("CODE")',
        't = {} t.g = function(a) os.execute(a) end t.g("CODE")',
    ),
    "powershell": (
        '$f = { param($a) Invoke-Expression $a }; & $f "CODE"',
        'Function Foo { Param($a) Invoke-Expression $a }; Foo "CODE"',
    ),
    "go": ('func main() { f := func(a string) { exec.Command("sh", "-c", a).Run() }\nf("CODE") }',),
}


def test_each_language_with_functions_as_values_has_a_row() -> None:
    names = {name for name, known in LANGUAGES.items() if known.reading and known.reading.syntax.keywords.functions}
    assert FORMS.keys() == names - {"awk"}  # where a function is no value


@pytest.mark.parametrize(("language", "code"), [(name, code) for name, codes in FORMS.items() for code in codes])
def test_a_function_that_is_a_value_is_followed(language: str, code: str) -> None:
    reading = READERS[language](code.replace("CODE", f"rm -rf {PLACE}"))
    assert reading is not None
    assert any(PLACE in str(deed) for deed in reading.deeds)
