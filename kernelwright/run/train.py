"""A recipe, start to finish: triples, SFT, GRPO, and the held-out measurement in between.

Every stage is resumable and is skipped once done. With several processes all of them train, and
share the problems that are measured; the first one alone judges triples and reports, while the
others wait.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from kernelwright.data.runs.process import Process, this_process
from kernelwright.data.runs.progress import Answered, Counted, plan_run
from kernelwright.data.runs.records import FILE as RECORDS_FILE
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.runs.stages import STAGES, Stage, training
from kernelwright.data.suites.load import Suite, load_suite
from kernelwright.data.triple import JudgedTriple, Triple
from kernelwright.data.triples.templates import balanced, triples_of
from kernelwright.envs.judge import AnyJudge
from kernelwright.envs.judged import Batch, Response, judged
from kernelwright.envs.policy import Policy
from kernelwright.envs.prompt import task_prompt
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Problem, Task
from kernelwright.evals.evaluate.model import target_of
from kernelwright.evals.evaluate.run import EvalSettings, count_left, evaluate, settings_of
from kernelwright.evals.numbers.compiled_baselines import keep_baselines
from kernelwright.evals.numbers.summary import RunFacts, read_summary, write_summary
from kernelwright.evals.page.report import write_report
from kernelwright.machine.facts import versions
from kernelwright.preflight.estimate import (
    baselines_estimate,
    dpo_estimate,
    grpo_estimate,
    rft_estimate,
    sft_estimate,
)
from kernelwright.rl.methods.base import Example, RunView
from kernelwright.rl.methods.find import start_method
from kernelwright.rl.models.adapter_folder import SIDECAR
from kernelwright.rl.policies.providers.find import provider
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.recipe.stage_names import stage_names
from kernelwright.rl.tracking.run_tracker import tracking
from kernelwright.rl.train.mending import with_mending
from kernelwright.rl.train.rft import as_sft, examples_of, round_problems, round_seed, unsolved
from kernelwright.rl.train.start_adapter import start_adapter
from kernelwright.run.processes import join, judge_of
from kernelwright.run.run_folder import RunError, RunFolder
from kernelwright.run.tracked_results import send_files, send_stage, send_summary

OTHER_EXAMPLES = (
    "{}: its examples are others than those that were judged there; go on with the version of "
    "kernelwright that began it, or begin a new run"
)
NO_ADAPTER = "stage {stage} trains, and {adapter}, the adapter that it should have left, is missing"


def train(recipe: Recipe, *, resume: bool, fitted: Recipe) -> None:
    """Runs the recipe's stages in `recipe.run_dir`; raises RunError if it cannot.

    `fitted` is the recipe as it fits this machine: the same, except for micro batches.
    """
    process = this_process()
    wait = join(process)
    folder = RunFolder(recipe.run_dir)
    if process.leads:
        folder.open(recipe, resume=resume)
        _cut_unfinished(recipe.run_dir)
    wait()
    with tracking(recipe), judge_of(recipe.judge, process, recipe.data.dialects) as judge:
        devices = judge.devices()
        run = Run(fitted, folder, judge, process, wait, resume=resume)
        run.all_stages()
        if process.leads:
            print(f"report: {run.report(devices)}", file=sys.stderr)


def _cut_unfinished(run_dir: Path) -> None:
    """Removes a last record that was not written to its end, and says so."""
    cut_bytes = RecordStore(run_dir).cut_unfinished()
    if cut_bytes:
        print(
            f"{run_dir / RECORDS_FILE} ended within a record: its {cut_bytes} bytes are left out; "
            "a stage that was finished before is not done again for it",
            file=sys.stderr,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a stage does, and what `--dry-run` says of it: a figure with its unit, from the recipe's
    text alone. A stage that a recipe names has such an estimate."""

    do: Callable[[Run], None]
    estimate: Callable[[Recipe], str] | None = None


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
        self.held_out = _spread(load_suite(recipe.data.held_out_suite), recipe.eval.problems)
        self.adapters = {
            stage: recipe.run_dir / "checkpoints" / f"{stage}-final" for stage in training()
        }

    def all_stages(self) -> None:
        """Every stage of the recipe that is not done yet, in order."""
        for name in stage_names(self.recipe):
            row = STAGES[name]
            work = partial(self.measure, row) if row.side else partial(WORKS[name].do, self)
            self.stage(name, work, alone=not (row.trains or row.side))

    def stage(self, name: str, work: Callable[[], None], *, alone: bool = False) -> None:
        """Does the work unless it is done, and remembers how long it took."""
        if name not in self.folder.seconds():
            plan_run(stage_names(self.recipe), self.folder.seconds())
            started = time.monotonic()
            if self.process.leads or not alone:
                work()
            self.wait()
            if self.process.leads:
                if name in self.adapters:
                    self.left(name)
                send_stage(self.recipe, name)
                self.folder.note(name, time.monotonic() - started)
        gc.collect()
        self.wait()

    def judge_triples(self) -> None:
        """Judges every triple; only correct ones are learned from, and a wrong one is our bug."""
        triples = self.triples()
        timed = self.recipe.grpo.method.needs_speeds
        self.store.rewind("triples", 0)
        learn_shapes(one.problem for one in triples)
        responses = [
            Response.of_completion(one.task, row, task_prompt(one.task), one.completion())
            for row, one in enumerate(triples)
        ]
        batch = Batch(stage="triples", versions=self.versions)
        with Counted("triples", len(triples), every=50) as advance:
            records = judged(self.judge, responses, batch, timed=timed, on_done=advance)
        self.store.append(records)

    def judged_triples(self) -> list[JudgedTriple]:
        """The triples that have a record, in order, each with its verdict."""
        triples = dict(enumerate(self.triples()))
        records = [one for one in self.store.read() if one.stage == "triples"]
        found = []
        for record in sorted(records, key=lambda one: one.row):
            triple = triples.get(record.row)
            if triple is None or triple.completion() != record.completion:
                raise RunError(OTHER_EXAMPLES.format(self.folder.path))
            found.append(
                JudgedTriple(triple=triple, prompt=record.prompt, evaluation=record.evaluation)
            )
        return found

    def triples(self) -> list[Triple]:
        """The recipe's triples, shuffled by its seed; second kernels of a problem come last."""
        data = self.recipe.data
        triples = [one for it in data.dialects for one in triples_of(data.taught_suite, it)]
        random.Random(self.recipe.seed).shuffle(triples)
        triples.sort(key=lambda one: one.variant)
        return triples[: data.max_triples]

    def sft(self) -> None:
        from kernelwright.rl.train.sft import run_sft

        run_sft(self.recipe, self.taught(), self.adapters["sft"], resume=self.resume)

    def taught(self) -> list[Example]:
        """What SFT learns: correct triples, as the method asks for them, and mending."""
        run = RunView(seed=self.recipe.seed, store=self.store)
        method, judged = start_method(self.recipe.grpo.method, run), self.judged_triples()
        plain = method.examples(balanced(judged, _pattern, self.recipe.data.balance))
        return with_mending(self.recipe, plain, judged)

    def rft(self) -> None:
        """Rounds of sampling, judging, and training on the correct answers that are kept."""
        from kernelwright.rl.train.sft import run_sft

        recipe, section, adapter = self.recipe, self.recipe.rft, self.began_with("rft")
        suite = load_suite(recipe.data.train_suite).problems
        taught = self.taught() if recipe.judges_triples else []
        for number in range(1, section.rounds + 1):
            name, last = f"rft-{number}", number == section.rounds
            out = self.adapters["rft"] if last else self.adapters["rft"].with_name(f"{name}-final")
            if not (out / SIDECAR).exists():
                self.sample_round(adapter, suite, number)
                rows = examples_of(self.store.read(), taught, section, number)
                run_sft(as_sft(recipe), rows, out, resume=self.resume, start=adapter, stage=name)
                gc.collect()
                self.wait()
            adapter = out

    def sample_round(self, adapter: Path | None, suite: Sequence[Problem], number: int) -> None:
        """The answers of a round, and further ones to what they did not solve."""
        section = self.recipe.rft
        problems = round_problems(suite, number, section, self.recipe.seed)
        settings = self.rft_settings(number)
        self.ask(adapter, problems, settings)
        self.wait()
        if not section.retries:
            return
        row = len(problems) * len(settings.dialects) * settings.samples
        asked = (one for one in self.store.read() if (one.stage, one.step) == ("rft", number))
        first = [one for one in asked if one.row < row]  # and none of an earlier attempt's retries
        for dialect in settings.dialects:
            tasks = [Task(problem=one, dialect=dialect) for one in problems]
            left = [one.problem for one in unsolved(tasks, first)]
            again = replace(settings, dialect=dialect, more_dialects=())
            if left:
                self.ask(adapter, left, replace(again, samples=section.retries, first_row=row))
            self.wait()
            row += len(problems) * section.retries

    def rft_settings(self, number: int) -> EvalSettings:
        section = self.recipe.rft
        settings = self.settings(
            "rft", section.temperature, section.samples, self.recipe.judge.timed
        )
        seed = round_seed(self.recipe.seed, number)
        return replace(
            settings, step=number, seed=seed, max_new_tokens=section.max_new_tokens, whole=True
        )

    def dpo(self) -> None:
        """Learns from pairs of answers that this run, or a folder of rows, has."""
        from kernelwright.rl.train.dpo import run_dpo
        from kernelwright.rl.train.pairs import pairs_for

        pairs = pairs_for(self.recipe, self.store.read())
        run_dpo(self.recipe, pairs, self.adapters["dpo"], self.began_with("dpo"), self.resume)

    def grpo(self) -> None:
        from kernelwright.rl.train.grpo import run_grpo

        run_grpo(
            self.recipe,
            load_suite(self.recipe.data.train_suite),
            self.judge,
            self.began_with("grpo"),
            self.adapters["grpo"],
            resume=self.resume,
            versions=self.versions,
        )

    def began_with(self, stage: str) -> Path | None:
        """The adapter that a stage trains on: of the stage that trained before it, if there is."""
        trained = training(self.recipe.stages)
        before = trained[: trained.index(stage)]
        return self.adapters[before[-1]] if before else start_adapter(self.recipe)

    def left(self, stage: str) -> Path:
        """The adapter that a stage left. Raises RunError where there is none."""
        adapter = self.adapters[stage]
        if not adapter.exists():
            raise RunError(NO_ADAPTER.format(stage=stage, adapter=adapter))
        return adapter

    def link(self) -> None:
        """Names the adapter of the last stage that trains `final`."""
        _link(self.left(training(self.recipe.stages)[-1]))

    def measure(self, row: Stage) -> None:
        """The held-out suite with the base model or an adapter; greedily as a stage of its own."""
        section, problems = self.recipe.eval, self.held_out.problems
        if row.measured is None:
            adapter = start_adapter(self.recipe)
            problems = _spread(self.held_out, section.before_problems).problems
        else:
            last = training(self.recipe.stages)[-1]
            adapter = self.adapters[last if row.measured == "final" else row.measured]
        if row.greedy_of:
            settings = self.settings(row.name, 0.0, 1, timed=True)
        else:
            settings = self.settings(row.name, section.temperature, section.samples, section.timed)
        self.ask(adapter, problems, settings)

    def settings(self, stage: str, temperature: float, samples: int, timed: bool) -> EvalSettings:
        return replace(
            settings_of(self.recipe, self.versions),
            stage=stage,
            samples=samples,
            temperature=temperature,
            timed=timed,
            share=(self.process.rank, self.process.world),
        )

    def ask(
        self, adapter: Path | None, problems: Sequence[Problem], settings: EvalSettings
    ) -> None:
        """Samples and judges this process's answers that are not on disk yet; the first one shows
        how its own go on."""
        policy, done = self.policy(adapter), {one.id for one in self.store.read()}
        shown = Answered(settings.stage, count_left(problems, settings, done))
        with shown if self.process.leads else nullcontext() as watcher:
            evaluate(policy, problems, self.judge, settings, self.store.append, done, watcher)
        del policy
        gc.collect()  # a model refers to itself, and the next one needs the memory

    def policy(self, adapter: Path | None) -> Policy:
        """The base model or an adapter: on the server that samples for GRPO, where there is one."""
        from kernelwright.rl.policies.hf import load_policy, open_policy

        model, grpo = self.recipe.model, self.recipe.grpo
        name = str(adapter) if adapter else model.name
        if grpo.server and provider(grpo.generation).asks_a_server:
            return open_policy(f"{grpo.generation}:{name}@{grpo.server}")
        return load_policy(name, quantization=model.quantization, dtype=model.dtype)

    def measure_baselines(self) -> None:
        """Measures torch.compile on the held-out problems, for the summary."""
        asked, mode = self.held_out.problems, self.recipe.eval.baseline
        with Counted("baselines", len(asked), every=1) as advance:
            keep_baselines(self.folder.path, asked, self.recipe.data.dialect, advance, mode)

    def report(self, devices: Sequence[Mapping[str, Any]]) -> Path:
        """Writes summary.json and report.html from the records; `devices` are the judge's."""
        facts = RunFacts(
            model=self.recipe.model.name,
            dialect=self.recipe.data.dialect,
            target=target_of(self.store.read(), devices),
            suite=self.held_out.spec,
            date=datetime.now(UTC).date().isoformat(),
            seconds=self.folder.seconds(),
            categories={one.name: one.category for one in self.held_out.problems},
            devices=devices,
            precision=self.recipe.judge.precision,
        )
        write_summary(self.folder.path, facts)
        send_summary(self.recipe, read_summary(self.folder.path))
        report = write_report(self.folder.path)
        send_files(self.recipe)
        return report


