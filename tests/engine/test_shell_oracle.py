"""The grammar compared with tree-sitter-bash: both must find the same programs in text that it parses without an error."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_bash
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from effort import examples
from toolguard_engine.effects.syntax.parse import parse
from toolguard_engine.effects.syntax.syntax_tree import Script, Simple, Substitution, Variable, Word

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpora" / "commands.jsonl"
ORACLE = Parser(Language(tree_sitter_bash.language()))


def ours(script: Script) -> Iterator[str]:
    for pipeline in script:
        for command in pipeline.commands:
            if isinstance(command, Simple) and command.words and isinstance(command.words[0], str):
                yield command.words[0]
            words = [*command.words, *(each.target for each in command.redirects)]
            words += [value for _, value, _ in command.assigns] if isinstance(command, Simple) else []
            for word in words:
                yield from in_word(word)
            if not isinstance(command, Simple):
                for body in command.bodies:
                    yield from ours(body)


def in_word(word: Word) -> Iterator[str]:
    for part in () if isinstance(word, str) else word:
        if isinstance(part, Substitution):
            yield from ours(part.script)
        elif isinstance(part, Variable):
            yield from in_word(part.operand)


def theirs(node: Node) -> Iterator[str]:
    if node.type == "command" and (name := node.child_by_field_name("name")) is not None and name.text:
        text = name.text.decode()
        if "$" not in text and "`" not in text:
            yield shlex.split(text)[0]
    elif node.type in ("declaration_command", "unset_command"):
        yield (node.children[0].text or b"").decode()
    elif node.type == "test_command" and node.children[0].type == "[":
        yield "["
    for child in node.children:
        yield from theirs(child)


def both(command: str) -> tuple[list[str], list[str]] | None:
    """The names of the programs by each grammar; None if the oracle cannot parse the text."""
    root = ORACLE.parse(command.encode()).root_node
    if root.has_error:
        return None
    return sorted(name for name in ours(parse(command)[0]) if name not in ("[[", "((")), sorted(theirs(root))


@pytest.mark.skipif(not CORPUS.exists(), reason="the development corpus is not here")
def test_commands_of_other_authors() -> None:
    rows = [json.loads(line)["command"] for line in CORPUS.read_text("utf-8").splitlines()]
    found = {row: pair for row in rows if (pair := both(row))}
    assert len(found) > 0.9 * len(rows)
    assert [row for row, (own, other) in found.items() if own != other] == []


word = st.sampled_from(  # backticks only elsewhere: the oracle takes two of them for one
    ["a", "b1", "-x", "--y=z", "'q r'", '"s t"', "$V", '"$V"', "$(c d)", "a$(g)b", "*.o", "x/y", "\\$"]
)
simple = st.lists(word, min_size=1, max_size=4).map(lambda words: " ".join(["p", *words]))
redirected = st.builds(
    lambda s, r: f"{s} {r}", simple, st.sampled_from(["> o", ">> o", "2>&1", "< i", "&> o", "2> /dev/null"])
)
command = st.recursive(
    simple | redirected,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"{a} | {b}", inner, inner),
        st.builds(lambda a, b: f"{a} && {b}", inner, inner),
        st.builds(lambda a, b: f"{a}; {b}", inner, inner),
        st.builds(lambda a, b: f"{a}\n{b}", inner, inner),
        st.builds(lambda a: f"( {a} )", inner),
        st.builds(lambda a: f"{{ {a}; }}", inner),
        st.builds(lambda a, b: f"if {a}; then {b}; fi", inner, inner),
        st.builds(lambda a, b: f"while {a}; do {b}; done", inner, inner),
        st.builds(lambda a: f"for v in 1 2; do {a}; done", inner),
        st.builds(lambda a: f"case $v in k) {a};; *) m;; esac", inner),
        st.builds(lambda a: f"n() {{ {a}; }}", inner),
        st.builds(lambda a: f"u $({a})", inner),
        st.builds(lambda a: f"cat <<E\nrm\nE\n{a}", inner),
    ),
    max_leaves=8,
)


@settings(max_examples=examples(400))
@given(command)
def test_generated_scripts(text: str) -> None:
    pair = both(text)
    assume(pair is not None)
    assert pair is not None
    assert pair[0] == pair[1]
    assert not parse(text)[1]
