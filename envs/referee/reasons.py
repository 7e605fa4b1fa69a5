"""Who is responsible for a verdict, and a sentence that a person or a model can act on.

Each reason that the judge gives stands here once. `unjudged` is what no answer is at fault for, and
nothing else is; a test holds both directions.
"""

from __future__ import annotations

from enum import StrEnum

from kernelwright.envs.types import UNSUPPORTED, CaseCheck, Evaluation, Verdict


class Side(StrEnum):
    """The party responsible for a verdict."""

    ANSWER = "the answer"
    LIMIT = "a limit of the judge"
    PROBLEM = "the problem"
    JUDGE = "the judge"
    MACHINE = "this machine"


FAILED_CASES, LOG_CHARACTERS = 3, 1000
UNJUDGED_SIDES = (Side.PROBLEM, Side.JUDGE, Side.MACHINE)

WORDS: dict[Side, dict[str, str]] = {
    Side.ANSWER: {
        "mismatch": "an output is not what the module computes",
        "out_of_bounds": "it wrote outside its outputs",
        "inputs_changed": "it changed its inputs",
        "result_reused": "a later call changed what the first had given back",
        "other_parameters": "it has no parameter for one of the module's",
        "forward_raised": "forward raised an exception",
        "not_a_tensor": "forward returned something that is no tensor",
        "other_shape": "an output has another shape than the module's",
        "other_dtype": "an output has another type than the module's",
        "no_code_block": "there is no code block in it",
        "truncated": "it was cut off before its end",
        "empty_source": "its code block is empty",
        "compile_error": "the compiler refused it",
        "compile_timeout": "compiling it took too long",
        "compile_memory": "compiling it took too much memory",
        "output_too_large": "what was built is too large",
        "source_too_large": "it has too much source",
        "import_error": "its module cannot be imported",
        "no_kernel_function": "it does not define the function that was asked for",
        "load_inline_misused": "it calls load_inline in a way that cannot be built",
        "no_code": "it has no code for this GPU",
        "no_device_code": "it computes with C++ alone, and its tensors are on a GPU",
        "launch_misused": "it launches a kernel in a way that makes no sense",
        "not_loadable": "its library or its module could not be loaded",
        "out_of_memory": "it asked for more memory than there is for it",
        "output_flood": "it wrote more than there is room for",
        "hung_up": "it closed the line to the judge",
        "protocol_violation": "its process said what no answer says",
        "illegal_address": "a kernel touched memory that is not its own",
        "misaligned_address": "a kernel read or wrote across what its width allows",
        "shared_out_of_bounds": "a kernel touched shared memory that its block does not have",
        "local_out_of_bounds": "a thread touched local memory that it does not have",
        "uninitialised_shared": "an output is wrong, and shared memory was read before it was set",
        "race": "two warps, blocks or lanes touched one place in memory, and nothing orders them",
        "barrier_divergence": "threads of a block waited at different barriers",
        "missing_wait": "shared memory was read before a copy into it was waited for",
        "trap": "a kernel stopped itself",
        "instruction_limit": "its kernels run too many instructions for a CPU, or never end",
        "launch_failed": "the device refused or broke off a launch",
        "wall_limit": "loading it or a round took too long",
        "candidate_limit": "all of its rounds and starts together took too long",
        "import_timeout": "importing it took too long",
        "host_timeout": "its host code took too long",
        "too_many_launches": "it launches too many kernels",
        "torch_compute": "PyTorch computed in place of its kernels",
        "no_custom_kernel": "no kernel of its own was launched",
        "idle_kernel": "it is as right without its own kernels: PyTorch, or a copy, does it all",
        "too_fast": "it was faster than memory and arithmetic here allow",
    },
    Side.PROBLEM: {
        "reference_failed": "its own module cannot be run, or checked against",
        "cases_differ": "its cases differ in their arguments: answer in inline or triton",
    },
    Side.MACHINE: {
        "built_only": "it builds; nothing here can run it",
        "no_nvcc": "nvcc is missing",
        "no_triton": "Triton is missing",
        "device_too_small": "its problem is too large for this GPU",
        "device_full": "others held the memory of the GPU for minutes",
    },
    Side.JUDGE: {
        "worker_lost": "its worker died twice",
        "candidate_deadline": "it did not finish in time",
        "batch_deadline": "the batch's time was up",
        "clocks_disagree": "two clocks of its own disagree",
    },
}
"""What each reason says, by whose doing it is."""

BESIDE_TORCH = "beside_torch"
"""A fact of an answer of which PyTorch computes a part, on a machine with a GPU: how many calls of
PyTorch's there are. It is played on a CPU, and has no speed."""

FAMILIES = {
    UNSUPPORTED: (Side.LIMIT, "{} is not supported"),
    "signal_": (Side.ANSWER, "signal {} ended it"),
    "exit_": (Side.ANSWER, "it ended by itself, with status {}"),
}
"""The same of reasons that end in a name or a number, by how they begin."""


def side_of(reason: str) -> tuple[Side, str] | None:
    """Whose doing it is and what it says; None of a reason that no judge of this version gives.

    >>> side_of("signal_11")
    (<Side.ANSWER: 'the answer'>, 'signal 11 ended it')
    """
    for prefix, (side, words) in FAMILIES.items():
        if reason.startswith(prefix):
            return side, words.format(reason.removeprefix(prefix))
    return next(((side, known[reason]) for side, known in WORDS.items() if reason in known), None)


def fault(evaluation: Evaluation) -> str | None:
    """Whose fault it was and what happened, in a line; None where there is none, or unknown.

    >>> fault(Evaluation(verdict=Verdict.TIMED_OUT, reason="candidate_limit"))
    'the answer: all of its rounds and starts together took too long'
    """
    found = side_of(evaluation.reason)
    return None if found is None or evaluation.verdict is Verdict.CORRECT else ": ".join(found)


def what_is_wrong(evaluation: Evaluation) -> str:
    """What tells a person or a model how to mend an answer: whose fault it was, the first cases
    that failed, and the log, of a long one both ends."""
    rounds = evaluation.check.rounds if evaluation.check else ()
    failed = [one for one in rounds if not one.passed][:FAILED_CASES]
    told = [fault(evaluation), *(f"case {one.case}: {one.note or _too_far(one)}" for one in failed)]
    return "\n".join(filter(None, [*told, _both_ends(evaluation.log.strip())]))


def verdict_and_fault(evaluation: Evaluation) -> str:
    """The verdict with its reason, and below what is wrong."""
    return f"{evaluation.verdict} ({evaluation.reason})\n{what_is_wrong(evaluation)}"


def _too_far(one: CaseCheck) -> str:
    return "no number" if one.error is None else f"{one.error:.3g} times the error that is allowed"


def _both_ends(log: str) -> str:
    half = LOG_CHARACTERS // 2
    return log if len(log) <= LOG_CHARACTERS else f"{log[:half]}\n[...]\n{log[-half:]}"
