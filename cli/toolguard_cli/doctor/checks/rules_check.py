"""Whether the user's rules are valid, and whether `rulesOff` names existing rules."""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_cli.hostconfig.setting_errors import KEYS
from toolguard_cli.policy import rule_view
from toolguard_engine.layers import rule_examples
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.values import FORMER_TABLE, InvalidRulesError
from toolguard_engine.wording.visible_text import visible


def count(subject: DoctorSubject) -> Check:
    own = stores.user_rules(subject.places.state_dir)
    try:
        places = own.placed(rule_examples.speaks)
    except InvalidRulesError as error:
        return Check("rules", "error", str(error).removesuffix(f"; {error.fix}"), error.fix)
    except StoreError as error:
        return Check("rules", "error", str(error), "check the file's owner and mode")
    if taken := next((text for place in places if (text := rule_view.taken(place, own.path))), ""):
        return Check("rules", "error", taken, "choose another id")
    if wrong := list(_off(subject, frozenset(place.rule.id for place in places))):
        return Check("rules", "error", "; ".join(wrong), f"fix rulesOff; {rule_view.LIST} lists all rules and packs")
    former = f"; toolguard migrate rewrites the former table [[{FORMER_TABLE}]]" if own.look().former else ""
    return Check("rules", "ok", f"{len(places) or 'none'} of your own{former}")


def _off(subject: DoctorSubject, own: frozenset[str]) -> Iterator[str]:
    for name, problem in rule_view.unknown_off(subject.settings.rules_off, own):
        yield visible(f"{subject.places.config}{_line(subject, name)}: {KEYS}.{problem}")


def _line(subject: DoctorSubject, name: str) -> str:
    lines = subject.config.main.text.splitlines() if subject.config else []
    named = (json.dumps(name), json.dumps(name, ensure_ascii=False), f"'{name}'")
    at = next((number for number, line in enumerate(lines, 1) if any(text in line for text in named)), 0)
    return f", line {at}" if at else ""
