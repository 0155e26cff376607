"""Programs under another name: `cp /bin/rm t; ./t -rf x` and `hash -p /bin/rm ls; ls -rf x` run rm."""

from __future__ import annotations

from posixpath import basename

from msgspec.structs import replace

from toolguard_engine.effects.shell.command import ProgramRun
from toolguard_engine.effects.shell.run_files import RunFiles

_COPIERS = frozenset(["cp", "ln", "mv", "install", "gcp", "gln", "gmv"])
_RENAMING = _COPIERS | {"hash"}
_FOLDERS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/")
_HASH = 4
"""Words of `hash -p PATH NAME`."""


def resolved(runs: list[ProgramRun], running: RunFiles | None = None) -> list[ProgramRun]:
    """The runs with the real names of the programs that this command, or an earlier call, gave new ones."""
    for run in runs:
        if run.name in _RENAMING or "/" in run.argv[0]:
            return _resolved(runs, running)
    return runs


def _resolved(runs: list[ProgramRun], running: RunFiles | None) -> list[ProgramRun]:
    names: dict[str, str] = {}
    found = []
    for run in runs:
        words = [word for word in run.argv[1:] if word[:1] != "-"]
        if run.name in _COPIERS and len(words) > 1 and words[-2].startswith(_FOLDERS):
            names[basename(words[-1].rstrip("/"))] = basename(words[-2])
        elif run.name == "hash" and run.argv[1:2] == ("-p",) and len(run.argv) >= _HASH:
            names[f"hash {run.argv[3]}"] = basename(run.argv[2])
        real = names.get(run.name) if "/" in run.argv[0] else names.get(f"hash {run.name}")
        if real is None and running is not None and "/" in run.argv[0] and not run.argv[0].startswith(_FOLDERS):
            source = running.copied_from(run.argv[0], run.cwd)
            real = basename(source) if source.startswith(_FOLDERS) else None
        found.append(replace(run, argv=(real, *run.argv[1:]), name=real) if real else run)
    return found
