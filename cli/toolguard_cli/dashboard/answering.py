"""One endpoint of the API as the web framework calls it: decode what is asked, work in a thread, encode the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from toolguard_cli.dashboard import problems
from toolguard_cli.dashboard.problems import Wrong
from toolguard_cli.dashboard.visit import Endpoint, Site, Visit
from toolguard_cli.errors import UserError
from toolguard_engine import answers
from toolguard_engine.ledger import Refused
from toolguard_engine.stores.locked import StoreError

Handler = Callable[[Request], Awaitable[Response]]


def handler(each: Endpoint, site: Site) -> Handler:
    decoder = msgspec.json.Decoder(each.asks)

    async def handle(request: Request) -> Response:
        visit = Visit(site, request.scope["trusted"])
        try:
            asked = _body(decoder, request.scope["body"]) if each.method == "POST" else _parameters(each, request)
            answer = await run_in_threadpool(each.work, visit, asked)
        except (Wrong, Refused, StoreError, UserError, OSError) as error:
            return problems.answer(problems.of(error))
        data = answer if isinstance(answer, bytes) else encoded(answer)
        return Response(data, headers=problems.NO_STORE, media_type=each.kind)

    return handle


def encoded(answer: Any) -> bytes:
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:  # half of a pair, as a file's name may have
        return msgspec.json.encode(_printable(msgspec.to_builtins(answer)))


async def fault(request: Request, error: Exception) -> Response:
    """What nobody expected: told to whoever runs the server, and not to whoever asks."""
    del request, error  # the server logs it
    return problems.answer(Wrong(500, "fault", "toolguard made a mistake; its own log says which"))


def _body(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    """Raises `Wrong`."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise Wrong(422, "values", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Wrong(400, "malformed", "the body is no JSON") from error


def _parameters(each: Endpoint, request: Request) -> Any:
    """Raises `Wrong`."""
    given = request.query_params.multi_items()
    values = {**dict(given), **request.path_params}
    if len(values) != len(given) + len(request.path_params):
        raise Wrong(422, "values", "a parameter is given twice")
    try:
        return msgspec.convert(values, each.asks, strict=False)
    except msgspec.ValidationError as error:
        raise Wrong(422, "values", str(error)) from error


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return answers.plain(value)
    if isinstance(value, list):
        return [_printable(each) for each in value]
    if isinstance(value, dict):
        return {_printable(name): _printable(each) for name, each in value.items()}
    return value
