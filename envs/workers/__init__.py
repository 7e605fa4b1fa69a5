"""The judge's worker processes, one to a core, and what is measured of their machine."""
