"""Would the gateway load the plugin from where it is, and is it the one that belongs to this toolguard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.checks import mending
from toolguard_cli.checks.check import RESTART, Check, Step, Subject, shown
from toolguard_cli.checks.discovery import locations
from toolguard_cli.checks.reading import json_object
from toolguard_cli.paths import PLUGIN_ID, plugin_source
from toolguard_cli.setup import folder
from toolguard_cli.setup.lock import locked
from toolguard_cli.validation.loading import MANIFEST
from toolguard_engine import __version__, answers

COPY_ANEW = "it copies the files anew"


def loadable(subject: Subject) -> Check:
    refused = [(place, reason) for place in locations(subject) for reason in folder.refusals(place, subject.user)]
    if not refused:
        return Check("plugin-files", "ok", "owner, modes and links are as OpenClaw wants them")
    place, reason = refused[0]
    return Check("plugin-files", "error", f"OpenClaw refuses it: {reason}", _fix(subject, place))


def _fix(subject: Subject, place: Path) -> str:
    if place.is_symlink():
        return f"rm {shown(place)}, then {subject.command('install')}"
    if place == subject.places.extension and not folder.is_ours(place):
        return f"mv {shown(place)} {shown(place.with_name('not-' + place.name))}, then {subject.command('install')}"
    return f"{subject.command('install')} ({COPY_ANEW})"


def manifest(subject: Subject) -> Check:
    """The gateway takes the id from one file and what it runs from another."""
    wrong = next((text for place in locations(subject) for text in _wrong(place)), "")
    if wrong:
        return Check("manifest", "error", wrong, f"{subject.command('install')} ({COPY_ANEW})")
    return Check("manifest", "ok", f"it names {PLUGIN_ID} and what to run")


def _wrong(place: Path) -> Iterator[str]:
    told = json_object(place / MANIFEST)
    if told.get("id") != PLUGIN_ID:
        yield f"{place / MANIFEST} does not name {PLUGIN_ID}"
    openclaw = json_object(place / "package.json").get("openclaw")
    entries = openclaw.get("extensions") if isinstance(openclaw, dict) else None
    if not isinstance(entries, list) or not entries:
        yield f"{place / 'package.json'} names nothing to run (openclaw.extensions)"
        return
    for entry in entries:
        if not isinstance(entry, str) or not _is_file_inside(place, entry):
            yield f"{place} has no {answers.plain(str(entry))}, which package.json names"


def _is_file_inside(place: Path, entry: str) -> bool:
    if "\0" in entry:
        return False
    target = (place / entry).resolve()
    return target.is_file() and target.is_relative_to(place.resolve())


def current(subject: Subject) -> Check:
    """The copy beside the package that it was made from."""
    extension = subject.places.extension
    if not extension.exists() or folder.same(plugin_source(), extension):
        return Check("plugin-copy", "ok", f"it belongs to toolguard {__version__}")
    copied = answers.plain(str(json_object(extension / folder.MARKER).get("version", "")))
    if copied and copied != __version__:
        told = f"{extension} is the copy of toolguard {copied}; this is {__version__}"
    else:
        told = f"{extension} is not the copy of this toolguard"
    return Check("plugin-copy", "warn", told, subject.command("install"))


def mend(subject: Subject) -> Iterator[Step]:
    """Our own copy is made anew, also where only owners or modes are wrong."""
    again = list(mending.reinstall(subject))
    yield from again
    place = subject.places.extension
    if not again and folder.is_ours(place) and (folder.refusals(place, subject.user) or list(_wrong(place))):
        yield Step(f"copy the plugin anew to {place}", partial(_copied, subject))


def _copied(subject: Subject) -> str:
    with locked(subject.places):
        folder.copy(plugin_source(), subject.places.extension, __version__)
    return RESTART
