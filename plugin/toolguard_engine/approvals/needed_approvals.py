"""How many people must approve a held call, and of which teams, by the fleet's signed policy. Pure.

Each table `[[approvers]]` that fits the call demands `need` persons of its teams. Of demands on the same teams the largest
counts; demands on different teams add up, and nobody counts for two. Without a policy one person is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from toolguard_engine.model.held_details import MAX_EFFECTS, HeldDetails

MAX_NEED = 8
"""Persons for one call, over all demands: as many signatures as an entry can have."""


class ApproverRule(Struct, frozen=True):
    """One table. Without `effect` it fits every kind; `stakes`: from these on; no `teams`: the team of the policy."""

    effect: tuple[str, ...] = ()
    stakes: int = 1
    need: int = 1
    teams: tuple[str, ...] = ()


class ApproverPolicy(Struct, frozen=True):
    """Who may approve the calls of a team. `members`: the principals of each team; None where the policy names none, so that
    every allowed signer counts."""

    team: str
    rules: tuple[ApproverRule, ...] = ()
    members: Mapping[str, frozenset[str]] | None = None


class Demand(Struct, frozen=True):
    """This many people of these teams."""

    count: int
    teams: tuple[str, ...]


class Need(Struct, frozen=True):
    """`demands`: at least one."""

    demands: tuple[Demand, ...]

    @property
    def count(self) -> int:
        return sum(demand.count for demand in self.demands)

    @property
    def teams(self) -> tuple[str, ...]:
        return tuple(sorted({team for demand in self.demands for team in demand.teams}))

    @property
    def words(self) -> str:
        """Such as `2 of ops and 1 of legal or security`."""
        parts = (f"{demand.count}{' of ' if demand.teams else ''}{' or '.join(demand.teams)}" for demand in self.demands)
        return " and ".join(parts)


ONE = Need((Demand(1, ()),))
"""Without a policy: any allowed signer."""


def needed_approvals(policy: ApproverPolicy | None, details: HeldDetails | None) -> Need:
    """What is not known of the call (no effects, some left out, no stakes) counts as fitting."""
    if policy is None:
        return ONE
    counts: dict[tuple[str, ...], int] = {}
    for rule in policy.rules:
        if _fits(rule, details or HeldDetails()):
            teams = tuple(sorted(set(rule.teams))) or (policy.team,)
            counts[teams] = max(rule.need, counts.get(teams, 0))
    if not counts:
        return Need((Demand(1, (policy.team,)),))
    return Need(tuple(Demand(count, teams) for teams, count in sorted(counts.items())))


def missing_approvals(policy: ApproverPolicy | None, need: Need, signers: Collection[str]) -> str:
    """Which demand these principals do not meet, in words; empty where they meet all."""
    persons = {signer.casefold() for signer in signers}
    if need.count > MAX_NEED:
        return f"the policy requires {need.count} people ({need.words}), and at most {MAX_NEED} can sign"
    if len(persons) < need.count:
        return f"{len(persons)} of {need.count} people have approved (needed: {need.words})"
    taken: dict[int, str] = {}
    seats = [(number, demand) for number, demand in enumerate(_seats(need))]
    for number, demand in seats:
        if not _seat(number, demand, dict(seats), policy, persons, taken, set()):
            return f"the people who approved are not {need.words}"
    return ""


def _fits(rule: ApproverRule, details: HeldDetails) -> bool:
    kinds = {effect.kind for effect in details.effects}
    is_cut = details.more > 0 and len(details.effects) >= MAX_EFFECTS
    is_of_kind = not rule.effect or not kinds or is_cut or not kinds.isdisjoint(rule.effect)
    return is_of_kind and (not details.stakes or details.stakes >= rule.stakes)


def _seats(need: Need) -> list[Demand]:
    return [demand for demand in need.demands for _ in range(demand.count)]


def _may_take(person: str, demand: Demand, policy: ApproverPolicy | None) -> bool:
    if policy is None or policy.members is None or not demand.teams:
        return True
    return any(person == member.casefold() for team in demand.teams for member in policy.members.get(team, ()))


def _seat(
    number: int,
    demand: Demand,
    seats: Mapping[int, Demand],
    policy: ApproverPolicy | None,
    persons: Collection[str],
    taken: dict[int, str],
    tried: set[str],
) -> bool:
    """Gives this seat to a person, moving others to other seats where that helps (augmenting path)."""
    for person in sorted(persons):
        if person in tried or not _may_take(person, demand, policy):
            continue
        tried.add(person)
        before = next((seat for seat, holder in taken.items() if holder == person), None)
        if before is None or _seat(before, seats[before], seats, policy, persons, taken, tried):
            taken[number] = person
            return True
    return False
