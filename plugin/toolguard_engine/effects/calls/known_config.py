"""The gateway's config as a call finds it, and what a text or settings would change in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import structs

from toolguard_engine.effects.control_plane.setting_changes import ChangedSetting, compared, differences
from toolguard_engine.effects.control_plane.verb_catalogue import PASSING
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.host import json5_text
from toolguard_engine.model.call import Host
from toolguard_engine.model.files import FileSource, FileText, Unread

CHANGING = frozenset({"write", "delete", "empty", "move", "link", "owner", "permissions", "encrypt", "append", "discard"})
WRITERS = program_catalogue.tools("writes_file")
Expected = Callable[[str], bool]
"""Whether another call of the same message may be writing a file."""


class ConfigChange(NamedTuple):
    """`settings`: those that get another value; None if that cannot be worked out. `broken`: why the gateway would not start
    with the result. `asked`: what is changed by the gateway itself, by the program that asks it."""

    settings: tuple[ChangedSetting, ...] | None
    broken: str = ""
    asked: tuple[tuple[ProgramRun | None, tuple[ChangedSetting, ...]], ...] = ()


NOT_WORKED_OUT = ConfigChange(None)


class ConfigContent(NamedTuple):
    """What a file contains: the config with these changes, or a text; nothing that is known without either."""

    changes: tuple[ChangedSetting, ...] | None = None
    text: str | None = None


NOT_KNOWN = ConfigContent()


class KnownConfig:
    """The config of a host, and what is in it."""

    def __init__(self, host: Host, where: Where, files: FileSource, expected: Expected) -> None:
        protected = protected_paths.protected_on(host)
        self.path = protected.config
        self.home = protected.home
        self._where = where
        self._files = files
        self._expected = expected

    def is_it(self, path: str, cwd: str = "") -> bool:
        full = normal(path, self._where, cwd)
        return full.lower() == self.path.lower() or (
            full.lower().endswith(protected_paths.CONFIG_NAMES)
            and self._files.resolve(full) == self._files.resolve(self.path)
        )

    def whole(self, path: str, cwd: str = "") -> str:
        """The path of a file as a program finds it, through links."""
        return self._files.resolve(normal(path, self._where, cwd))

    def is_absent(self, path: str) -> bool:
        file = self._files.read(path)
        return not self._expected(path) and isinstance(file, Unread) and file.reason == "absent"

    def text(self) -> str | None:
        return self.text_of(self.path)

    def text_of(self, path: str) -> str | None:
        if self._expected(path):
            return None
        file = self._files.read(path)
        return file.text if isinstance(file, FileText) else None

    def judged(self, content: ConfigContent) -> ConfigChange:
        """What differs if this becomes the config."""
        if content.changes is not None:
            return ConfigChange(compared(content.changes, self.current()))
        if content.text is None:
            return NOT_WORKED_OUT
        try:
            new = json5_text.decoded(content.text.encode())
        except (ValueError, RecursionError):
            return ConfigChange(None, "it would not be JSON5")
        if not isinstance(new, dict):
            return ConfigChange(None, "it would not be an object")
        old = self.current()
        if old is not None:
            return ConfigChange(differences(old, new))
        if not _loads_guard(new):
            return ConfigChange((ChangedSetting(("plugins", "entries", "toolguard", "enabled")),))
        return NOT_WORKED_OUT

    def current(self) -> dict[str, Any] | None:
        """The config as it is; None if that is not known."""
        text = self.text()
        if text is None:
            return None
        try:
            config = json5_text.decoded(text.encode())
        except (ValueError, RecursionError):
            return None
        return config if isinstance(config, dict) else None


def _loads_guard(config: dict[str, Any]) -> bool:
    """Whether the guard may still be loaded with it. An include may name it."""
    entry: Any = config
    for name in ("plugins", "entries", "toolguard"):
        if "$include" in entry:
            return True
        entry = entry.get(name)
        if not isinstance(entry, dict):
            return False
    return entry.get("enabled", True) is not False


def may_be(path: str, host: Host) -> bool:
    """A quick look."""
    lower = path.lower()
    return lower.endswith(protected_paths.CONFIG_NAMES) or (
        bool(host.config_path) and lower.endswith(host.config_path.lower().rpartition("/")[2])
    )


MAX_SHOWN = 40


def as_settings(
    acts: tuple[tuple[Effect, ...], ...],
    settings: tuple[ChangedSetting, ...],
    host: Host,
    where: Where,
    files: FileSource,
) -> tuple[tuple[Effect, ...], ...]:
    """Effects in which a change of the config is one of its settings, as if the gateway's command line had made it."""
    config = KnownConfig(host, where, files, lambda _: False)
    more: list[Effect] = []
    changed: list[tuple[Effect, ...]] = []
    for effects in acts:
        kept: list[Effect] = []
        for effect in effects:
            cwd = effect.program.cwd if effect.program else ""
            is_it = effect.kind == "write" and may_be(effect.target, host) and config.is_it(effect.target, cwd)
            kept.append(structs.replace(effect, flags=effect.flags - {"gateway-file"}) if is_it else effect)
            if is_it and not more:
                more = [
                    Effect(
                        "gateway", f"openclaw.json {setting.shown}", "", frozenset([setting.effect.effect]), effect.program
                    )
                    for setting in settings[:MAX_SHOWN]
                    if setting.effect.effect not in (*PASSING, "guard")
                ]
                kept += more
        changed.append(tuple(kept))
    return tuple(changed)
