"""Loop nests as CUDA: a `__global__` function each, with the schedule that is fast on a GPU."""
