"""Where things are, found as OpenClaw finds them, with our own variables before its own.

State directory: `--state-dir`, `TOOLGUARD_STATE_DIR`, `OPENCLAW_STATE_DIR`, else the first that exists of `~/.openclaw`
and `~/.clawdbot`, else `~/.openclaw`; `OPENCLAW_HOME` moves the home. Config: `--config`, `TOOLGUARD_CONFIG`,
`OPENCLAW_CONFIG_PATH`, else the first that exists of `openclaw.json` and `clawdbot.json` in the state directory, then in
`~/.openclaw` and `~/.clawdbot` (the gateway falls back to these even where `OPENCLAW_STATE_DIR` is set). A state directory
named to toolguard itself stands alone: its config is the one in there, whatever OpenClaw's variables say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import toolguard_engine
from toolguard_cli.errors import UserError
from toolguard_engine.stores.files import own_folder

PLUGIN_ID = "toolguard"
STATE_NAMES = (".openclaw", ".clawdbot")
CONFIG_NAMES = ("openclaw.json", "clawdbot.json")


@dataclass(frozen=True)
class Places:
    """The places of one gateway. None of them has to exist. `given`: the options that named them, for commands that a
    person is told to run."""

    state_dir: Path
    config: Path
    given: tuple[str, ...] = field(default=(), compare=False)

    @property
    def own(self) -> Path:
        """Toolguard's own files inside the state directory."""
        return own_folder(self.state_dir)

    @property
    def extension(self) -> Path:
        """Where a copied plugin lies."""
        return self.state_dir / "extensions" / PLUGIN_ID

    @property
    def record(self) -> Path:
        """What `install` wrote about itself; the gateway part reads the interpreter from it."""
        return self.own / "install.json"


def find(state_dir: Path | None, config: Path | None, env: Mapping[str, str] = os.environ) -> Places:
    """The places for these options and this environment, absolute. Raises `UserError` for a name that is not UTF-8."""
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
    found = _absolute(file, home)
    given = (*(("--state-dir", str(state)) if state_dir else ()), *(("--config", str(found)) if config else ()))
    return Places(state, found, given)


def _absolute(path: Path, home: Path) -> Path:
    """`~` is the home that OpenClaw uses; `~name` is a folder of that name, as it is for OpenClaw."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{str(path)!a} is not UTF-8", "name a place that is") from error
    return (home.joinpath(*path.parts[1:]) if path.parts[:1] == ("~",) else path).absolute()


def _named(env: Mapping[str, str], *names: str) -> Path | None:
    return next((Path(env[name]) for name in names if env.get(name)), None)


def plugin_source() -> Path:
    """The gateway part that belongs to this toolguard: of the checkout, else of the installed package.

    The checkout is asked first: an editable install has no copy of its own, and one left by an older build is stale.
    """
    checkout = Path(toolguard_engine.__file__).parent.parent / "gateway"
    if (checkout / "openclaw.plugin.json").is_file():
        return checkout
    return Path(str(files("toolguard_manifests"))) / "gateway"
