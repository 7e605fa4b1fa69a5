"""Runs the service until it is told to stop, and then ends what is being judged."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kernelwright.data.suites.load import SuiteError, load_suite
from kernelwright.envs.judge import BatchJudge
from kernelwright.envs.types import Problem
from kernelwright.service.client import TOKEN
from kernelwright.service.gate import is_loopback
from kernelwright.service.waiting import JudgeQueue

STOP_LIMIT_S = 600
"""How long what is being judged may take once the service is told to stop."""


class OpenToAllError(ValueError):
    """The service would listen to other machines without a token."""


def check_address(host: str, token: str | None) -> None:
    """Raises OpenToAllError."""
    if not token and not is_loopback(host):
        raise OpenToAllError(f"--host {host}: other machines reach it, so {TOKEN} has to be set")


def problems_of(suites: Sequence[str]) -> dict[str, Problem]:
    """The problems of these suites under their names and keys. Raises SuiteError."""
    found = [one for spec in suites for one in load_suite(spec).problems]
    named: dict[str, Problem] = {}
    for one in found:
        if named.setdefault(one.name, one).key != one.key:
            raise SuiteError(f"{one.name} names two problems of {', '.join(suites)}: serve one")
    return named | {one.key: one for one in found}


def run(
    judge: BatchJudge,
    problems: dict[str, Problem],
    address: tuple[str, int],
    *,
    token: str | None,
    queue_limit: int,
    most_bytes: int,
) -> None:
    """Serves until SIGTERM or Ctrl-C; a second Ctrl-C does not wait for what is being judged."""
    import uvicorn

    from kernelwright.service.app import application

    queue = JudgeQueue(judge, queue_limit)

    class Server(uvicorn.Server):  # type: ignore[misc]
        async def shutdown(self, sockets: Any = None) -> None:
            queue.stop()
            await super().shutdown(sockets)

    app = application(queue, problems, token=token, most_bytes=most_bytes)
    host, port = address
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=STOP_LIMIT_S,
        server_header=False,
    )
    with signals_end_it_alone():
        Server(config).run()


@contextmanager
def signals_end_it_alone() -> Iterator[None]:
    """uvicorn sends itself the signal again that has ended it; the judge has to be closed first."""

    def nothing(number: int, frame: Any) -> None:
        pass

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, nothing) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
