"""Runs `toolguard approve`, `kill-switch` and `check --stdin` in their usual form without the option parser.

These commands must start quickly, and building the parser takes longer than all their work. Any other form is left to the
parser, which also reports errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolguard_cli.system import paths
from toolguard_cli.terminal.result import Result

FLAGS = {"--yes": "yes", "-y": "yes", "--json": "json"}
PLACES = frozenset({"--state-dir", "--config"})
REASON = ("--reason", "--why")
KEY = "--key"
VALUED = PLACES | frozenset((*REASON, KEY))


def run(arguments: Sequence[str]) -> Result | None:
    """The result of `approve NONCE ... --yes` or `kill-switch on`; None if the parser is needed. `check --stdin` has none:
    it ends the program. Raises `UserError`."""
    if list(arguments[:2]) == ["check", "--stdin"]:
        _check(arguments[2:])
    if list(arguments[:1]) == ["kill-switch"]:
        return _switch(arguments[1:])
    if list(arguments[:1]) != ["approve"]:
        return None
    words, options = _read(arguments[1:])
    if len(words) != 1 or "yes" not in options:
        return None
    from toolguard_cli.commands import approve  # noqa: PLC0415 - imported when called

    places = paths.find(_path(options, "--state-dir"), _path(options, "--config"))
    key = options.get(KEY, "")
    return approve.run(places, words[0], yes=True, reason=_reason(options), key=key, as_json="json" in options)


def _switch(arguments: Sequence[str]) -> Result | None:
    words, options = _read(arguments)
    if len(words) != 1 or words[0] not in ("on", "off", "status") or "yes" in options or KEY in options:
        return None
    from toolguard_cli.operations import set_kill_switch  # noqa: PLC0415 - imported when called

    request: set_kill_switch.KillSwitchRequest = "on" if words[0] == "on" else "off" if words[0] == "off" else "status"
    places = paths.find(_path(options, "--state-dir"), _path(options, "--config"))
    return set_kill_switch.run(places, request, why=_reason(options))


def _check(arguments: Sequence[str]) -> None:
    """Answers all lines and ends the program; returns if the parser is needed. The answers are JSON in any case."""
    words, options = _read(arguments)
    flags = arguments.count("--json")
    if words or not options.keys() <= PLACES | {"json"} or len(arguments) != flags + 2 * len(options.keys() & PLACES):
        return
    from toolguard_cli.policy import check_stream, offline_guard  # noqa: PLC0415 - imported when called

    judged = offline_guard.load(paths.find(_path(options, "--state-dir"), _path(options, "--config")))
    raise SystemExit(check_stream.run(judged))


def _read(arguments: Sequence[str], valued: frozenset[str] = VALUED) -> tuple[list[str], dict[str, str]]:
    """Words and options. No words if there is any other option, so that the parser is used."""
    words: list[str] = []
    options: dict[str, str] = {}
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word in FLAGS:
            options[FLAGS[word]] = word
        elif word in valued and left and not left[0].startswith("-"):
            options.pop(word, None)
            options[word] = left.pop(0)
        else:
            words.append(word)
    return (words, options) if not any(word.startswith("-") for word in words) else ([], {})


def _reason(options: dict[str, str]) -> str:
    """The last one given, as the parser takes it."""
    return next((options[name] for name in reversed(options) if name in REASON), "")


def _path(options: dict[str, str], name: str) -> Path | None:
    return Path(options[name]) if options.get(name) else None
