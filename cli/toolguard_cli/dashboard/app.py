"""The dashboard as one web application: the page, the API, `/ws` and `/metrics`, all behind `security`."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from toolguard_cli.dashboard import endpoint, openapi, problems
from toolguard_cli.dashboard.live_feed import LiveFeed
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import Site
from toolguard_cli.dashboard.routes import ENDPOINTS
from toolguard_cli.dashboard.security import Security
from toolguard_cli.operations import answer_links

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

    for ending, kind in _KINDS.items():  # browsers check the type of a script; do not rely on this machine's table
        mimetypes.add_type(kind, ending)
    routes = [*_api(site), WebSocketRoute("/ws", live.serve), *_page()]
    handlers = {HTTPException: _refuse, Exception: endpoint.fault}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=life)
    app.router.redirect_slashes = False
    return Security(app, site.door)


def _api(site: Site) -> list[BaseRoute]:
    encoded = msgspec.json.encode(openapi.document(ENDPOINTS))

    async def document(request: Request) -> Response:
        del request
        return Response(encoded, headers=problems.NO_STORE, media_type=problems.JSON)

    paths: dict[str, dict[str, endpoint.Handler]] = {}
    for each in ENDPOINTS:
        paths.setdefault(each.path, {})[each.method] = endpoint.handler(each, site)
    found: list[BaseRoute] = [Route(_named(path), _by_method(known), methods=list(known)) for path, known in paths.items()]
    return [*found, Route("/api/openapi.json", document)]


def _by_method(known: dict[str, endpoint.Handler]) -> endpoint.Handler:
    async def handle(request: Request) -> Response:
        return await known["GET" if request.method == "HEAD" else request.method](request)

    return handle


def _named(path: str) -> str:
    """The names of gateways may contain slashes."""
    return path.replace("{id}", "{id:path}")


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
