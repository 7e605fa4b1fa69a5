"""What KernelBench's own rule says of kernels that our judge has judged: a second opinion.

Its rule, as of v0.2.0.dev0 (423217d, March 2026): five trials of the sizes as written on inputs as
`get_inputs` gives them, the module in training mode, and torch.allclose with atol = rtol = 1e-4 in
float32. Here the same comparison is made on outputs of the sandboxed candidate, so that nothing in
its process can touch it. It never changes our verdict.

What differs from running KernelBench itself: expected values are float64's, not float32's; seeds
are secret, not drawn from 42; weights are handed over, not drawn twice from one seed; NaN in the
place where the reference has it passes; the candidate's own module is in evaluation mode; what our
sandbox refuses to run (calls of PyTorch's operators, forbidden code) it has no opinion on. A module
that is random in training mode (dropout) has no expected output: no opinion either. Speed is not
measured its way, which needs a GPU and one process for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kernelwright.data.store import RecordStore, answer_of, read_records
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.reference.distributions import AS_MADE
from kernelwright.envs.types import Evaluation, Problem, Record, Tolerance, Verdict
from kernelwright.evals.answers import in_batches

STAGE = "kernelbench"
FOLDER = "protocol-kernelbench"
"""Second opinions are kept apart from the records, in a folder of their own."""
ALLCLOSE = 1e-4
"""Its atol and rtol for float32 (get_tolerance_for_precision); 1e-2 for half precision."""
ALLCLOSE_HALF = 1e-2

STAYS_TRAINING = "\n\nModel.eval = lambda self: self\n"
UNSEEN = ("out_of_bounds", "other_parameters")
"""Reasons of ours that its rule knows nothing about: it compares values only."""
NOT_RUN = (Verdict.BUILD_FAILED, Verdict.NO_KERNEL, Verdict.UNJUDGED)


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

    Resumable. What was not built or not judged keeps its evaluation: it has no outputs to compare.
    """
    store = RecordStore(folder / FOLDER)
    store.path.parent.mkdir(exist_ok=True)
    store.cut_unfinished()
    done = {one.row for one in store.read()}
    by_key = {one.key: official(one) for one in problems}
    known = [one for one in read_records(folder) if one.problem_key in by_key]
    left = [one for one in known if one.row not in done]
    for batch in in_batches(left, judge):
        found = _judged(batch, by_key, judge)
        store.append(found)
        on_batch(found)
    return store.read()


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
