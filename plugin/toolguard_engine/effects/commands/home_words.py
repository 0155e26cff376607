"""Words of a command that begin at the home folder, where the command itself has set which one that is."""

from __future__ import annotations

from typing import cast

from toolguard_engine.effects.syntax.syntax_tree import Literal, Redirection, Simple, Word
from toolguard_engine.effects.syntax.variable_values import Value


def moved(command: Simple, home: Value) -> Simple | None:
    """The command with `~` replaced by the home folder that this command itself set; None if there is no `~`."""
    targets = [redirect.target for redirect in command.redirects]
    if not isinstance(home, str) or home == "~" or not any(map(_begins_at_home, (*command.words, *targets))):
        return None
    redirects = [
        Redirection(redirect.operator, _moved(redirect.target, home), redirect.fd) for redirect in command.redirects
    ]
    return Simple([_moved(word, home) for word in command.words], command.assigns, redirects)


def _begins_at_home(word: Word) -> bool:
    if isinstance(word, str):
        return word[:1] == "~" and word[1:2] in ("", "/")
    first = word[0] if word else None
    return isinstance(first, Literal) and not first.quoted and _begins_at_home(first.text)


def _moved(word: Word, home: str) -> Word:
    """The word with its tilde replaced by that folder, as a quoted part that is not expanded again."""
    if not _begins_at_home(word):
        return word
    text, more = (word, ()) if isinstance(word, str) else (cast("Literal", word[0]).text, word[1:])
    rest = (Literal(text[1:]),) if len(text) > 1 else ()
    return (Literal(home, quoted=True), *rest, *more)
