"""Code that runs in the sandbox beside an answer. It imports nothing from the rest of the project.

Nothing that this process says is believed: it shares its memory with the candidate. The referee
owns inputs, clock, outputs and comparison (envs/referee/rounds.py).
"""
