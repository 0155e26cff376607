"""Refusals: every one is answered with the same JSON object."""

from __future__ import annotations

import html

import msgspec
from starlette.responses import Response

from toolguard_cli.dashboard.api_types import ErrorBody, Problem
from toolguard_cli.system.errors import UserError
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import RefusedError
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

JSON = "application/json"
NO_STORE = {"cache-control": "no-store"}
MAX_TEXT = 2_000
OPEN_PAGE = "toolguard dashboard prints the address of the page with its token, and --open opens it"


class ApiError(Exception):
    """A request that is refused with this status. `code` is stable."""

    def __init__(self, status: int, code: str, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.problem = Problem(code, printable.cut(message, MAX_TEXT), printable.cut(fix, MAX_TEXT))


UNAUTHORIZED = ApiError(401, "token", "this needs the dashboard's token", OPEN_PAGE)


def explain(error: Exception) -> ApiError:
    """The answer to one of our own errors; other errors are raised again."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, RefusedError):
        explained = replies.explain(error)
        return ApiError(409, error.cause, explained.text, explained.fix)
    if isinstance(error, StoreError):
        return ApiError(503, error.code, str(error))
    if isinstance(error, OSError):
        return ApiError(503, StoreError.code, f"{error.filename or 'a file'}: {error.strerror or error}")
    if isinstance(error, UserError):
        return ApiError(409, "refused", error.message, error.fix)
    raise error


def page(wrong: ApiError) -> Response:
    """Renders a page for a person who has opened an address."""
    text = html.escape(f"{wrong.problem.message[:1].upper()}{wrong.problem.message[1:]}: {wrong.problem.fix}")
    viewport = '<meta name="viewport" content="width=device-width">'
    content = f'<!doctype html><html lang="en"><meta charset="utf-8">{viewport}<title>toolguard</title><p>{text}</p></html>'
    return Response(content, wrong.status, NO_STORE, "text/html")


def answer(wrong: ApiError) -> Response:
    headers = NO_STORE | ({"www-authenticate": "Bearer"} if wrong.status == UNAUTHORIZED.status else {})
    return Response(msgspec.json.encode(ErrorBody(wrong.problem)), wrong.status, headers, JSON)
