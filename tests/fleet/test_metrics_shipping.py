"""Model calls and verdicts of a machine, in the fleet's database: each row once, and sums that equal the rows."""

from __future__ import annotations

import random
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from effort import some
from fleet_database import Connection, FleetDatabase, Gateway
from metrics_files import write
from shipping_runs import with_link
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.metrics.row_writer import HOUR_MS, CallRecord, VerdictRecord
from toolguard_engine.stores import open as stores
from toolguard_fleet.fleet_errors import FleetError
from toolguard_fleet.shipping import metrics_shipper
from toolguard_fleet.shipping.gateway_connection import GatewayConnection
from toolguard_fleet.shipping.metrics_shipper import MetricsShipper

SUMS = "calls, failed, input, output, cache_read, cache_write, total, priced, cost_usd, estimated_usd, timed, duration_ms"
OF_ROWS = """
    SELECT date_trunc(%s, at, 'UTC'), gateway, agent, provider, model, count(*),
        count(*) FILTER (WHERE outcome NOT IN ('', 'completed')), sum(input), sum(output), sum(cache_read), sum(cache_write),
        sum(total), count(cost_usd), coalesce(sum(cost_usd), 0), coalesce(sum(cost_usd) FILTER (WHERE estimated), 0),
        count(duration_ms), coalesce(sum(duration_ms), 0)
    FROM fleet.call JOIN fleet.metric_head USING (source) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"""


@pytest.fixture
def gateway(database: FleetDatabase) -> Gateway:
    return database.gateway()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.db"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def some_calls(many: int, seed: int = 0) -> list[CallRecord]:
    chance = random.Random(seed)  # noqa: S311
    return [
        CallRecord(
            at=now_ms() - chance.randrange(0, 200 * HOUR_MS),
            agent=chance.choice(("main", "helper", "")),
            session="agent:main:main",
            channel="chat",
            provider=chance.choice(("a", "b")),
            model=chance.choice(("big", "small")),
            input=chance.randrange(10**6),
            output=chance.randrange(10**6),
            cache_read=chance.randrange(10**6),
            total=chance.randrange(10**6),
            cost_usd=chance.choice((None, chance.random(), 0.1)),
            cost_estimated=chance.randrange(2),
            duration_ms=chance.choice((None, 17)),
            outcome=chance.choice(("completed", "failed", "")),
        )
        for _ in range(many)
    ]


def ship(database: FleetDatabase, gateway: Gateway, state_dir: Path, path: Path) -> MetricsShipper:
    async def work(link: GatewayConnection) -> MetricsShipper:
        shipper = MetricsShipper(link, state_dir, path)
        while await shipper.step():
            pass
        return shipper

    shipper: MetricsShipper = with_link(database, gateway, work)
    return shipper


def sums_equal_rows(owner: Connection) -> bool:
    for table in ("hour", "day"):
        sums = owner.execute(
            f"SELECT at, gateway, agent, provider, model, {SUMS} FROM fleet.{table} ORDER BY 1, 2, 3, 4, 5"  # noqa: S608
        ).fetchall()
        if sums != owner.execute(OF_ROWS, (table,)).fetchall():
            return False
    verdicts = """
        SELECT date_trunc(%s, at, 'UTC'), gateway, agent, kind, code, count(*)
        FROM fleet.verdict JOIN fleet.metric_head USING (source)"""
    return all(
        owner.execute(f"SELECT * FROM fleet.verdict_{unit} ORDER BY 1, 2, 3, 4, 5").fetchall()  # noqa: S608
        == owner.execute(f"{verdicts} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5", (unit,)).fetchall()
        for unit in ("hour", "day")
    )


def count(owner: Connection, table: str) -> int:
    row = owner.execute(f"SELECT count(*) FROM fleet.{table}").fetchone()  # noqa: S608
    assert row
    return int(row[0])


def let_one_lead(owner: Connection) -> None:
    owner.execute("UPDATE fleet.summing SET due = clock_timestamp()")


def test_rows_are_sent_once_with_their_values(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path
) -> None:
    calls = some_calls(1_100)
    write(path, tmp_path, calls)
    assert ship(database, gateway, tmp_path, path).progress.sent == 1_100
    assert ship(database, gateway, tmp_path, path).progress.sent == 0
    write(path, tmp_path, calls[:1])
    assert ship(database, gateway, tmp_path, path).progress.sent == 1
    rows = owner.execute("SELECT agent, provider, model, input, cost_usd, outcome FROM fleet.call ORDER BY seq").fetchall()
    assert rows == [
        (
            one.agent,
            one.provider,
            one.model,
            one.input,
            None if one.cost_usd is None else Decimal(repr(one.cost_usd)),
            one.outcome,
        )
        for one in [*calls, calls[0]]
    ]


