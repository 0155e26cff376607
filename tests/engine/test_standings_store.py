"""The standings on disk: kept over engines, never given back by accident, never silently reset."""

from __future__ import annotations

import multiprocessing
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from engine_talk import PATIENCE
from toolguard_engine.approvals.standing import IDLE_SECONDS, MAX_STANDINGS, Seen, Standing
from toolguard_engine.stores.locked import Busy, Damaged, StoreError, corrupt_files
from toolguard_engine.stores.sqlite import standings
from toolguard_engine.stores.sqlite.standings import FileStandings
from toolguard_engine.stores.sqlite.witnessed_clock import WitnessedClock

KEY = ("main", "agent:main:main")


@pytest.fixture
def store(tmp_path: Path) -> FileStandings:
    return FileStandings(tmp_path)


def one(**changes: object) -> Standing:
    return structs.replace(Standing(*KEY, trust=0.72, spent=0.65, touched=time.time()), **changes)


def save(store: FileStandings, *each: Standing) -> list[Standing]:
    return store.save({standing.key: standing for standing in each})


def refilled(standing: Standing) -> Standing:
    return structs.replace(standing, spent=0.0, epoch=standing.epoch + 1)


def test_nothing_is_made_by_looking(store: FileStandings) -> None:
    assert store.load() == store.look() == []
    assert store.checkpoint(refilled) == []
    assert store.other(KEY, None) is None
    assert not store.path.parent.exists()


def test_what_is_saved_is_there_whole_for_the_next_engine(store: FileStandings, tmp_path: Path) -> None:
    standing = one(
        streak=3, reported=["budget.exhausted"], seen=Seen(since=5.0, resources={1: 2}, recent=[1] * 60, in_minute=60)
    )
    assert save(store, standing) == []
    assert FileStandings(tmp_path).load() == [standing]


def test_it_is_for_its_owner_only(store: FileStandings) -> None:
    save(store, one())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
    assert modes == {"standings.db": 0o600, "standings.db-wal": 0o600, "standings.db-shm": 0o600}
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_one_file_is_left_when_all_have_closed_it(store: FileStandings) -> None:
    save(store, one())
    store.close()
    assert [path.name for path in store.path.parent.iterdir()] == ["standings.db"]
    assert len(store.load()) == 1


@pytest.mark.parametrize(("epoch", "spent"), [(0, 0.1), (1, 1.0), (2, 0.9)])
def test_an_engine_does_not_undo_a_checkpoint(store: FileStandings, tmp_path: Path, epoch: int, spent: float) -> None:
    save(FileStandings(tmp_path), one(spent=0.1, epoch=1))
    ours = one(spent=0.9, epoch=epoch)
    replied = save(store, ours)
    assert [each.spent for each in replied] == ([] if epoch == 2 else [spent])
    assert [each.spent for each in store.load()] == [spent]


def test_engines_add_up_what_they_spend(store: FileStandings, tmp_path: Path) -> None:
    others = FileStandings(tmp_path)
    mine = one(spent=0.0)
    save(store, mine)
    (theirs,) = others.load()
    for _ in range(3):
        mine.spent, theirs.spent = round(mine.spent + 0.1, 9), round(theirs.spent + 0.05, 9)
        (mine,) = save(store, mine) or [mine]
        (theirs,) = save(others, theirs) or [theirs]
    assert [each.spent for each in FileStandings(tmp_path).look()] == [0.45]


def test_what_others_wrote_is_seen_before_anything_is_saved(store: FileStandings, tmp_path: Path) -> None:
    others, mine = FileStandings(tmp_path), one(spent=0.1)
    save(store, mine)
    assert store.other(KEY, mine) is None
    (theirs,) = others.load()
    assert store.other(KEY, mine) is None  # written, and as it was
    theirs.spent = 0.3
    save(others, theirs)
    mine.spent = 0.2  # not saved yet
    now = store.other(KEY, mine)
    assert now is not None
    assert now.spent == 0.4
    assert store.other(KEY, now) is None
    assert save(store, now) == []
    others.checkpoint(refilled)
    checked = store.other(KEY, now)
    assert checked is not None
    assert (checked.spent, checked.epoch) == (0.0, 1)
    assert store.other(("main", "elsewhere"), None) is None


