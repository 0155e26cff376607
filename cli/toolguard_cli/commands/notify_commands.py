"""`toolguard notify`: tests the notification targets, and shows what was delivered."""

from __future__ import annotations

import secrets
import time
from contextlib import closing, suppress
from typing import Annotated, Any

import msgspec
import typer

from toolguard_cli.commands.command_options import ConfigPath, Json, StateDir, command, command_app, examples, finish
from toolguard_cli.hostconfig import gateway_stores, schema_check
from toolguard_cli.notify import message_text, run_notifier
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage
from toolguard_cli.person import require_human
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.config import notify_targets, plugin_manifest
from toolguard_engine.config.settings import Config, NotifyConfig, NotifyTarget, parse
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.notifications import TEST, Notification, TargetHealth
from toolguard_engine.wording import printable

WAIT_SECONDS = 20.0
POLL_SECONDS = 0.1
NO_TARGETS = "there is no notification target, so nobody is notified of a held call"
ADD = 'toolguard config set notify.targets.phone.url "ntfys://ntfy.example/your-topic"'

app = command_app()


@app.callback(
    invoke_without_command=True, epilog=examples("toolguard notify", "toolguard notify test", "toolguard notify status")
)
def group(context: typer.Context, state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False) -> None:
    """Test the notification targets, and show what was delivered. Without a command, does the same as notify status."""
    if context.invoked_subcommand is None:
        finish(notify_status(paths.find(state_dir, config)), as_json=as_json)
    elif state_dir or config or as_json:
        raise typer.BadParameter(f"put the options after {context.invoked_subcommand}")


@command(app, "toolguard notify test", "toolguard notify test phone", name="test")
def notify_test(
    places: Places,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Only this target.", show_default=False)] = "",
) -> Result:
    """Send a test message to each notification target, or to one.

    While the gateway runs, its notifier sends the message, like any other message. Otherwise this command does.
    """
    require_human.refuse(places, "notify test", loosens=False)
    config = _config(places)
    chosen = _chosen(config.notify, target)
    with gateway_stores.user_errors():
        running = stores.notifications(places.state_dir).has_sender()
    deliveries = _through_notifier(places, chosen) if running else _directly(places, chosen)
    rows = [(name, chosen[name], delivery) for name, delivery in deliveries.items()]
    lines = [_tested(name, to, done) for name, to, done in rows]
    data = {"targets": {name: {"to": notify_targets.masked(to), "error": done.error} for name, to, done in rows}}
    return Result("notify test", {**data, "notifier": running}, tuple(lines), int(any(done.error for *_, done in rows)))


def _chosen(config: NotifyConfig, name: str) -> dict[str, NotifyTarget]:
    if not config.targets:
        raise UserError(NO_TARGETS, ADD)
    if name and name not in config.targets:
        raise UserError(f"there is no notification target {printable.plain(name)}", f"targets: {', '.join(config.targets)}")
    return {name: config.targets[name]} if name else dict(config.targets)


def _directly(places: Places, chosen: dict[str, NotifyTarget]) -> dict[str, Delivery]:
    return {name: _sent(places, name, target) for name, target in chosen.items()}


def _sent(places: Places, name: str, target: NotifyTarget) -> Delivery:
    if problem := notify_targets.problem(name, target):
        return Delivery(problem)
    one = _test_of(name)
    title, text, data = message_text.message([one], "")
    done = run_notifier.sender(target, None).send(OutgoingMessage(f"toolguard-{one.id}", title, text, data))
    if not done.error:
        _count(places, one)
    return done


def _count(places: Places, one: Notification) -> None:
    """Counts it as sent, which it is even if this cannot be stored."""
    now = time.time()
    with suppress(StoreError), closing(stores.notifications(places.state_dir)) as outbox:
        outbox.take([msgspec.structs.replace(one, state="sent", batch=one.id, changed=now)])
        outbox.finish([one], "sent", now)


