"""What both clocks of a device do before a run."""

FLUSH_FACTOR = 2
"""So many times the size of the L2 cache is written, to empty it."""
FLUSHES = 16
"""So often in a row: while the device is at it, half a millisecond or more, the host launches what
is timed. PyTorch's way to its first kernel, in Python, would be the baseline's time otherwise."""
