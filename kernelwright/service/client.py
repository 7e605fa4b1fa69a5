"""A client of the service, of the standard library alone.

```python
judge = JudgeClient("http://127.0.0.1:8765")
found = judge.judge(problem="row_sum", answer=completion)
print(found["verdict"], found["reward"])
```
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

TOKEN = "KERNELWRIGHT_TOKEN"
"""The variable of the environment that has the bearer token."""
REQUEST_LIMIT_S = 3600.0


class ServiceError(RuntimeError):
    """The service refused a request; `status` is HTTP's."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"{status}: {why}")
        self.status = status


class JudgeClient:
    """Asks one service. While its queue is full it waits as it is told, at most `patience_s`."""

    def __init__(self, url: str, token: str | None = None, patience_s: float = 600.0) -> None:
        self._url, self._patience_s = url.rstrip("/"), patience_s
        self._token = (token or os.environ.get(TOKEN) or "").strip()  # files end lines

    def judge(self, **job: Any) -> dict[str, Any]:
        """The evaluation of one answer; `job` has the keys of `JudgeRequest`."""
        return self._asked("/judge", job)

    def judge_many(self, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The evaluations of several answers, in order."""
        found: list[dict[str, Any]] = self._asked("/judge/batch", {"jobs": list(jobs)})[
            "evaluations"
        ]
        return found

    def queue(self) -> dict[str, Any]:
        """How many answers wait, and how fast they are judged."""
        return self._asked("/queue")

    def _asked(self, path: str, body: Any = None) -> dict[str, Any]:
        ends = time.monotonic() + self._patience_s
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        while True:
            request = urllib.request.Request(self._url + path, data, headers)
            try:
                with urllib.request.urlopen(request, timeout=REQUEST_LIMIT_S) as answer:
                    found: dict[str, Any] = json.load(answer)
                    return found
            except urllib.error.HTTPError as error:
                wait_s = _wait_s(error.headers.get("Retry-After"))
                if error.code != 429 or time.monotonic() + wait_s > ends:
                    why = error.read().decode(errors="replace")
                    raise ServiceError(error.code, why) from None
                error.close()
                time.sleep(wait_s)


def _wait_s(said: str | None) -> float:
    """How long to wait: as the service says, or 5 s where a proxy before it says nothing, or a
    date."""
    return max(1.0, float(said)) if said and said.isdecimal() else 5.0
