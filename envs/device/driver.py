"""Bindings of CUDA's driver API by `ctypes`, limited to the calls that replaying a plan needs.

Source of the signatures: the CUDA driver API's reference, version 12 and 13. Every call that fails
raises DriverError with the driver's own name for it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

PROCESSORS, L2_CACHE_SIZE, THREADS_A_PROCESSOR = 16, 38, 39
LOCAL_BYTES, MAX_DYNAMIC_SHARED = 3, 8
CLUSTER_DIMENSION = 4
"""Numbers of CUdevice_attribute, CUfunction_attribute and CUlaunchAttributeID."""
OUT_OF_MEMORY, NOT_SUPPORTED = "CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_SUPPORTED"
PARAMETER_BYTES = 1 << 15
"""No kernel has more: as many bytes of parameters, and as many parameters of one byte."""

Address = ctypes.c_uint64
Handle = ctypes.c_void_p


class DriverError(RuntimeError):
    """A call failed; `.name` is the driver's name for why."""

    def __init__(self, call: str, name: str) -> None:
        super().__init__(f"{call}: {name}")
        self.name = name


class Library:
    """The driver's library, whose calls raise DriverError where they fail."""

    def __init__(self, name: str) -> None:
        self._library = ctypes.CDLL(name)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            said = ctypes.c_char_p()
            self._library.cuGetErrorName(ctypes.c_int(status), ctypes.byref(said))
            raise DriverError(name, (said.value or b"unknown").decode())


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: which one, and 64 bytes of value."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("padding", ctypes.c_char * 4),
        ("value", ctypes.c_uint32 * 16),
    )


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", Handle),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint),
    )


class PreparedLaunch:
    """A launch with everything that the driver wants to be pointed at, kept alive.

    The driver reads of each argument as much as the kernel's code says, whatever was given; so
    there are zeros behind the last.
    """

    def __init__(self, function: Any, config: _Config, arguments: Sequence[bytes]) -> None:
        self.function, self.config = function, config
        padded = [one + bytes(-len(one) % 8) for one in arguments]
        size = sum(map(len, padded)) + PARAMETER_BYTES
        self._values = ctypes.create_string_buffer(b"".join(padded), size)
        starts = accumulate(map(len, padded), initial=ctypes.addressof(self._values))
        self.pointers = (Handle * len(padded))(*list(starts)[:-1])


