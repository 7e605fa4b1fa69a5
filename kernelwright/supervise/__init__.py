"""Runs training in a child process, and reports how it ended and how to resume it."""
