"""Request handlers of the API: decode the request, run the endpoint in a thread, encode the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from toolguard_cli.dashboard import problems
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import Endpoint
from toolguard_cli.system.errors import UserError
from toolguard_engine.approvals.ledger import RefusedError
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

Handler = Callable[[Request], Awaitable[Response]]


def routes(endpoints: Iterable[Endpoint], context: Callable[[Request], object]) -> list[BaseRoute]:
    """`context`: makes the first argument of each endpoint's `work`."""
    paths: dict[str, dict[str, Handler]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method] = handler(endpoint, context)
    return [Route(_named(path), _by_method(known), methods=list(known)) for path, known in paths.items()]


def _by_method(known: dict[str, Handler]) -> Handler:
    async def handle(request: Request) -> Response:
        return await known["GET" if request.method == "HEAD" else request.method](request)

    return handle


def _named(path: str) -> str:
    """The names of gateways may contain slashes."""
    return path.replace("{id}", "{id:path}")


def handler(endpoint: Endpoint, context: Callable[[Request], object]) -> Handler:
    decoder = msgspec.json.Decoder(endpoint.asks)

    async def handle(request: Request) -> Response:
        visit = context(request)
        try:
            asked = _body(decoder, request.scope["body"]) if endpoint.method == "POST" else _parameters(endpoint, request)
            answer = await run_in_threadpool(endpoint.work, visit, asked)
        except (ApiError, RefusedError, StoreError, UserError, OSError) as error:
            return problems.answer(problems.explain(error))
        data = answer if isinstance(answer, bytes) else encoded(answer)
        return Response(data, headers=problems.NO_STORE, media_type=endpoint.kind)

    return handle


def encoded(answer: Any) -> bytes:
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:  # a lone surrogate, which a file name may contain
        return msgspec.json.encode(_printable(msgspec.to_builtins(answer)))


async def fault(request: Request, error: Exception) -> Response:
    """An unexpected exception: logged by the server, not shown to the client."""
    del request, error
    return problems.answer(ApiError(500, "fault", "internal error; see the log of the dashboard's server"))


def _body(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    """Raises `ApiError`."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise ApiError(422, "values", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, "malformed", "the body is not JSON") from error


def _parameters(endpoint: Endpoint, request: Request) -> Any:
    """Raises `ApiError`."""
    given = request.query_params.multi_items()
    values = {**dict(given), **request.path_params}
    if len(values) != len(given) + len(request.path_params):
        raise ApiError(422, "values", "a parameter is given twice")
    try:
        return msgspec.convert(values, endpoint.asks, strict=False)
    except msgspec.ValidationError as error:
        raise ApiError(422, "values", str(error)) from error


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable.plain(value)
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {_printable(name): _printable(item) for name, item in value.items()}
    return value
