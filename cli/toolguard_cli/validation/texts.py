"""Can the gateway read the files: their JSON5, and what they take in with `$include`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.configtree import INCLUDE, Spot, Steps
from toolguard_cli.errors import UserError
from toolguard_cli.json5_edit import Json5Error
from toolguard_cli.validation.finding import Finding, at, name
from toolguard_cli.validation.subject import Subject, parts

NO_JSON5 = " is not valid JSON5: "


def there(subject: Subject) -> Iterator[Finding]:
    if not subject.tree.exists:
        fix = f"{subject.mend('install')} makes it; or name the right one with --config"
        yield Finding("error", "", "there is no such file", fix, str(subject.tree.path))


def included(subject: Subject) -> Iterator[Finding]:
    """What could not be taken in; the gateway does not start without it."""
    problems = subject.tree.problems
    spots = {id(part.problem): (steps, part.spots[-1]) for steps, part in parts(subject.tree.root) if part.problem}
    for problem in problems:
        steps, spot = spots.get(id(problem), ((), Spot(subject.tree.main, ())))
        yield unreadable(problem, str(spot.file.path), steps) or _not_taken_in(problem, spot, steps)


def _not_taken_in(problem: UserError, spot: Spot, steps: Steps) -> Finding:
    directive = Spot(spot.file, (*spot.path, INCLUDE))
    message = problem.message.removeprefix(f"{directive.words}: ")
    return at(directive, "error", name((*steps, INCLUDE)), message, problem.fix)


def faults(error: UserError, path: Path) -> Finding:
    """A config that cannot be read at all."""
    return unreadable(error, str(path), ()) or Finding("error", "", error.message, error.fix, str(path))


def unreadable(error: UserError, path: str, steps: Steps) -> Finding | None:
    """A file that is no JSON5, with the place; None where the error is another one."""
    cause = error.__cause__
    if not isinstance(cause, Json5Error):
        return None
    file = error.message.partition(NO_JSON5)[0] if NO_JSON5 in error.message else path
    said = cause.message.removeprefix(f"line {cause.line}, column {cause.column}: ")
    message = f"not valid JSON5: {said}"
    return Finding("error", name(steps), message, "mend that line", file, cause.line, cause.column, cause.excerpt)
