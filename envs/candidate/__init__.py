"""Evaluates one candidate: its process, its checks and its timing."""
