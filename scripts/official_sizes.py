"""Judges problems at the sizes that benchmarks of GPU kernels have, and counts memory: one row of
JSON for each, on a GPU made of a processor.

    python -m scripts.official_sizes [NAME ...] [--part 1]

Modules and kernels are written for this script. `--part 8` takes an eighth of the rows. A kernel's
instructions are translated to the processor, so seconds say nothing about a GPU; memory does, but
for what the GPU itself would hold: here it is memory of the process that replays.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType

import pytest

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.system.hardware import available_bytes
from kernelwright.envs.types import Candidate

SAMPLED_S = 0.05
MB, PAGE_BYTES = 1 << 20, os.sysconf("SC_PAGE_SIZE")
MODULE = """
import torch
import torch.nn as nn

{sizes}

class Model(nn.Module):
    def forward(self, {names}):
        return {computes}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
ANSWER = """
import torch
import triton
import triton.language as tl

@triton.jit
{kernel}

class ModelNew(torch.nn.Module):
    def forward(self, {names}):
        {calls}
        return out
"""
BY_ROWS = """def by_rows(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other={other})
    {stored}"""


@dataclass(frozen=True)
class Written:
    """A module and a kernel for it."""

    sizes: dict[str, int]
    """The first is divided by `--part`."""
    names: str
    inputs: str
    computes: str
    kernel: str
    calls: tuple[str, ...]

    def module(self, part: int) -> str:
        first, *_ = self.sizes
        rows = (
            f"{name} = {size // (part if name == first else 1)}"
            for name, size in self.sizes.items()
        )
        return MODULE.format(
            sizes="\n".join(rows), names=self.names, computes=self.computes, inputs=self.inputs
        )

    def answer(self) -> str:
        calls = "\n        ".join(self.calls)
        return ANSWER.format(kernel=self.kernel, names=self.names, calls=calls)


