"""Trains language models that write fast, correct kernels.

The folders of the repository are packages of this one, by links that lie beside this file: `rl/` is
`kernelwright.rl`. Whatever else is called `data` or `rl` is neither ours nor in our way.
"""
