"""The place in the text that a path names, for messages about a value that is JSON5 but not what it should be."""

from __future__ import annotations

from toolguard_cli.hostconfig.json5_edit.key_places import place
from toolguard_cli.hostconfig.json5_edit.scanner import parse
from toolguard_cli.hostconfig.json5_edit.text_spans import Path, ScalarNode, chain, child_index


def locate(text: str, path: Path) -> tuple[int, int]:
    """Line and column of the key (or element) at `path`; where nothing is there, those of the nearest parent.

    The empty path is where the document's value starts. Raises Json5Error as `parse` does.
    """
    nodes = chain(parse(text), path)
    depth = len(nodes) - 1
    if depth == 0:
        return place(text, nodes[0].start)
    container, index = nodes[-2], child_index(nodes[-2], path[depth - 1])
    if isinstance(container, ScalarNode) or index is None:
        raise AssertionError("a node without a place in its parent")
    return place(text, container.items[index].start)
