"""Whether the rules exist that `rulesOff` switches off."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_cli.hostconfig.finding import ConfigFinding, finding
from toolguard_cli.validation.subject import OWN, ConfigSubject
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.values import InvalidRulesError

KEY = "rulesOff"


def are_known(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Reports nothing if the user's own rules, which may be meant, cannot be read."""
    written = subject.settings.rules_off if subject.settings else []
    if not written:
        return
    from toolguard_cli.policy import rule_view  # noqa: PLC0415 - brings the whole engine along

    try:
        own = [placed.rule.id for placed in stores.user_rules(subject.places.state_dir).placed()]
    except (InvalidRulesError, StoreError):
        return
    for name, problem in rule_view.unknown_off(written, own):
        steps = (*OWN, KEY, written.index(name))
        if not subject.is_open(steps[len(OWN) :]):
            fix = f"{subject.command('config', 'unset', f'{KEY}[{steps[-1]}]')}; {rule_view.LIST} lists all rules and packs"
            yield finding(subject.tree, steps, "warn", problem.removeprefix(f"{KEY} "), fix)
