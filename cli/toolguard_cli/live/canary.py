"""The order of the canary, and what is left out once the gateway fails.

A check that was not tried is not listed: the one before it has failed, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolguard_cli import children, stores
from toolguard_cli.checks.check import Check
from toolguard_cli.errors import UserError
from toolguard_cli.live import guard, scenes, verdicts
from toolguard_cli.live.stage import Silent, Stage, set_up, version
from toolguard_cli.paths import Places
from toolguard_cli.rig.runtime import Program
from toolguard_engine.config import Config

NO_OPENCLAW = "there is no openclaw on PATH to prove anything on"
INSTALL = "put the openclaw that runs your gateway on PATH, then repeat"
ROOM = "make room in the folder for temporary files, or name another one in TMPDIR"
BROKEN = "make OpenClaw itself run (openclaw doctor), then repeat"

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Scene:
    """Something that is played and judged. `ids`: the checks that come of it."""

    ids: tuple[str, ...]
    words: str
    play: Callable[[Stage], tuple[Check, ...]]


def _loop(stage: Stage) -> tuple[Check, ...]:
    seen = scenes.loop(stage)
    return verdicts.correction(seen), verdicts.stop(seen)


SCENES = (
    Scene((verdicts.HOOKS,), "a harmless call", lambda stage: (verdicts.hooks(scenes.valid(stage)),)),
    Scene((verdicts.BLOCK,), "a forbidden call", lambda stage: (verdicts.block(scenes.forbidden(stage)),)),
    Scene((verdicts.CORRECTION, verdicts.STOP), "an endless malformed call", _loop),
    Scene((verdicts.APPROVAL,), "a call that needs an approval", lambda stage: (verdicts.approval(scenes.held(stage)),)),
)


def prove(openclaw: Sequence[str], places: Places, settings: Config, progress: Progress = lambda _: None) -> list[Check]:
    """Runs this OpenClaw with the guard of these places; the checks, the last one an error where not all was tried.

    `openclaw`: the command that runs it, empty where there is none; `settings`: the user's, of which only `python` is used.
    """
    if not openclaw:
        return [Check(verdicts.GATEWAY, "error", NO_OPENCLAW, INSTALL)]
    program, own = Program(tuple(openclaw)), guard.find(places, settings)
    with children.interruptible():
        try:
            release = version(program)
            progress(f"starting OpenClaw {release} with the guard in a throw-away home")
            with set_up(program, own, release) as stage:
                return _play(stage, release, own, progress)
        except UserError as error:
            return [_not_started(error)]
        except OSError as error:
            return [Check(verdicts.GATEWAY, "error", f"the throw-away home cannot be made: {error}", ROOM)]


def _not_started(error: UserError) -> Check:
    """The message's first line says what failed; the last ones of the gateway's log, if there are any, why."""
    head, _, log = error.message.partition("\n")
    lines = log.strip().splitlines()
    detail = f"{head} {verdicts.quoted(' '.join(lines[-2:]))}" if lines else head
    return Check(verdicts.GATEWAY, "error", detail, error.fix or BROKEN)


def _play(stage: Stage, release: str, own: guard.Guard, progress: Progress) -> list[Check]:
    first = verdicts.gateway(scenes.started(stage, release, own.python), own.mend)
    if first.status == "error":
        return [first]
    checks = [first]
    for scene in SCENES:
        progress(scene.words)
        try:
            with stores.told():
                checks += scene.play(stage)
        except UserError as error:
            checks += [Check(name, "error", error.message, error.fix) for name in scene.ids]
        except Silent as error:
            detail = f"the gateway did not answer ({verdicts.quoted(str(error))}); what comes after was not tried"
            return [*checks, *(Check(name, "error", detail, BROKEN) for name in scene.ids)]
    return checks
