"""A judge that starts when it is first needed, and ends with its process."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable

from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.remote.open_judge import open_judge


class LazyJudge:
    """Opens this machine's judge once; each process of a launch has its share of the cores.

    A judge that is `given` belongs to who gave it, and is never ended here.
    """

    def __init__(self, given: AnyJudge | None = None) -> None:
        self._judge = given
        self._lock = threading.Lock()
        self._ending: Callable[[], object] = lambda: None

    def opened(self) -> AnyJudge:
        """The judge. Raises SandboxUnavailableError and JudgeError where nothing can be judged."""
        with self._lock:
            if self._judge is None:
                here = (launch_number("LOCAL_RANK", 0), launch_number("LOCAL_WORLD_SIZE", 1))
                started = open_judge(here=here)
                self._ending = weakref.finalize(self, started.close)
                self._judge = started
            return self._judge

    def close(self) -> None:
        """Ends the judge if it was started here; the next use starts another."""
        with self._lock:
            self._ending()
            self._judge = None


def launch_number(name: str, otherwise: int) -> int:
    """A number that a launcher put into the environment."""
    return int(os.environ.get(name, otherwise))
