"""The same rows in the layouts of other tools."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from kernelwright.data.exports.contents import Contents
from kernelwright.data.exports.tables import Cells, held_out, rl
from kernelwright.envs.codec import to_plain
from kernelwright.envs.types import Problem

SOURCE = "kernelwright"


def verl_rows(contents: Contents) -> Iterator[tuple[str, list[Cells]]]:
    """verl's data for RL: `train` and `test`, each row with `prompt` and `reward_model`, whose
    ground truth is the problem with all its fields, and the dialect. Source: verl's documentation,
    "Prepare Data for Post-Training"."""
    problems = {one.problem.key: one.problem for one in contents.entries}
    for name, rows in (("train", rl(contents)), ("test", held_out(contents))):
        found = [_verl(row, problems[row["problem"]], name, at) for at, row in enumerate(rows)]
        if found:
            yield name, found


def _verl(row: Cells, problem: Problem, split: str, index: int) -> Cells:
    truth = json.dumps(to_plain(problem) | {"dialect": row["dialect"]})
    return {
        "data_source": SOURCE,
        "prompt": row["prompt"],
        "ability": row["dialect"],
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {"split": split, "index": index, "problem": row["problem"]},
    }


def kernelbench_files(contents: Contents) -> Iterator[tuple[str, str]]:
    """(path, module) in KernelBench's layout: one operator alone is level 1, several are level 2.
    They are numbered from 1."""
    numbers: Counter[int] = Counter()
    for one in contents.entries:
        level = 2 if one.statements > 1 else 1
        numbers[level] += 1
        name = "".join(char if char.isalnum() else "_" for char in one.problem.name)
        yield f"level{level}/{numbers[level]}_{name}.py", one.problem.code
