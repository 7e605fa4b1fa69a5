"""Runs PTX on a CPU: translates it to C++ that checks every memory access."""
