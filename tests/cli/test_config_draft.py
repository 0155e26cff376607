from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_config_tree import MAIN

from toolguard_cli.hostconfig import config_file, config_tree
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores import atomic

FILES = {
    MAIN: "{\n  plugins: { $include: 'plugins.json5' }, // kept\n  tools: {\n    // why\n    x: 1, // here\n  },\n}\n",
    "plugins.json5": "{\r\n  entries: {\r\n    a: { enabled: true },\r\n  },\r\n}\r\n",
}


def texts(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_bytes().decode() for name in FILES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def read(folder: Path) -> Draft:
    return Draft(config_tree.read(folder / MAIN, env={}))


def test_changes_go_to_the_files_that_own_them(folder: Path) -> None:
    made = read(folder)
    made.set(("plugins", "entries", "b", "enabled"), value=False)
    made.append(("plugins", "allow"), "b")
    made.set(("tools", "y"), 2)
    made.delete(("plugins", "entries", "a"))
    made.remove(("plugins", "allow"), "nothing")
    assert texts(folder) == FILES
    made.write()
    assert texts(folder) == {
        MAIN: FILES[MAIN].replace("    x: 1, // here\n", "    x: 1, // here\n    y: 2,\n"),
        "plugins.json5": FILES["plugins.json5"]
        .replace("a: { enabled: true }", "b: {\r\n      enabled: false,\r\n    }")
        .replace("  },\r\n}", '  },\r\n  allow: ["b"],\r\n}'),
    }


def test_a_move_to_another_file_takes_the_comments_along(folder: Path) -> None:
    made = read(folder)
    made.move(("tools", "x"), ("plugins", "entries", "a", "config", "x"))
    made.write()
    assert texts(folder)[MAIN] == FILES[MAIN].replace("    // why\n    x: 1, // here\n", "")
    after = texts(folder)["plugins.json5"]
    assert "// why" in after
    assert "x: 1" in after
    assert config_tree.read(folder / MAIN, env={}).get("plugins", "entries", "a") == {"enabled": True, "config": {"x": 1}}


def test_a_diff_shows_changed_lines_only(folder: Path) -> None:
    made = read(folder)
    made.set(("tools", "x"), 5)
    name = str(folder / MAIN)
    assert list(made.diff()) == [f"--- {name}", f"+++ {name}", "@@ -5 +5 @@", "-    x: 1, // here", "+    x: 5, // here"]


def test_a_diff_leaves_out_texts_that_did_not_change(tmp_path: Path) -> None:
    """Of a config in one line the diff would else show all of it."""
    text = "{ token: 'SECRET', 'a b': \"SE'CRET\", mode: 'x', last: ['SECRET'] }"
    (tmp_path / MAIN).write_text(text)
    made = read(tmp_path)
    made.set(("mode",), "y")
    assert list(made.diff())[3:] == [
        """-{ token: "...", 'a b': "...", mode: 'x', last: ["..."] }""",
        """+{ token: "...", 'a b': "...", mode: 'y', last: ["..."] }""",
    ]


def test_nothing_changed(folder: Path) -> None:
    made = read(folder)
    made.set(("tools", "x"), 1)
    made.delete(("tools", "nothing"))
    assert (made.changes(), list(made.diff()), made.write()) == ([], [], [])


def test_all_files_or_none(folder: Path) -> None:
    """The second file changed in between: the first is put back."""
    made = read(folder)
    made.set(("tools", "x"), 2)
    made.set(("plugins", "entries", "a", "enabled"), value=False)
    (folder / "plugins.json5").write_text("{ }\n")
    with pytest.raises(UserError, match="changed by another process"):
        made.write()
    assert texts(folder) == {MAIN: FILES[MAIN], "plugins.json5": "{ }\n"}


def test_a_change_in_the_last_moment_is_not_overwritten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the backup and the new text."""
    made = read(folder)
    made.set(("tools", "x"), 2)
    put = config_file.atomic.replace

    def slow(path: Path, *args: object, **options: object) -> None:
        put(path, *args, **options)  # type: ignore[arg-type]
        if path.name.endswith(".bak"):
            (folder / MAIN).write_text("{ by: 'somebody else' }\n")

    monkeypatch.setattr(config_file.atomic, "replace", slow)
    with pytest.raises(UserError, match="changed by another process"):
        made.write()
    assert (folder / MAIN).read_text() == "{ by: 'somebody else' }\n"


def test_what_a_killed_writer_left_is_removed(folder: Path) -> None:
    """Only once it is old: another writer may be at work."""
    kept = [folder / name for name in (f".{MAIN}.young{atomic.TEMPORARY}", f".{MAIN}.original", ".other")]
    left = [folder / f".{name}.old{atomic.TEMPORARY}" for name in (MAIN, f"{MAIN}.toolguard.bak")]
    for path in (*kept, *left):
        path.write_text("a secret")
    for path in (*kept[1:], *left):
        os.utime(path, (0, 0))
    config = config_file.read(folder / MAIN)
    config_file.write(config, b"{}")
    assert sorted(path for path in folder.iterdir() if path.name.startswith(".")) == sorted(kept)
