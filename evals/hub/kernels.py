"""The kernels that a search found in, a folder for the Hub out: sources, modules, a card."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kernelwright.data.runs.folder import SEARCH_RESULTS, Folder
from kernelwright.data.runs.records import read_records
from kernelwright.data.runs.stages import SEARCH, SEARCH_AGAIN
from kernelwright.data.suites.load import load_problems, public_spec
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.reference.arguments import ProblemError
from kernelwright.envs.reference.module import sized_code
from kernelwright.envs.system.paths import in_utf8
from kernelwright.envs.types import Problem, Record
from kernelwright.evals.hub.card import card_template, environment_rows, failures, judged_how, plain
from kernelwright.evals.hub.kernel_module import NoModuleError, kernel_module
from kernelwright.evals.hub.upload import (
    PublishError,
    Target,
    Tree,
    fresh,
    require_token,
    upload,
    write_card,
)
from kernelwright.evals.numbers.public_name import public_name
from kernelwright.evals.numbers.search_results import Found, found_in
from kernelwright.rl.models.adapter_folder import ADAPTER_CONFIG

KERNELS, MODULES = "kernels", "modules"
REPLACED = (f"{KERNELS}/*", f"{MODULES}/*")
"""What is deleted in a repository where it is not published again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """The best kernel of one problem. `name` is that of its files, and of its Python module;
    `no_module` says why no Python file calls it, empty where one does."""

    name: str
    problem: Problem
    found: Found
    no_module: str = ""


def publish_kernels(
    search: Path, to: Target, licence: str = "", *, dry_run: bool, out: Path | None = None
) -> str:
    """Writes `out`, `search/publish/` if None, and uploads it to the Hub unless `dry_run`.

    `licence` is that of problems which name none. Returns the repository's URL, of a dry run the
    folder. Raises PublishError, in one line, where something is missing.
    """
    if not dry_run:
        require_token()
    folder = write_kernels(search, to, licence, out)
    if dry_run:
        return str(folder)
    unlike = (ADAPTER_CONFIG, "config.json")
    tree = Tree(folder=folder, message="Publish kernels", replaced=REPLACED, unlike=unlike)
    return upload([(to, tree)])[0]


def write_kernels(search: Path, to: Target, licence: str = "", out: Path | None = None) -> Path:
    """Everything that gets published, in a new folder."""
    question, records = _question(search), read_records(search)
    dialect, chosen = str(question["dialect"]), chosen_kernels(search)
    licences = _licences([one.problem for one in chosen], licence)
    tree = fresh(out, search / "publish")
    (tree / KERNELS).mkdir()
    (tree / MODULES).mkdir()
    kernels = [_write(tree, one, dialect, to.repo) for one in chosen]
    write_card(tree, _card(search, to, question, kernels, records, licences))
    return tree


def chosen_kernels(search: Path) -> list[Kernel]:
    """The best kernel of each problem, with the name of its files. Raises PublishError."""
    question, records = _question(search), read_records(search)
    known = load_problems(str(question["searched"])).by_key()
    found = [one for one in found_in(records) if one.row is not None]  # not what it was given
    chosen = [(one, known.get(one.problem_key)) for one in found]
    if changed := [one.problem for one, problem in chosen if problem is None]:
        raise PublishError(f"{changed[0]} is not what it was: no problem of the suite has its key")
    if not chosen:
        raise PublishError(f"{search} found no correct kernel, but for those that it was given")
    names = _names(problem.name for _, problem in chosen if problem)
    return [
        Kernel(name=name, problem=problem, found=one)
        for (one, problem), name in zip(chosen, names, strict=True)
        if problem
    ]


def _question(search: Path) -> Mapping[str, Any]:
    """What a search that ended was asked. Raises PublishError for another folder."""
    question = (Folder(search).search() or {}).get("question")
    needed = {"model", "searched", "mode", "dialect", "budget", "seed"}
    if not isinstance(question, dict) or not needed <= question.keys():
        raise PublishError(f"{search} is no search of this version: it has no whole question")
    if not (search / SEARCH_RESULTS).is_file():
        raise PublishError(f"{search} has not ended: --resume goes on, and measures the best again")
    return question


