"""CUDA graphs by the driver's library: launches that are recorded once, then begun all at once.

Both device clocks use them: between the marks there is one launch, whatever is in the graph, and no
time in which the host prepares the next kernel. Recording runs nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from weakref import finalize

from kernelwright.envs.device.driver import DriverError, Handle, Library

RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED: who asks for memory meanwhile gets it."""


class Graph:
    """What was recorded, ready to be launched into one stream; the driver's part goes with it."""

    def __init__(self, library: Library, found: Handle, stream: Handle) -> None:
        self._library, self._stream, self._handle = library, stream, Handle()
        instance = ctypes.byref(self._handle)
        library.call("cuGraphInstantiateWithFlags", instance, found, ctypes.c_uint64(0))
        end = finalize(self, library.call, "cuGraphExecDestroy", self._handle)
        end.atexit = False  # with the process everything goes
        # Else it belongs to the first launch, between the marks.
        library.call("cuGraphUpload", self._handle, stream)

    def launch(self) -> None:
        """All of it, into the stream."""
        self._library.call("cuGraphLaunch", self._handle, self._stream)


def recorded(
    library: Library, stream: Handle, launches: Callable[[], object], into: Handle | None = None
) -> Graph:
    """A graph of what this launches into the stream, to be launched into another one or the same.

    Raises DriverError for what cannot be recorded, and whatever `launches` raises. The stream then
    takes launches as before.
    """
    with _capture(library, stream) as found:
        launches()
    try:
        return Graph(library, found, stream if into is None else into)
    finally:
        library.call("cuGraphDestroy", found)


@contextmanager
def _capture(library: Library, stream: Handle) -> Iterator[Handle]:
    """A graph that is filled when the block ends."""
    library.call("cuStreamBeginCapture_v2", stream, ctypes.c_int(RELAXED))
    found = Handle()
    try:
        yield found
    except BaseException:
        with suppress(DriverError):  # a capture that came to nothing says so, and has ended
            library.call("cuStreamEndCapture", stream, ctypes.byref(found))
        if found:
            library.call("cuGraphDestroy", found)
        raise
    library.call("cuStreamEndCapture", stream, ctypes.byref(found))