def test_only_rows_of_this_gateway_are_sent(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path
) -> None:
    write(path, tmp_path / "other", some_calls(3))
    write(
        path, tmp_path / "ours", some_calls(2), [VerdictRecord(now_ms(), kind="allow"), VerdictRecord(now_ms(), kind="hold")]
    )
    ship(database, gateway, tmp_path / "ours", path)
    assert (count(owner, "call"), count(owner, "verdict")) == (2, 1)


def test_the_text_of_a_call_stays_on_the_machine(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path
) -> None:
    secret = "rm -rf ./private"
    write(path, tmp_path, (), [VerdictRecord(now_ms(), kind="hold", shown=secret, reason=secret, event="e", nonce="n1")])
    ship(database, gateway, tmp_path, path)
    (row,) = owner.execute("SELECT to_jsonb(v) FROM fleet.verdict AS v").fetchall()
    assert secret not in str(row)
    assert row[0]["nonce"] == "n1"


def test_a_replaced_file_is_another_stream(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path
) -> None:
    write(path, tmp_path, some_calls(5))
    ship(database, gateway, tmp_path, path)
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    time.sleep(0.002)  # a file is known by the millisecond in which it was created
    write(path, tmp_path, some_calls(3, 1))
    ship(database, gateway, tmp_path, path)
    assert (count(owner, "call"), count(owner, "metric_head")) == (8, 2)


def test_a_machine_without_metrics_sends_nothing(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path
) -> None:
    assert ship(database, gateway, tmp_path, path).progress.sent == 0
    assert not path.exists()


@pytest.mark.parametrize("seed", some(range(4)))
def test_sums_equal_the_rows(database: FleetDatabase, owner: Connection, tmp_path: Path, path: Path, seed: int) -> None:
    """Whatever the order in which gateways send and lead, late rows included."""
    chance = random.Random(seed)  # noqa: S311
    gateways = [database.gateway(), database.gateway("dev")]
    for turn in range(6):
        number = chance.randrange(2)
        rows = some_calls(chance.randrange(40), turn)
        verdicts = [
            VerdictRecord(row.at, agent=row.agent, kind=chance.choice(("hold", "block", "allow")), code="c", event=None)
            for row in rows
        ]
        write(path, tmp_path / str(number), rows, verdicts)
        if chance.random() < 0.7:
            let_one_lead(owner)
        ship(database, gateways[number], tmp_path / str(number), path)
    for number in range(2):
        ship(database, gateways[number], tmp_path / str(number), path)
    let_one_lead(owner)
    ship(database, gateways[0], tmp_path / "0", path)
    assert (count(owner, "call_part"), count(owner, "verdict_part")) == (0, 0)
    assert count(owner, "call") > 20
    assert sums_equal_rows(owner)


def sum_up(login: Connection, gateway: Gateway) -> dict[str, Any]:
    row = login.execute("SELECT fleet.sum_up(%s, %s)", (gateway.id, gateway.token)).fetchone()
    assert row
    found: dict[str, Any] = row[0]
    return found


def send(login: Connection, gateway: Gateway, calls: list[dict[str, Any]]) -> Any:
    rows = Jsonb({"stream": "a" * 16, "calls": calls})
    return login.execute("SELECT fleet.record(%s, %s, %s)", (gateway.id, gateway.token, rows)).fetchone()


def one_call(seq: int, **fields: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("agent", "session", "channel", "provider", "model", "outcome"), "x")
    numbers = dict.fromkeys(("input", "output", "cache_read", "cache_write", "total"), 1)
    return {"seq": seq, "at": now_ms(), **texts, **numbers, "cost_usd": 0.1, "estimated": False, "duration_ms": 5, **fields}


def test_one_leads_at_a_time_and_once_a_minute(database: FleetDatabase, owner: Connection, gateway: Gateway) -> None:
    one, other = database.gateway_login(), database.gateway_login()
    send(one, gateway, [one_call(1)])
    with one.transaction():
        assert sum_up(one, gateway) == {"led": True, "moved": 1, "more": False}
        assert sum_up(other, gateway)["led"] is False
    assert sum_up(other, gateway)["led"] is False
    assert sums_equal_rows(owner)


def test_a_leader_that_is_killed_in_the_middle_changes_nothing(
    database: FleetDatabase, owner: Connection, gateway: Gateway
) -> None:
    login, next_login = database.gateway_login(), database.gateway_login()
    send(login, gateway, [one_call(number) for number in range(1, 5)])
    login.execute("BEGIN")
    assert sum_up(login, gateway)["moved"] == 1
    database.superuser().execute("SELECT pg_terminate_backend(%s)", (login.info.backend_pid,))
    with pytest.raises(psycopg.OperationalError):
        login.execute("COMMIT")
    assert count(owner, "hour") == 0
    assert sum_up(next_login, gateway)["moved"] == 1
    assert sums_equal_rows(owner)


