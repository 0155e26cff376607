"""What a grant is given for: the meaning of its calls now, in each folder in which they may run.

That is the grant's folder, else the one that it names for `workdir`, else the workspaces of the agents, where a call without
a `workdir` runs.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from toolguard_cli.hostconfig import config_tree
from toolguard_cli.migrations import old_folders
from toolguard_cli.policy import offline_guard
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import grant_matching, granted_meaning
from toolguard_engine.approvals.grant_matching import SUBJECTS
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.call import Call
from toolguard_engine.stores.locked import StoreError

MAX_FOLDERS = 16
MAX_SCRIPTS = 48


def bound(places: Places, grant: Grant) -> Grant:
    """The grant with what its calls mean now. Raises `UserError` where that cannot be known."""
    guard = offline_guard.load(places)
    calls = (_call(grant, folder) for folder in _folders(places, grant))
    meanings = [
        granted_meaning.without_data(guard.meaning(call, _scripts(grant, call.cwd))) for call in calls if call is not None
    ]
    unique = dict.fromkeys(msgspec.json.encode(meaning) for meaning in meanings)
    kept = tuple(meaning for meaning in meanings if unique.pop(msgspec.json.encode(meaning), 0) is None)
    return msgspec.structs.replace(grant, bound=kept)


def _folders(places: Places, grant: Grant) -> list[str]:
    named = next((grant.params[name] for name in granted_meaning.FOLDERS if name in grant.params), "")
    if grant.cwd or named:
        return [grant.cwd or _before_star(named)]
    return list(dict.fromkeys(str(folder) for folder in _workspaces(places, grant.agent)))[:MAX_FOLDERS]


def _before_star(glob: str) -> str:
    return glob.partition("*")[0].rpartition("/")[0] or "/" if "*" in glob else glob


def _workspaces(places: Places, agent: str) -> Iterator[Path]:
    yield places.state_dir / "workspace"
    if agent:
        yield places.state_dir / f"workspace-{agent}"
    try:
        yield from old_folders.workspaces(config_tree.read(places.config), places)
    except (UserError, StoreError, OSError):
        return


def _call(grant: Grant, folder: str) -> Call | None:
    """A call that the pattern itself is, in this folder; None for a tool whose pattern is no parameter."""
    subject = SUBJECTS.get(tool_name(grant.tool))
    if subject is None:
        params = _params(grant.pattern)
    elif subject.kind in ("words", "path"):
        params = {subject.params[0]: grant.pattern}
    else:
        params = None
    if params is None:
        return None
    fixed = {name: glob for name, glob in grant.params.items() if "*" not in glob}
    return Call(grant.tool, {**fixed, **params}, agent=grant.agent, cwd=folder)


def _scripts(grant: Grant, folder: str) -> list[str]:
    """The files that a `*` of the pattern may name, where it may stand for what is run."""
    if grant_matching.kind_of(grant.tool) != "words" or not grant_matching.runs_any(grant.pattern.split()):
        return []
    named = (str(Path(folder, word).expanduser()) for word in grant.pattern.split() if "*" in word.strip("*"))
    paths = (path for pattern in named for path in sorted(glob.glob(pattern)) if os.path.isfile(path))  # noqa: PTH207, PTH113
    return list(islice(paths, MAX_SCRIPTS))


def _params(pattern: str) -> dict[str, object] | None:
    if "*" in pattern:
        return None
    try:
        params = msgspec.json.decode(pattern)
    except msgspec.DecodeError:
        return None
    return params if isinstance(params, dict) else None
