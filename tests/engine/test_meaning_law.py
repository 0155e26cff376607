"""Whatever happens in whatever order: an approval lets one call run, and never one that means more than was approved."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import examples
from toolguard_engine.approvals.binding import bind_meaning
from toolguard_engine.approvals.call_meaning import VERSION, FileState, Meaning, MeantEffect
from toolguard_engine.approvals.ledger import Decision, HeldCall, Ledger

ME = Decision("ana", "cli")
NOW = 1_000.0

# what is touched, and the content of the one script
worlds = st.tuples(st.frozensets(st.integers(0, 3), max_size=3), st.integers(0, 1))
steps = st.lists(st.tuples(st.sampled_from(["present", "approve", "deny", "give back", "wait"]), worlds), max_size=25)
World = tuple[frozenset[int], int]


def meaning(world: World) -> Meaning:
    effects = tuple(MeantEffect("delete", path=f"/{number}") for number in sorted(world[0]))
    return Meaning(VERSION, "call", "/w", effects, (FileState("/s", "/s", str(world[1]), code=True),))


def entry(nonce: str, world: World, now: float) -> HeldCall:
    meant = meaning(world)
    return HeldCall(
        nonce=nonce, binding=bind_meaning(meant), tool="exec", agent="main", session="s", run="r", code="c", reason="r",
        shown="call", created=now, expires=now + 300, meaning=meant,
    )  # fmt: skip


def means(held: HeldCall) -> World:
    assert held.meaning is not None
    paths = frozenset(int(effect.path[1:]) for effect in held.meaning.effects)
    return paths, int(held.meaning.files[0].digest)


NARROW, WIDE = (frozenset[int](), 0), (frozenset([1]), 0)


@settings(deadline=None, max_examples=examples(200))
@given(steps=steps)
@example(steps=[("present", NARROW), ("approve", NARROW), ("present", NARROW), ("present", WIDE), ("give back", NARROW)])
def test_an_approval_runs_once_and_only_what_was_approved(steps: list[tuple[str, World]]) -> None:
    kept: list[HeldCall] = []
    now, yes, runs, count = NOW, 0, 0, 0
    for step, world in steps:
        ledger = Ledger(kept)
        ledger.sweep(now)
        open_entries = ledger.open_entries()
        used = [known for known in ledger.entries if known.status == "used"]
        if step == "wait":
            now += 20
        elif step == "approve" and (pending := [known for known in open_entries if known.status == "pending"]):
            ledger.approve(pending[-1].nonce, ME, now, 30)
            yes += 1
        elif step == "deny" and open_entries:
            ledger.deny(open_entries[-1].nonce, ME, now, 60)
        elif step == "give back" and used:
            count += 1
            if again := ledger.give_back(used[-1], f"{count:08x}", now):
                assert means(again) == means(used[-1])
                yes += 1
        elif step == "present":
            known = ledger.waiting(bind_meaning(meaning(world)), now, meaning=meaning(world))
            if known is None:
                count += 1
                ledger.enter(entry(f"{count:08x}", world, now))
            elif known.status == "approved":
                assert world[0] <= means(known)[0]
                assert world[1] == means(known)[1]
                ledger.use(known, now)
                runs += 1
            elif known.status == "denied":
                assert world[1] == means(known)[1]
            else:
                assert world[0] <= means(known)[0]
        assert runs <= yes
        kept = ledger.entries
    assert len({known.nonce for known in kept}) == len(kept)


@given(before=worlds, now=worlds)
def test_covering_is_an_order(before: World, now: World) -> None:
    """What covers and is covered is the same; more never is."""
    ledger = Ledger([entry("00000001", before, NOW)])
    found = ledger.waiting(bind_meaning(meaning(now)), NOW, meaning=meaning(now))
    assert (found is not None) is (now[0] <= before[0] and now[1] == before[1])
