"""`/metrics` of the fleet dashboard, for Prometheus: gateways, what waits, kill switches, and the upkeep of the database.

A monitor sends a token of a person (`Authorization: Bearer tgf-...`), and gets what this person may see.
"""

from __future__ import annotations

import math
import re

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from toolguard_engine.wording import printable

BEARER = re.compile(r"Bearer (tgf-[0-9a-f]{64})")
MAX_LABEL = 100


class MeasuredGateway(msgspec.Struct, frozen=True):
    """`silent`: seconds since it asked last."""

    id: str
    team: str
    state: str
    silent: float


class MeasuredTeam(msgspec.Struct, frozen=True):
    """`oldest`: for how many seconds the oldest call waits. `*`: the whole fleet, whose calls are those of its teams."""

    team: str
    kill: bool
    waiting: int
    oldest: float


class FleetMetrics(msgspec.Struct, frozen=True):
    """`maintained`: seconds since `fleet maintain` last ran, None if never; `ahead`: days that have partitions."""

    gateways: list[MeasuredGateway]
    teams: list[MeasuredTeam]
    maintained: float | None
    ahead: int | None


class _Families(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def token(authorization: list[str]) -> str:
    """The token of a request's headers; empty without a single valid one."""
    match = BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
    return match[1] if match else ""


def text(metrics: FleetMetrics) -> bytes:
    """The format of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families([*_gateways(metrics), *_teams(metrics), *_upkeep(metrics)]))
    return generate_latest(registry)


def _gateways(metrics: FleetMetrics) -> list[Metric]:
    silent = GaugeMetricFamily(
        "toolguard_fleet_gateway_silent_seconds", "Since its last contact.", labels=["gateway", "team", "state"]
    )
    for gateway in metrics.gateways:
        silent.add_metric([_label(gateway.id), _label(gateway.team), _label(gateway.state)], max(0.0, gateway.silent))
    return [silent]


def _teams(metrics: FleetMetrics) -> list[Metric]:
    waiting = GaugeMetricFamily("toolguard_fleet_pending", "Held calls waiting for approval.", labels=["team"])
    oldest = GaugeMetricFamily("toolguard_fleet_pending_oldest_seconds", "For which the oldest waits.", labels=["team"])
    switch = GaugeMetricFamily("toolguard_fleet_kill_switch", "Whether the kill switch is on.", labels=["team"])
    for team in metrics.teams:
        switch.add_metric([_label(team.team)], float(team.kill))
        if team.team != "*":
            waiting.add_metric([_label(team.team)], team.waiting)
            oldest.add_metric([_label(team.team)], max(0.0, team.oldest))
    return [waiting, oldest, switch]


def _upkeep(metrics: FleetMetrics) -> list[Metric]:
    never = math.inf
    maintained = never if metrics.maintained is None else metrics.maintained
    since = GaugeMetricFamily("toolguard_fleet_maintained_seconds", "Since fleet maintain last ran.", value=maintained)
    ahead = GaugeMetricFamily(
        "toolguard_fleet_partitions_ahead_days", "Days from today on that have partitions.", value=metrics.ahead or 0
    )
    return [since, ahead]


def _label(value: str) -> str:
    return printable.cut(value, MAX_LABEL)
