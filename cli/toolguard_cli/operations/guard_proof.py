"""Whether the running gateway of a state directory has loaded this toolguard with the settings in its config.

Only running processes count: the gateway that listens and has the state directory open, and an engine that it started, which
has reported its version and settings since. For `doctor`, `status`, `install` and the dashboard.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from toolguard_cli.hostconfig import env_vars, gateway_stores
from toolguard_cli.setup import install_record, plugin_folder
from toolguard_cli.system import tcp_ports
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.gateway_processes import GatewayProcess, MachineView, ThisMachine
from toolguard_cli.system.paths import PLUGIN_ID, Places
from toolguard_engine import __version__
from toolguard_engine.config import settings
from toolguard_engine.host import plugin_state
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.engines import EngineInfo, EngineStart
from toolguard_engine.wording import printable

RESTART = "openclaw gateway restart"
START = "openclaw gateway run"
SLACK_SECONDS = 60.0
"""A process may seem to have started later than it did, because its start is counted back from the current time."""
SETTLE_SECONDS = 5.0
RELOAD_WAIT_SECONDS = 60.0
"""How long a command waits for a gateway that may apply a change."""

RELOAD_SECONDS = 60.0
"""A gateway may take so long to apply a change of its config, in which it ends the engine and starts another one."""

START_SECONDS = 30.0
"""A gateway that started less long ago may still be loading its plugins."""
POLL_SECONDS = 0.2

State = Literal[
    "guarded", "observing", "disabled", "old-version", "old-settings", "engine-away", "not-loaded", "starting",
    "reloading", "other-state", "unknown", "installed", "port-taken", "not-installed", "unreadable",
]  # fmt: skip
"""`guarded` is proven; so is `observing` (mode `shadow`). `installed`: no gateway runs; `port-taken`: nor can it start,
because another program has its port. `other-state`: the gateway on the port of this config uses another state directory.
`unreadable`: the config is. `starting`: the gateway is so young that it may load the plugin yet, or its engine takes long to
start. `reloading`: its config has just changed, which it may not have applied yet."""
_WORST_FIRST: tuple[State, ...] = (
    "not-loaded", "engine-away", "disabled", "old-version", "old-settings", "starting", "reloading", "observing",
    "guarded",
)  # fmt: skip
Report = Callable[[str, float, float], None]
"""What `settled` waits for, the seconds so far, and the longest."""


@dataclass(frozen=True)
class GuardProof:
    """`text` and `fix`: for the user; `fix` is empty if nothing needs to be done. `since`: when the engine started that
    guards, or the gateway that is not guarded, in seconds since 1970; 0 if no gateway runs. `gateway`: its process.
    `reloads`: whether it applies changes of its config by itself."""

    state: State
    text: str
    fix: str = ""
    since: float = 0.0
    gateway: int = 0
    address: str = ""
    reloads: bool = True

    @property
    def guards(self) -> bool:
        """Whether calls are held and blocked by this version with these settings."""
        return self.state == "guarded"


@dataclass(frozen=True)
class Wanted:
    """What should be in force. `off`: why the config keeps the gateway from loading the plugin. `settings`: their digests;
    None if they are invalid. `varying`: those with variables of the gateway's environment. `copied`: when the plugin was
    copied. `changed`: when the config was. `installed`: its version, empty if it is not installed."""

    places: Places
    installed: str = ""
    off: str = ""
    settings: dict[str, str] | None = None
    varying: frozenset[str] = frozenset()
    copied: float = 0.0
    changed: float = 0.0
    port: int = tcp_ports.USUAL_GATEWAY
    tls: bool = False
    reloads: bool = True
    fail_mode: str = "closed"
    engines: list[EngineInfo] = field(default_factory=list)
    starts: list[EngineStart] = field(default_factory=list)

    def may_reload(self, gateway: GatewayProcess) -> bool:
        """Whether a gateway may be about to apply a change of its config."""
        return self.reloads and gateway.started <= self.changed and 0 <= time.time() - self.changed < RELOAD_SECONDS

    def has_restarted(self, gateway: GatewayProcess) -> bool:
        """Whether an engine of it has started since the last change of its config."""
        return any(info.gateway_pid == gateway.pid and info.started > self.changed for info in self.engines)

    def command(self, *words: str) -> str:
        return shlex.join(["toolguard", *words, *self.places.given])

    @property
    def load(self) -> str:
        """The command that lets the config load the plugin."""
        is_all = self.off.startswith("plugins.enabled")
        return self.command("config", "set", "plugins.enabled", "true") if is_all else self.command("install")


def look(places: Places, machine: MachineView | None = None) -> GuardProof:
    """The state now; takes about 50 ms."""
    try:
        return judge(wanted(places), machine or ThisMachine())
    except UserError as error:
        return GuardProof("unreadable", f"unknown: {printable.plain(error.message)}", error.fix)


def _silent(what: str, done: float, whole: float) -> None:
    del what, done, whole


def settled(places: Places, report: Report = _silent, machine: MachineView | None = None) -> GuardProof:
    """The same, after a running gateway had time to apply a change of its config, or to restart its engine."""
    begun = time.monotonic()
    while _may_settle(proof := look(places, machine)):
        longest = RELOAD_WAIT_SECONDS if proof.state == "reloading" else SETTLE_SECONDS
        if (waited := time.monotonic() - begun) >= longest:
            break
        report("waiting for the gateway", waited, longest)
        time.sleep(POLL_SECONDS)
    return proof


def _may_settle(proof: GuardProof) -> bool:
    """Whether this may change by itself within seconds."""
    if proof.state in ("starting", "reloading"):
        return True
    if not proof.gateway or not proof.fix.endswith(RESTART):
        return False
    is_young = _is_young(proof.since)
    return proof.state == "engine-away" or (proof.state in ("not-loaded", "old-settings") and (proof.reloads or is_young))


def _is_young(started: float) -> bool:
    return time.time() - started < START_SECONDS


def wanted(places: Places, env: Mapping[str, str] = os.environ) -> Wanted:
    """Raises `UserError` if the config cannot be read."""
    known = None
    with suppress(UserError):  # `doctor` reports a damaged record
        known = install_record.load(places.record)
    plugins, gateway = gateway_stores.sections(places, "plugins", "gateway")
    entry = _table(_table(plugins.get("entries")).get(PLUGIN_ID))
    values = _table(entry.get("config"))
    own = _settings(values)
    return Wanted(
        places,
        installed=known.version if known else __version__ if entry else "",
        off=plugin_state.why_unloaded(plugins),
        settings=None if own is None else settings.digests(own),
        varying=frozenset(name for name, value in values.items() if env_vars.NAME.search(str(value))),
        copied=_changed(places.extension / plugin_folder.MARKER),
        changed=_changed(places.config),
        port=tcp_ports.of_gateway(gateway.get("port"), env),
        tls=_table(gateway.get("tls")).get("enabled") is True,
        reloads=_table(gateway.get("reload")).get("mode") != "off",
        fail_mode="closed" if own is None else own.fail_mode,
        engines=stores.engines(places.state_dir).unretired(),
        starts=stores.engines(places.state_dir).starting(),
    )


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _settings(value: Any) -> settings.Config | None:
    try:
        return settings.parse(env_vars.filled(value))
    except msgspec.ValidationError:
        return None  # `doctor` reports it


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def judge(given: Wanted, machine: MachineView) -> GuardProof:
    running = [gateway.on_port(given.port) for gateway in machine.gateways()]
    ours = [process for process in running if _is_ours(process, given, machine)]
    if not ours:
        return _without_gateway(given, machine, running)
    proofs = [_of(process, given, machine) for process in ours]
    return min(proofs, key=lambda proof: _WORST_FIRST.index(proof.state))


def _is_ours(gateway: GatewayProcess, given: Wanted, machine: MachineView) -> bool:
    if gateway.state_dir is not None:
        return os.path.realpath(gateway.state_dir) == os.path.realpath(given.places.state_dir)
    return any(_runs(info, gateway, machine) for info in given.engines)


def _runs(info: EngineInfo, gateway: GatewayProcess, machine: MachineView) -> bool:
    """Whether the engine runs, was started by this gateway, and has reported itself since it was started."""
    process = machine.engine(info.pid) if info.gateway_pid == gateway.pid else None
    return process is not None and process.works and gateway.pid in process.parents and _is_since(process.started, info)


def _is_since(moment: float, info: EngineInfo) -> bool:
    """Whether this was reported after that moment, and not by an earlier process with the same id."""
    return max(info.published, info.started) >= moment - SLACK_SECONDS


def _of(gateway: GatewayProcess, given: Wanted, machine: MachineView) -> GuardProof:
    """What this gateway of the state directory has loaded."""
    living = [info for info in given.engines if _runs(info, gateway, machine)]
    newest = max(living, key=lambda info: info.started, default=None)  # another one is about to end after a reload
    state, text, fix = _of_engine(gateway, newest, given) if newest else _without_engine(gateway, given)
    since = newest.started if newest else gateway.started
    return GuardProof(state, printable.plain(text), fix, since, gateway.pid, gateway.address, given.reloads)


def _without_engine(gateway: GatewayProcess, given: Wanted) -> tuple[State, str, str]:
    name = f"a gateway answers {gateway} and" if gateway.address else f"the gateway {gateway}"
    if not given.installed or given.off:
        return "not-loaded", f"{name} has not loaded toolguard{given.off and ': '}{given.off}", given.load
    means = "every call is blocked" if given.fail_mode == "closed" else "calls run unjudged"
    means = f"{means} (failMode {given.fail_mode})"
    if start := next((started for started in given.starts if _is_of(started, gateway)), None):
        wait = f"wait, then: {given.command('doctor')}"
        return "starting", _long_start(name, start, means), wait
    if given.may_reload(gateway) and not given.has_restarted(gateway):
        text = f"{name} is applying a change of its config; its engine is not running yet: until it is, {means}"
        return "reloading", text, f"wait, then: {given.command('status')}"
    if any(info.gateway_pid == gateway.pid and _is_since(gateway.started, info) for info in given.engines):
        text = f"{name} has loaded toolguard, but its engine is not running: {means}"
        return "engine-away", text, RESTART
    if _is_young(gateway.started) and (given.reloads or given.copied <= gateway.started):
        wait = f"wait {START_SECONDS:.0f} s, then: {given.command('doctor')}"
        return "starting", f"the gateway {gateway} is still starting and has not loaded toolguard yet", wait
    return "not-loaded", f"{name} has not loaded toolguard", RESTART


def _is_of(start: EngineStart, gateway: GatewayProcess) -> bool:
    return start.gateway_pid == gateway.pid and start.since >= gateway.started - SLACK_SECONDS


def _long_start(name: str, start: EngineStart, means: str) -> str:
    begun = f"{name} has been starting its engine for {printable.duration(max(time.time() - start.since, 0.0))}"
    attempt = f"attempt {start.failed + 1}, at most {printable.duration(start.limit)}"
    until = "calls wait for it for up to 12 s and are then blocked" if start.works else means
    return f"{begun} ({attempt}); until it is ready, {until}"


def _of_engine(gateway: GatewayProcess, info: EngineInfo, given: Wanted) -> tuple[State, str, str]:
    where = f"the gateway {gateway}"
    first = "" if given.installed == __version__ else f"{given.command('install')}, then "
    if info.version != __version__ or info.plugin != __version__:
        version = info.version if info.version != __version__ else info.plugin
        return "old-version", f"{where} runs toolguard {version or '?'}, not {__version__}", f"{first}{RESTART}"
    if info.replaced or info.started < given.copied:
        text = info.replaced or f"{where} has loaded an earlier copy of toolguard {__version__}"
        return "old-version", text, f"{first}{RESTART}"
    if info.seams.get("hooks") == "fails":
        return "not-loaded", f"{where} has loaded toolguard, but does not call its hooks", given.command("doctor")
    if given.settings is None:
        text = f"{where} runs with earlier settings: those in its config are invalid"
        return "old-settings", text, given.command("config", "validate")
    if names := _differing(info.settings, given.settings, given.varying):
        if given.may_reload(gateway):
            text = f"{where} has not applied the change of its config yet: {', '.join(names)}"
            return "reloading", text, f"wait for the current run to end, then: {given.command('status')}"
        text = f"{where} runs with settings that differ from its config: {', '.join(names)}"
        wait = "wait for the current run to end; if it still does: " if given.reloads else ""
        return "old-settings", text, f"{wait}{RESTART}"
    text = f"{where} has loaded toolguard {__version__} with these settings"
    match info.mode:
        case "shadow":
            return "observing", f"{text} (mode shadow: nothing is held or blocked)", ""
        case "disabled":
            return "disabled", f"{text}, which is switched off", given.command("config", "set", "mode", "enforce")
    return "guarded", text, ""


def _differing(one: dict[str, str], other: dict[str, str], varying: frozenset[str]) -> list[str]:
    return sorted(name for name in {**one, **other}.keys() - varying if one.get(name) != other.get(name))


def _without_gateway(given: Wanted, machine: MachineView, running: list[GatewayProcess]) -> GuardProof:
    """Nothing is known to run on this state directory."""
    where = f"127.0.0.1:{given.port}"
    answer = machine.answer(given.port, tls=given.tls)
    if answer == "gateway":
        return _by_another(given, where, running)
    if not given.installed:
        return GuardProof("not-installed", "toolguard is not installed, and no gateway is running", given.command("install"))
    if given.off:
        return GuardProof("not-loaded", f"no gateway is running, and none would load toolguard: {given.off}", given.load)
    if answer == "other":
        text = f"no gateway is running, and none can start on {where}: {machine.owner(given.port)} uses this port"
        return GuardProof("port-taken", printable.plain(text), "end that program, or change gateway.port")
    return GuardProof("installed", "no gateway is running; it loads toolguard when it starts", START)


def _by_another(given: Wanted, where: str, running: list[GatewayProcess]) -> GuardProof:
    """A gateway has the port of this config, but is not known to use this state directory."""
    there = next((process for process in running if process.address.endswith(f":{given.port}") and process.state_dir), None)
    if there is None:
        text = f"a gateway answers on {where}, and its process cannot be examined"
        return GuardProof("unknown", text, "run this again as the gateway's user, and in its container if it has one")
    text = f"the gateway on {where} uses {there.state_dir}, not {given.places.state_dir}"
    fix = f"toolguard doctor --state-dir {shlex.quote(printable.plain(str(there.state_dir)))}"
    return GuardProof("other-state", printable.plain(text), fix, there.started, there.pid, where)