class Driver(Library):
    """The first device's primary context, current in this thread, and one stream."""

    def __init__(self, library: str) -> None:
        super().__init__(library)
        self.call("cuInit", ctypes.c_uint(0))
        device, context, self.stream = ctypes.c_int(), Handle(), Handle()
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        # 1 is CU_STREAM_NON_BLOCKING: this stream and the default one do not wait for each other.
        self.call("cuStreamCreate", ctypes.byref(self.stream), ctypes.c_uint(1))
        self.device = device
        self.l2_bytes = self._attribute(L2_CACHE_SIZE)
        self.resident_threads = self._attribute(PROCESSORS) * self._attribute(THREADS_A_PROCESSOR)
        """Upper bound on resident threads, for which the driver reserves local memory."""
        self._events = [self._event(), self._event()]
        self._zeros = ctypes.create_string_buffer(PARAMETER_BYTES)
        nothing = [ctypes.addressof(self._zeros)] * PARAMETER_BYTES
        self._nothing = (Handle * PARAMETER_BYTES)(*nothing)
        self._parameters = (Handle * PARAMETER_BYTES)(*nothing)
        """What the driver is pointed at: it reads as many as the kernel has, not as were given."""
        self._shared_bytes: dict[int | None, int] = {}

    def _attribute(self, number: int) -> int:
        found = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(found), ctypes.c_int(number), self.device)
        return found.value

    def total_bytes(self) -> int:
        """Memory of the device, whoever holds it."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return total.value

    def local_bytes(self, function: Handle) -> int:
        """Local memory of all threads of a kernel that may be resident."""
        found = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(found), ctypes.c_int(LOCAL_BYTES), function)
        return found.value * self.resident_threads

    def module(self, code: bytes) -> Handle:
        found = Handle()
        self.call("cuModuleLoadData", ctypes.byref(found), code)
        return found

    def variable(self, module: Handle, name: str) -> int:
        """Where a variable of the device code lies."""
        found, size = ctypes.c_uint64(), ctypes.c_size_t()
        pointers = ctypes.byref(found), ctypes.byref(size)
        self.call("cuModuleGetGlobal_v2", *pointers, module, name.encode())
        return found.value

    def function(self, module: Handle, name: str, shared_bytes: int) -> Handle:
        """A kernel that may use `shared_bytes` of dynamic shared memory, or the most so far."""
        found = Handle()
        self.call("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        most = max(shared_bytes, self._shared_bytes.get(found.value, 0))
        self._shared_bytes[found.value] = most
        wanted = ctypes.c_int(most)
        self.call("cuFuncSetAttribute", found, ctypes.c_int(MAX_DYNAMIC_SHARED), wanted)
        return found

    def prepared(
        self,
        function: Handle,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        cluster: int,
        arguments: Sequence[bytes],
    ) -> PreparedLaunch:
        attribute = _Attribute(id=CLUSTER_DIMENSION)
        attribute.value[:3] = (cluster, 1, 1)
        config = _Config(
            grid=tuple(grid),
            block=tuple(block),
            shared_bytes=shared_bytes,
            stream=self.stream,
            attributes=ctypes.pointer(attribute),
            attribute_count=int(cluster > 1),
        )
        return PreparedLaunch(function, config, arguments)

    def launch(self, one: PreparedLaunch) -> None:
        size = ctypes.sizeof(one.pointers)
        ctypes.memmove(self._parameters, one.pointers, size)
        config = ctypes.byref(one.config)
        self.call("cuLaunchKernelEx", config, one.function, self._parameters, Handle())
        ctypes.memmove(self._parameters, self._nothing, size)

    def allocate(self, size_bytes: int) -> int:
        found = Address()
        self.call("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(max(size_bytes, 1)))
        return found.value

    def free(self, at: int) -> None:
        self.call("cuMemFree_v2", Address(at))

    def fill(self, at: int, pattern: bytes, size_bytes: int) -> None:
        """Writes the pattern, of 1, 2 or 4 bytes, over and over, as often as all of it fits; in the
        stream. Nothing is asked of the driver where it never does: a graph could refuse that."""
        width = len(pattern)
        value = ctypes.c_uint(int.from_bytes(pattern, "little"))
        if count := size_bytes // width:
            given = Address(at), value, ctypes.c_size_t(count), self.stream
            self.call(f"cuMemsetD{8 * width}Async", *given)

    def copy(self, source: int, to: int, size_bytes: int) -> None:
        """Within the device, in the stream."""
        size = ctypes.c_size_t(size_bytes)
        self.call("cuMemcpyDtoDAsync_v2", Address(to), Address(source), size, self.stream)

    def upload(self, source: Any, to: int, size_bytes: int) -> None:
        self.call("cuMemcpyHtoD_v2", Address(to), source, ctypes.c_size_t(size_bytes))

    def download(self, source: int, size_bytes: int) -> bytes:
        found = ctypes.create_string_buffer(max(size_bytes, 1))
        self.call("cuMemcpyDtoH_v2", found, Address(source), ctypes.c_size_t(size_bytes))
        return found.raw[:size_bytes]

    def wait(self) -> None:
        """Until all that was asked of the device is done, on any stream."""
        self.call("cuCtxSynchronize")

    def reset_persisting(self) -> None:
        """What was to stay in the L2 cache may leave it again; not every device can keep any."""
        try:
            self.call("cuCtxResetPersistingL2Cache")
        except DriverError as error:
            if error.name != NOT_SUPPORTED:
                raise

    def mark(self, which: int) -> None:
        """The first (0) or the second (1) end of what is timed, in the stream."""
        self.call("cuEventRecord", self._events[which], self.stream)

    def between_marks_ns(self) -> int:
        """Device time from the first mark to the second, at least 1; both are over."""
        milliseconds = ctypes.c_float()
        first, second = self._events
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), first, second)
        return max(1, round(milliseconds.value * 1e6))

    def _event(self) -> Handle:
        found = Handle()
        self.call("cuEventCreate", ctypes.byref(found), ctypes.c_uint(0))
        return found
