"""The judge on a Ray cluster."""
