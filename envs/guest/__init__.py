"""Runs inside the sandbox, all that the project shows to an answer there; imports nothing of ours.

Nothing that this process says is believed: it shares its memory with the candidate. The referee
owns inputs, clock, outputs and comparison (envs/referee/rounds.py).
"""
