"""Estimates a recipe's cost on this machine, and finds reasons why it cannot run."""
