"""Models on disk and in memory: loaded, quantized, merged, found damaged."""
