"""Runs a problem's own PyTorch module: inputs, expected outputs, tolerances, admission."""
