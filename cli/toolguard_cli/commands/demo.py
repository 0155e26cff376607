"""`toolguard demo`: a real gateway that loops, and the same gateway with the guard; or a held call to answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from toolguard_cli.commands import held_call_demo
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.doctor.live import stage
from toolguard_cli.hostconfig import openclaw_check
from toolguard_cli.operations import install_plugin
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system import paths
from toolguard_cli.terminal.progress import Steps
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.stores import open as stores

CLOSING = "I could not read the file: my call did not include a path."
SHOWN = 60
ENGINE_SECONDS = 60.0

Progress = Callable[[str], None]

app = command_app()


@dataclass(frozen=True)
class DemoRow:
    guard: str
    requests: int
    seconds: float
    tokens: int
    answer: str


@command(app, "toolguard demo", "toolguard demo --hold", "toolguard demo --openclaw 2026.6.11")
def run(
    *,
    hold: Annotated[bool, typer.Option("--hold", help="Instead, show a call that waits for your answer.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="With --hold: approve the call without asking.")] = False,
    requests: Annotated[
        int, typer.Option(min=5, max=500, help="How many model requests the run without the guard may make.")
    ] = 60,
    openclaw: Annotated[
        str, typer.Option(help="The OpenClaw release to use, downloaded if missing; the default is the one on PATH.")
    ] = "",
    as_json: bool = False,
) -> Result:
    """Watch the guard end a loop on a real gateway, or hold a call for your answer.

    With --hold, an agent tries to delete a folder that was created for the demo, and the call waits for your answer, in the
    same terminal or in another one. If you approve it, the agent is resumed and the call runs. If you deny it, the call
    does not run.

    Downloads Node and OpenClaw into the cache folder if they are not installed. A scripted model on this machine replaces
    the language model; your own gateway and its state are not touched.
    """
    if yes and not hold:
        raise typer.BadParameter("only has an effect with --hold", param_hint="--yes")
    progress: Progress = (lambda _: None) if as_json else Steps()
    if hold:
        return held_call_demo.run(*_own_or_downloaded(openclaw, progress), progress, yes=yes)
    real, version = _own_or_downloaded(openclaw, progress)
    script = scripted_model.endless(scripted_model.call("read", {}), CLOSING, give_up_after=requests)
    with scripted_model.ScriptedModel(script) as server, Home(server.base_url) as home:
        gateway = Gateway(real, home)
        without = _play(gateway, server, "without", progress, lambda: None)
        progress("installing toolguard into that gateway")
        install_plugin.run(paths.Places(home.state_dir, home.config_path), link=False, dry_run=False)
        server.play(script)
        guarded = _play(gateway, server, "with", progress, lambda: _wait_for_engine(home))
    return _result(version, [without, guarded], requests)


def _own_or_downloaded(release: str, progress: Progress) -> tuple[downloads.Openclaw, str]:
    """The OpenClaw on PATH unless a release is named, and its version."""
    own = () if release else openclaw_check.command()
    if own:
        program = downloads.Program(own)
        return program, stage.version(program)
    real = downloads.ensure(release or downloads.OPENCLAW_VERSION, progress)
    return real, real.version


def _wait_for_engine(home: Home) -> None:
    """Wait for the engine: on a busy machine it may start later than the gateway, and would miss the first calls."""
    stage.soon(lambda: next(iter(stores.engines(home.state_dir).running()), None), ENGINE_SECONDS)


def _play(
    gateway: Gateway, server: scripted_model.ScriptedModel, guard: str, progress: Progress, wait: Callable[[], None]
) -> DemoRow:
    progress(f"starting the gateway {guard} the guard")
    with gateway:
        wait()
        progress(f"the model keeps calling read({{}}) {guard} the guard")
        gateway.turn("Read the notes and tell me what is in them.")
    seconds = server.requests[-1].at - server.requests[0].at if server.requests else 0.0
    return DemoRow(guard, len(server.requests), round(seconds, 1), server.tokens, server.last_answer)


def _result(version: str, rows: list[DemoRow], bound: int) -> Result:
    without, guarded = rows
    broken = guarded.requests < without.requests
    head = f"{'':<9}{'requests':>9}{'seconds':>9}{'tokens':>9}   final answer"
    table = [Line("info", head), *(Line("info", _row(row, bound)) for row in rows)]
    verdict = (
        Line("ok", f"OpenClaw {version}: the loop ended after {guarded.requests} requests instead of continuing forever")
        if broken
        else Line("error", f"OpenClaw {version}: the guard did not shorten the loop")
    )
    data = {"openclaw": version, "bound": bound, "rows": [asdict(row) for row in rows]}
    further = Line("next", f"{held_call_demo.next_step()}toolguard doctor shows whether your own gateway is guarded")
    return Result("demo", data, (*table, verdict, further), 0 if broken else 1)


def _row(row: DemoRow, bound: int) -> str:
    cut = row.requests > bound
    answer = "(cut off by the demo)" if cut else row.answer[:SHOWN]
    count = f"{row.requests}{'+' if cut else ''}"
    return f"{row.guard:<9}{count:>9}{row.seconds:>9}{row.tokens:>9}   {answer}"
