"""Exploits and honest kernels, and whether the judge tells them apart."""
