"""The fleet dashboard as one web application: the page, its API, and logging in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from toolguard_cli.dashboard import app, endpoint, problems
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.fleet import page_metrics, page_refusals, page_security
from toolguard_cli.fleet.page_data import ENDPOINTS
from toolguard_cli.fleet.page_security import FleetSecurity
from toolguard_cli.fleet.page_visit import FleetSite, FleetVisit
from toolguard_fleet.fleet_errors import FleetError
from toolguard_fleet.schema import SchemaVersion

STATIC = Path(__file__).parent / "static"
SESSION_SECONDS = 12 * 3600


class LoginRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    token: Annotated[str, Meta(pattern="^tgf-[0-9a-f]{64}$")]


class LoginAnswer(msgspec.Struct, frozen=True):
    """`key`: the half of the session's secret that the page keeps."""

    key: str


class _PageFiles(StaticFiles):
    """Files of this page; what it does not have is the dashboard's of one machine."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC, check_dir=False)
        self.all_directories = [STATIC, app.STATIC]


def make(site: FleetSite, user_header: str = "") -> ASGIApp:
    """`user_header`: see `FleetSecurity`."""

    def context(request: Request) -> FleetVisit:
        return FleetVisit(site, request.scope, request.scope["session"], request.scope["user"])

    async def index(request: Request) -> Response:
        del request
        return FileResponse(STATIC / "fleet.html")

    async def alive(request: Request) -> Response:
        """Whether the page can ask the database, and nothing else: load balancers and monitors have no login."""
        del request
        try:
            version = await run_in_threadpool(site.database.ask, "SELECT fleet.schema_version()", (), SchemaVersion)
        except FleetError as error:
            site.log(error)
            return problems.answer(page_refusals.explain(error))
        body = msgspec.json.encode({"status": "ok", "schema": version.version})
        return Response(body, headers=problems.NO_STORE, media_type=problems.JSON)

    async def metrics(request: Request) -> Response:
        """Reads a token, which a monitor sends instead of a session."""
        try:
            token = page_metrics.token(request.headers.getlist("authorization"))
            measured = await run_in_threadpool(context(request).measured, token)
        except ApiError as refused:
            return problems.answer(refused)
        return Response(page_metrics.text(measured), headers=problems.NO_STORE, media_type="text/plain; version=0.0.4")

    async def log_in(request: Request) -> Response:
        try:
            asked = msgspec.json.decode(request.scope["body"], type=LoginRequest)
            ours, key = await run_in_threadpool(context(request).log_in, asked.token)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return problems.answer(ApiError(422, "values", "a token is tgf- followed by 64 hexadecimal characters"))
        except ApiError as refused:
            return problems.answer(refused)
        response = Response(msgspec.json.encode(LoginAnswer(key)), headers=problems.NO_STORE, media_type=problems.JSON)
        response.set_cookie(**page_security.cookie(ours, SESSION_SECONDS, secure=_is_secure(request)))
        return response

    async def log_out(request: Request) -> Response:
        try:
            await run_in_threadpool(site.database.ask, "SELECT fleet.page_logout(%s)", (request.scope["session"],), bool)
        except FleetError as error:
            return problems.answer(page_refusals.explain(error))
        response = Response(b"{}", headers=problems.NO_STORE, media_type=problems.JSON)
        for secure in (False, True):
            response.set_cookie(**page_security.cookie("", 0, secure=secure))
        return response

    app.know_types()
    routes = [
        *endpoint.routes(ENDPOINTS, context),
        Route("/api/session", log_in, methods=["POST"]),
        Route("/api/session/end", log_out, methods=["POST"]),
        Route("/", index),
        Route("/healthz", alive),
        Route("/metrics", metrics),
        Mount("/static", _PageFiles()),
    ]
    return FleetSecurity(app.application(routes), site.door, user_header)


def _is_secure(request: Request) -> bool:
    """Whether the browser reached the page by HTTPS. The origin is one of ours: `Security` has checked it."""
    return request.headers.get("origin", "").startswith("https://")
