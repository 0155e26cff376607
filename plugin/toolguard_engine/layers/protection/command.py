"""Commands by which an agent would get round the guard: every law, over every program that a command runs.

Most commands are nowhere near the guard (`glance`), and no law is asked. A text that names the guard and is given to a
program that may run it is judged as a command itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from toolguard_engine.layers.protection import (
    code,
    commands,
    dashboard,
    folders,
    installed,
    openclaw,
    places,
    processes,
    searches,
)
from toolguard_engine.layers.protection.glance import is_near
from toolguard_engine.layers.protection.scene import (
    Finding,
    Scene,
    is_elsewhere,
    is_interpreter,
    is_textual,
    reaches_back,
    texts,
)
from toolguard_engine.model import Host
from toolguard_engine.shell.model import Run
from toolguard_engine.shell.unwrap import read

LONG = "This command names the guard and is too long to be read."

_MAX_INNER = 3
_MAX_TEXTS = 50
_NAMED = re.compile(r"toolguard|openclaw|clawdbot", re.IGNORECASE)
_MAY_HARM = re.compile(r"toolguard|openclaw|clawdbot|\bp?kill", re.IGNORECASE)
_RUNNING = ("COMMAND", "EDITOR", "PAGER", "VISUAL", "ENV", "_RSH", "_SSH", "LESSOPEN", "BROWSER")
"""How names of variables end whose value other programs run."""

_MAX_SENTENCE = 2_000
_SENTENCE = re.compile(r"[\w\s.,:!?-]*")
_OTHERS = re.compile(r"openclaw|clawdbot|\bp?kill|/|toolguard[^\s]|\btoolguard\s+-", re.IGNORECASE)
_BEHIND = re.compile(r"\btoolguard\s+(\S*)", re.IGNORECASE)
_VALUE = re.compile(r"[\w-]{1,40}[=:]")
_UNREAD = frozenset({"long", "deep"})
_LAWS: tuple[Callable[[Scene], Iterator[Finding]], ...] = (
    commands.findings, openclaw.findings, places.findings, folders.findings, searches.findings, processes.findings,
    code.findings, dashboard.findings, installed.findings,
)  # fmt: skip


def findings(command: str, host: Host, folder: str, depth: int = 0) -> Iterator[Finding]:
    """Why `command`, started in `folder` (empty: the agent's own), must not run unasked; nothing if it may."""
    reading = read(command)
    if is_near(reading.runs, host, folder):
        away = _elsewhere(reading.runs)
        local = tuple(run for run in reading.runs if run not in away) if away else reading.runs
        yield from _of_scene(Scene(local, host, folder, away), local, depth)
        if away:
            scene = Scene(reading.runs, host, folder)
            yield from (replace(finding, certain=False) for finding in _of_scene(scene, away, depth))
    if reading.flaws and not _UNREAD.isdisjoint(reading.flaws) and _NAMED.search(command):
        yield Finding(LONG)


def _elsewhere(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """The programs that run on another machine or in a container: what they do is not known to be done to this guard."""
    found = tuple(run for run in runs if is_elsewhere(run))
    return () if found and any(reaches_back(run) for run in runs) else found


def _of_scene(scene: Scene, runs: tuple[Run, ...], depth: int) -> Iterator[Finding]:
    """`runs`: those whose texts are judged as commands, each in one scene alone."""
    for law in _LAWS:
        yield from law(scene)
    yield from _inner(scene, runs, depth)


def _inner(scene: Scene, runs: tuple[Run, ...], depth: int) -> Iterator[Finding]:
    if depth >= _MAX_INNER:
        return
    given = (text for run in runs for text in _given(run, scene))
    found = dict.fromkeys(text for text in given if _MAY_HARM.search(text) and not _is_prose(text))
    for text in list(found)[:_MAX_TEXTS]:
        yield from findings(text, scene.host, scene.start, depth + 1)


def _is_prose(text: str) -> bool:
    """Whether a sentence names the guard and has neither a command of its nor anything that a shell reads as more."""
    if len(text) > _MAX_SENTENCE or not _SENTENCE.fullmatch(text) or _OTHERS.search(text):
        return False
    return all(match[1] not in commands.CHANGES for match in _BEHIND.finditer(text))


def _given(run: Run, scene: Scene) -> Iterator[str]:
    """Texts that a program may run in a way that is not known here."""
    if is_textual(run) or is_interpreter(run.name) or scene.is_wrapper(run):
        return
    for word in run.argv:
        if " " in word or "\n" in word:
            yield word.lstrip("!:")
            if found := _VALUE.match(word):
                yield word[found.end() :]
    yield from (value for name, value in run.assigns if name.endswith(_RUNNING))
    yield from texts(run)
