"""Logging of a run: metrics, progress display, trackers."""
