"""What the cases of a problem take, found by running its module without any data.

PyTorch's `meta` tensors have shapes and no values, so a case of many gigabytes costs milliseconds.
A problem's code runs in a process of its own: what it does there harms nobody.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.paths import SEARCHED
from kernelwright.envs.reference.distributions import AS_MADE
from kernelwright.envs.reference.module import flatten, load_reference
from kernelwright.envs.types import Case, Problem, content_hash

LIMIT_S = 60.0
"""After so long the problem in hand is unknown, and the others get another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One case: bytes of its inputs, weights and outputs, and a hash of what the module is.

    `failed` says why it cannot be run this way; then the others are unknown.
    """

    size_bytes: int | None = None
    module: str | None = None
    failed: str = ""


_known: dict[str, tuple[Tried, ...]] = {}
"""By problem key: a suite is loaded several times in the life of a process."""


def tried(problems: Sequence[Problem]) -> list[tuple[Tried, ...]]:
    """What each case of each problem takes, in order."""
    left = {one.key: one for one in problems if one.key not in _known}
    if left:
        _known.update(zip(left, _in_a_process(list(left.values())), strict=True))
    return [_known[one.key] for one in problems]


def _in_a_process(problems: Sequence[Problem]) -> list[tuple[Tried, ...]]:
    """One result for each; a problem that ends its process is unknown, and the others go on."""
    found: list[tuple[Tried, ...]] = []
    while len(found) < len(problems):
        left = problems[len(found) :]
        found += _answers(left)[: len(left)]
        if len(found) < len(problems):
            ended = problems[len(found)]
            found.append(tuple(Tried(failed="its process ended") for _ in ended.cases))
    return found


def _answers(problems: Sequence[Problem]) -> list[tuple[Tried, ...]]:
    """What a process says of the first of these problems, as far as it comes."""
    try:
        printed = subprocess.run(
            [sys.executable, "-P", "-c", "from kernelwright.data.trial import main; main()"],
            input=json.dumps(to_plain(problems)).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=SEARCHED,
            env={**os.environ, "PYTHONPATH": str(SEARCHED), "CUDA_VISIBLE_DEVICES": ""},
            timeout=LIMIT_S,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as error:
        printed = error.stdout or b""
    lines = [line for line in printed.splitlines(keepends=True) if line.endswith(b"\n")]
    return [tuple(Tried(**case) for case in json.loads(line)) for line in lines]


def _try(problem: Problem, case: Case) -> Tried:
    try:
        import torch

        with torch.device("meta"), torch.inference_mode():
            reference = load_reference(problem, replace(case, distribution=AS_MADE))
            model, state, arguments = reference.draw(0)
            outputs = flatten(model(*arguments))
        tensors = [*_tensors(arguments), *state.values(), *outputs]
        shapes = [(name, tuple(one.shape), str(one.dtype)) for name, one in state.items()]
        return Tried(
            size_bytes=sum(one.numel() * one.element_size() for one in tensors),
            module=content_hash(repr(shapes), repr(reference.init())),
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001  the named boundary: a problem's own code ran
        return Tried(failed=" ".join(f"{type(error).__name__}: {error}".split())[:300])


def _tensors(values: Iterable[Any]) -> list[Any]:
    return [one for one in values if hasattr(one, "element_size")]


def main() -> None:
    """Reads problems, prints a line for each with what came of its cases."""
    answers, sys.stdout = sys.stdout, sys.stderr  # a problem may print
    for problem in [from_plain(Problem, one) for one in json.load(sys.stdin)]:
        cases = [_try(problem, case) for case in problem.cases]
        print(json.dumps(to_plain(cases)), file=answers, flush=True)
