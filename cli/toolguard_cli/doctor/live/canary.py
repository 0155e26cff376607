"""Runs the scenes of the live proof in order, and stops once the gateway fails.

Checks that were not tried are not listed; the last listed check says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolguard_cli.doctor.check_types import Check
from toolguard_cli.doctor.live import installed_guard, proofs, scenes
from toolguard_cli.doctor.live.stage import Silent, Stage, set_up, version
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.rig.downloads import Program
from toolguard_cli.system import subprocesses
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import Config

NO_OPENCLAW = "there is no openclaw on PATH to test"
INSTALL = "put the openclaw that runs your gateway on PATH, then try again"
ROOM = "free space in the folder for temporary files, or set TMPDIR to another one"
BROKEN = "get OpenClaw itself to run (openclaw doctor), then try again"

Progress = Callable[[str], None]


@dataclass(frozen=True)
class CanaryScene:
    """A scene and its proof. `ids`: the checks that it results in."""

    ids: tuple[str, ...]
    words: str
    play: Callable[[Stage], tuple[Check, ...]]


def _loop(stage: Stage) -> tuple[Check, ...]:
    seen = scenes.loop(stage)
    return proofs.correction(seen), proofs.stop(seen)


SCENES = (
    CanaryScene((proofs.HOOKS,), "a harmless call", lambda stage: (proofs.hooks(scenes.valid(stage)),)),
    CanaryScene((proofs.BLOCK,), "a forbidden call", lambda stage: (proofs.block(scenes.forbidden(stage)),)),
    CanaryScene((proofs.CORRECTION, proofs.STOP), "an endless malformed call", _loop),
    CanaryScene((proofs.APPROVAL,), "a call that needs an approval", lambda stage: (proofs.approval(scenes.held(stage)),)),
)


def prove(openclaw: Sequence[str], places: Places, settings: Config, progress: Progress = lambda _: None) -> list[Check]:
    """Runs this OpenClaw with the guard of these places and returns the checks; if not all were tried, the last is an error.

    `openclaw`: the command that runs it; empty if there is none. Of the user's `settings`, only `python` is used.
    """
    if not openclaw:
        return [Check(proofs.GATEWAY, "error", NO_OPENCLAW, INSTALL, {"guards": "unknown"})]
    program, own = Program(tuple(openclaw)), installed_guard.find(places, settings)
    with subprocesses.interruptible():
        try:
            release = version(program)
            progress(f"starting OpenClaw {release} with the guard in a temporary home")
            with set_up(program, own, release) as stage:
                return _play(stage, release, own, progress)
        except UserError as error:
            return [_not_started(error)]
        except OSError as error:
            return [Check(proofs.GATEWAY, "error", f"the temporary home cannot be created: {error}", ROOM)]


def _not_started(error: UserError) -> Check:
    """Shows the first line of the message and the last two lines of the gateway's log, if it has any."""
    head, _, log = error.message.partition("\n")
    lines = log.strip().splitlines()
    detail = f"{head} {proofs.quoted(' '.join(lines[-2:]))}" if lines else head
    return Check(proofs.GATEWAY, "error", detail, error.fix or BROKEN)


def _play(stage: Stage, release: str, own: installed_guard.InstalledGuard, progress: Progress) -> list[Check]:
    first = proofs.gateway(scenes.started(stage, release, own.python), own.fix)
    if first.status == "error":
        return [first]
    checks = [first]
    for scene in SCENES:
        progress(scene.words)
        try:
            with gateway_stores.user_errors():
                checks += scene.play(stage)
        except UserError as error:
            checks += [Check(name, "error", error.message, error.fix) for name in scene.ids]
        except Silent as error:
            detail = f"the gateway did not answer ({proofs.quoted(str(error))}); the remaining checks were not tried"
            return [*checks, *(Check(name, "error", detail, BROKEN) for name in scene.ids)]
    return checks
