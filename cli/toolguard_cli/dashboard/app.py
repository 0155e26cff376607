"""The dashboard as one web application: the page, the API, `/ws` and `/metrics`, all behind `security`."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Lifespan

from toolguard_cli.dashboard import endpoint, openapi, problems
from toolguard_cli.dashboard.live_feed import LiveFeed
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import RequestContext, Site
from toolguard_cli.dashboard.routes import ENDPOINTS
from toolguard_cli.dashboard.security import Security
from toolguard_cli.operations import answer_links
from toolguard_cli.person.peers import Connection

STATIC = Path(__file__).parent / "static"
_SCRIPT = "text/javascript"
_KINDS = {".js": _SCRIPT, ".mjs": _SCRIPT, ".css": "text/css", ".svg": "image/svg+xml", ".json": problems.JSON}
_KINDS[".webmanifest"] = "application/manifest+json"
_WORDS = {404: ("path", "not found"), 405: ("method", "method not allowed")}


def make(site: Site) -> ASGIApp:
    live = LiveFeed(site)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        del app
        try:
            yield
        finally:
            await live.end()

    know_types()
    routes = [*_api(site), WebSocketRoute("/ws", live.serve), *_page()]
    return Security(application(routes, life), site.door)


def know_types() -> None:
    """Browsers check the type of a script; this machine's table is not relied on."""
    for ending, kind in _KINDS.items():
        mimetypes.add_type(kind, ending)


def application(routes: Sequence[BaseRoute], life: Lifespan[Starlette] | None = None) -> Starlette:
    """Every refusal and fault of it is answered as `problems` says."""
    handlers = {HTTPException: _refuse, Exception: endpoint.fault}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=life)
    app.router.redirect_slashes = False
    return app


def _api(site: Site) -> list[BaseRoute]:
    encoded = msgspec.json.encode(openapi.document(ENDPOINTS))

    async def document(request: Request) -> Response:
        del request
        return Response(encoded, headers=problems.NO_STORE, media_type=problems.JSON)

    def context(request: Request) -> RequestContext:
        return RequestContext(site, request.scope["trusted"], _client(request))

    return [*endpoint.routes(ENDPOINTS, context), Route("/api/openapi.json", document)]


def _client(request: Request) -> Connection | None:
    server = request.scope.get("server")
    if request.client is None or not server or not server[1]:
        return None
    return Connection(request.client.host, request.client.port, server[1])


def _page() -> list[BaseRoute]:
    async def index(request: Request) -> Response:
        del request
        return FileResponse(STATIC / "index.html")

    async def answer(request: Request) -> Response:
        del request
        return FileResponse(STATIC / "answer.html")

    return [
        Route("/", index),
        Route(answer_links.PATH, answer),
        Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
    ]


async def _refuse(request: Request, error: Exception) -> Response:
    del request
    status = error.status_code if isinstance(error, HTTPException) else 500
    answer = problems.answer(ApiError(status, *_WORDS.get(status, ("request", "invalid request"))))
    answer.headers.update(getattr(error, "headers", None) or {})
    return answer
