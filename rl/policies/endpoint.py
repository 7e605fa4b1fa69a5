"""Requests to a server that speaks OpenAI's HTTP interface, as JSON, several at a time."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException, IncompleteRead
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

from kernelwright.rl.models.weights import ModelError

T = TypeVar("T")
BUSY = (408, 429, 500, 502, 503, 504)
"""Answers after which the same request may be answered later."""
REFUSED = (400, 413, 422)
"""Answers that are about the request alone."""
BROKEN_OFF = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, IncompleteRead)
"""Ends of a connection that a server had taken."""
WAITS_S = (1.0, 4.0, 16.0)
"""How long to wait before each further try, where the server does not say."""
LONGEST_WAIT_S = 60.0
TIMEOUT_S = 1800.0
"""How long a server may take for one completion."""


class EndpointError(ModelError):
    """A server that does not do what was asked; one line, with what it said."""


class AbsentError(EndpointError):
    """No server answers at this address."""


class RefusedError(EndpointError):
    """A server that does not take one request, as one that is too long or against its rules."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server's address, without `/v1`, and the key it wants, if it wants one."""

    url: str
    key: str | None = field(default=None, repr=False)

    @classmethod
    def at(cls, url: str, key: str | None = None) -> Endpoint:
        """As users write addresses: with or without `/v1`.

        >>> Endpoint.at("http://127.0.0.1:8000/v1/").url
        'http://127.0.0.1:8000'
        """
        if not url.startswith(("http://", "https://")):
            raise EndpointError(f"{url} is no address of a server: it begins with http:// or https")
        return cls(url.rstrip("/").removesuffix("/v1").rstrip("/"), key)

    def get(self, path: str) -> Any:
        return self._asked(path, None, 10.0)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer to a request. A server that is busy, or breaks a connection off, is asked
        again. Raises EndpointError."""
        for wait_s in (*WAITS_S, None):
            try:
                return self._asked(path, body, TIMEOUT_S)
            except _BusyError as error:
                if wait_s is None:
                    raise EndpointError(str(error)) from None
                time.sleep(min(wait_s if error.wait_s is None else error.wait_s, LONGEST_WAIT_S))
        raise AssertionError

    def _asked(self, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> Any:
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                text = answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            said = f"{self.url}{path}: {error.code} {_message(error)}"
            if error.code in BUSY:
                raise _BusyError(said, error.headers.get("Retry-After")) from None
            raise (RefusedError if error.code in REFUSED else EndpointError)(said) from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", None) or error
            if isinstance(why, BROKEN_OFF):
                raise _BusyError(f"{self.url} broke the connection off ({why})") from None
            raise AbsentError(f"no server answers at {self.url} ({why})") from None
        return _parsed(text, self.url + path)


class _BusyError(EndpointError):
    def __init__(self, said: str, retry_after: str | None = None) -> None:
        super().__init__(said)
        self.wait_s = float(retry_after) if retry_after and retry_after.isdecimal() else None


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text if len(text) < 200 else _not_json(where)


def _not_json(where: str) -> Any:
    raise EndpointError(f"{where}: the answer is no JSON: is this an OpenAI-compatible server?")


def _message(error: urllib.error.HTTPError) -> str:
    """What a server says of a request that it refuses, in one line."""
    try:
        text = error.read().decode(errors="replace")
    except (OSError, HTTPException):  # the connection was lost on the way
        text = ""
    try:
        told = json.loads(text)
        said = told.get("error", told)
        text = said.get("message", text) if isinstance(said, dict) else str(said)
    except (ValueError, AttributeError):
        pass
    return " ".join(str(text or error.reason).split())[:400]


@contextmanager
def as_expected(where: str) -> Iterator[None]:
    """What is missing in a server's answer, as an EndpointError of one line."""
    try:
        yield
    except (LookupError, TypeError, AttributeError):
        raise EndpointError(
            f"{where}: the answer has not what OpenAI's interface asks for"
        ) from None


def all_of(
    count: int, ask: Callable[[int], T], at_once: int, on_finished: Callable[[int, T], None] | None
) -> list[T]:
    """`ask(number)` of each number, many at a time; `on_finished` hears of each, in this thread.

    An error, or Ctrl-C, ends it at once: nobody waits for what is still asked.
    """
    calls: dict[Future[T], int] = {Future(): number for number in range(count)}
    left, ended = SimpleQueue[tuple[Future[T], int]](), Event()

    def work() -> None:
        with suppress(Empty):
            while not ended.is_set():
                call, number = left.get_nowait()
                try:
                    call.set_result(ask(number))
                except BaseException as error:  # noqa: BLE001  who waits raises it
                    call.set_exception(error)

    for one in calls.items():
        left.put(one)
    for _ in range(min(at_once, count)):
        Thread(target=work, daemon=True).start()
    found: dict[int, T] = {}
    try:
        for call in as_completed(calls):
            number = calls[call]
            found[number] = call.result()
            if on_finished:
                on_finished(number, found[number])
    finally:
        ended.set()
    return [found[number] for number in range(count)]
