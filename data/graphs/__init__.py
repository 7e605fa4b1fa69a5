"""Graphs of PyTorch operators, drawn at random: problems, and kernels that do the same."""
