"""The reference process of a judge.

It also takes requests that say how rounds on a GPU are timed.

    python -m kernelwright.envs.candidate.baseline_process SOCKET_FD
"""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from typing import Any

import torch

from kernelwright.envs.reference.process import ReferenceServer


class BaselineServer(ReferenceServer):
    """The same, with two more requests."""

    def time_by(self, graphs: bool | None) -> tuple[dict[str, Any], list[int]]:
        """Has rounds on the GPU timed as CUDA graphs, or not; None lets the next round try."""
        if self.clock is not None:
            self.clock.time_by(graphs)
        return {}, []

    def by_graphs(self) -> tuple[dict[str, Any], list[int]]:
        """Whether they are."""
        return {"graphs": self.clock is not None and bool(self.clock.graphs)}, []


def main() -> None:
    """Serves on the descriptor that the last argument names."""
    torch.set_num_threads(1)
    with suppress(ConnectionError):  # the referee is gone: nobody is left to answer
        BaselineServer(socket.socket(fileno=int(sys.argv[-1]))).serve()


if __name__ == "__main__":
    main()
