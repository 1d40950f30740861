"""The page and its answers over HTTP, for a browser on this machine. It only reads, and only answers those it should.

Off loopback a token is required. The Host header must name this machine, so that a foreign site whose name was pointed
here (DNS rebinding) gets nothing; no cross-origin header is ever sent. Starlette and uvicorn are the extra `view`.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from evosyn.errors import CorruptRun, MissingExtra, UsageError
from evosyn.hosts import is_ours, named_host, require_token
from evosyn.view.answers import View, encoded
from evosyn.view.page import page, policy

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger(__name__)

COOKIE = "evosyn-view"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def build_app(view: View, *, host: str = "127.0.0.1", token: str | None = None) -> Starlette:
    """The application.

    Args:
        host: the address that it will be bound to; requests must name it, or loopback.
        token: required in `Authorization: Bearer`, in `?token=` of the page, or in the cookie that this sets.

    Raises:
        UsageError: another host than loopback without a token.
        MissingExtra: starlette is not installed.
    """
    require_token(host, token, "--token SECRET")
    try:
        from starlette.applications import Starlette
        from starlette.middleware.base import BaseHTTPMiddleware
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtra("starlette", "view", "serving the page") from error
    token = token or None
    html = page()
    allowed = policy(html, connect="'self'") + "; frame-ancestors 'none'"

    def show(request: Request) -> Response:
        if token is not None and "token" in request.query_params:
            return _enter(Response(status_code=303, headers={"Location": "/"}), token)
        return Response(html, media_type="text/html")

    def answer(request: Request) -> Response:
        status, body = _answer(view, request)
        return Response(body, status, media_type="application/json")

    async def guard(request: Request, forward: Callable[[Request], Awaitable[Response]]) -> Response:
        refusal = _refusal(request, host, token)
        response = await forward(request) if refusal is None else Response(refusal[1], refusal[0])
        response.headers.update({**HEADERS, "Content-Security-Policy": allowed})
        return response

    app = Starlette(routes=[Route("/", show), Route("/api/{question:path}", answer)])
    app.add_middleware(BaseHTTPMiddleware, dispatch=guard)
    return app


def serve(app: Starlette, bound: socket.socket) -> None:
    """Answer until interrupted.

    Raises:
        MissingExtra: uvicorn is not installed.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("uvicorn", "view", "serving the page") from error
    # No access log: the first request of a visitor carries the token.
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[bound])


def _answer(view: View, request: Request) -> tuple[int, str]:
    try:
        return 200, encoded(view.answer(request.path_params["question"], request.query_params))
    except UsageError as error:
        return 404, encoded({"error": str(error)})
    except CorruptRun as error:
        log.warning("%s", error)
        return 500, encoded({"error": str(error)})


def _refusal(request: Request, host: str, token: str | None) -> tuple[int, str] | None:
    named = named_host(request.headers.get("host", ""))
    if not is_ours(named, host, token=bool(token)):
        return 403, f"the Host header names {named!r}, which is not this machine; open the address that was printed\n"
    if token is None:
        return None
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    asked = request.query_params.get("token", "") if request.url.path == "/" else ""
    bearer = secret if kind.lower() == "bearer" else ""
    given = ((bearer, token), (asked, token), (request.cookies.get(COOKIE, ""), _pass(token)))
    if any(hmac.compare_digest(one.encode(), right.encode()) for one, right in given):
        return None
    return 401, "a token is needed: open the address that was printed, or send Authorization: Bearer\n"


def _enter(response: Response, token: str) -> Response:
    response.set_cookie(COOKIE, _pass(token), httponly=True, samesite="strict")
    return response


def _pass(token: str) -> str:
    """What the cookie holds: proof of the token in letters that a cookie may have."""
    return hashlib.sha256(f"{COOKIE}:{token}".encode()).hexdigest()
