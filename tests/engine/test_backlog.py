"""What waits to be written: in its order, bounded, and what is lost is counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.metrics.row_writer import CallRecord


def rows(*numbers: int) -> list[CallRecord]:
    return [CallRecord(number) for number in numbers]


def test_the_oldest_go_and_are_counted() -> None:
    backlog = Backlog(3)
    backlog.add(rows(1, 2))
    assert backlog.take_lost() == 0
    backlog.add(rows(3, 4, 5))
    assert (backlog.take_lost(), backlog.take_lost(), len(backlog)) == (2, 0, 3)
    assert (backlog.take(2), len(backlog)) == (rows(3, 4), 3)
    backlog.done()
    assert len(backlog) == 1
    assert (backlog.take(9), backlog.take(9)) == (rows(5), [])


def test_what_is_put_back_is_the_oldest_again() -> None:
    backlog = Backlog(3)
    backlog.add(rows(1, 2, 3))
    taken = backlog.take(2)
    backlog.add(rows(4))
    backlog.put_back(taken)
    assert (backlog.take_lost(), backlog.take(9)) == (1, rows(2, 3, 4))


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "fail"]), st.integers(0, 7))))
def test_every_row_is_written_waits_or_is_counted(steps: list[tuple[str, int]]) -> None:
    backlog, written, added = Backlog(10), list[int](), 0
    for kind, number in steps:
        if kind == "add":
            backlog.add(rows(*range(added, added + number)))
            added += number
        else:
            taken = backlog.take(number)
            if kind == "fail":
                backlog.put_back(taken)
            else:
                written += [row.at for row in taken]
    written += [row.at for row in backlog.take(10)]
    assert written == sorted(set(written))
    assert len(written) + backlog.take_lost() == added
