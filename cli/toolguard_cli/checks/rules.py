"""Do the rules and constraints count that the person wrote, and only those not that they switched off."""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolguard_cli import ownrules
from toolguard_cli.checks.check import Check, Subject
from toolguard_cli.checks.config import KEYS
from toolguard_engine import constraintpacks
from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.userconstraints import UserConstraints
from toolguard_engine.stores.userrules import BadRules, UserRules


def count(subject: Subject) -> Check:
    own = UserRules(subject.places.state_dir)
    try:
        found = own.placed()
        limits = UserConstraints(subject.places.state_dir).placed(constraintpacks.speaks)
    except BadRules as error:
        return Check("rules", "error", str(error).removesuffix(f"; {error.mend}"), error.mend)
    except StoreError as error:
        return Check("rules", "error", str(error), "mend the file's owner and mode")
    if taken := next((text for each in found if (text := ownrules.taken(each, own.path))), ""):
        return Check("rules", "error", taken, "choose another id")
    if wrong := list(_off(subject, frozenset(each.rule.id for each in found))):
        return Check("rules", "error", "; ".join(wrong), f"mend rulesOff; {ownrules.LIST} names all rules and packs")
    counted = f"{len(found)} of your own" if found else "none of your own"
    more = f", {len(limits)} constraint{'' if len(limits) == 1 else 's'}" if limits else ""
    return Check("rules", "ok", counted + more)


def _off(subject: Subject, own: frozenset[str]) -> Iterator[str]:
    for name, said in ownrules.unknown_off(subject.settings.rules_off, own):
        yield UNPRINTABLE.sub("?", f"{subject.places.config}{_line(subject, name)}: {KEYS}.{said}")


def _line(subject: Subject, name: str) -> str:
    lines = subject.config.main.text.splitlines() if subject.config else []
    named = (json.dumps(name), json.dumps(name, ensure_ascii=False), f"'{name}'")
    at = next((number for number, line in enumerate(lines, 1) if any(text in line for text in named)), 0)
    return f", line {at}" if at else ""
