"""Applies KernelBench's own correctness rule to kernels that our judge has judged: a second
opinion.

Its rule, as of v0.2.0.dev0 (423217d, March 2026): five trials of the sizes as written on inputs as
`get_inputs` gives them, the module in training mode, and torch.allclose with atol = rtol = 1e-4 in
float32. Here the same comparison is made on outputs of the sandboxed candidate, so that nothing in
its process can touch it. It never changes our verdict.

What differs from running KernelBench itself stands in `DIFFERENCES`, which is printed and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kernelwright.data.runs.records import RecordStore, answer_of, read_records
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.reference.distributions import AS_MADE
from kernelwright.envs.types import Evaluation, Problem, Record, Tolerance, Verdict
from kernelwright.evals.evaluate.run import in_batches
from kernelwright.evals.numbers.against_given import without_given

STAGE = "kernelbench"
FOLDER = "protocol-kernelbench"
"""Second opinions are kept apart from the records, in a folder of their own."""
ALLCLOSE = 1e-4
"""Its atol and rtol for float32 (get_tolerance_for_precision); 1e-2 for half precision."""
ALLCLOSE_HALF = 1e-2

DIFFERENCES = (
    "with `scale` the sizes are the scaled ones.",
    "expected values are computed in float64 on a CPU, not in float32 on a GPU, where TF32 may "
    "be on.",
    "seeds are secret, where KernelBench's follow from 42, and random inputs are a CPU's, on "
    "whatever device `get_inputs` makes them.",
    "there is a sixth trial, on inputs that no other answer gets.",
    "weights are handed to the candidate, by name or else by shape; KernelBench draws them "
    "twice from one seed, so there their order counts.",
    "the candidate's own module is in evaluation mode (its kernels seldom ask).",
    "both sides have inputs of their own: a module that works in place does not change the "
    "other's.",
    "numbers among the inputs are rounded to float32.",
    "NaN where the reference has NaN passes, which `allclose` does not let.",
    "a module with several outputs is compared output by output, None among them left out; "
    "KernelBench's harness takes one tensor.",
    "`cpp` and `cuda`, which KernelBench does not have, are given contiguous inputs, and the "
    "tensors and numbers of lists, tuples and dicts one by one.",
    "views keep their strides in the other dialects.",
    "host code of Python answers runs without the inputs' values, three times for each size; what "
    "it launches is played on them, and what depends on values there is not supported.",
    "CUDA graphs are replayed, and what `torch.compile` would compile is called as it is written.",
    "PyTorch computes only with `--torch-allowed`, and then eagerly, on one core.",
    "without a GPU device code is emulated: races, reads outside of a tensor, shared memory "
    "that nobody set and changed inputs are faults there, whatever the values; with a GPU only "
    "values count.",
    "products in TF32 are rounded as such, and right only where `precision: tf32` allows it.",
    "a round may take 5 s (20 s emulated) and all of an answer 100 s, else it is not correct.",
    "compilers get flags from a list, and no library but the language's own.",
    "no opinion (in neither column) where our sandbox refuses to run the answer, where it "
    "writes outside its outputs or has other parameters, and where the module is random in "
    "training mode (dropout).",
    "correctness only: its speed is measured on a GPU in a process that the candidate shares.",
)
"""From a run of KernelBench, each in a line."""
SPEED_DIFFERENCES = (
    "device time of the launches alone, each with a cold L2 cache; KernelBench's has the host's "
    "Python between its events too.",
    "medians of rounds in turns with eager PyTorch, with an interval; KernelBench takes the "
    "mean of 100 trials, and eager's from a file or a run before.",
    "every timed output is compared; KernelBench's timed trials are not looked at.",
    "float32 products are IEEE's on both sides unless `precision: tf32`.",
    "no speed where PyTorch computes a part, where the module is too quick for the clock, or "
    "the machine did not keep still.",
    "faster than memory and arithmetic allow is `cheated`; KernelBench flags what is 10 times "
    "as fast.",
)
"""Of a speed on a GPU from KernelBench's, each in a line."""

STAYS_TRAINING = "\n\nModel.eval = lambda self: self\n"
UNSEEN = ("out_of_bounds", "other_parameters")
"""Reasons of ours that its rule knows nothing about: it compares values only."""
NOT_RUN = (Verdict.BUILD_FAILED, Verdict.NO_KERNEL)


def official(problem: Problem) -> Problem:
    """The problem as its rule sees it: the timed case only, training mode, its tolerance."""
    allowed = ALLCLOSE if problem.dtype == "float32" else ALLCLOSE_HALF
    return replace(
        problem,
        code=problem.code + STAYS_TRAINING,
        cases=(replace(problem.timed_case(), distribution=AS_MADE),),
        tolerance=Tolerance(relative=allowed, of_spread=0.0, absolute=allowed),
    )


def says_correct(evaluation: Evaluation) -> bool | None:
    """Its verdict on what came of an official problem; None where it has no opinion."""
    if evaluation.verdict in (Verdict.UNJUDGED, Verdict.CHEATED) or evaluation.reason in UNSEEN:
        return None
    return evaluation.verdict is Verdict.CORRECT


def second_opinions(
    folder: Path,
    problems: Sequence[Problem],
    judge: AnyJudge,
    on_batch: Callable[[Sequence[Record]], None],
) -> list[Record]:
    """One record for each of the folder's: the same source, judged on the official problem.

    Resumable. What was not built keeps its evaluation: it has no outputs to compare. What was not
    judged has none yet: once it is judged again, it is asked for.
    """
    store = RecordStore(folder / FOLDER)
    store.path.parent.mkdir(exist_ok=True)
    store.cut_unfinished()
    done = {one.row for one in store.read()}
    by_key = {one.key: official(one) for one in problems}
    known = [one for one in answers_judged(folder) if one.problem_key in by_key]
    left = [one for one in known if one.row not in done]
    for batch in in_batches(left, judge):
        found = _judged(batch, by_key, judge)
        store.append(found)
        on_batch(found)
    return store.read()


def answers_judged(folder: Path) -> list[Record]:
    """The answers of a folder that an opinion may be asked on."""
    answers = without_given(read_records(folder))
    return [one for one in answers if one.evaluation.verdict is not Verdict.UNJUDGED]


def read_opinions(folder: Path) -> dict[int, bool | None]:
    """What its rule says, by row; empty where it was not asked."""
    kept = RecordStore(folder / FOLDER).read()
    return {one.row: says_correct(one.evaluation) for one in kept}


def _judged(records: Sequence[Record], by_key: dict[str, Problem], judge: AnyJudge) -> list[Record]:
    jobs = {}
    for one in records:
        if one.source is not None and one.evaluation.verdict not in NOT_RUN:
            problem = by_key[one.problem_key]
            jobs[one.row] = (problem, answer_of(one))
    found = dict(zip(jobs, judge.evaluate_many(list(jobs.values()), timed=False), strict=True))
    return [
        replace(
            one,
            stage=STAGE,
            problem_key=by_key[one.problem_key].key,
            evaluation=found.get(one.row, replace(one.evaluation, timing=None)),
            reward=None,
        )
        for one in records
    ]
