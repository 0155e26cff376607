"""Reads from the gateway's store what runs without a tool call: automations and paired nodes.

OpenClaw 2026.7 and later store them in `state/openclaw.sqlite`, older releases in JSON files. Invalid entries are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolguard_engine.stores import atomic, gateway_database

MAX_ROWS = 1_000
MAX_BYTES = 1024 * 1024
DATABASE = Path("state", "openclaw.sqlite")
JOBS = Path("cron", "jobs.json")
NODES = (Path("nodes", "paired.json"), Path("devices", "paired.json"))
RUNS = "system.run"
COMMAND = "command"
MANAGED = "[managed-by="
"""In the description of an automation that a plugin of OpenClaw runs for itself, such as the nightly memory sweep."""


def commands(state_dir: Path) -> list[str]:
    """The names of the enabled automations that run a command."""
    rows = _rows(state_dir, "cron_jobs", ("name", "job_id", "enabled", "payload_kind"))
    if rows is not None:
        return [str(name or job) for name, job, enabled, kind in rows if enabled and kind == COMMAND]
    return [_job_name(job) for job in _jobs(state_dir / JOBS)]


def agent_jobs(state_dir: Path) -> list[str]:
    """The names of the enabled automations that start an agent, without those that the gateway made for itself."""
    rows = _rows(state_dir, "cron_jobs", ("name", "job_id", "enabled", "payload_kind", "description"))
    if rows is not None:
        return [
            str(name or job)
            for name, job, enabled, kind, about in rows
            if enabled and kind != COMMAND and MANAGED not in str(about)
        ]
    found = _json(state_dir / JOBS)
    listed = found.get("jobs") if isinstance(found, dict) else found
    jobs = [job for job in (listed if isinstance(listed, list) else [])[:MAX_ROWS] if isinstance(job, dict)]
    return [
        _job_name(job) for job in jobs if job.get("enabled") is not False and not _is_command(job) and not _is_managed(job)
    ]


def _is_command(job: dict[str, Any]) -> bool:
    payload = job.get("payload")
    return isinstance(payload, dict) and payload.get("kind") == COMMAND


def _is_managed(job: dict[str, Any]) -> bool:
    return MANAGED in str(job.get("description"))


def _jobs(path: Path) -> Iterator[dict[str, Any]]:
    found = _json(path)
    listed = found.get("jobs") if isinstance(found, dict) else found
    for job in (listed if isinstance(listed, list) else [])[:MAX_ROWS]:
        payload = job.get("payload") if isinstance(job, dict) else None
        if isinstance(payload, dict) and payload.get("kind") == COMMAND and job.get("enabled") is not False:
            yield job


def _job_name(job: dict[str, Any]) -> str:
    return str(job.get("name") or job.get("id") or "an automation")


def nodes(state_dir: Path) -> list[str]:
    """The names of the paired nodes that offer to run commands."""
    rows = _rows(state_dir, "device_pairing_paired", ("display_name", "device_id", "node_surface_json"))
    if rows is not None:
        return [str(name or device) for name, device, surface in rows if f'"{RUNS}"' in str(surface)]
    return [_node_name(node) for path in NODES for node in _nodes(state_dir / path)]


def _nodes(path: Path) -> Iterator[dict[str, Any]]:
    found = _json(path)
    listed = found.values() if isinstance(found, dict) else found
    for node in list(listed if listed is not None else ())[:MAX_ROWS]:
        if isinstance(node, dict) and isinstance(node.get("commands"), list) and RUNS in node["commands"]:
            yield node


def _node_name(node: dict[str, Any]) -> str:
    return str(node.get("displayName") or node.get("nodeId") or node.get("deviceId") or "a node")


def _rows(state_dir: Path, table: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]] | None:
    """All rows, up to a limit; None if there is no such table. Raises `ValueError`."""
    path = state_dir / DATABASE
    if not path.is_file():
        return None
    return gateway_database.table_rows(path, table, columns, MAX_ROWS)


def _json(path: Path) -> Any:
    try:
        return json.loads(atomic.read_bounded(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
