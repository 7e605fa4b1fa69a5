"""The viewer's paths, on this machine only: GET / for its page, GET /data for what it lacks."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from kernelwright.service.gate import Gate
from kernelwright.service.serve import signals_end_it_alone

HOST = "127.0.0.1"
PLAIN_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'none'",
}
"""The page's own policy says the rest; that it may not be framed, only a header can."""
MOST_BYTES = 1 << 16
"""Of a request."""


def application(page: str, data: Callable[[str], bytes | None]) -> Gate:
    """The viewer as an ASGI application; `data` gives what a reader with a token lacks, None where
    that is nothing."""

    def show() -> Response:
        return HTMLResponse(page, headers=PLAIN_HEADERS)

    def lacking(known: str = "") -> Response:
        found = data(known)
        if found is None:
            return Response(status_code=204, headers=PLAIN_HEADERS)
        return Response(found, headers=PLAIN_HEADERS, media_type="application/octet-stream")

    app = FastAPI(title="kernelwright view", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_api_route("/", show, methods=["GET"], response_class=HTMLResponse)
    app.add_api_route("/data", lacking, methods=["GET"], response_class=Response)
    return Gate(app, token=None, most_bytes=MOST_BYTES)


def listen(port: int) -> socket.socket:
    """A socket on the loopback address, for a free port where it is 0. Raises OSError."""
    return socket.create_server((HOST, port))


def run(app: Any, listening: socket.socket) -> None:
    """Serves until SIGTERM or Ctrl-C."""
    config = uvicorn.Config(app, log_level="warning", server_header=False)
    with signals_end_it_alone():
        uvicorn.Server(config).run(sockets=[listening])
