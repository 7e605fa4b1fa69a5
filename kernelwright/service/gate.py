"""What a request has to pass before it is read: its token, its host and its size."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from kernelwright.service.messages import to_bytes

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
READ_LIMIT_S = 60.0
OPEN = ("/health",)
"""Paths that need no token."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address, or a name of it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Gate:
    """An ASGI application in front of another one.

    Without a token a request has to name a loopback host: a page in a browser on this machine,
    under a name of its own, is refused.
    """

    def __init__(self, app: Any, *, token: str | None, most_bytes: int) -> None:
        self._app, self._token, self._most_bytes = app, token, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] == "websocket":  # there are none here
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        body = b"" if refusal else await self._body(scope, receive)
        if isinstance(body, tuple):
            refusal = body
        if refusal:
            await _refuse(send, *refusal)
            return
        sent = False

        async def replay() -> MutableMapping[str, Any]:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if self._token is None:
            host = headers.get(b"host", b"").decode("latin-1")
            name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
            return None if is_loopback(name) else (403, "without a token only localhost is served")
        given = headers.get(b"authorization", b"")
        known = b"Bearer " + self._token.encode()
        if scope["path"] in OPEN or hmac.compare_digest(given, known):
            return None
        return 401, "a bearer token is needed"

    async def _body(self, scope: Scope, receive: Receive) -> bytes | tuple[int, str]:
        """All of the body, or the refusal of it."""
        found, more = bytearray(), True
        try:
            async with asyncio.timeout(READ_LIMIT_S):
                while more:
                    message = await receive()
                    found += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(found) > self._most_bytes:
                        return 413, f"a request has at most {self._most_bytes} bytes"
        except TimeoutError:
            return 408, f"the request took longer than {READ_LIMIT_S:.0f} s"
        return bytes(found)


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": to_bytes({"detail": why})})
