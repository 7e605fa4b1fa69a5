"""Constants of the L2 cache flush before each timed run, for both device clocks."""

FLUSH_FACTOR = 2
"""Bytes written to empty the L2 cache, as a multiple of its size."""
FLUSHES = 16
"""Writes in a row. They take half a millisecond or more, in which the host launches the timed
kernels; otherwise PyTorch's time to its first launch, in Python, would count for the baseline."""