def test_one_that_was_forgotten_does_not_come_back_fresh(store: FileStandings) -> None:
    save(store, one(spent=0.9))
    known = store.other(KEY, None)
    assert known is not None
    assert known.spent == 0.9
    (replied,) = save(store, Standing(*KEY, spent=0.15))  # it was used before anybody looked
    assert replied.spent == 1.05


class Machine:
    """The clocks of a machine: the one that can be set, and the monotonic one."""

    def __init__(self) -> None:
        self.wall, self.ticks = 1e9, 50.0

    def engine(self, state: Path) -> FileStandings:
        return FileStandings(state, clock=WitnessedClock(lambda: self.wall, lambda: self.ticks))

    def passes(self, seconds: float) -> None:
        self.wall += seconds
        self.ticks += seconds


def test_what_was_not_used_for_a_week_is_forgotten(tmp_path: Path) -> None:
    machine = Machine()
    engine = machine.engine(tmp_path)
    save(engine, Standing("main", "old", spent=0.5), one())
    machine.passes(IDLE_SECONDS - 60)
    save(engine, one(spent=0.7))
    assert {each.session for each in engine.look()} == {"old", KEY[1]}
    machine.passes(120)
    assert engine.other(("main", "old"), None) is None
    assert save(engine, fresh := Standing("main", "old", spent=0.1)) == []
    assert fresh.spent == 0.1
    machine.passes(IDLE_SECONDS - 60)
    assert [each.session for each in engine.load()] == ["old"]
    with closing(sqlite3.connect(engine.path)) as connection:
        assert connection.execute("SELECT count(*) FROM standing").fetchone() == (1,)


def test_a_clock_that_is_set_wrong_forgets_nothing(tmp_path: Path) -> None:
    machine = Machine()
    save(machine.engine(tmp_path), one(spent=0.9))
    machine.wall += 8 * 86_400
    wrong = machine.engine(tmp_path)
    assert [each.spent for each in wrong.load()] == [0.9]
    machine.passes(90)
    machine.wall += 8 * 86_400  # also while it runs
    assert wrong.other(KEY, None) is not None
    save(wrong, Standing("main", "later", spent=0.2))
    machine.wall -= 100 * 86_400
    assert {each.spent for each in machine.engine(tmp_path).load()} == {0.9, 0.2}
    assert witnessed(wrong.path) == 90.0


def test_time_that_two_engines_see_counts_once(tmp_path: Path) -> None:
    machine = Machine()
    engines = [machine.engine(tmp_path), machine.engine(tmp_path)]
    for _ in range(4):
        machine.passes(1_000)
        for number, engine in enumerate(engines):
            save(engine, Standing("main", f"s{number}"))
    assert witnessed(engines[0].path) == 4_000.0


def witnessed(path: Path) -> float:
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT witnessed FROM clock").fetchone()
    return float(found)


def test_a_file_of_the_first_version_is_carried_over(store: FileStandings, tmp_path: Path) -> None:
    save(store, one(touched=5.0), Standing("main", "unspent", touched=9e9))
    store.close()
    for sql in ("ALTER TABLE standing DROP COLUMN witnessed", "DROP TABLE clock"):
        statement(sql)(store.path)
    assert {each.spent for each in FileStandings(tmp_path).load()} == {0.65, 0.0}
    machine = Machine()
    engine = machine.engine(tmp_path)
    engine.load()
    machine.passes(IDLE_SECONDS + 60)
    assert engine.load() == []


def test_what_the_first_version_writes_meanwhile_is_not_old(tmp_path: Path) -> None:
    machine = Machine()
    engine = machine.engine(tmp_path)
    save(engine, one())
    machine.passes(3 * IDLE_SECONDS)
    engine.load()
    row = f"'main', 's', 0, 1, 5.0, CAST('{msgspec.json.encode(Standing('main', 's', spent=0.3)).decode()}' AS BLOB)"
    statement(f"INSERT INTO standing (agent, session, epoch, revision, touched, body) VALUES ({row})")(engine.path)  # noqa: S608
    assert engine.other(("main", "s"), None) is not None
    assert [each.spent for each in machine.engine(tmp_path).load()] == [0.3]


