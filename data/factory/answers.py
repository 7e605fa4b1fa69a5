"""Writes a blueprint's answers, with reasoning, in each dialect that has examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernelwright.data.factory import cuda, triton
from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.envs.types import Dialect

Answer = tuple[str, str]
"""(reasoning, source). The reasoning's plan is the code's own statements in order; its remark is a
fact of the loops, or of how the work is shared out."""


def _cpp(blueprint: Blueprint) -> list[Answer]:
    return [
        (f"Plan: {blueprint.plan} {remark}", blueprint.source(body))
        for remark, body in blueprint.bodies
    ]


def _cuda(blueprint: Blueprint) -> list[Answer]:
    plan = f"Plan: {cuda.cuda(blueprint.plan)} {cuda.remark(blueprint)}"
    return [(plan, cuda.source(blueprint))]


def _triton(blueprint: Blueprint) -> list[Answer]:
    plan = f"Plan: {triton.remark(blueprint)} {triton.plan(blueprint)}"
    return [(plan, triton.source(blueprint))]


ANSWERS: Mapping[Dialect, Callable[[Blueprint], list[Answer]]] = {
    "cpp": _cpp,
    "cuda": _cuda,
    "triton": _triton,
}
"""By dialect; the first of a blueprint's answers is the one to learn first."""
