"""Builds a data set as its recipe says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kernelwright.data.exports.contents import read_contents
from kernelwright.data.exports.write import export
from kernelwright.data.graphs.build import Build, BuildError, Recipe, Wanted
from kernelwright.data.graphs.mutants.rows import write_kill_score
from kernelwright.data.graphs.teacher import Teacher
from kernelwright.data.runs.folder import held
from kernelwright.data.runs.process import this_process
from kernelwright.data.suites.row_folder import KEPT
from kernelwright.envs.system.secrets import header_key
from kernelwright.preflight.check import not_judged_here
from kernelwright.recipe.data_recipe import DataRecipe, ResolvedData, TeacherSection
from kernelwright.recipe.shown import recipe_lines
from kernelwright.run.processes import judge_of

EXPORTS = "export"


def build_data(recipe: DataRecipe) -> list[str]:
    """Builds the folder, or goes on with it; returns what there is to say of it.

    Raises BuildError, OSError and ValueError.
    """
    if reasons := lacking(recipe):
        raise BuildError(reasons[0])
    with held(recipe.out):
        making = Build.begin(recipe.out, recipe_of(recipe))
        try:
            if making.fates[KEPT] < recipe.count:
                with judge_of(recipe.judge, this_process()) as judge:
                    making.run(_wanted(recipe), judge)
        finally:
            mutants = [write_kill_score(recipe.out)] if recipe.mutants else []
        written = [line for view in recipe.export for line in _exported(recipe.out, view)]
    drawn = f"{making.fates.total()} draws: {making.said()}"
    return [
        drawn,
        *making.twins.said(),
        *mutants,
        *written,
        f"data.sft_suite: data:{recipe.out}:sft",
    ]


def lacking(recipe: DataRecipe) -> list[str]:
    """Why this machine cannot build it; the nodes of a cluster see to their own."""
    here = () if recipe.judge.ray_address else recipe.dialects
    found = [why for why in map(not_judged_here, here) if why]
    if recipe.export:
        try:
            import datasets  # noqa: F401
        except ImportError:
            found.append("export needs the extra data: pip install 'kernelwright[data]'")
    return found


def data_dry_run(resolved: ResolvedData) -> str:
    """A valid recipe with the origin of each value, then what stands against it."""
    plain = resolved.recipe.model_dump(mode="json")
    reasons = lacking(resolved.recipe)
    lines = recipe_lines(plain, resolved.origins)
    lines += ["# This machine cannot run it:" if reasons else "# This machine can run it."]
    return "\n".join(lines + [f"#   {reason}" for reason in reasons])


def recipe_of(recipe: DataRecipe) -> Recipe:
    """What decides the rows."""
    return Recipe(
        seed=recipe.seed,
        dialects=recipe.dialects,
        exclude=recipe.exclude,
        mutants=recipe.mutants,
        mutated=recipe.mutated,
        variants=recipe.variants,
        largest_share=recipe.quotas.largest_share,
        least_share=recipe.quotas.least_share,
        teacher=recipe.teacher.model if recipe.teacher else "",
    )


def _teacher(section: TeacherSection) -> Teacher:
    key = header_key(os.environ.get(section.key_env), section.key_env)
    return Teacher(endpoint=section.endpoint, model=section.model, key=key or "")


def _wanted(recipe: DataRecipe) -> Wanted:
    return Wanted(
        count=recipe.count,
        max_examples=recipe.max_examples,
        batch=recipe.batch,
        timed=recipe.judge.timed,
        teacher=_teacher(recipe.teacher) if recipe.teacher else None,
    )


def _exported(folder: Path, view: str) -> list[str]:
    """Writes a layout anew: one of an earlier call has fewer rows. Returns what there is to say."""
    out = folder / EXPORTS / view
    shutil.rmtree(out, ignore_errors=True)
    written = export(read_contents(folder), out, view)
    return [f"{out}: {len(written.files)} files", *written.left_out]
