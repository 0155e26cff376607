"""Features that the settings enable although their packages are not installed. `status`, `install` and `config validate` say
so, and how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolguard_cli.hostconfig.config_tree import Steps
from toolguard_cli.hostconfig.finding import ConfigFinding, finding
from toolguard_cli.system import apprise_package, extras, secret_setting
from toolguard_cli.system.extras import DASHBOARD, FLEET, NOTIFY, Extra
from toolguard_cli.terminal.result import Line
from toolguard_cli.validation.subject import OWN, ConfigSubject
from toolguard_engine.config import notify_targets
from toolguard_engine.config.settings import Config, NotifyTarget


@dataclass(frozen=True)
class MissingExtra:
    """`setting`: what enables the feature, below toolguard's settings."""

    setting: Steps
    extra: Extra

    @property
    def text(self) -> str:
        return f"{'.'.join(map(str, self.setting))} is set, but {self.extra.lack}"

    @property
    def fix(self) -> str:
        return extras.install_command(self.extra)


def missing(config: Config) -> list[MissingExtra]:
    enabled = [
        *([MissingExtra(("metrics", "dashboard", "enabled"), DASHBOARD)] if config.metrics.dashboard.enabled else []),
        *([MissingExtra(("fleet", "enabled"), FLEET)] if config.fleet.enabled else []),
    ]
    return [*(lacking for lacking in enabled if not lacking.extra.is_installed()), *_targets(config)]


def _targets(config: Config) -> Iterator[MissingExtra]:
    for name, target in notify_targets.usable(config.notify).items():
        if notify_targets.kind(target) == "url" and _lacks_apprise(target):
            own = "url" if notify_targets.is_set(target.url) else "urlFile"
            yield MissingExtra(("notify", "targets", name, own), NOTIFY)


def _lacks_apprise(target: NotifyTarget) -> bool:
    try:
        return apprise_package.lacks(secret_setting.read(target.url, target.url_file))
    except (OSError, ValueError, RuntimeError):  # a file that cannot be read; `doctor` says so
        return False


def lines(config: Config) -> list[Line]:
    """A warning for each of them, and the command that ends it."""
    return [line for lacking in missing(config) for line in (Line("warn", lacking.text), Line("info", f"-> {lacking.fix}"))]


def are_installed(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    for lacking in missing(subject.settings) if subject.settings else ():
        yield finding(subject.tree, (*OWN, *lacking.setting), "warn", lacking.extra.lack, lacking.fix)
