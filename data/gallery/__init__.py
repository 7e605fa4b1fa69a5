"""Exploits and honest kernels, and a test that the judge tells them apart."""
