"""What can be known without a login of what a rule is about: the commits that a push drops, the rows of a table.

Only what would be lost is said, so that nothing reassures: less may be known here than there is.
"""

from __future__ import annotations

from collections.abc import Callable

from toolguard_cli.approvals.git_facts import GitFacts
from toolguard_engine.model.held_details import HeldDetails, HeldRule

_Fact = Callable[[GitFacts, HeldRule], str]


def of_rules(details: HeldDetails | None, git: GitFacts) -> dict[str, str]:
    """What is known, by the ids of the rules."""
    rules = details.rules if details else ()
    texts = {rule.rule: fact(git, rule) for rule in rules if rule.on and (fact := _FACTS.get(rule.rule))}
    return {rule: text for rule, text in texts.items() if text}


def _operands(rule: HeldRule, verb: str) -> list[str]:
    """The words behind the verb that are no options; the values of options are among them."""
    return [word for word in rule.target.partition(f" {verb}")[2].split() if not word.startswith("-")]


def _forced_push(git: GitFacts, rule: HeldRule) -> str:
    """Nothing of a push that names a remote or a branch, which may not be the upstream."""
    return "" if _operands(rule, "push") else git.forced_push(rule.on)


def _branches(git: GitFacts, rule: HeldRule) -> str:
    return git.only_here(rule.on, _operands(rule, "branch"))


def _stashes(git: GitFacts, rule: HeldRule) -> str:
    return git.stashes(rule.on)


def _uncommitted(git: GitFacts, rule: HeldRule) -> str:
    return git.uncommitted(rule.on)


def _rows(_: GitFacts, rule: HeldRule) -> str:
    from toolguard_engine.stores import table_rows  # noqa: PLC0415 - loads SQLite, and few calls are about a table

    return table_rows.describe(rule.on, rule.target)


_FACTS: dict[str, _Fact] = {
    "vcs.push-force": _forced_push,
    "vcs.push-lease": _forced_push,
    "vcs.branch-delete": _branches,
    "vcs.stash-drop": _stashes,
    "vcs.reset-hard": _uncommitted,
    "vcs.checkout-force": _uncommitted,
    "databases.drop": _rows,
    "databases.truncate": _rows,
    "databases.unfiltered": _rows,
    "databases.rows": _rows,
}
