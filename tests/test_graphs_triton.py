"""Graphs of operators in Triton: what its interpreter makes of the answers, and their form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kernelwright.data.graphs import sample
from kernelwright.data.graphs.graph import Graph
from kernelwright.data.graphs.style import module
from kernelwright.data.graphs.triton.kernel import source
from tests.graph_kernels import smaller
from tests.test_graphs import alone

CHAINS = 40
MOST = 11
"""Sizes of inputs: the interpreter takes long."""
SHORTER = (("BLOCK=4096", "BLOCK=16"), (", 4096)", ", 16)"), ("BLOCK=64, COL", "BLOCK=4, COL"))
"""Shorter blocks, so that loops over them take several."""
ROOT = Path(__file__).parents[1]


def wrong(graphs: Sequence[Graph], folder: Path) -> list[str]:
    """The graphs whose answers do not compute what PyTorch does."""
    for number, graph in enumerate(graphs):
        code = smaller(graph, module(graph, str(number)), MOST)
        (folder / f"problem{number}.py").write_text(code, encoding="utf-8")
        text = source(graph.kernel(), code)
        for long, short in SHORTER:
            text = text.replace(long, short)
        (folder / f"answer{number}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "triton_graphs.py", folder],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    sys.stderr.write(done.stderr)
    return [graphs[number].signature for number in json.loads(done.stdout)]


def test_every_operator_is_lowered_to_what_pytorch_computes(tmp_path: Path) -> None:
    assert not wrong(alone(), tmp_path)


def test_chains_of_operators_are_lowered_to_what_pytorch_computes(tmp_path: Path) -> None:
    assert not wrong([sample.draw(1, index) for index in range(CHAINS)], tmp_path)
