"""Client of the reference process as a judge has it: it also says how rounds on a GPU are timed."""

from __future__ import annotations

from kernelwright.envs.reference.client import ReferenceProcess


class BaselineProcess(ReferenceProcess):
    """A reference process that can time the module's launches as a CUDA graph."""

    PROGRAM = ("-m", "kernelwright.envs.candidate.baseline_process")

    def time_by(self, *, graphs: bool | None) -> None:
        """Whether rounds on the GPU are launches of CUDA graphs from now on. None leaves it to the
        next round, which tries. To be called after `aim`; True once a round of this module was."""
        self.ask({"op": "time_by", "graphs": graphs})

    def by_graphs(self) -> bool:
        """Whether the last round on the GPU was one."""
        answer, _ = self.ask({"op": "by_graphs"})
        return bool(answer["graphs"])