def _write(tree: Path, kernel: Kernel, dialect: str, repo: str) -> Kernel:
    """Writes the files of one kernel."""
    source, suffix = in_utf8(str(kernel.found.source)), suffix_of(dialect)
    code = sized_code(kernel.problem, kernel.problem.timed_case())
    (tree / MODULES / f"{kernel.name}.py").write_text(code, encoding="utf-8")
    about = f"{kernel.problem.name}, of https://huggingface.co/{repo}\n{said(kernel.found)}"
    try:
        text = kernel_module(kernel.problem, source, dialect, about)
        (tree / KERNELS / f"{kernel.name}.py").write_text(text, encoding="utf-8")
        why = ""
    except (NoModuleError, ProblemError) as error:
        why = plain(str(error))
    if suffix != ".py":
        (tree / KERNELS / f"{kernel.name}{suffix}").write_text(source, encoding="utf-8")
    return replace(kernel, no_module=why)


def suffix_of(dialect: str) -> str:
    """Of the file that holds a kernel's source; of Python it is the module itself.

    >>> suffix_of("triton"), suffix_of("cuda")
    ('.py', '.cu')
    """
    return Path(f"kernel{DIALECTS[dialect].suffix}").suffix


def said(found: Found) -> str:
    """What was measured of a kernel, in a sentence."""
    if speed := found.again or found.first:
        interval = f"{speed.low:.2f} to {speed.high:.2f}"
        once = "" if found.again else ", when it was found"
        line = f"Judged correct, {speed.median:.2f} times as fast as eager PyTorch ({interval})"
        return f"{line}{once}."
    return "Judged correct; it was not timed."


def _names(problems: Iterator[str]) -> list[str]:
    """A Python name for each problem, none of them twice."""
    taken = {*keyword.kwlist, *sys.stdlib_module_names}
    found = []
    for one in problems:
        name = re.sub(r"\W+", "_", one, flags=re.ASCII).strip("_") or "kernel"
        name = f"_{name}" if name[0].isdigit() else name
        while name.lower() in taken:  # some disks take no notice of case
            name += "_"
        taken.add(name.lower())
        found.append(name)
    return found


def _licences(problems: Sequence[Problem], usual: str) -> list[str]:
    found = {one.licence or usual for one in problems}
    if "" in found:
        name = next(one.name for one in problems if not one.licence)
        raise PublishError(f"{name} names no licence: give --licence, as MIT")
    return sorted(found)


def _card(
    search: Path,
    to: Target,
    question: Mapping[str, Any],
    kernels: Sequence[Kernel],
    records: Sequence[Record],
    licences: Sequence[str],
) -> str:
    env = Folder(search).environment() or {}
    again = any(one.stage == SEARCH_AGAIN for one in records)
    several = len(licences) > 1
    head: dict[str, Any] = {
        "license": "other" if several else licences[0].lower(),
        "tags": ["kernelwright", "kernels", str(question["dialect"])],
    }
    others = [one for one in found_in(records) if one.row is None]
    asked = [one for one in records if one.stage == SEARCH]
    template = card_template("kernels.md.j2")
    page: str = template.render(
        front_matter=f"---\n{yaml.safe_dump(head, sort_keys=False)}---",
        to=to,
        kernels=kernels,
        suffix=suffix_of(str(question["dialect"])),
        callable=[one.name for one in kernels if not one.no_module],
        without={one.name: one.no_module for one in kernels if one.no_module},
        unsolved=sorted(plain(one.problem) for one in others if one.source is None),
        given_best=sorted(plain(one.problem) for one in others if one.source is not None),
        model=public_name(str(question["model"])),
        suite=public_spec(str(question["searched"])),
        question=question,
        licences=licences,
        judged=judged_how(records, (SEARCH_AGAIN if again else SEARCH,)),
        failures=failures(asked),
        answers=len(asked),
        environment=environment_rows(env),
    )
    return page
