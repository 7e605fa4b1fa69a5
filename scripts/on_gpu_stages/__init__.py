"""The stages of `scripts/on_gpu.py`, one file each: what a machine with a GPU is asked."""