def test_members_of_a_newer_version_are_kept(store: FileStandings, tmp_path: Path) -> None:
    save(store, one(seen=Seen(since=5.0)))
    more = statement("UPDATE standing SET body = CAST(json_set(body, '$.later', 'x', '$.seen.later', json('[1]')) AS BLOB)")
    more(store.path)
    engine = FileStandings(tmp_path)
    (standing,) = engine.load()
    for spent in (0.7, 0.8):
        standing.spent = spent
        assert save(engine, standing) == []
    save(store, one(spent=0.1))  # it never read them
    engine.checkpoint(refilled)
    with closing(sqlite3.connect(store.path)) as connection:
        (body,) = connection.execute("SELECT body FROM standing").fetchone()
    stored = msgspec.json.decode(body)
    assert (stored["later"], stored["seen"]["later"], stored["spent"], stored["epoch"]) == ("x", [1], 0.0, 1)


def test_unspent_ones_are_the_first_to_go(store: FileStandings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standings, "MAX_STORED", 3)
    save(store, *(Standing("main", f"spent{at}", spent=0.5, touched=at + 1) for at in range(2)))
    save(store, *(Standing("main", f"s{at}", touched=at + 100) for at in range(3)))
    assert {each.session for each in store.load()} == {"spent0", "spent1", "s2"}
    assert store.trouble == ""
    save(store, *(Standing("main", f"more{at}", spent=0.5, touched=at + 200) for at in range(2)))
    assert {each.session for each in store.load()} == {"spent1", "more0", "more1"}
    assert store.trouble.endswith("had more than 3 sessions; partly spent budgets forgotten: 1")


def test_a_file_that_is_mostly_unused_gets_smaller(tmp_path: Path) -> None:
    machine = Machine()
    engine = machine.engine(tmp_path)
    save(engine, *(Standing("main", f"s{at}", seen=Seen(resources=dict.fromkeys(range(500), 1))) for at in range(500)))
    save(engine, kept := one())
    machine.passes(IDLE_SECONDS - 60)
    save(engine, kept)
    engine.close()
    size = engine.path.stat().st_size
    machine.passes(120)
    assert engine.load(patient=True) == [kept]
    assert engine.path.stat().st_size < size / 10


