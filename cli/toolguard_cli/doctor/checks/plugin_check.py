"""Whether the gateway can load the installed plugin, and whether it belongs to this version of toolguard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.doctor import fixes
from toolguard_cli.doctor.check_types import RESTART, Check, DoctorSubject, Fix, shown
from toolguard_cli.doctor.checks.discovery_check import locations, package
from toolguard_cli.doctor.read_once import json_object
from toolguard_cli.setup import plugin_folder
from toolguard_cli.setup.config_lock import locked
from toolguard_cli.setup.plugin_folder import MANIFEST
from toolguard_cli.system.paths import PLUGIN_ID, plugin_source
from toolguard_engine import __version__
from toolguard_engine.wording import printable

COPY_ANEW = "it copies the files again"


def loadable(subject: DoctorSubject) -> Check:
    refused = [(place, reason) for place in locations(subject) for reason in plugin_folder.refusals(place, subject.user)]
    if not refused:
        return Check("plugin-files", "ok", "owners, modes and links are as OpenClaw requires")
    place, reason = refused[0]
    return Check("plugin-files", "error", f"OpenClaw refuses to load it: {reason}", _next_step(subject, place))


def _next_step(subject: DoctorSubject, place: Path) -> str:
    if place.is_symlink():
        return f"rm {shown(place)}, then {subject.command('install')}"
    if place == subject.places.extension and not plugin_folder.is_ours(place):
        return f"mv {shown(place)} {shown(place.with_name('not-' + place.name))}, then {subject.command('install')}"
    return f"{subject.command('install')} ({COPY_ANEW})"


def manifest(subject: DoctorSubject) -> Check:
    """The gateway reads the plugin's id from one file and its entry points from another."""
    wrong = next((text for place in locations(subject) for text in _wrong(place)), "")
    if wrong:
        return Check("manifest", "error", wrong, f"{subject.command('install')} ({COPY_ANEW})")
    return Check("manifest", "ok", f"it names {PLUGIN_ID} and its entry points")


def _wrong(place: Path) -> Iterator[str]:
    if json_object(place / MANIFEST).get("id") != PLUGIN_ID:
        yield f"{place / MANIFEST} does not name {PLUGIN_ID}"
    openclaw = json_object(place / "package.json").get("openclaw")
    entries = openclaw.get("extensions") if isinstance(openclaw, dict) else None
    if not isinstance(entries, list) or not entries:
        yield f"{place / 'package.json'} names nothing to run (openclaw.extensions)"
        return
    for entry in entries:
        if not isinstance(entry, str) or not _is_file_inside(place, entry):
            yield f"{place} has no {printable.plain(str(entry))}, which package.json names"


def _is_file_inside(place: Path, entry: str) -> bool:
    if "\0" in entry:
        return False
    target = (place / entry).resolve()
    return target.is_file() and target.is_relative_to(place.resolve())


def current(subject: DoctorSubject) -> Check:
    extension = subject.places.extension
    if npm := package(subject):
        installed = printable.plain(str(json_object(npm / MANIFEST).get("version", "")))
        if installed == __version__:
            return Check("plugin-copy", "ok", f"it is the npm package of toolguard {__version__}")
        text = f"{npm} is the npm package of toolguard {installed}; this is {__version__}"
        return Check("plugin-copy", "warn", text, f"openclaw plugins update {PLUGIN_ID}")
    if not extension.exists() or plugin_folder.same(plugin_source(), extension):
        return Check("plugin-copy", "ok", f"it belongs to toolguard {__version__}")
    copied = printable.plain(str(json_object(extension / plugin_folder.MARKER).get("version", "")))
    if copied and copied != __version__:
        text = f"{extension} is the copy of toolguard {copied}; this is {__version__}"
    else:
        text = f"{extension} is not the copy of this toolguard"
    return Check("plugin-copy", "warn", text, subject.command("install"))


def fix(subject: DoctorSubject) -> Iterator[Fix]:
    """Replaces toolguard's own copy, also if only owners or modes are wrong."""
    again = list(fixes.reinstall(subject))
    yield from again
    place = subject.places.extension
    if not again and plugin_folder.is_ours(place) and (plugin_folder.refusals(place, subject.user) or list(_wrong(place))):
        yield Fix(f"copy the plugin to {place} again", partial(_copied, subject))


def _copied(subject: DoctorSubject) -> str:
    with locked(subject.places):
        plugin_folder.copy(plugin_source(), subject.places.extension, __version__)
    return RESTART
