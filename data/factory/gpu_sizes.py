"""Problem sizes that are worth timing on a GPU, in bytes and FLOPs.

At a CPU's sizes every problem lasts a microsecond or two on a GPU, so that fewer launches are all
that is rewarded. A problem at GPU sizes is the admitted one with a larger timed case. The case that
admission tried trivial answers on is still checked, so each of them fails still: it needs no
admission of its own. The module, hence its split and its examples, are the same.
"""

from __future__ import annotations

from dataclasses import replace

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.envs.types import Case, Problem, Role

Sizes = tuple[tuple[str, int], ...]

MOVED_BYTES = 128 << 20
"""What a timed case reads and writes, at most, but for results of one number a row. Where it is no
product it is a quarter of that at least, for most a half: 20 to 45 us at 3 TB/s, several times what
a launch costs."""
MOST_ELEMENTS = 1 << 24
"""Of an input, and of all floats of the outputs: one core draws them, and expects them in float64,
in 0.2 to 0.5 s. Half as many where an output is no float: what nearly equal values could decide
otherwise is then computed as well, three times."""
COLUMNS, INDEXED_COLUMNS, ROWS_STEP = 2048, 128, 1024
"""The second where an output says which column is the largest. Of 2048 sines four or more are often
within rounding of each other, and a right kernel named one that nobody expected in one or two rows
of a draw."""
FIXED: dict[tuple[str, ...], Sizes] = {
    ("M", "K", "N"): (("M", 1024), ("K", 1536), ("N", 2048)),
    ("B", "L"): (("B", 1024), ("L", 4096)),
}
"""Products of 6.4 GFLOP: 100 us at 64 TFLOP/s, and 0.2 s in float64 on a core. Convolutions of one
channel to four, which write 64 MB."""
ITEM_BYTES = {"float": 4, "int64_t": 8, "bool": 1}


def gpu_problem(blueprint: Blueprint) -> Problem:
    """The blueprint's problem, timed on GPU sizes and checked on the CPU's.

    As there, each size is larger than the timed one in some case.
    """
    problem, sizes = blueprint.problem(), dict(gpu_sizes(blueprint))
    usual = problem.timed_case()
    was = dict(usual.sizes)

    def moved(case: Case) -> Case:
        """With what was beyond the usual timed sizes as far beyond these."""
        beyond = {name: sizes[name] + size - was[name] for name, size in case.sizes}
        chosen = [(name, beyond[name] if size > was[name] else size) for name, size in case.sizes]
        return replace(case, sizes=tuple(chosen))

    others = [moved(one) for one in problem.cases if one is not usual]
    medium = replace(usual, name="medium", role=Role.TRAIN)
    return replace(problem, cases=(*others, medium, replace(usual, sizes=tuple(sizes.items()))))


def gpu_sizes(blueprint: Blueprint) -> Sizes:
    """The size constants by name: as many rows as both limits allow, in thousands."""
    if blueprint.sizes in FIXED:
        return FIXED[blueprint.sizes]
    columns = INDEXED_COLUMNS if "int64_t" in blueprint.output_types else COLUMNS
    outputs = zip(blueprint.output_types, blueprint.output_dims, strict=True)
    written = [kind for kind, dims in outputs if dims == 2]
    read = [one.c_type for one in blueprint.inputs if one.shape == ("R", "C")]
    row_bytes = columns * sum(ITEM_BYTES[kind] for kind in (*read, *written))
    most = MOST_ELEMENTS if {*blueprint.output_types} == {"float"} else MOST_ELEMENTS // 2
    rows = min(MOVED_BYTES // row_bytes, most // (columns * max(1, written.count("float"))))
    return (("R", rows // ROWS_STEP * ROWS_STEP), ("C", columns))
