"""`toolguard demo`: a real gateway that loops, and the same gateway with the guard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from toolguard_cli import paths
from toolguard_cli.commands import install
from toolguard_cli.progress import Steps
from toolguard_cli.result import Line, Result
from toolguard_cli.rig import model, runtime
from toolguard_cli.rig.gateway import Gateway
from toolguard_cli.rig.home import Home

CLOSING = "I could not read the file: my call named no path."
SHOWN = 56

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """One run of the scripted model."""

    guard: str
    requests: int
    seconds: float
    tokens: int
    answer: str


def run(*, requests: int, version: str, quiet: bool) -> Result:
    """Raises `UserError` where Node, OpenClaw or the gateway cannot be had."""
    progress: Progress = (lambda _: None) if quiet else Steps()
    real = runtime.ensure(version or runtime.OPENCLAW_VERSION, progress)
    script = model.endless(model.call("read", {}), CLOSING, give_up_after=requests)
    with model.ScriptedModel(script) as server, Home(server.base_url) as home:
        gateway = Gateway(real, home)
        without = _play(gateway, server, "without", progress)
        progress("installing toolguard into that gateway")
        install.run(paths.Places(home.state_dir, home.config_path), link=False, dry_run=False)
        server.play(script)
        guarded = _play(gateway, server, "with", progress)
    return _result(real.version, [without, guarded], requests)


def _play(gateway: Gateway, server: model.ScriptedModel, guard: str, progress: Progress) -> Row:
    progress(f"starting the gateway {guard} the guard")
    with gateway:
        progress(f"the model keeps calling read({{}}) {guard} the guard")
        gateway.turn("Read the notes and tell me what is in them.")
    seconds = server.requests[-1].at - server.requests[0].at if server.requests else 0.0
    return Row(guard, len(server.requests), round(seconds, 1), server.tokens, server.last_answer)


def _result(version: str, rows: list[Row], bound: int) -> Result:
    without, guarded = rows
    broken = guarded.requests < without.requests
    head = f"{'':<9}{'requests':>9}{'seconds':>9}{'tokens':>9}   closing answer"
    table = [Line("info", head), *(Line("info", _row(row, bound)) for row in rows)]
    verdict = (
        Line("ok", f"OpenClaw {version}: the loop ended after {guarded.requests} requests instead of going on for ever")
        if broken
        else Line("error", f"OpenClaw {version}: the guard did not shorten the loop")
    )
    data = {"openclaw": version, "bound": bound, "rows": [asdict(row) for row in rows]}
    return Result("demo", data, (*table, verdict, Line("next", "toolguard install")), 0 if broken else 1)


def _row(row: Row, bound: int) -> str:
    cut = row.requests > bound
    answer = "(cut off by the demo)" if cut else row.answer[:SHOWN]
    count = f"{row.requests}{'+' if cut else ''}"
    return f"{row.guard:<9}{count:>9}{row.seconds:>9}{row.tokens:>9}   {answer}"
