"""A problem with a right and a wrong answer, for tests of environments and of the service."""

from __future__ import annotations

from kernelwright.data.triples.templates import template_triples

SUITE = "starter:train"
TRIPLE = template_triples()[0]
PROBLEM = TRIPLE.problem.name
RIGHT = TRIPLE.completion()
WRONG_SOURCE = TRIPLE.source.replace("std::max(v, 0.0f)", "std::max(v, 0.5f)")
WRONG = RIGHT.replace(TRIPLE.source, WRONG_SOURCE)
assert WRONG != RIGHT
