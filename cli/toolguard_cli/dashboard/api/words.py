"""A person's yes or no to a held call, as the commands give it."""

from __future__ import annotations

import time

from toolguard_cli import held, stores
from toolguard_cli.commands import deny as denying
from toolguard_cli.dashboard import gateways
from toolguard_cli.dashboard.problems import Wrong
from toolguard_cli.dashboard.shapes import Done, Word
from toolguard_cli.dashboard.visit import Visit
from toolguard_cli.errors import UserError
from toolguard_engine import answers
from toolguard_engine.ledger import Refused

PLACE = "dashboard"


def approve(visit: Visit, word: Word) -> Done:
    watched = gateways.named(visit, word.gateway)
    _refuse_gone(watched)
    config = stores.settings(watched.places)
    window = config.approval_window_ms / 1000
    decision = stores.decision(word.why, PLACE)
    entry = watched.book().approve(word.nonce, decision, time.time(), window, unseen=word.unseen)
    return Done(answers.approved(entry, window))


def deny(visit: Visit, word: Word) -> Done:
    watched = gateways.named(visit, word.gateway)
    _refuse_gone(watched)
    config = stores.settings(watched.places)
    try:
        _, said = denying.refuse(watched.book(), word.nonce, stores.decision(word.why, PLACE), config)
    except Refused as refused:
        if refused.cause != "used" or refused.entry is None:
            raise
        late = answers.too_late(refused.entry)
        raise Wrong(409, refused.cause, late.text, late.fix) from refused
    return Done(said)


def _refuse_gone(watched: gateways.Watched) -> None:
    if held.never_been(watched.places):
        raise UserError(held.nowhere(watched.places), "is this gateway still installed? toolguard doctor looks at it")