def _pattern(one: JudgedTriple) -> str:
    return one.triple.pattern


WORKS: dict[str, Work] = {
    "triples": Work(do=Run.judge_triples),
    "sft": Work(do=Run.sft, estimate=sft_estimate),
    "rft": Work(do=Run.rft, estimate=rft_estimate),
    "dpo": Work(do=Run.dpo, estimate=dpo_estimate),
    "grpo": Work(do=Run.grpo, estimate=grpo_estimate),
    "final": Work(do=Run.link),
    "baselines": Work(do=Run.measure_baselines, estimate=baselines_estimate),
}
"""By the name of the stage; a stage with a side (`data/runs/stages.py`) measures."""


def _spread(suite: Suite, count: int | None) -> Suite:
    """At most `count` problems, evenly spread over the suite."""
    total = len(suite.problems)
    if count is None or count >= total:
        return suite
    chosen = [suite.problems[i * total // count] for i in range(count)]
    return Suite(spec=suite.spec, problems=tuple(chosen))


def _link(adapter: Path) -> None:
    """checkpoints/final names the adapter of the last training stage.

    A folder of that name is what a copy made of the link (`cp -L`): it is kept under another one.
    """
    final = adapter.with_name("final")
    if final.is_dir() and not final.is_symlink():
        copies = (adapter.with_name(f"final.copy-{number}") for number in count(1))
        kept = final.rename(next(copy for copy in copies if not copy.exists()))
        print(f"{final} was a folder, not a link: it is now {kept}", file=sys.stderr)
    final.unlink(missing_ok=True)
    final.symlink_to(adapter.name)