def _test_of(name: str) -> Notification:
    words, now = message_text.test(name), time.time()
    return Notification(
        id=f"test-{secrets.token_hex(8)}",
        target=name,
        event=TEST,
        title=words.title,
        text=words.text,
        data=words.data,
        created=now,
        due=now,
        until=now + WAIT_SECONDS,
    )


def _through_notifier(places: Places, chosen: dict[str, NotifyTarget]) -> dict[str, Delivery]:
    deliveries = {name: Delivery(_problem(name, target)) for name, target in chosen.items()}
    asked = {name: _test_of(name) for name, done in deliveries.items() if not done.error}
    with gateway_stores.user_errors(), closing(stores.notifications(places.state_dir)) as outbox:
        outbox.take(list(asked.values()))
        until = time.monotonic() + WAIT_SECONDS
        while asked and time.monotonic() < until:
            for name, one in list(asked.items()):
                known = outbox.state_of(one.id, name)
                if known and (known.state != "waiting" or known.error):
                    deliveries[name] = Delivery(known.error)
                    del asked[name]
            time.sleep(POLL_SECONDS)
    return deliveries | {name: Delivery("it is still waiting to be sent; see toolguard notify status") for name in asked}


def _tested(name: str, target: NotifyTarget, done: Delivery) -> Line:
    where = f"{printable.plain(name)} ({notify_targets.masked(target)})"
    return Line("error", f"{where}: {done.error}") if done.error else Line("ok", f"{where}: sent")


@command(app, "toolguard notify status", "toolguard notify status --json", name="status")
def notify_status(places: Places) -> Result:
    """Show each target and what was delivered, is waiting or was lost.

    Covers the last 7 days.
    """
    config = _config(places).notify
    with gateway_stores.user_errors(), closing(stores.notifications(places.state_dir)) as outbox:
        known = {row.target: row for row in outbox.health()}
        running = outbox.has_sender()
    lines = [_notifier(running=running)] if config.targets else [Line("warn", NO_TARGETS), Line("next", ADD)]
    rows: list[dict[str, Any]] = []
    for name, target in config.targets.items():
        health = known.get(name, TargetHealth(name))
        lines.append(_shown(name, target, health))
        problem = _problem(name, target)
        rows.append({**msgspec.to_builtins(health), "to": notify_targets.masked(target), "problem": problem})
    return Result("notify status", {"notifier": running, "targets": rows, "events": config.events}, tuple(lines))


def _notifier(*, running: bool) -> Line:
    if running:
        return Line("ok", "the notifier is running")
    return Line("warn", "the notifier is not running; a gateway starts it within seconds (openclaw gateway run)")


def _shown(name: str, target: NotifyTarget, health: TargetHealth) -> Line:
    where = f"{printable.plain(name)} ({notify_targets.masked(target)})"
    if problem := _problem(name, target):
        return Line("error", f"{where}: {problem}")
    now = time.time()
    counts = f"{health.sent} sent, {health.waiting} waiting, {health.lost} lost"
    if health.error:
        since = printable.duration(now - health.failing_since)
        return Line("error", f"{where}: failing for {since}: {printable.plain(health.error)}; {counts}")
    last = f", the last one {printable.duration(now - health.last_sent)} ago" if health.last_sent else ""
    return Line("warn" if health.lost else "ok", f"{where}: {counts}{last}")


def _problem(name: str, target: NotifyTarget) -> str:
    """What is known here. Only the gateway knows an address with a variable that is not set here."""
    return "" if notify_targets.unchecked(target) else notify_targets.problem(name, target)


def _config(places: Places) -> Config:
    """Raises `UserError`."""
    value = gateway_stores.entry(places)
    value = {"notify": value["notify"]} if isinstance(value, dict) and "notify" in value else {}
    try:
        return parse(value)
    except msgspec.ValidationError as error:
        misfit = next(schema_check.misfits(value, plugin_manifest.config_schema()), None)
        text = f"{'.'.join(map(str, misfit.steps))}: {misfit.text}" if misfit else str(error)
        raise UserError(f"{'.'.join(gateway_stores.ENTRY)}.{text}", "toolguard config validate") from error
