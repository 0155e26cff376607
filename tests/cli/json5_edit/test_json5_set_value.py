"""Literal texts before and after `set_value`; each insert is then deleted again."""

from __future__ import annotations

from typing import Any

import pytest

from tables import each_row
from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.system.errors import UserError

COMMENTED = """\
// the gateway of the workshop
{
  $include: "./base.json5", // shared
  gateway: {
    port: 18789, // do not change
    token: "${GATEWAY_TOKEN}" /* from the environment */
  },
  /* plugins */
  plugins: {
    allow: ["memory", 'web'],
    // none yet
  } // the last member
  // the end
}
"""


@each_row(
    ("path", "value", "old", "new"),
    [
        pytest.param(["gateway", "port"], 1, "port: 18789, //", "port: 1, //", id="number"),
        pytest.param(["gateway", "token"], "it's", '"${GATEWAY_TOKEN}" /*', '"it\'s" /*', id="string"),
        pytest.param(["$include"], None, '$include: "./base.json5",', "$include: null,", id="include"),
        pytest.param(["plugins", "allow", 1], "${X}", "'web'", "'${X}'", id="element"),
        pytest.param(["plugins", "allow"], ["a"], "[\"memory\", 'web']", '["a"]', id="array"),
        pytest.param(["gateway", "port"], {"a": [1, {}]}, "18789", "{\n      a: [1, {}]\n    }", id="scalar to object"),
    ],
)
def test_replace(path: list[str | int], value: Any, old: str, new: str) -> None:
    assert COMMENTED.count(old) == 1
    assert json5_edit.set_value(COMMENTED, path, value) == COMMENTED.replace(old, new)


@each_row(
    ("path", "value", "old", "new"),
    [
        pytest.param(
            ["gateway", "bind"],
            "lan",
            'TOKEN}" /* from the environment */\n',
            'TOKEN}", /* from the environment */\n    bind: "lan"\n',
            id="comment behind the last member",
        ),
        pytest.param(["x-y"], True, "} // the last member\n", '}, // the last member\n  "x-y": true\n', id="root"),
        pytest.param(["plugins", "allow", 2], "x", "'web']", "'web', \"x\"]", id="element"),
        pytest.param(
            ["plugins", "entries"],
            {"toolguard": {"enabled": True, "hooks": []}},
            "'web'],\n",
            "'web'],\n    entries: {\n      toolguard: {\n        enabled: true,\n        hooks: []\n      }\n    },\n",
            id="object, trailing comma kept",
        ),
        pytest.param(
            ["tools", "exec", "ask"],
            "on",
            "} // the last member\n",
            '}, // the last member\n  tools: {\n    exec: {\n      ask: "on"\n    }\n  }\n',
            id="missing parents",
        ),
    ],
)
def test_insert(path: list[str | int], value: Any, old: str, new: str) -> None:
    assert COMMENTED.count(old) == 1
    added = json5_edit.set_value(COMMENTED, path, value)
    assert added == COMMENTED.replace(old, new)
    created = path if path[0] != "tools" else path[:1]
    assert json5_edit.delete(added, created) == COMMENTED


@each_row(
    ("before", "path", "value", "after"),
    [
        pytest.param("{}", ["a"], 1, '{\n  "a": 1\n}', id="empty document"),
        pytest.param("{}\r\n", ["a"], 1, '{\r\n  "a": 1\r\n}\r\n', id="empty document, CRLF"),
        pytest.param("{ }\n", ["a"], 1, '{ \n  "a": 1\n}\n', id="empty with a blank"),
        pytest.param("{\n}\n", ["a"], 1, '{\n  "a": 1,\n}\n', id="empty with a line break"),
        pytest.param("{\n\n}\n", ["a"], 1, '{\n  "a": 1,\n\n}\n', id="empty with two line breaks"),
        pytest.param("{\n  // c\n}\n", ["a"], 1, '{\n  // c\n  "a": 1\n}\n', id="only a comment"),
        pytest.param("{ /* c */ }\n", ["a"], 1, '{ /* c */ "a": 1 }\n', id="only a comment, one line"),
        pytest.param("[]\n", [0], "a", '["a"]\n', id="empty array"),
        pytest.param("[ ]\n", [0], "a", '[ "a", ]\n', id="empty array with a blank"),
        pytest.param("[]", [0], {"a": 1}, '[\n  {\n    "a": 1\n  }\n]', id="object into an empty array"),
        pytest.param("{ a: 1 }\n", ["b"], "x", '{ a: 1, b: "x" }\n', id="one line"),
        pytest.param("{ a: 1, }\n", ["b"], "x", '{ a: 1, b: "x", }\n', id="one line, trailing comma"),
        pytest.param('{"a":1}', ["b"], {"c": [1, 2]}, '{"a":1,"b":{"c":[1,2]}}', id="minified"),
        pytest.param('{"a":{}}', ["a", "b"], 1, '{"a":{"b":1}}', id="minified, empty object"),
        pytest.param('{"a": {}}', ["a", "b"], 1, '{"a": { "b": 1 }}', id="one line, empty object"),
        pytest.param("{\n\ta: {\n\t\tb: 1,\n\t},\n}\n", ["c", "d"], 1, None, id="tabs"),
        pytest.param("{\r\n  'a': 'x'\r\n}\r\n", ["b"], "y", "{\r\n  'a': 'x',\r\n  'b': 'y'\r\n}\r\n", id="CRLF, single"),
        pytest.param("\ufeff{\n  a: 1\n}", ["b"], 2, "\ufeff{\n  a: 1,\n  b: 2\n}", id="byte order mark"),
        pytest.param("{\n    a: 1 }", ["b"], 2, "{\n    a: 1,\n    b: 2 }", id="bracket behind the last member"),
        pytest.param("{ a: 1,\n  b: 2 // c\n}", ["c"], 3, "{ a: 1,\n  b: 2, // c\n  c: 3\n}", id="ragged"),
        pytest.param("{\n  a: 1\n  , b: 2\n}", ["c"], 3, "{\n  a: 1\n  , b: 2,\n  c: 3\n}", id="comma first"),
        pytest.param('{\n  "a": 1\n}', ["b-c"], "\u2028\n", '{\n  "a": 1,\n  "b-c": "\\u2028\\n"\n}', id="escapes"),
        pytest.param("{a: [\n  1,\n  2\n]}", ["a"], [3], "{a: [\n  3\n]}", id="spread array stays spread"),
        pytest.param("{\n  a: [1, 2]\n}", ["a"], ["x" * 60], '{\n  a: [\n    "' + "x" * 60 + '"\n  ]\n}', id="long array"),
        pytest.param("5", [], {"a": None}, '{\n  "a": null\n}', id="root"),
        pytest.param("{ a: 0x10 }", ["a"], 16, "{ a: 0x10 }", id="equal value"),
    ],
)
def test_forms(before: str, path: list[str | int], value: Any, after: str | None) -> None:
    if after is None:
        after = "{\n\ta: {\n\t\tb: 1,\n\t},\n\tc: {\n\t\td: 1,\n\t},\n}\n"
    assert json5_edit.set_value(before, path, value) == after
    if json5_edit.find(json5_edit.parse(before), path) is None:
        assert json5_edit.delete(after, path[:1] if path[0] == "c" else path) == before


