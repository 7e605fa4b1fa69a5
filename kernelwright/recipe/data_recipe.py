"""The recipe of a data set: what `kernelwright data build` draws, judges and writes.

It is read and overridden as a recipe of a run is. The options of the command set the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from kernelwright.data.exports.write import VIEWS
from kernelwright.data.graphs.problem import DIALECTS
from kernelwright.data.graphs.schedules import SCHEDULES
from kernelwright.recipe.checked import checked
from kernelwright.recipe.resolve import COMMAND_LINE, parse_overrides, read_recipe
from kernelwright.recipe.yaml_tree import KeyPath, Tree, merge
from kernelwright.rl.recipe.schema import JudgeSection
from kernelwright.rl.recipe.trl_options import did_you_mean
from kernelwright.rl.section import Section

SUFFIX = ".yaml"


def _drawn(dialect: str) -> str:
    return _one_of(dialect, "dialect that examples are drawn in", DIALECTS)


def _view(name: str) -> str:
    return _one_of(name, "layout", VIEWS)


def _one_of(name: str, kind: str, known: Sequence[str]) -> str:
    if name not in known:
        hint = did_you_mean(name, list(known))
        raise ValueError(f"no {kind} is named {name!r}{hint} (there are: {', '.join(known)})")
    return name


Drawn = Annotated[str, AfterValidator(_drawn)]


class QuotaSection(Section):
    """Shares of the problems by category; a draw for which there is no place is dropped."""

    largest_share: float = Field(default=1.0, gt=0, le=1)
    """No category has more."""
    least_share: float = Field(default=0.0, ge=0, lt=1)
    """Each category has so much, where graphs of it are drawn."""


class TeacherSection(Section):
    """A model that writes the reasoning of C++ examples; false texts are not taken."""

    endpoint: str = Field(pattern=r"^https?://")
    """OpenAI-compatible, as `http://host:8000/v1`."""
    model: str = Field(min_length=1)
    """Its name there."""
    key_env: str = Field(default="OPENAI_API_KEY", min_length=1)
    """The environment variable with the key; unset: asked without one."""


class DataRecipe(Section):
    """One data set, from its seed to its tables."""

    out: Path
    """Folder that everything is written to; one of before goes on."""
    seed: int = Field(default=0, ge=0)
    """Another seed draws other problems."""
    count: int = Field(default=100, ge=1)
    """Problems to keep."""
    dialects: tuple[Drawn, ...] = Field(default=("cpp",), min_length=1)
    """What examples are written in."""
    max_examples: dict[Drawn, Annotated[int, Field(ge=1)]] = Field(default={})
    """With so many right examples in a dialect no more are made in it; others have no limit."""
    exclude: tuple[str, ...] = ()
    """Suites of which no problem is drawn."""
    variants: int = Field(default=1, ge=1, le=len(SCHEDULES))
    """Kernels of a problem in a dialect at most, each by another schedule."""
    mutants: int = Field(default=0, ge=0)
    """Kernels with a fault to judge of a problem, in one dialect after another."""
    mutated: float = Field(default=1.0, gt=0, le=1)
    """Share of the problems that have such kernels."""
    quotas: QuotaSection = QuotaSection()
    """Shares by category."""
    batch: int = Field(default=16, ge=1)
    """Draws that are judged together, and written down."""
    judge: JudgeSection = JudgeSection()
    """The judge."""
    teacher: TeacherSection | None = None
    """Writes reasoning, where it is to be more than the plan of the loops."""
    export: tuple[Annotated[str, AfterValidator(_view)], ...] = ()
    """Layouts that are written to `out/export/` at the end."""

    @model_validator(mode="after")
    def _it_can_end(self) -> Self:
        if len(set(self.dialects)) < len(self.dialects):
            raise ValueError(f"dialects: one is named twice: {', '.join(self.dialects)}")
        if set(self.dialects) <= set(self.max_examples):
            raise ValueError("max_examples: leave one dialect without, which all problems have")
        return self


@dataclass(frozen=True, slots=True)
class ResolvedData:
    """A checked recipe, and where its keys were set."""

    recipe: DataRecipe
    origins: Mapping[KeyPath, str]


def resolve_data(
    what: str, overrides: Sequence[str] = (), options: Mapping[str, Any] | None = None
) -> ResolvedData:
    """The recipe in a file that ends in `.yaml`, or that of a folder with defaults; overrides, then
    options of the command, come on top. Raises RecipeError."""
    if what.endswith(SUFFIX):
        tree = read_recipe(Path(what), overrides)
    else:
        tree = merge(_tree({"out": what}), parse_overrides(overrides))
    tree = merge(tree, _tree(options or {}))
    return ResolvedData(checked(DataRecipe, tree, Path(what)), tree.origins)


def _tree(values: Mapping[str, Any]) -> Tree:
    return Tree(dict(values), {(key,): COMMAND_LINE for key in values})
