"""A run's folder as data: records, metrics, stages, progress."""
