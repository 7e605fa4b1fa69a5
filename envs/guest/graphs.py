"""CUDA graphs while an answer is traced: captured launches are recorded at each replay, not at
capture, as on a device."""

from __future__ import annotations

from typing import Any

from kernelwright.envs.guest.tape import Tape


class Graph:
    """`torch.cuda.CUDAGraph`: steps that were taken off the tape, put onto it again and again."""

    tape: Tape | None = None
    """The tape of the call that is traced."""
    capturing: Graph | None = None

    def __init__(self, *_: Any, **__: Any) -> None:
        self.steps: list[dict[str, Any]] | None = None
        self._first = 0

    def capture_begin(self, *_: Any, **__: Any) -> None:
        Graph.capturing = self
        self._first = len(Graph.tape.steps) if Graph.tape else 0

    def capture_end(self) -> None:
        Graph.capturing = None
        if Graph.tape:
            self.steps = Graph.tape.steps[self._first :]
            del Graph.tape.steps[self._first :]

    def replay(self) -> None:
        if Graph.tape and self.steps is None:
            Graph.tape.leave_out("a CUDA graph captured before the module is called")
        elif Graph.tape and self.steps:
            Graph.tape.steps += self.steps

    def reset(self, *_: Any) -> None:
        self.steps = None

    instantiate = enable_debug_mode = debug_dump = lambda *_, **__: None

    def pool(self) -> tuple[int, int]:
        return 0, 0


class Captured:
    """`with torch.cuda.graph(graph):`."""

    def __init__(self, cuda_graph: Graph, *_: Any, **__: Any) -> None:
        self.graph = cuda_graph

    def __enter__(self) -> None:
        self.graph.capture_begin()

    def __exit__(self, *_: Any) -> None:
        self.graph.capture_end()


GRAPHS: dict[str, Any] = {
    "CUDAGraph": Graph,
    "graph": Captured,
    "graph_pool_handle": lambda: (0, 0),
    "is_current_stream_capturing": lambda: Graph.capturing is not None,
}
"""What `torch.cuda` has of them."""
