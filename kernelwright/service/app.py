"""The service's paths: POST /judge and /judge/batch, GET /queue and /health."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from kernelwright.envs.judge import NO_CODE_BLOCK
from kernelwright.envs.reference.module import ProblemError
from kernelwright.envs.types import Evaluation, Problem
from kernelwright.envs.workers.pool import JudgeError
from kernelwright.service.gate import Gate
from kernelwright.service.messages import (
    BatchRequest,
    JudgeRequest,
    UnknownProblemError,
    answered,
    job_of,
    to_bytes,
)
from kernelwright.service.waiting import Job, JudgeQueue, QueueFullError, StoppingError

BROKEN_WAIT_S = 60


def told(status: int, value: Any, **headers: str) -> Response:
    return Response(to_bytes(value), status, headers, media_type="application/json")


def application(
    queue: JudgeQueue, problems: Mapping[str, Problem], *, token: str | None, most_bytes: int
) -> Gate:
    """The service as an ASGI application; `problems` has each under its name and its key."""

    async def judged(asked: Sequence[JudgeRequest]) -> list[dict[str, Any]]:
        jobs = await asyncio.to_thread(lambda: [job_of(one, problems) for one in asked])
        found = await _evaluations(queue, jobs)
        return [answered(one, ask.preset) for one, ask in zip(found, asked, strict=True)]

    async def judge(asked: JudgeRequest) -> Response:
        (found,) = await judged([asked])
        return told(200, found)

    async def judge_batch(asked: BatchRequest) -> Response:
        if len(asked.jobs) > queue.limit:
            return told(413, {"detail": f"a batch has at most {queue.limit} answers"})
        return told(200, {"evaluations": await judged(asked.jobs)})

    async def state() -> Response:
        return told(200, queue.state())

    async def health() -> Response:
        return told(503, {"status": "failed"}) if queue.failure else told(200, {"status": "ok"})

    app = FastAPI(
        title="kernelwright", docs_url=None, redoc_url=None, exception_handlers=dict(FAILURES)
    )
    app.add_api_route("/judge", judge, methods=["POST"])
    app.add_api_route("/judge/batch", judge_batch, methods=["POST"])
    app.add_api_route("/queue", state, methods=["GET"])
    app.add_api_route("/health", health, methods=["GET"])
    return Gate(app, token=token, most_bytes=most_bytes)


async def _evaluations(queue: JudgeQueue, jobs: Sequence[Job | None]) -> list[Evaluation]:
    """In order; without a kernel there is nothing to judge. Raises what `put` raises, and
    JudgeError."""
    places = [place for place, job in enumerate(jobs) if job is not None]
    waiting = queue.put([job for job in jobs if job is not None])
    try:
        found = await asyncio.gather(*map(asyncio.wrap_future, waiting))
    except asyncio.CancelledError:
        if any(one.cancelled() for one in waiting):
            raise StoppingError from None
        raise
    known = dict(zip(places, found, strict=True))
    return [known.get(place, NO_CODE_BLOCK) for place in range(len(jobs))]


async def _mistaken(_: Request, error: Any) -> Response:
    wrong = [{"loc": list(one["loc"]), "msg": one["msg"]} for one in error.errors()]
    return told(422, {"detail": wrong})


async def _no_problem(_: Request, error: Exception) -> Response:
    return told(422, {"detail": str(error)})


async def _unknown(_: Request, error: Exception) -> Response:
    return told(404, {"detail": str(error)})


async def _full(_: Request, error: Any) -> Response:
    return told(429, {"detail": str(error)}, **{"Retry-After": str(error.retry_after_s)})


async def _broken(_: Request, error: Exception) -> Response:
    return told(503, {"detail": str(error)}, **{"Retry-After": str(BROKEN_WAIT_S)})


FAILURES = {
    RequestValidationError: _mistaken,
    ProblemError: _no_problem,
    UnknownProblemError: _unknown,
    QueueFullError: _full,
    StoppingError: _broken,
    JudgeError: _broken,
}
"""Each exception as a status: the client's mistakes, a full queue, a judge that is broken."""
