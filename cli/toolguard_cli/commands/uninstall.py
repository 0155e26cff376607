"""`toolguard uninstall`: takes the plugin out again and leaves the config as it was before."""

from __future__ import annotations

from pathlib import Path

from toolguard_cli import configfile
from toolguard_cli.commands.install import locked
from toolguard_cli.configfile import ConfigFile
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.setup import entry, folder, record


def run(places: Places, *, dry_run: bool) -> Result:
    """Raises `UserError`; then nothing was changed."""
    known = record.load(places.record)
    if known is None:
        if folder.is_ours(places.extension):
            raise UserError(
                f"{places.extension} is there, but not the record of its installation",
                "run `toolguard install`, then `toolguard uninstall`",
            )
        return Result("uninstall", {"changed": False}, (Line("ok", f"not installed in {places.state_dir}; nothing to do"),))
    config = configfile.read(Path(known.config))
    text = entry.undo(config.text, known.undoable()) if config.exists else config.text
    if dry_run:
        return _result(places, known, config, text, done=False)
    with locked(places):
        _restore(known, config, text)
        if known.mode == "copy":
            folder.remove(places.extension)
        places.record.unlink(missing_ok=True)
    return _result(places, known, config, text, done=True)


def _restore(known: record.Record, config: ConfigFile, text: str) -> None:
    if not config.exists or text == config.text:
        return
    if known.before == "" and text.strip() == "{}":
        configfile.write(config, text.encode())
        config.path.unlink()
        return
    configfile.write(config, text.encode())


def _result(places: Places, known: record.Record, config: ConfigFile, text: str, *, done: bool) -> Result:
    exact = configfile.digest(text.encode()) == known.before or (known.before == "" and text.strip() == "{}")
    lines = [_line("removed the plugin" if known.mode == "copy" else "unlinked the plugin", known.plugin, done=done)]
    if known.before == "" and text.strip() == "{}":
        lines.append(_line("removed the config that install had created", str(config.path), done=done))
    elif text != config.text:
        state = "it is as it was before the installation" if exact else "your later changes are kept"
        lines.append(_line(f"took toolguard's lines out of the config; {state}", str(config.path), done=done))
    if done and text != config.text:
        lines.append(Line("info", f"the config with them: {configfile.backup_path(config.path.resolve())}"))
    lines.append(Line("info", f"kept: logs and state in {places.own} and the log of malformed calls"))
    if done:
        lines.append(Line("next", "restart the gateway"))
    data = {"changed": True, "dryRun": not done, "config": str(config.path), "exact": exact, "plugin": known.plugin}
    return Result("uninstall", data, tuple(lines))


def _line(what: str, where: str, *, done: bool) -> Line:
    return Line("ok", f"{what}: {where}" if done else f"not done (--dry-run): {what}: {where}")
