"""The places of a gateway, found as OpenClaw finds them; toolguard's own variables take precedence.

State directory: `--state-dir`, `TOOLGUARD_STATE_DIR`, `OPENCLAW_STATE_DIR`, else the first existing one of `~/.openclaw`
and `~/.clawdbot`, else `~/.openclaw`; `OPENCLAW_HOME` replaces the home. Config: `--config`, `TOOLGUARD_CONFIG`,
`OPENCLAW_CONFIG_PATH`, else the first existing one of `openclaw.json` and `clawdbot.json` in the state directory, then in
`~/.openclaw` and `~/.clawdbot` (the gateway falls back to these even if `OPENCLAW_STATE_DIR` is set). For a state
directory given to toolguard itself, only the config in it is used, whatever OpenClaw's variables say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import toolguard_engine
from toolguard_cli.system.errors import UserError
from toolguard_engine.host import file_names
from toolguard_engine.stores.atomic import own_folder

PLUGIN_ID = "toolguard"
STATE_NAMES = (".openclaw", ".clawdbot")
CONFIG_NAMES = ("openclaw.json", "clawdbot.json")


@dataclass(frozen=True)
class Places:
    """The places of one gateway, which need not exist. `given`: the options that selected them, for suggested commands."""

    state_dir: Path
    config: Path
    given: tuple[str, ...] = field(default=(), compare=False)

    @property
    def own(self) -> Path:
        return own_folder(self.state_dir)

    @property
    def extension(self) -> Path:
        return self.state_dir / "extensions" / PLUGIN_ID

    @property
    def record(self) -> Path:
        """The record of the installation; the gateway part reads the interpreter from it."""
        return self.own / "install.json"


def find(state_dir: Path | None, config: Path | None, env: Mapping[str, str] = os.environ) -> Places:
    """The places for these options and this environment, as absolute paths. Raises `UserError` for a path that is none."""
    account = Path(env.get("HOME") or Path.home())
    home = _absolute(Path(env.get("OPENCLAW_HOME") or account), account)
    usual = [home / name for name in STATE_NAMES]
    ours = state_dir or _named(env, "TOOLGUARD_STATE_DIR")
    named = ours or _named(env, "OPENCLAW_STATE_DIR")
    state = _absolute(named, home) if named else next((place for place in usual if place.is_dir()), usual[0])
    file = config or _named(env, "TOOLGUARD_CONFIG", *([] if ours else ["OPENCLAW_CONFIG_PATH"]))
    if file is None:
        folders = [state] if ours else [state, *usual]
        known = [folder / name for folder in folders for name in CONFIG_NAMES]
        file = next((place for place in known if place.exists()), state / CONFIG_NAMES[0])
    path = _absolute(file, home)
    given = (*(("--state-dir", str(state)) if state_dir else ()), *(("--config", str(path)) if config else ()))
    return Places(state, path, given)


def _absolute(path: Path, home: Path) -> Path:
    """Expands `~` to the home that OpenClaw uses. Like OpenClaw, does not expand `~name`."""
    if path.parts[:1] and path.parts[0].startswith("-"):
        message = f"{str(path)!a} is read as a path here, but starts like an option"
        raise UserError(message, f"give a path before it; if this is one, write {f'./{path}'!a}")
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{str(path)!a} is not UTF-8", "give a path that is") from error
    return (home.joinpath(*path.parts[1:]) if path.parts[:1] == ("~",) else path).absolute()


def _named(env: Mapping[str, str], *names: str) -> Path | None:
    return next((Path(env[name]) for name in names if env.get(name)), None)


def usual_python(home: Path) -> str:
    """The Python that has toolguard, where documentation, uv or pipx put it; empty if there is none."""
    paths = (home / place / "bin" / "python" for place in file_names.ENVIRONMENTS)
    return next((str(python) for python in paths if python.exists()), "")


def plugin_source() -> Path:
    """The gateway part of this toolguard: from the checkout, else from the installed package.

    The checkout comes first because an editable install has no copy, and one from an older build would be stale.
    """
    checkout = Path(toolguard_engine.__file__).parent.parent / "gateway"
    if (checkout / "openclaw.plugin.json").is_file():
        return checkout
    return Path(str(files("toolguard_manifests"))) / "gateway"
