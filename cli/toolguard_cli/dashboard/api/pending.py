"""The calls that wait for a person, of all gateways."""

from __future__ import annotations

import os
import time

from toolguard_cli import stores
from toolguard_cli.dashboard import gateways
from toolguard_cli.dashboard.gateways import Watched
from toolguard_cli.dashboard.shapes import Held, Pending
from toolguard_cli.dashboard.visit import Query, Visit
from toolguard_cli.errors import UserError
from toolguard_engine import answers
from toolguard_engine.ledger import Entry

UNSIGNED = "held calls are not signed by toolguard and left out; toolguard doctor tells more"


def pending(visit: Visit, asked: Query) -> Pending:
    del asked
    found, problems = gateways.watched(visit)
    return listed(visit, found, problems)


def listed(visit: Visit, known: list[Watched], problems: list[str]) -> Pending:
    """The oldest first. `problems`: known ones."""
    held, unread, now = list[Held](), list[str](), time.time()
    for each in known:
        try:
            with stores.told():
                trusted, others = _look(each)
            held += [_held(each, entry) for entry in answers.waiting(trusted, now)]
            problems = [*problems, *([answers.plain(f"{each.id}: {len(others)} {UNSIGNED}")] if others else [])]
        except (UserError, OSError) as error:
            problems = [*problems, said(each, error)]
            unread.append(each.id)
    return Pending(visit.now, sorted(held, key=lambda one: (one.created, one.nonce)), problems, unread)


def _look(watched: Watched) -> tuple[list[Entry], list[Entry]]:
    """Nothing is changed by looking. Raises `UserError`."""
    if watched.known and not os.path.isdir(watched.places.state_dir):  # noqa: PTH112 - this one never raises
        raise UserError(f"{watched.places.state_dir} is gone")
    return watched.book().look()


def said(watched: Watched, error: UserError | OSError) -> str:
    if isinstance(error, OSError):
        return answers.plain(f"{watched.id}: {error.filename or 'a file'}: {error.strerror or error}")
    return answers.plain(f"{watched.id}: {error.message}{f'; {error.fix}' if error.fix else ''}")


def _held(watched: Watched, entry: Entry) -> Held:
    return Held(
        gateway=watched.id,
        nonce=entry.nonce,
        status=entry.status,
        tool=entry.tool,
        agent=entry.agent,
        session=entry.session,
        code=entry.code,
        reason=entry.reason,
        shown=entry.shown,
        whole=entry.whole,
        cwd=entry.cwd,
        created=int(entry.created * 1_000),
        expires=int(entry.expires * 1_000),
    )
