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
JOB_COLUMNS = ("name", "job_id", "enabled", "payload_kind")
HOST_OWNED = ("memory-core:", "skill-collection-review:")
"""How the declaration keys of those automations begin that OpenClaw makes for itself (2026.9, `system-owned-declaration`
and its plugin memory-core): the nightly memory sweep and the weekly review of skills. Not the heartbeat, which does
whatever the user has written for it."""


def commands(state_dir: Path) -> list[str]:
    """The names of the enabled automations that run a command."""
    rows = _rows(state_dir, "cron_jobs", JOB_COLUMNS)
    if rows is not None:
        return [str(name or job) for name, job, enabled, kind in rows if enabled and kind == COMMAND]
    return [_job_name(job) for job in _jobs(state_dir / JOBS)]


def agent_jobs(state_dir: Path) -> list[str]:
    """The names of the enabled automations that start an agent, without those that the host made for itself."""
    rows = _rows(state_dir, "cron_jobs", (*JOB_COLUMNS, "declaration_key"))
    if rows is None and (older := _rows(state_dir, "cron_jobs", JOB_COLUMNS)) is not None:
        rows = [(*row, None) for row in older]
    if rows is not None:
        return [
            str(name or job)
            for name, job, enabled, kind, key in rows
            if enabled and kind != COMMAND and not str(key).startswith(HOST_OWNED)
        ]
    parsed = _json(state_dir / JOBS)
    listed = parsed.get("jobs") if isinstance(parsed, dict) else parsed
    jobs = [job for job in (listed if isinstance(listed, list) else [])[:MAX_ROWS] if isinstance(job, dict)]
    enabled = [job for job in jobs if job.get("enabled") is not False]
    return [_job_name(job) for job in enabled if not _is_command(job) and not _is_host_owned(job)]


def _is_command(job: dict[str, Any]) -> bool:
    payload = job.get("payload")
    return isinstance(payload, dict) and payload.get("kind") == COMMAND


def _is_host_owned(job: dict[str, Any]) -> bool:
    return str(job.get("declarationKey")).startswith(HOST_OWNED)


def _jobs(path: Path) -> Iterator[dict[str, Any]]:
    jobs = _json(path)
    listed = jobs.get("jobs") if isinstance(jobs, dict) else jobs
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
    nodes = _json(path)
    listed = nodes.values() if isinstance(nodes, dict) else nodes
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
