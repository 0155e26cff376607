"""Why a request is refused, and how that is said: one JSON object for every refusal."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from toolguard_cli.dashboard.shapes import Problem, Refusal
from toolguard_cli.errors import UserError
from toolguard_engine import answers
from toolguard_engine.ledger import Refused
from toolguard_engine.stores.locked import StoreError

JSON = "application/json"
NO_STORE = {"cache-control": "no-store"}
MAX_TEXT = 2_000
OPEN_PAGE = "toolguard dashboard --open opens the page with its token"


class Wrong(Exception):  # noqa: N818 - an answer
    """A request that is refused with this status. `code` is stable."""

    def __init__(self, status: int, code: str, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.problem = Problem(code, answers.cut(message, MAX_TEXT), answers.cut(fix, MAX_TEXT))


UNAUTHORIZED = Wrong(401, "token", "this needs the dashboard's token", OPEN_PAGE)


def of(error: Exception) -> Wrong:
    """What our own errors are to whoever asked."""
    if isinstance(error, Wrong):
        return error
    if isinstance(error, Refused):
        said = answers.explain(error)
        return Wrong(409, error.cause, said.text, said.fix)
    if isinstance(error, StoreError):
        return Wrong(503, error.code, str(error))
    if isinstance(error, OSError):
        return Wrong(503, StoreError.code, f"{error.filename or 'a file'}: {error.strerror or error}")
    if isinstance(error, UserError):
        return Wrong(409, "refused", error.message, error.fix)
    raise error


def answer(wrong: Wrong) -> Response:
    headers = NO_STORE | ({"www-authenticate": "Bearer"} if wrong.status == UNAUTHORIZED.status else {})
    return Response(msgspec.json.encode(Refusal(wrong.problem)), wrong.status, headers, JSON)
