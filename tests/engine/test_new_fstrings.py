"""f-strings that only Python 3.12 reads are no way past an engine on Python 3.11."""

from __future__ import annotations

import ast

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.languages.python.new_fstrings import as_sums
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

GUARD = Guard(Config(), {}, Host(home="/home/ada", state_dir="/home/ada/.openclaw"), packs.load())
FORMS = [
    'f"{d["a"]}"', "f'{d['a']}'", 'f"{d["a"]!r:>10} {d["b"]}"', 'f"{"\\n".join(x)}"', 'f"""{a["b"]} {f"{b["c"]}"}"""',
    'rf"\\d{q["x"]}{{}}"', 'f"{d["x"]=}"', 'f"{a != b} {d["a"]}"', "'it\\'s' + f'{d['k']}'", 'f"{d["a"]:{d["w"]}}"',
]  # fmt: skip


def decision(code: str) -> str:
    return GUARD.weigh(Call("exec", {"command": f"python3 - <<'E'\n{code}\nE"}, cwd="/home/ada/work")).decision


@each_row("form", FORMS)
def test_each_form_is_read_as_a_sum(form: str) -> None:
    assert isinstance(ast.parse(as_sums(f"x = {form}  # it's")), ast.Module)


@each_row("form", FORMS)
def test_such_a_text_hides_nothing_beside_it(form: str) -> None:
    deletion = "from pathlib import Path\nfor p in (Path.home() / 'Pictures').iterdir():\n    p.unlink()"
    assert decision(f"print({form})\n{deletion}") == "hold"
    assert decision(f"print({form})") == "allow"


def test_a_text_of_texts_keeps_what_it_says() -> None:
    assert decision('import os\nd = "Documents"\nos.system(f"rm -rf ~/{f"{d}"}")') == "hold"


@each_row("code", ['f"{', 'f"', 'f"{f"{f"{f"{f"{1}"}"}"}"}"', 'f"}"', "f'{'", 'f"{d["'])
def test_what_does_not_end_is_no_fault(code: str) -> None:
    assert as_sums(code)
