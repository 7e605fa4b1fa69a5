"""Triples for the cold start: problem, reasoning, kernel."""