def test_what_the_engine_dropped_is_not_kept_in_memory(store: FileStandings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_most", 10)
    kept = one()
    save(store, kept)
    for at in range(100):
        save(store, Standing("main", f"s{at}", spent=0.5))
        monkeypatch.setattr(store, "_most", 10)
    assert len(store._known) <= 11
    assert store.other(KEY, kept) is None
    kept.spent = 0.7
    assert save(store, kept) == []  # known as its own, so not added to itself


def test_one_that_has_no_time_yet_is_not_old(store: FileStandings) -> None:
    save(store, one(touched=0.0))
    assert len(store.load()) == 1


def test_only_so_many_are_in_memory_and_the_rest_is_on_disk(store: FileStandings) -> None:
    now = time.time()
    save(store, *(Standing("main", f"s{at}", spent=0.5, touched=now + at) for at in range(MAX_STANDINGS + 5)))
    kept = store.load()
    assert len(kept) == MAX_STANDINGS
    assert kept[-1].session == "s5"
    found = store.other(("main", "s0"), None)
    assert found is not None
    assert found.spent == 0.5
    assert len(store.checkpoint(refilled)) == MAX_STANDINGS + 5


def test_a_checkpoint_is_made_where_it_changes_something(store: FileStandings) -> None:
    used, unused = one(), Standing("main", "unused", touched=time.time())
    save(store, used, unused)
    changed = store.checkpoint(lambda each: refilled(each) if each.spent else None)
    assert changed == [(used, refilled(used))]
    assert {each.session: each.epoch for each in store.load()} == {KEY[1]: 1, "unused": 0}


def test_a_checkpoint_that_fails_changes_nothing(store: FileStandings) -> None:
    save(store, one(), Standing("other", "s", spent=0.2, touched=time.time()))

    def change(each: Standing) -> Standing:
        if each.agent == "other":
            raise StoreError("no")
        return refilled(each)

    with pytest.raises(StoreError, match="no"):
        store.checkpoint(change)
    assert {each.epoch for each in store.load()} == {0}


def overwrite(path: Path) -> None:
    path.write_bytes(b"this is no database, but long enough to be taken for one " * 20)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def statement(sql: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(sql)

    return run


DAMAGE = [
    overwrite,
    empty,
    torn,
    foreign,
    statement("DROP TABLE standing"),
    statement("UPDATE standing SET body = x'7b'"),
    statement("UPDATE standing SET body = x'ff'"),
    statement("UPDATE standing SET body = 5"),
    statement("""UPDATE standing SET body = CAST('{"agent":"a","session":"s","spent":"none"}' AS BLOB)"""),
    statement("UPDATE standing SET revision = 0"),
    statement("UPDATE standing SET epoch = 7"),
    *(
        statement(f"UPDATE standing SET body = CAST(json_set(body, '$.{path}', {value}) AS BLOB)")  # noqa: S608
        for path, value in (
            ("spent", -1000.0),
            ("trust", 5.0),
            ("trust", -0.1),
            ("streak", -1),
            ("touched", 1e300),
            ("agent", "'other'"),
            ("seen.recent", "json('[1]')"),
            ("seen.in_minute", 5),
            ("seen.highest", 9),
            ("seen.warnings", -3),
        )
    ),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_kept_and_nothing_is_reset(
    store: FileStandings, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    save(store, one())
    store.close()
    damage(store.path)
    left = store.path.read_bytes()
    with pytest.raises(Damaged, match=r"was damaged and is kept as standings\.db\.corrupt-.*; run `toolguard doctor --fix`"):
        store.load()
    kept = corrupt_files(store.path)
    assert left in [path.read_bytes() for path in kept]
    assert not store.path.exists()
    for act in (store.load, store.look, lambda: save(store, one()), lambda: FileStandings(tmp_path).other(KEY, None)):
        with pytest.raises(Damaged, match="what is left of a damaged store"):
            act()
    for path in kept:
        path.unlink()
    assert store.load() == []
    save(store, one())
    assert len(store.load()) == 1


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_look_leaves_a_damaged_file_where_it_is(store: FileStandings, damage: Callable[[Path], None]) -> None:
    save(store, one())
    store.close()
    damage(store.path)
    for _ in range(2):
        with pytest.raises(Damaged, match=r"is damaged; run"):
            store.look()
    assert store.path.exists()
    assert corrupt_files(store.path) == []


def test_a_connection_that_is_open_notices_another_file(store: FileStandings, tmp_path: Path) -> None:
    kept, changed = one(), Standing("main", "changed", spent=0.2, touched=time.time())
    save(store, kept, changed)
    for path in list(store.path.parent.iterdir()):
        path.unlink()
    assert store.load() == []
    changed.spent = 0.3
    assert save(store, changed) == []
    assert {each.session: each.spent for each in FileStandings(tmp_path).load()} == {KEY[1]: 0.65, "changed": 0.3}
    assert store.trouble.endswith("was removed or replaced while it was in use; 2 budgets are written again")


def test_a_newer_schema_is_left_alone(store: FileStandings) -> None:
    save(store, one())
    store.close()
    statement("PRAGMA user_version = 2")(store.path)
    with pytest.raises(StoreError, match="newer toolguard"):
        store.load()
    assert store.path.exists()


def test_a_folder_in_its_place(store: FileStandings) -> None:
    store.path.mkdir(parents=True)
    for act in (store.load, store.look, lambda: save(store, one())):
        with pytest.raises(StoreError, match="is not a file"):
            act()


@pytest.mark.parametrize("state", ["a\0b", "file"])
def test_a_place_that_cannot_be_one(tmp_path: Path, state: str) -> None:
    (tmp_path / "file").write_text("")
    store = FileStandings(tmp_path / state)
    assert store.load() == store.look() == []
    with pytest.raises(StoreError):
        save(store, one())


def test_what_another_process_holds_is_busy(store: FileStandings) -> None:
    mine = one()
    save(store, mine)
    mine.spent = 0.9
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="locked by another process"):
        save(store, mine)
    assert store.other(KEY, mine) is None  # readers go on
    other.execute("ROLLBACK")
    other.close()
    save(store, mine)
    assert [each.spent for each in store.load()] == [0.9]


def _saves(state: Path, agent: str, count: int) -> None:
    standings.PATIENT_SECONDS = PATIENCE
    store = FileStandings(state, patient=True)
    for at in range(count):
        save(store, Standing(agent, f"s{at}", spent=0.5, touched=time.time()))


@pytest.mark.thorough
def test_engines_that_start_at_once_make_one_file(tmp_path: Path) -> None:
    spawned = multiprocessing.get_context("spawn")
    engines = [spawned.Process(target=_saves, args=(tmp_path, f"a{number}", 20)) for number in range(4)]
    for each in engines:
        each.start()
    for each in engines:
        each.join()
    assert [each.exitcode for each in engines] == [0] * 4
    assert len(FileStandings(tmp_path).load()) == 80
