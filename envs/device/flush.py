"""What both clocks of a device do before a run."""

FLUSH_FACTOR = 2
"""So many times the size of the L2 cache is written, to empty it."""
