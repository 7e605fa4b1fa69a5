"""A recipe, start to finish: triples, SFT, GRPO, and the held-out measurement in between.

Every stage is resumable and is skipped once done. With several processes all of them train; the
first one alone judges triples, evaluates and reports, while the others wait.
"""

from __future__ import annotations

import gc
import platform
import random
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from data.store import RecordStore
from data.suite import Suite, load_suite
from data.triples import Triple, template_triples
from envs.gpus import gpus
from envs.judge import AnyJudge, Judge, judge_completions
from envs.prompt import task_prompt
from envs.ray_judge import RayJudge
from envs.types import Baseline, Record, Verdict
from evals.against import keep_baselines
from evals.report import write_report
from evals.run import EvalSettings, evaluate
from evals.summary import RunFacts, write_summary
from kernelwright.machine import cores, versions
from kernelwright.run_folder import RunFolder
from rl.config import JudgeSection, Recipe
from rl.trainer_options import Process, StageDisplay, this_process


def train(recipe: Recipe, *, resume: bool) -> None:
    """Runs the recipe's stages in `recipe.run_dir`; raises RunError if it cannot."""
    process = this_process()
    _use_all_cores(process)
    wait = _barrier(process)
    folder = RunFolder(recipe.run_dir)
    if process.leads:
        folder.open(recipe, resume=resume)
        RecordStore(recipe.run_dir).cut_unfinished()
    wait()
    with open_judge(recipe.judge, process) as judge:
        run = Run(recipe, folder, judge, process, wait, resume=resume)
        run.all_stages()
    if process.leads:
        print(f"report: {run.report()}", file=sys.stderr)


def open_judge(section: JudgeSection, process: Process) -> Judge | RayJudge:
    """The judge of this process: its share of this machine, or of every machine of a cluster."""
    workers, minimum, limit_s = section.workers, section.minimum_sandbox, section.batch_limit_s
    if section.ray_address is None:
        return Judge(workers, minimum, batch_limit_s=limit_s, share=process.here)
    share = (process.rank, process.world)
    return RayJudge(section.ray_address, workers, minimum, batch_limit_s=limit_s, share=share)


