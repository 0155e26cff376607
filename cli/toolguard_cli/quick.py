"""`toolguard approve`, `kill-switch` and `check --stdin` in their usual form, without the option parser.

An agent waits while a person approves, and goes on while one stops it; a script waits for its first verdict. The parser's
own start takes longer (typer brings pydantic along, 110 ms) than everything that has to be done. Whatever is not exactly of
this form is left to the parser, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolguard_cli import paths
from toolguard_cli.result import Result

FLAGS = {"--yes": "yes", "-y": "yes", "--json": "json"}
PLACES = frozenset({"--state-dir", "--config"})
VALUED = PLACES | {"--reason"}


def run(arguments: Sequence[str]) -> Result | None:
    """The result of `approve NONCE ... --yes`, `kill-switch on` or `check --stdin`; None where the parser has to look.

    Raises `UserError`.
    """
    if list(arguments[:2]) == ["check", "--stdin"]:
        return _check(arguments[2:])
    if list(arguments[:1]) == ["kill-switch"]:
        return _switch(arguments[1:])
    if list(arguments[:1]) != ["approve"]:
        return None
    words, options = _read(arguments[1:])
    if len(words) != 1 or "yes" not in options:
        return None
    from toolguard_cli.commands import approve  # noqa: PLC0415 - as every command

    places = paths.find(_path(options, "--state-dir"), _path(options, "--config"))
    return approve.run(places, words[0], yes=True, reason=options.get("--reason", ""), as_json="json" in options)


def _switch(arguments: Sequence[str]) -> Result | None:
    words, options = _read(arguments, PLACES | {"--why"})
    if len(words) != 1 or words[0] not in ("on", "off", "status") or "yes" in options:
        return None
    from toolguard_cli.commands import killswitch  # noqa: PLC0415 - as every command

    wish: killswitch.Wish = "on" if words[0] == "on" else "off" if words[0] == "off" else "status"
    places = paths.find(_path(options, "--state-dir"), _path(options, "--config"))
    return killswitch.run(places, wish, why=options.get("--why", ""))


def _check(arguments: Sequence[str]) -> Result | None:
    """Answers all lines; the result says nothing more."""
    words, options = _read(arguments)
    if words or not options.keys() <= PLACES or len(arguments) != 2 * len(options):
        return None
    from toolguard_cli import checkstream, judging  # noqa: PLC0415 - as every command

    judged = judging.load(paths.find(_path(options, "--state-dir"), _path(options, "--config")))
    return Result("check", exit_code=checkstream.run(judged))


def _read(arguments: Sequence[str], valued: frozenset[str] = VALUED) -> tuple[list[str], dict[str, str]]:
    """Words and options; an option of another form counts as a word, so that there is one too many."""
    words: list[str] = []
    options: dict[str, str] = {}
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word in FLAGS:
            options[FLAGS[word]] = word
        elif word in valued and left and not left[0].startswith("-"):
            options[word] = left.pop(0)
        else:
            words.append(word)
    return (words, options) if not any(word.startswith("-") for word in words) else ([], {})


def _path(options: dict[str, str], name: str) -> Path | None:
    return Path(options[name]) if options.get(name) else None
