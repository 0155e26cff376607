"""How many people must approve, and whether those who did are enough."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.approvals.needed_approvals import (
    ONE,
    ApproverPolicy,
    ApproverRule,
    Demand,
    Need,
    missing_approvals,
    needed_approvals,
)
from toolguard_engine.model.held_details import MAX_EFFECTS, HeldDetails, HeldEffect

TWO = ApproverRule(("send", "delete"), stakes=8, need=2, teams=("ops",))
LEGAL = ApproverRule(("send",), need=1, teams=("legal",))
MEMBERS = {"ops": frozenset({"anna", "bert", "cleo"}), "legal": frozenset({"dora", "anna"})}
POLICY = ApproverPolicy("ops", (TWO, LEGAL), MEMBERS)


def details(*kinds: str, stakes: int = 9, more: int = 0) -> HeldDetails:
    return HeldDetails(tuple(HeldEffect(kind) for kind in kinds), more=more, stakes=stakes)


@each_row(
    ("given", "demands"),
    [
        (details("read"), [Demand(1, ("ops",))]),
        (details("delete"), [Demand(2, ("ops",))]),
        (details("delete", stakes=7), [Demand(1, ("ops",))]),
        (details("delete", stakes=8), [Demand(2, ("ops",))]),
        (details("send"), [Demand(1, ("legal",)), Demand(2, ("ops",))]),
        (details(), [Demand(1, ("legal",)), Demand(2, ("ops",))]),
        (details("read", stakes=0), [Demand(1, ("ops",))]),
        (details("delete", stakes=0), [Demand(2, ("ops",))]),
        (None, [Demand(1, ("legal",)), Demand(2, ("ops",))]),
        (details(*["read"] * MAX_EFFECTS, more=1), [Demand(1, ("legal",)), Demand(2, ("ops",))]),
        (details("read", more=3), [Demand(1, ("ops",))]),
    ],
)
def test_what_is_not_known_of_a_call_counts_as_fitting(given: HeldDetails | None, demands: list[Demand]) -> None:
    assert list(needed_approvals(POLICY, given).demands) == demands


def test_without_a_policy_one_person_is_enough() -> None:
    assert needed_approvals(None, details("delete")) == ONE
    assert (ONE.count, ONE.teams, ONE.words) == (1, (), "1")
    assert missing_approvals(None, ONE, {"anybody"}) == ""


def test_the_largest_need_of_the_same_teams_counts() -> None:
    policy = ApproverPolicy("ops", (ApproverRule(need=3, teams=("ops",)), TWO, ApproverRule(need=1)), MEMBERS)
    assert needed_approvals(policy, details("delete")).demands == (Demand(3, ("ops",)),)


@each_row(
    ("signers", "missing"),
    [
        ((), "0 of 3"),
        (("bert", "cleo"), "2 of 3"),
        (("bert", "cleo", "dora"), ""),
        (("anna", "bert", "cleo"), ""),
        (("anna", "bert", "dora"), ""),
        (("Anna", "anna", "ANNA"), "1 of 3"),
        (("bert", "cleo", "eve"), "not 1 of legal and 2 of ops"),
        (("bert", "dora", "eve"), "not 1 of legal and 2 of ops"),
    ],
)
def test_each_demand_is_met_by_persons_of_its_own(signers: tuple[str, ...], missing: str) -> None:
    found = missing_approvals(POLICY, needed_approvals(POLICY, details("send")), signers)
    assert missing in found
    assert bool(found) == bool(missing)


def test_more_persons_than_can_sign_are_never_enough() -> None:
    need = Need((Demand(5, ("ops",)), Demand(5, ("legal",))))
    assert "at most 8" in missing_approvals(POLICY, need, {f"p{number}" for number in range(20)})
