"""`toolguard notify`: tests the notification targets, and shows what was delivered."""

from __future__ import annotations

import secrets
import time
from contextlib import closing
from typing import Annotated, Any

import msgspec
import typer

from toolguard_cli.commands.command_options import command, command_app, examples
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.notify import message_text, run_notifier
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.config import notify_targets
from toolguard_engine.config.settings import Config, NotifyConfig, NotifyTarget, parse
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.notifications import Notification, TargetHealth
from toolguard_engine.wording import printable

WAIT_SECONDS = 20.0
POLL_SECONDS = 0.1
TEST = "test"
NO_TARGETS = "there is no notification target, so nobody is notified of a held call"
ADD = 'toolguard config set notify.targets.phone.url "ntfys://ntfy.example/your-topic"'

app = command_app()


@app.callback(no_args_is_help=True, epilog=examples("toolguard notify test", "toolguard notify status"))
def group() -> None:
    """Test the notification targets, and show what was delivered."""


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
    found = _through_notifier(places, chosen) if running else _directly(chosen)
    rows = [(name, chosen[name], each) for name, each in found.items()]
    lines = [_tested(name, each, done) for name, each, done in rows]
    data = {"targets": {name: {"to": notify_targets.masked(each), "error": done.error} for name, each, done in rows}}
    return Result("notify test", {**data, "notifier": running}, tuple(lines), int(any(done.error for *_, done in rows)))


def _chosen(config: NotifyConfig, name: str) -> dict[str, NotifyTarget]:
    if not config.targets:
        raise UserError(NO_TARGETS, ADD)
    if name and name not in config.targets:
        raise UserError(f"there is no notification target {printable.plain(name)}", f"targets: {', '.join(config.targets)}")
    return {name: config.targets[name]} if name else dict(config.targets)


def _directly(chosen: dict[str, NotifyTarget]) -> dict[str, Delivery]:
    return {name: _sent(name, each) for name, each in chosen.items()}


def _sent(name: str, target: NotifyTarget) -> Delivery:
    if problem := notify_targets.problem(name, target):
        return Delivery(problem)
    one = _test_of(name)
    title, text, data = message_text.message([one], "")
    return run_notifier.sender(target, None).send(OutgoingMessage(f"toolguard-{one.id}", title, text, data))


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
    found = {name: Delivery(notify_targets.problem(name, each)) for name, each in chosen.items()}
    asked = {name: _test_of(name) for name, done in found.items() if not done.error}
    with gateway_stores.user_errors(), closing(stores.notifications(places.state_dir)) as outbox:
        outbox.take(list(asked.values()))
        until = time.monotonic() + WAIT_SECONDS
        while asked and time.monotonic() < until:
            for name, one in list(asked.items()):
                known = outbox.state_of(one.id, name)
                if known and (known.state != "waiting" or known.error):
                    found[name] = Delivery(known.error)
                    del asked[name]
            time.sleep(POLL_SECONDS)
    return found | {name: Delivery("it still waits to be sent; see toolguard notify status") for name in asked}


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
        known = {each.target: each for each in outbox.health()}
        running = outbox.has_sender()
    lines = [_notifier(running=running)] if config.targets else [Line("warn", NO_TARGETS), Line("next", ADD)]
    rows: list[dict[str, Any]] = []
    for name, target in config.targets.items():
        health = known.get(name, TargetHealth(name))
        lines.append(_shown(name, target, health))
        problem = notify_targets.problem(name, target)
        rows.append({**msgspec.to_builtins(health), "to": notify_targets.masked(target), "problem": problem})
    return Result("notify status", {"notifier": running, "targets": rows, "events": config.events}, tuple(lines))


def _notifier(*, running: bool) -> Line:
    if running:
        return Line("ok", "the notifier runs")
    return Line("warn", "the notifier does not run: it starts with the gateway (openclaw gateway restart)")


def _shown(name: str, target: NotifyTarget, health: TargetHealth) -> Line:
    where = f"{printable.plain(name)} ({notify_targets.masked(target)})"
    if problem := notify_targets.problem(name, target):
        return Line("error", f"{where}: {problem}")
    now = time.time()
    counts = f"{health.sent} sent, {health.waiting} waiting, {health.lost} lost"
    if health.error:
        since = printable.duration(now - health.failing_since)
        return Line("error", f"{where}: failing for {since}: {printable.plain(health.error)}; {counts}")
    last = f", the last one {printable.duration(now - health.last_sent)} ago" if health.last_sent else ""
    return Line("warn" if health.lost else "ok", f"{where}: {counts}{last}")


def _config(places: Places) -> Config:
    """Raises `UserError`."""
    value = gateway_stores.entry(places)
    try:
        return parse({"notify": value["notify"]} if isinstance(value, dict) and "notify" in value else {})
    except msgspec.ValidationError as error:
        raise UserError(f"{'.'.join(gateway_stores.ENTRY)}: {error}", "toolguard config validate") from error
