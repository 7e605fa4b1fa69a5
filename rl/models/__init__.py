"""Models on disk and in memory: loading, quantization, merging, detection of damage."""