def test_maintenance_does_not_wait_for_a_gateway_that_leads_for_ever(
    database: FleetDatabase, owner: Connection, gateway: Gateway
) -> None:
    login = database.gateway_login()
    send(login, gateway, [one_call(1)])
    login.execute("BEGIN")
    sum_up(login, gateway)
    assert owner.execute("SELECT fleet.maintain_sums()").fetchone() == ({"summed_parts": 0},)
    login.execute("ROLLBACK")
    assert owner.execute("SELECT fleet.maintain_sums()").fetchone() == ({"summed_parts": 1},)
    assert sums_equal_rows(owner)


def test_rows_that_arrive_while_one_leads_are_summed_next(
    database: FleetDatabase, owner: Connection, gateway: Gateway
) -> None:
    one, other = database.gateway_login(), database.gateway_login()
    send(one, gateway, [one_call(1)])
    other.execute("BEGIN")
    send(other, gateway, [one_call(2)])
    assert sum_up(one, gateway)["moved"] == 1
    other.execute("COMMIT")
    let_one_lead(owner)
    assert sum_up(one, gateway)["moved"] == 1
    assert sums_equal_rows(owner)


def test_many_that_send_the_same_rows_at_once(database: FleetDatabase, owner: Connection, gateway: Gateway) -> None:
    def work(number: int) -> None:
        login = database.connect("toolguard_gateway")
        for first in range(1, 60, 5 + number):
            send(login, gateway, [one_call(seq) for seq in range(1, first + 5)])
            let_one_lead(owner)
            sum_up(login, gateway)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    let_one_lead(owner)
    sum_up(database.gateway_login(), gateway)
    seqs = owner.execute("SELECT array_agg(seq ORDER BY seq) FROM fleet.call").fetchone()
    assert seqs
    assert seqs[0] == list(range(1, len(seqs[0]) + 1))
    assert sums_equal_rows(owner)


@pytest.mark.parametrize(("at", "is_now"), [(0, True), (10**15, True), (-5, True), (2**53, True), (946684800000, False)])
def test_a_wrong_clock_of_a_gateway(
    gateway_login: Connection, owner: Connection, gateway: Gateway, at: int, *, is_now: bool
) -> None:
    send(gateway_login, gateway, [one_call(1, at=at)])
    row = owner.execute("SELECT at > clock_timestamp() - interval '1 minute', day = current_date FROM fleet.call").fetchone()
    assert row
    assert row[0] is is_now


