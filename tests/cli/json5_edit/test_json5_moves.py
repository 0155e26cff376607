"""Literal texts before and after `cut`, `paste` and `replace_key`."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.json5_edit import Clip
from toolguard_cli.system.errors import UserError

BEFORE = """\
// the gateway of the workshop
{
  // about nobody

  // about guard, two
  /* comments
     of it */
  guard: { // opened
    // inside
    limit: 0x10, /* hex */
    note: 'two \\
  lines', // ${NOT} a value
    list: [
      1, 2,
    ],
  }, // behind guard
  // about last
  last: "${LAST}" /* here */ // and here
}
"""
WITHOUT_GUARD = """\
// the gateway of the workshop
{
  // about nobody

  // about last
  last: "${LAST}" /* here */ // and here
}
"""
GUARD = """\
guard: { // opened
    // inside
    limit: 0x10, /* hex */
    note: 'two \\
  lines', // ${NOT} a value
    list: [
      1, 2,
    ],
  }"""


def test_cut_takes_the_comments_along() -> None:
    assert json5_edit.cut(BEFORE, ["guard"]) == (
        WITHOUT_GUARD,
        Clip(
            value={"limit": 16, "note": "two   lines", "list": [1, 2]},
            source=GUARD.removeprefix("guard: "),
            above=("// about guard, two", "/* comments\n     of it */"),
            behind=("// behind guard",),
            indent="  ",
        ),
    )


def test_cut_of_the_last_takes_the_comma_before_it() -> None:
    text, clip = json5_edit.cut(BEFORE, ["last"])
    assert text == BEFORE[: BEFORE.index("  // about last")].replace("}, // behind", "} // behind") + "}\n"
    assert clip == Clip("${LAST}", '"${LAST}"', ("// about last",), ("/* here */", "// and here"), indent="  ")


def test_paste_under_another_key_at_the_end() -> None:
    text = json5_edit.paste(*_at(json5_edit.cut(BEFORE, ["guard"]), ["renamed-guard"]))
    moved = GUARD.replace("guard: ", '"renamed-guard": ')
    assert text == WITHOUT_GUARD.replace(
        '"${LAST}" /* here */ // and here\n',
        '"${LAST}", /* here */ // and here\n'
        f"  // about guard, two\n  /* comments\n     of it */\n  {moved} // behind guard\n",
    )
    assert json5_edit.cut(text, ["renamed-guard"])[0] == WITHOUT_GUARD


def test_paste_into_another_document_takes_its_style() -> None:
    _, clip = json5_edit.cut(BEFORE, ["guard"])
    target = '\ufeff{\r\n\t"plugins": {\r\n\t\t"entries": {},\r\n\t},\r\n}\r\n'
    text = json5_edit.paste(target, ["plugins", "entries", "guard", "config"], clip)
    assert text == target.replace(
        "{},",
        "\r\n".join(
            [
                "{",
                '\t\t\t"guard": {',
                "\t\t\t\t// about guard, two",
                "\t\t\t\t/* comments",
                "\t\t\t\t   of it */",
                '\t\t\t\t"config": { // opened',
                "\t\t\t\t\t// inside",
                "\t\t\t\t\tlimit: 0x10, /* hex */",
                "\t\t\t\t\tnote: 'two \\\n  lines', // ${NOT} a value",
                "\t\t\t\t\tlist: [",
                "\t\t\t\t\t\t1, 2,",
                "\t\t\t\t\t],",
                "\t\t\t\t}, // behind guard",
                "\t\t\t}",
                "\t\t},",
            ]
        ),
    )
    assert json5_edit.delete(text, ["plugins", "entries", "guard"]) == target


def _at(cut: tuple[str, Clip], path: list[str | int]) -> tuple[str, list[str | int], Clip]:
    return cut[0], path, cut[1]


@each_row(
    ("before", "path", "after", "clip"),
    [
        pytest.param("{ a: 1, b: 2 }", ["b"], "{ a: 1 }", Clip(2, "2"), id="one line"),
        pytest.param("{ a: 1, /* ? */ b: 2 }", ["b"], "{ a: 1 /* ? */ }", Clip(2, "2"), id="before it on a shared line"),
        pytest.param("{ a: 1, /* ? */ b: 2 }", ["a"], "{ /* ? */ b: 2 }", Clip(1, "1"), id="behind it on a shared line"),
        pytest.param("{ a: 1 /* a */, b: 2 }", ["a"], "{ b: 2 }", Clip(1, "1", (), ("/* a */",)), id="before the comma"),
        pytest.param("{ a: 1, b: 2 /* b */ }", ["b"], "{ a: 1 }", Clip(2, "2", (), ("/* b */",)), id="before the bracket"),
        pytest.param("{\n  // a\n  a: 1 // b\n}", ["a"], "{}", Clip(1, "1", ("// a",), ("// b",), indent="  "), id="only"),
        pytest.param("{ // c\n  a: 1\n}", ["a"], "{ // c\n}", Clip(1, "1", indent="  "), id="comment of the bracket"),
        pytest.param("{\n  a: 1,\n  // end\n}", ["a"], "{\n  // end\n}", Clip(1, "1", indent="  "), id="comment below"),
        pytest.param("{\n  // c\n\n  a: 1,\n}", ["a"], "{\n  // c\n\n}", Clip(1, "1", indent="  "), id="blank line between"),
        pytest.param(
            "{\n  /* a */ a: 1,\n  b: 2,\n}",
            ["a"],
            "{\n  b: 2,\n}",
            Clip(1, "1", ("/* a */",), indent="  "),
            id="before the key",
        ),
        pytest.param(
            "{\n  a /* k */ : /* ms */ 5, // c\n  b: 2,\n}",
            ["a"],
            "{\n  b: 2,\n}",
            Clip(5, "5", ("/* k */",), ("// c",), "/* ms */ ", "  "),
            id="around the colon",
        ),
        pytest.param(
            "{\n  a: 1, /* two\n  lines */\n  b: 2,\n}",
            ["a"],
            "{\n  b: 2,\n}",
            Clip(1, "1", (), ("/* two\n  lines */",), indent="  "),
            id="behind, over two lines",
        ),
        pytest.param(
            "{\n  a: 1 // a\n  // own\n  , b: 2\n}",
            ["a"],
            "{\n  b: 2\n}",
            Clip(1, "1", ("// a",), ("// own",), indent="  "),
            id="comma on a later line",
        ),
        pytest.param(
            "[\n  // one\n  1,\n  // two\n  2, // 2\n]",
            [1],
            "[\n  // one\n  1,\n]",
            Clip(2, "2", ("// two",), ("// 2",), indent="  "),
            id="element",
        ),
    ],
)
def test_cut_forms(before: str, path: list[str | int], after: str, clip: Clip) -> None:
    assert json5_edit.cut(before, path) == (after, clip)


WHOLE = Clip(1, "1", ("// above",), ("/* one */", "// behind"))


@each_row(
    ("before", "path", "clip", "after"),
    [
        pytest.param(
            "{}", ["a"], WHOLE, '{\n  // above\n  "a": 1 /* one */ // behind\n}', id="empty"
        ),
        pytest.param("{\n}", ["a"], WHOLE, '{\n  // above\n  "a": 1, /* one */ // behind\n}', id="empty with a line break"),
        pytest.param("{ b: 2 }", ["a"], Clip(1, "0x1"), "{ b: 2, a: 0x1 }", id="one line"),
        pytest.param("{ b: 2 }", ["a"], Clip(1, "1", (), ("/* c */",)), "{ b: 2, a: 1 /* c */ }", id="one line, block"),
        pytest.param(
            "{ b: 2, }", ["a"], WHOLE, "{ b: 2,\n  // above\n  /* one */\n  // behind\n  a: 1, }", id="one line, comments"
        ),
        pytest.param('{"b":2}', ["a", "c"], Clip([1], "[1]"), '{"b":2,"a":{"c":[1]}}', id="minified, new parent"),
        pytest.param(
            '{"b":2}',
            ["a", "c"],
            Clip(1, "1", (), ("// c",)),
            '{"b":2,"a":{\n  "c":1 // c\n}}',
            id="minified, new parent, comment",
        ),
        pytest.param("[1 /* c */]", [1], WHOLE, "[1, /* c */\n  // above\n  /* one */\n  // behind\n  1]", id="element"),
        pytest.param("[1]", [1], Clip(5, "5", before="/* ms */ "), "[1,\n  /* ms */\n  5]", id="comment of the colon"),
        pytest.param("{b: {}}", ["b", "a"], Clip(1, "1"), "{b: { a: 1 }}", id="empty in a line"),
        pytest.param(
            "{\n    a: [\n    ],\n}",
            ["b"],
            Clip({"x": [1]}, "{\n\t\tx: [\n\t\t\t1]\n }", indent="\t", unit="\t"),
            "{\n    a: [\n    ],\n    b: {\n        x: [\n            1]\n },\n}",
            id="other units, ragged",
        ),
        pytest.param(
            "{\n  a: 1,\n}\n", ["b", "c", 0], WHOLE,
            "{\n  a: 1,\n  b: {\n    c: [\n      // above\n      1, /* one */ // behind\n    ],\n  },\n}\n",
            id="new parents, trailing commas",
        ),
    ],
)  # fmt: skip
def test_paste_forms(before: str, path: list[str | int], clip: Clip, after: str) -> None:
    assert json5_edit.paste(before, path, clip) == after


@each_row(
    ("path", "message"),
    [
        pytest.param(["a"], "a already exists", id="taken"),
        pytest.param([], "the top level already exists", id="the document"),
        pytest.param(["a", "b"], "a is not an object: there is a number", id="in a scalar"),
        pytest.param(["l", 2], "l[2] cannot be set: there is an array of 1 element", id="index too high"),
    ],
)
def test_paste_where_it_cannot_be(path: list[str | int], message: str) -> None:
    with pytest.raises(UserError) as caught:
        json5_edit.paste("{ a: 1, l: [0] }", path, Clip(1, "1"))
    assert caught.value.message == message


@each_row(
    ("path", "message"),
    [
        pytest.param([], "the whole document cannot be moved or renamed, only what is in it", id="the document"),
        pytest.param(["b", "c"], "b is not there", id="no parent"),
        pytest.param(["a", "c"], "a.c is not there", id="in a scalar"),
        pytest.param(["l", 1], "l[1] is not there", id="index too high"),
    ],
)
def test_cut_of_nothing(path: list[str | int], message: str) -> None:
    with pytest.raises(UserError) as caught:
        json5_edit.cut("{ a: 1, l: [0] }", path)
    assert caught.value.message == message


def test_a_clip_that_is_not_what_it_says_is_not_pasted() -> None:
    with pytest.raises(json5_edit.EditError):
        json5_edit.paste("{}", ["a"], Clip(1, "2"))


@each_row(
    ("before", "new", "after"),
    [
        pytest.param("{ a: 1, 'old' : /* c */ 2 }", "new", "{ a: 1, 'new' : /* c */ 2 }", id="quoted"),
        pytest.param('{\n  old: 1, // c\n  "b": 2\n}', "new", '{\n  new: 1, // c\n  "b": 2\n}', id="bare"),
        pytest.param("{ old: 1, 'b': 2 }", "tool-guard", "{ 'tool-guard': 1, 'b': 2 }", id="needs quotes"),
        pytest.param("{ 'old-one': 1, b: 2, old: 3 }", "old", "{ 'old-one': 1, b: 2, old: 3 }", id="the same"),
    ],
)
def test_replace_key(before: str, new: str, after: str) -> None:
    assert json5_edit.replace_key(before, ["old"], new) == after


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(["a"], "b already exists", id="taken"),
        pytest.param(["b", 0], "b[0] has no key: it is in an array", id="element"),
        pytest.param(["c"], "c is not there", id="missing"),
    ],
)
def test_replace_key_that_cannot_be(path: list[str | int], message: str) -> None:
    with pytest.raises(UserError) as caught:
        json5_edit.replace_key("{ a: 1, b: [0] }", path, "b")
    assert caught.value.message == message
