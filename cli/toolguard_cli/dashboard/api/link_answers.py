"""Answer links: shows the call of a link and takes one answer. Neither needs the dashboard's token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from toolguard_cli.dashboard import known_gateways
from toolguard_cli.dashboard.api import waiting_calls
from toolguard_cli.dashboard.api_types import ActionResult, LinkAnswer, LinkedCall, LinkRequest
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import RequestContext
from toolguard_cli.operations import answer_links
from toolguard_cli.operations.answer_links import AnswerLink, LinkRefusedError
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError

LIMITED = ApiError(429, "link.limit", "too many invalid links were tried", "try again in a minute")
USED_PAGE = ApiError(409, "link.page", "this page has already sent its answer, or is too old", "open the link again")


def show(visit: RequestContext, asked: LinkRequest) -> LinkedCall:
    watched, link = _verified(visit, asked.link)
    with _refusals():
        entry = answer_links.opened(watched.places, watched.ledger(), link, time.time())
    page = visit.site.memory.pages.begin(asked.link)
    return LinkedCall(visit.now, link.expires * 1_000, page, waiting_calls.view(watched, entry))


def answer(visit: RequestContext, asked: LinkAnswer) -> ActionResult:
    watched, link = _verified(visit, asked.link)
    if not visit.site.memory.pages.take(asked.page, asked.link):
        raise USED_PAGE
    with _refusals():
        text = answer_links.answer(watched.places, watched.ledger(), link, asked.answer, time.time())
    return ActionResult(text)


def _verified(visit: RequestContext, text: str) -> tuple[WatchedGateway, AnswerLink]:
    """The link, and the gateway whose key has signed it. Raises `ApiError`."""
    pages = visit.site.memory.pages
    with _refusals():
        try:
            link = answer_links.read(text)
            return _signer(visit, link), link
        except LinkRefusedError:
            if pages.is_limited():
                raise LIMITED from None
            pages.note_invalid()
            raise


def _signer(visit: RequestContext, link: AnswerLink) -> WatchedGateway:
    for gateway in known_gateways.watched(visit)[0]:
        with suppress(StoreError, OSError):
            if link.is_signed(stores.signing_key(gateway.places.state_dir).known()):
                return known_gateways.named(visit, gateway.id)
    raise answer_links.altered()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except LinkRefusedError as refused:
        raise ApiError(409, f"link.{refused.cause}", refused.message, refused.fix) from refused