def _use_all_cores(process: Process) -> None:
    """An equal share of the cores for each process: accelerate and torchrun leave it with one."""
    import torch

    torch.set_num_threads(max(1, cores() // process.world))


def _barrier(process: Process) -> Callable[[], None]:
    """Waits for all processes; nothing to wait for when there is one."""
    if process.world == 1:
        return lambda: None
    from accelerate import PartialState

    return PartialState(cpu=not gpus()).wait_for_everyone  # type: ignore[no-any-return]


class Run:
    """One run of one recipe, in this process."""

    def __init__(
        self,
        recipe: Recipe,
        folder: RunFolder,
        judge: AnyJudge,
        process: Process,
        wait: Callable[[], None],
        *,
        resume: bool,
    ) -> None:
        self.recipe, self.folder, self.judge = recipe, folder, judge
        self.process, self.wait, self.resume = process, wait, resume
        self.store, self.versions = RecordStore(recipe.run_dir), versions()
        self.held_out = _first(load_suite(recipe.data.held_out_suite), recipe.eval.problems)
        self.adapters = {
            stage: recipe.run_dir / "checkpoints" / f"{stage}-final" for stage in ("sft", "grpo")
        }

    def all_stages(self) -> None:
        """Every stage of the recipe that is not done yet, in order."""
        stages, section = self.recipe.stages, self.recipe.eval
        trained = [stage for stage in ("sft", "grpo") if stage in stages]
        measured = "eval" in stages
        if trained:
            self.stage("triples", self.judge_triples, alone=True)
        if measured and section.before:
            self.stage("eval_before", lambda: self.measure("eval_before", None), alone=True)
        if "sft" in stages:
            self.stage("sft", self.sft)
            if measured and section.after_sft and "grpo" in stages:
                adapter = self.adapters["sft"]
                self.stage("eval_sft", lambda: self.measure("eval_sft", adapter), alone=True)
        if "grpo" in stages:
            self.stage("grpo", self.grpo)
        if trained:
            final = self.adapters[trained[-1]]
            self.stage("final", lambda: _link(final), alone=True)
            if measured:
                self.stage("eval_after", lambda: self.measure("eval_after", final), alone=True)
        if measured and section.baseline is Baseline.COMPILE:
            self.stage("baselines", self.measure_baselines, alone=True)

    def stage(self, name: str, work: Callable[[], None], *, alone: bool = False) -> None:
        """Does the work unless it is done, and remembers how long it took."""
        if name not in self.folder.seconds():
            started = time.monotonic()
            if self.process.leads or not alone:
                work()
            self.wait()
            if self.process.leads:
                self.folder.note(name, time.monotonic() - started)
        gc.collect()
        self.wait()

    def judge_triples(self) -> None:
        """Judges every triple; only correct ones are learned from, and a wrong one is our bug."""
        triples, dialect = self.triples(), self.recipe.data.dialect
        timed = self.recipe.grpo.method == "contrastive"
        self.store.rewind("triples", 0)
        problems = [one.problem for one in triples]
        texts = [one.completion(dialect) for one in triples]
        with _Counted("triples", len(triples)) as advance:
            judged = judge_completions(
                self.judge, problems, texts, dialect, timed=timed, on_done=advance
            )
        self.store.append(
            Record(
                stage="triples",
                step=0,
                row=row,
                problem=problem.name,
                problem_key=problem.key,
                dialect=dialect,
                prompt=task_prompt(problem, dialect),
                completion=text,
                source=source,
                evaluation=evaluation,
                reward=None,
                versions=self.versions,
            )
            for row, (problem, text, (source, evaluation)) in enumerate(
                zip(problems, texts, judged, strict=True)
            )
        )

    def triples(self) -> list[Triple]:
        """The recipe's triples, shuffled by its seed; second kernels of a problem come last."""
        triples = template_triples()
        random.Random(self.recipe.seed).shuffle(triples)
        triples.sort(key=lambda one: one.variant)
        return triples[: self.recipe.data.max_triples]

    def sft(self) -> None:
        from rl.sft import run_sft

        records = [one for one in self.store.read() if one.stage == "triples"]
        correct = {one.row for one in records if one.evaluation.verdict is Verdict.CORRECT}
        learned = [one for row, one in enumerate(self.triples()) if row in correct]
        run_sft(self.recipe, learned, self.adapters["sft"], resume=self.resume)

    def grpo(self) -> None:
        from rl.grpo import run_grpo

        run_grpo(
            self.recipe,
            load_suite(self.recipe.data.train_suite),
            self.judge,
            self.adapters["sft"] if "sft" in self.recipe.stages else None,
            self.adapters["grpo"],
            resume=self.resume,
            versions=self.versions,
        )

    def measure(self, stage: str, adapter: Path | None) -> None:
        """Samples and judges the held-out suite with the base model, or with an adapter."""
        from rl.policies import load_policy

        recipe, section = self.recipe, self.recipe.eval
        policy = load_policy(
            str(adapter) if adapter else recipe.model.name,
            quantization=recipe.model.quantization,
            dtype=recipe.model.dtype,
        )
        settings = EvalSettings(
            stage=stage,
            dialect=recipe.data.dialect,
            samples=section.samples,
            max_new_tokens=section.max_new_tokens,
            temperature=section.temperature,
            seed=recipe.seed,
            batch=policy.batch_size,
            reward=recipe.reward,
            versions=self.versions,
        )
        done = {one.id for one in self.store.read()}
        with _Counted(stage, len(self.held_out.problems) * section.samples) as advance:

            def keep(records: Sequence[Record]) -> None:
                self.store.append(records)
                for _ in records:
                    advance()

            evaluate(policy, self.held_out.problems, self.judge, settings, keep, done)

    def measure_baselines(self) -> None:
        """How fast torch.compile makes the held-out problems, for the summary to compare with."""
        problems = self.held_out.problems
        with _Counted("baselines", len(problems), every=1) as advance:
            keep_baselines(self.folder.path, problems, advance)

    def report(self) -> Path:
        """Writes summary.json and report.html from the records."""
        facts = RunFacts(
            model=self.recipe.model.name,
            dialect=self.recipe.data.dialect,
            target=f"{platform.machine()}, 1 of {cores()} cores",
            suite=self.held_out.spec,
            date=datetime.now(UTC).date().isoformat(),
            seconds=self.folder.seconds(),
            categories={one.name: one.category for one in self.held_out.problems},
        )
        write_summary(self.folder.path, facts)
        return write_report(self.folder.path)


class _Counted:
    """A display that advances by one; calls may come from several threads."""

    def __init__(self, stage: str, total: int, every: int = 50) -> None:
        self.display, self.total, self.done = StageDisplay(stage), total, 0
        self.every = every

    def __enter__(self) -> Callable[[], None]:
        self.display.begin(self.total, 0)
        return self.advance

    def __exit__(self, *_: object) -> None:
        self.display.end()

    def advance(self) -> None:
        self.done += 1
        if self.display.live or self.done % self.every == 0 or self.done == self.total:
            self.display.show(self.done, {})


def _first(suite: Suite, count: int | None) -> Suite:
    """At most `count` problems, evenly spread over the suite."""
    total = len(suite.problems)
    if count is None or count >= total:
        return suite
    chosen = [suite.problems[i * total // count] for i in range(count)]
    return Suite(spec=suite.spec, problems=tuple(chosen))


def _link(adapter: Path) -> None:
    """checkpoints/final names the adapter of the last training stage."""
    final = adapter.with_name("final")
    if final.is_symlink():
        final.unlink()
    final.symlink_to(adapter.name)