def of_rows(rows: int, computes: str, stored: str, out: str, other: str = "0.0") -> Written:
    """Of 2 GB of inputs, row by row."""
    grid = "by_rows[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))"
    return Written(
        sizes={"R": rows, "C": (1 << 29) // rows},
        names="x",
        inputs="torch.rand(R, C)",
        computes=computes,
        kernel=BY_ROWS.format(stored=stored, other=other),
        calls=(f"out = {out}", grid),
    )


EACH = "tl.store(out + row * columns + at, {value}, mask=at < columns)"
SOFTMAX = f"""e = tl.exp(values - tl.max(values, 0))
    {EACH.format(value="e / tl.sum(e, 0)")}"""
PROBLEMS = {
    "elementwise": of_rows(
        1 << 19,
        "torch.relu(x - 0.5)",
        EACH.format(value="tl.maximum(values - 0.5, 0.0)"),
        "torch.empty_like(x)",
    ),
    "sum": of_rows(
        1 << 19,
        "torch.sum(x, dim=1)",
        "tl.store(out + row, tl.sum(values, 0))",
        "torch.empty(x.shape[0], device=x.device)",
    ),
    "softmax": of_rows(
        1 << 17, "torch.softmax(x, dim=1)", SOFTMAX, "torch.empty_like(x)", 'float("-inf")'
    ),
    "product": Written(
        sizes={"M": 4096, "K": 4096, "N": 4096},
        names="a, b",
        inputs="torch.rand(M, K), torch.rand(K, N)",
        computes="torch.matmul(a, b)",
        kernel="""def tiles(a, b, out, m, k, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, k, BLOCK):
        left = start + tl.arange(0, BLOCK)[None, :]
        right = start + tl.arange(0, BLOCK)[:, None]
        one = tl.load(a + rows * k + left, mask=(rows < m) & (left < k), other=0.0)
        two = tl.load(b + right * n + columns, mask=(right < k) & (columns < n), other=0.0)
        total += tl.dot(one, two, input_precision="ieee")
    tl.store(out + rows * n + columns, total, mask=(rows < m) & (columns < n))""",
        calls=(
            "(m, k), n = a.shape, b.shape[1]",
            "out = torch.empty(m, n, device=a.device)",
            "tiles[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, out, m, k, n, BLOCK=64)",
        ),
    ),
}


@dataclass
class Peaks:
    """The most memory that was seen, in bytes: of each kind of process, and gone from the machine
    in all."""

    of_processes: dict[str, int] = field(default_factory=dict)
    machine: int = 0
    seconds: float = 0.0

    def in_mb(self) -> dict[str, int]:
        found = {kind: size // MB for kind, size in self.of_processes.items()}
        return {"machine": self.machine // MB, **found}

    def __enter__(self) -> Peaks:
        self._done, self._before = threading.Event(), available_bytes()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.seconds = time.monotonic() - self._started
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(SAMPLED_S):
            self.machine = max(self.machine, self._before - available_bytes())
            for kind, size in resident():
                self.of_processes[kind] = max(self.of_processes.get(kind, 0), size)


def resident() -> Iterator[tuple[str, int]]:
    """(kind, resident bytes) of each process that this one has started, and of itself."""
    parents: dict[int, int] = {}
    found: list[tuple[int, str, int]] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace")
            pages = int((folder / "statm").read_text().split()[1])
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        parents[int(folder.name)] = int(after_name[1])
        kind = next((kind for sign, kind in KINDS.items() if sign in words), None)
        found += [(int(folder.name), kind, pages * PAGE_BYTES)] if kind else []
    for process, kind, size in found:
        ancestor = process
        while ancestor not in (0, os.getpid()):
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            yield kind, size


KINDS = {
    "device_reference.serve": "reference",
    "envs.device.process": "replay",
    "guest.main": "trace",
    "official_sizes": "worker",
}


@contextmanager
def judging() -> Iterator[Evaluator]:
    """An evaluator for a GPU made of this processor, with limits of time for one."""
    from tests import ptx_device
    from tests.device_evaluator import judging_on

    with ExitStack() as ended:
        patched = ended.enter_context(pytest.MonkeyPatch.context())
        folder = ended.enter_context(tempfile.TemporaryDirectory())
        evaluator = ended.enter_context(judging_on(ptx_device.device(Path(folder)), patched))
        evaluator.config = JudgingConfig(round_limit_s=3600.0, candidate_limit_s=1e6)
        yield evaluator


@dataclass(frozen=True)
class Row:
    """What judging a problem gave and took."""

    problem: str
    part: int
    tensor_mb: list[int]
    """Of each tensor of the timed case, inputs first."""
    verdict: str
    reason: str
    rounds: int
    seconds: dict[str, float]
    peak_mb: dict[str, dict[str, int]]
    """By what was done and kind of process; `machine`: what was gone from it in all."""
    log: str


def row_of(name: str, part: int) -> Row:
    with tempfile.TemporaryDirectory() as folder, judging() as evaluator:
        file = Path(folder) / f"{name}.py"
        file.write_text(PROBLEMS[name].module(part), encoding="utf-8")
        problem = load_problem(file)
        source = PROBLEMS[name].answer()
        candidate = Candidate(problem_key=problem.key, dialect="triton", source=source)
        evaluator.reference.on_meta(problem)  # it has started
        with Peaks() as loading:
            loaded = evaluator._load(problem, evaluator.precision)
        with Peaks() as drawing:
            evaluator.reference.draw(loaded, loaded.timed, 1).close()
        with Peaks() as judged:
            found = evaluator.judge(problem, candidate, timed=False, seed=1)
    steps = {"load": loading, "draw": drawing, "judge": judged}
    return Row(
        problem=name,
        part=part,
        tensor_mb=[one.size_bytes // MB for one in loaded.specs[loaded.timed].tensors],
        verdict=found.verdict,
        reason=found.reason,
        rounds=len(found.check.rounds) if found.check else 0,
        seconds={when: round(one.seconds, 1) for when, one in steps.items()},
        peak_mb={when: one.in_mb() for when, one in steps.items()},
        log=found.log[-500:] if found.verdict != "correct" else "",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("names", nargs="*", help="all of them, if none is named")
    parser.add_argument("--part", type=int, default=1)
    options = parser.parse_args()
    names = options.names or list(PROBLEMS)
    if unknown := sorted(set(names) - set(PROBLEMS)):
        parser.error(f"no problem {', '.join(unknown)}; there are {', '.join(PROBLEMS)}")
    for name in names:
        print(json.dumps(asdict(row_of(name, options.part))), flush=True)


if __name__ == "__main__":
    main()
