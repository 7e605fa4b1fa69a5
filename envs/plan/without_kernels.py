"""Removes an answer's own kernels from its plan, to test whether they affect its outputs.

Who launches a kernel that does nothing, and has PyTorch move (or compute) the result, has launched
one. So an answer that is right is played again without what it wrote itself: it should be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.envs.abi import CaseSpec
from kernelwright.envs.plan.plan import First, GpuReplay, Plan
from kernelwright.envs.plan.steps import Call, Copy, Launch, Move, Step
from kernelwright.envs.types import Evaluation


def without_kernels(plan: Plan) -> Plan:
    """The same without launches and calls of the answer's own; what they would have filled is as
    nobody left it."""
    variables = {name: one.bytes for name, one in plan.variables.items()}
    first = plan.first and First(steps=_rest(plan.first.steps), outputs=plan.first.outputs)
    return plan.model_copy(
        update={
            "steps": _rest(plan.steps),
            "first": first,
            "buffers": plan.buffers | variables,
            "variables": {},
            "kernels": [],
        }
    )


def _rest(steps: Sequence[Step]) -> list[Step]:
    return [one for one in steps if not _is_own(one)]


def replay_without(on_device: GpuReplay) -> GpuReplay:
    """The same on a GPU."""

    def trace(case: CaseSpec, architecture: int) -> Plan | Evaluation:
        plan = on_device.trace(case, architecture)
        return plan if isinstance(plan, Evaluation) else without_kernels(plan)

    return GpuReplay(trace=trace, assembler=on_device.assembler)


def could_do_without(plan: Plan, spec: CaseSpec) -> bool:
    """Whether something of the inputs gets into every output without a kernel of the answer's own.

    Where it does not, an output says nothing about the inputs, and cannot be right.
    """
    told = {one.name for one in spec.inputs}
    for step in plan.all_steps:
        if not _is_own(step):
            read, written = _flow(step)
            told |= written if read & told else set()
    outputs = [one.tensor for one in plan.outputs] or [one.name for one in spec.outputs]
    return told.issuperset(outputs)


def _is_own(step: Step) -> bool:
    return isinstance(step, Launch) or (isinstance(step, Call) and step.is_own)


def _flow(step: Step) -> tuple[set[str], set[str]]:
    """The tensors that it reads, and those that it may write."""
    match step:
        case Copy():
            return {step.source.tensor}, {step.to.tensor}
        case Move():
            return {step.source.at.tensor}, {step.to.at.tensor}
        case Call():
            return {one.storage for one in step.given}, {one.storage for one in step.views}
        case _:
            return set(), set()
