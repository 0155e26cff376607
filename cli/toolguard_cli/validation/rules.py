"""Are the rules there that our settings switch off."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_cli.validation.finding import Finding, finding
from toolguard_cli.validation.subject import OWN, Subject
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.userrules import BadRules, UserRules

KEY = "rulesOff"


def are_known(subject: Subject) -> Iterator[Finding]:
    """Not told where the person's own rules, which may be meant, cannot be read."""
    written = subject.settings.rules_off if subject.settings else []
    if not written:
        return
    from toolguard_cli import ownrules  # noqa: PLC0415 - brings the whole engine along

    try:
        own = [placed.rule.id for placed in UserRules(subject.places.state_dir).placed()]
    except (BadRules, StoreError):
        return
    for name, said in ownrules.unknown_off(written, own):
        steps = (*OWN, KEY, written.index(name))
        if not subject.is_open(steps[len(OWN) :]):
            fix = f"{subject.mend('config', 'unset', f'{KEY}[{steps[-1]}]')}; {ownrules.LIST} names all rules and packs"
            yield finding(subject.tree, steps, "warn", said.removeprefix(f"{KEY} "), fix)
