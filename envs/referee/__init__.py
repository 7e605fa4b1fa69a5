"""Decides verdicts: rounds, clock, comparison of outputs, reasons."""
