"""Kinds of policies: one file each, looked up by its name."""