BAD: dict[str, Any] = {
    "no stream": {"calls": []},
    "bad stream": {"stream": "'; --", "calls": []},
    "no array": {"stream": "a" * 16, "calls": {}},
    "too many": {"stream": "a" * 16, "calls": [{}] * 1001},
    "no object": [],
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_rows_are_refused(gateway_login: Connection, gateway: Gateway, bad: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        gateway_login.execute("SELECT fleet.record(%s, %s, %s)", (gateway.id, gateway.token, Jsonb(BAD[bad])))


def test_hostile_values_are_bounded(gateway_login: Connection, owner: Connection, gateway: Gateway) -> None:
    send(gateway_login, gateway, [one_call(1, agent="x" * 5_000, input=-5, cost_usd=-1), one_call(2, cost_usd=1e300)])
    rows = owner.execute("SELECT length(agent), input, cost_usd FROM fleet.call ORDER BY seq").fetchall()
    assert rows == [(200, 0, None), (1, 1, None)]


def test_a_file_with_foreign_values_is_sent_bounded(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path
) -> None:
    write(path, tmp_path, some_calls(3))
    with closing(sqlite3.connect(path)) as file, file:
        foreign = "UPDATE toolguard_calls SET agent = CAST(? AS TEXT), input = 'x', total = 1e99, at = -1 WHERE id = 2"
        file.execute(foreign, (b"a\x00b\xff",))
    assert ship(database, gateway, tmp_path, path).progress.sent == 3
    rows = owner.execute("SELECT input, total FROM fleet.call WHERE seq = 2").fetchall()
    assert rows == [(0, 0)]


def test_standings_are_copied_when_they_change(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_shipper, "STANDING_SECONDS", 0.0)
    write(path, tmp_path, some_calls(1))
    (tmp_path / "toolguard").mkdir()
    store = stores.standings(tmp_path, patient=True)
    for spent in (3.0, 5.0):
        standing = Standing("main", "agent:main:main", spent=spent, touched=time.time())
        known = store.load()
        if known:
            standing = known[0]
            standing.spent = spent
        store.save({standing.key: standing})
        ship(database, gateway, tmp_path, path)
        assert owner.execute("SELECT agent, session, spent FROM fleet.standing").fetchall() == [
            ("main", "agent:main:main", spent)
        ]
    store.close()


def test_standings_are_copied_beyond_the_quota(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, path: Path
) -> None:
    """Rows are not offered again with each of them."""
    write(path, tmp_path, some_calls(1))
    (tmp_path / "toolguard").mkdir()
    store = stores.standings(tmp_path, patient=True)
    store.load()
    store.save({("main", "s"): Standing("main", "s", spent=3.0, touched=time.time())})
    store.close()
    owner.execute(
        "INSERT INTO fleet.stored_today VALUES (%s, fleet.utc_day(clock_timestamp()), 1e12::bigint)", (gateway.id,)
    )
    asked: list[str] = []
    now = 0.0

    async def work(link: GatewayConnection) -> None:
        nonlocal now
        ask = link.ask

        async def noted(function: Any, *arguments: object) -> Any:
            asked.append(function.partition("(")[0])
            return await ask(function, *arguments)

        link.ask = noted  # type: ignore[method-assign]
        shipper = MetricsShipper(link, tmp_path, path, clock=lambda: now)
        for seconds in (100.0, 100.0, 10_000.0):
            now += seconds
            with pytest.raises(FleetError, match="stored all that it may"):
                await shipper.step()

    with_link(database, gateway, work)
    assert owner.execute("SELECT spent FROM fleet.standing").fetchall() == [(3.0,)]
    assert asked.count("fleet.record") == 2
    assert asked.index("fleet.record_standings") < 4


def test_old_sums_are_removed_and_parts_are_moved_before(
    owner: Connection, gateway: Gateway, gateway_login: Connection
) -> None:
    ages = (100 * 24 * HOUR_MS, 900 * 24 * HOUR_MS, 0)
    send(gateway_login, gateway, [one_call(seq, at=now_ms() - age) for seq, age in enumerate(ages, 1)])
    row = owner.execute("SELECT fleet.maintain_sums()").fetchone()
    assert row == ({"summed_parts": 3},)
    assert (count(owner, "hour"), count(owner, "day"), count(owner, "call_part")) == (1, 2, 0)


def test_partitions_that_are_over_are_dropped_and_heads_stay(
    owner: Connection, gateway: Gateway, gateway_login: Connection
) -> None:
    send(gateway_login, gateway, [one_call(1)])
    owner.execute("UPDATE fleet.call SET day = day - 20")
    send(gateway_login, gateway, [one_call(2)])
    owner.execute("SELECT fleet.maintain_partitions()")
    assert owner.execute("SELECT seq FROM fleet.call").fetchall() == [(2,)]
    assert owner.execute("SELECT calls FROM fleet.metric_head").fetchall() == [(2,)]
    owner.execute("UPDATE fleet.summing SET due = clock_timestamp()")
    sum_up(gateway_login, gateway)
    assert owner.execute("SELECT sum(calls) FROM fleet.hour").fetchone() == (2,)


def test_persons_see_their_teams(database: FleetDatabase, owner: Connection) -> None:
    login = database.gateway_login()
    ops, dev = database.gateway("ops"), database.gateway("dev")
    for number, gateway in enumerate((ops, dev), 1):
        send(login, gateway, [one_call(seq, cost_usd=number) for seq in range(1, number + 1)])
    sum_up(login, ops)
    anna, root = database.person("anna", "viewer", ("ops",)), database.person("root", "admin", ("*",))
    spending = "SELECT name, calls, cost_usd FROM fleet.spending(24, 'team')"
    assert anna.execute(spending).fetchall() == [("ops", 1, 1)]
    assert root.execute(spending).fetchall() == [("dev", 2, 4), ("ops", 1, 1)]
    assert [row[0] for row in anna.execute("SELECT gateway FROM fleet.health()")] == [ops.id]
    totals = root.execute("SELECT fleet.totals(24)").fetchone()
    assert totals
    assert (totals[0]["calls"], totals[0]["cost_usd"]) == (3, 5)
    for by in ("gateway", "agent", "model", "hour", "day"):
        assert len(root.execute("SELECT * FROM fleet.spending(48, %s)", (by,)).fetchall()) >= 1
    assert root.execute("SELECT * FROM fleet.spending(200, 'model', 'dev')").fetchall()[0][1] == 2
    with pytest.raises(psycopg.errors.DatabaseError) as refused:
        anna.execute("SELECT * FROM fleet.standings(%s)", (dev.id,))
    assert refused.value.sqlstate == "TG011"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        login.execute(spending)