@each_row(
    ("text", "path", "message"),
    [
        pytest.param("5", ["a"], "the top level is not an object: there is a number", id="scalar root"),
        pytest.param("[1]", ["a"], "the top level is not an object: there is an array of 1 element", id="array root"),
        pytest.param("{a: {b: 'secret'}}", ["a", "b", "c"], "a.b is not an object: there is a string", id="scalar"),
        pytest.param("{a: null}", ["a", "x y", "c"], "a is not an object: there is null", id="null"),
        pytest.param("{a: {}}", ["a", 0], "a is not an array: there is an object", id="index into an object"),
        pytest.param("{a: [1]}", ["a", 2], "a[2] cannot be set: there is an array of 1 element", id="index too high"),
        pytest.param("{a: [1]}", ["a", -1], "a[-1] cannot be set: there is an array of 1 element", id="negative"),
        pytest.param("{}", ["a", 1], "a[1] cannot be set: there is no array yet, so only [0] can", id="no array"),
    ],
)
def test_paths_that_cannot_be(text: str, path: list[str | int], message: str) -> None:
    with pytest.raises(UserError) as caught:
        json5_edit.set_value(text, path, 1)
    assert caught.value.message == message


def test_values_nested_too_deep() -> None:
    value: Any = 1
    for _ in range(json5_edit.MAX_DEPTH):
        value = [value]
    assert json5_edit.loads(json5_edit.set_value("1", [], value)) == value
    with pytest.raises(UserError, match="deeper than 200"):
        json5_edit.set_value("{}", ["a"], value)


@pytest.mark.parametrize("value", ["a\ud83d", {"\udc80": 1}, [["\ude00\ud83d"]]], ids=["text", "key", "wrong order"])
def test_halves_of_characters_are_refused(value: Any) -> None:
    with pytest.raises(UserError, match="holds half of a character"):
        json5_edit.set_value("{}", ["a"], value)


def test_a_path_is_not_a_string() -> None:
    with pytest.raises(TypeError):
        json5_edit.set_value("{}", "ab", 1)


def test_an_edit_that_went_wrong_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolguard_cli.hostconfig.json5_edit.adding.insert", lambda text, *_, **__: text)
    with pytest.raises(json5_edit.EditError):
        json5_edit.set_value("{}", ["a"], 1)


@each_row(
    ("before", "value", "after"),
    [
        pytest.param("{}", "x", '{\n  "a": {\n    "b": ["x"]\n  }\n}', id="created"),
        pytest.param("{a: {b: ['x'] /* c */}}", "x", "{a: {b: ['x'] /* c */}}", id="there already"),
        pytest.param("{a: {b: [1]}}", True, "{a: {b: [1, true]}}", id="true is not 1"),
        pytest.param("{a: {b: [1, // one\n]}}", 2, "{a: {b: [1, // one\n  2,\n]}}", id="appended"),
    ],
)
def test_append_unique(before: str, value: Any, after: str) -> None:
    assert json5_edit.append_unique(before, ["a", "b"], value) == after


def test_append_unique_needs_an_array() -> None:
    with pytest.raises(UserError, match="a is not an array: there is true"):
        json5_edit.append_unique("{a: true}", ["a"], 1)
