"""`/metrics`: what Prometheus reads there."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from dashboard_stage import NAMES, OWN, Served, machine, served
from prometheus_client.parser import text_string_to_metric_families

import metrics_seed
from toolguard_cli.dashboard import prometheus
from toolguard_engine.metrics import database
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.transactions import transaction

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(server: Served) -> Samples:
    text = server.ask("/metrics").body.decode()
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in found}


def total(found: Samples, name: str, **labels: str) -> float:
    return sum(value for (known, given), value in found.items() if known == name and labels.items() <= set(given))


def test_counters_begin_at_the_start(tmp_path: Path) -> None:
    made, at = machine(tmp_path), time.time_ns() // 1_000_000
    again = [
        CallRecord(at, NAMES[0], model="m", input=7, cost_usd=0.5),
        CallRecord(at, NAMES[0], model="m", input=5, cost_usd=0.25, outcome="error"),
    ]
    for _ in range(2):
        with served(made) as server:
            assert {value for (name, _), value in samples(server).items() if name.endswith("_total")} == {0.0}
            with closing(database.connect(made.db)) as db, transaction(db):
                record(db, again)
                record_verdicts(db, [VerdictRecord(at, NAMES[0], kind="block", decision="block")])
            found = samples(server)
        assert total(found, "toolguard_calls_total") == 2
        assert total(found, "toolguard_calls_total", outcome="failed") == 1
        assert total(found, "toolguard_tokens_total", kind="input") == 12
        assert abs(total(found, "toolguard_cost_usd_total") - 0.75) < 1e-9
        assert total(found, "toolguard_decisions_total", kind="block") == 1


def test_gauges(server: Served) -> None:
    server.machine.hold()
    KillSwitchFile(server.machine.places(NAMES[1]).state_dir).set(on=True, by="ann", why="")
    found = samples(server)
    for name in (*NAMES, OWN):
        assert total(found, "toolguard_pending", gateway=name) == (name == NAMES[0])
        assert total(found, "toolguard_kill_switch", gateway=name) == (name == NAMES[1])
        assert total(found, "toolguard_gateway_up", gateway=name) == 0


def test_counters_never_go_down_and_series_are_bounded(server: Served) -> None:
    before: Samples = {}
    for number in range(3):
        calls = [
            CallRecord(time.time_ns() // 1_000_000, NAMES[0], model=f"{chr(122 - number)}{each}", input=1)
            for each in range(150)
        ]
        with closing(database.connect(server.machine.db)) as db, transaction(db):
            record(db, calls)
        found = samples(server)
        assert all(found[name] >= value for name, value in before.items() if name[0].endswith("_total"))
        named = Counter(name for name, labels in found)
        assert named["toolguard_tokens_total"] <= 4 * (prometheus.MOST + 1)
        assert total(found, "toolguard_tokens_total", model="other", kind="input") > 0
        assert total(found, "toolguard_calls_total") >= 150 * (number + 1)
        before = found


def test_hostile_names(tmp_path: Path) -> None:
    with served(machine(tmp_path, hostile=True)) as server:
        found = samples(server)
    models = {dict(labels).get("model", "") for _, labels in found}
    assert metrics_seed.MARKUP in models
    assert all(len(model) <= prometheus.MAX_LABEL and model.isprintable() for model in models)
