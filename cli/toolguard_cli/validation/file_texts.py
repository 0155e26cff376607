"""Whether the gateway can read the files: valid JSON5, and readable `$include`s."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.hostconfig.config_tree import INCLUDE, Spot, Steps
from toolguard_cli.hostconfig.finding import ConfigFinding, name, report
from toolguard_cli.hostconfig.json5_edit import Json5Error
from toolguard_cli.system.errors import UserError
from toolguard_cli.validation.subject import ConfigSubject, parts

NO_JSON5 = " is not valid JSON5: "


def there(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    if not subject.tree.exists:
        fix = f"{subject.command('install')} creates it; or pass the right one with --config"
        yield ConfigFinding("error", "", "the file does not exist", fix, str(subject.tree.path))


def included(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Includes that cannot be read; the gateway does not start without them."""
    problems = subject.tree.problems
    spots = {id(part.problem): (steps, part.spots[-1]) for steps, part in parts(subject.tree.root) if part.problem}
    for problem in problems:
        steps, spot = spots.get(id(problem), ((), Spot(subject.tree.main, ())))
        yield unreadable(problem, str(spot.file.path), steps) or _not_included(problem, spot, steps)


def _not_included(problem: UserError, spot: Spot, steps: Steps) -> ConfigFinding:
    directive = Spot(spot.file, (*spot.path, INCLUDE))
    message = problem.message.removeprefix(f"{directive.words}: ")
    return report(directive, "error", name((*steps, INCLUDE)), message, problem.fix)


def faults(error: UserError, path: Path) -> ConfigFinding:
    return unreadable(error, str(path), ()) or ConfigFinding("error", "", error.message, error.fix, str(path))


def unreadable(error: UserError, path: str, steps: Steps) -> ConfigFinding | None:
    """The finding for a file that is not JSON5, with the place; None for other errors."""
    cause = error.__cause__
    if not isinstance(cause, Json5Error):
        return None
    file = error.message.partition(NO_JSON5)[0] if NO_JSON5 in error.message else path
    message = f"not valid JSON5: {cause.message.removeprefix(f'line {cause.line}, column {cause.column}: ')}"
    return ConfigFinding("error", name(steps), message, "fix that line", file, cause.line, cause.column, cause.excerpt)
