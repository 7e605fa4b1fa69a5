"""Small real inputs of each command that reads what others wrote, made by our own code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.records import RecordStore
from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.data.suites.rows import Row, row_line
from kernelwright.envs.types import (
    CaseCheck,
    Check,
    Evaluation,
    Record,
    Reward,
    Timing,
    Verdict,
)
from kernelwright.evals.evaluate.written import ASKED, Written
from kernelwright.evals.numbers.summary import RunFacts, write_summary
from scripts.kernels import EXPLOITS, sources, the_problem

CODE = (EXPLOITS / "problem.py").read_text(encoding="utf-8")
KERNEL = sources()["does_not_compile.cpp"]
STAGES = ("eval_before", "grpo", "eval_after", "search")


def run_folder(folder: Path) -> None:
    """A finished run of one problem, with each file that a run leaves beside its weights."""
    from kernelwright.recipe.resolve import resolve

    suite_folder(folder.parent / "suite")
    recipe = resolve(Path("quickstart"), []).recipe.model_dump(mode="json")
    recipe["data"]["train_suite"] = f"modules:{folder.parent / 'suite'}"
    recipe["data"]["held_out_suite"] = recipe["data"]["train_suite"]
    _say(folder / "recipe.resolved.yaml", recipe)
    RecordStore(folder).append(_record(stage, row) for stage in STAGES for row in range(4))
    for step in range(3):
        MetricsFile(folder).append("grpo", step, {"sampled/tokens": 9.0, "loss": 0.5, "new": "x"})
    _say(folder / "env.json", {"cpu": "x", "versions": {"torch": "2"}, "devices": []})
    _say(folder / "stages.json", {"eval_before": 1.0, "grpo": 2.0, "eval_after": 1.0})
    facts = RunFacts(
        model="m",
        dialect="cpp",
        target="cpu",
        suite=recipe["data"]["train_suite"],
        date=date(2026, 1, 1).isoformat(),
        seconds={"grpo": 2.0},
        categories={},
    )
    write_summary(folder, facts)


def _record(stage: str, row: int) -> Record:
    problem, right = the_problem(), row % 2 == 0
    checked = Check(rounds=(CaseCheck(case="a", passed=right, error=0.5 if right else 9.0),))
    timing = Timing(baseline_ns=(2_000,) * 3, candidate_ns=(1_000,) * 3) if right else None
    return Record(
        stage=stage,
        step=0,
        row=row,
        problem=problem.name,
        problem_key=problem.key,
        dialect="cpp",
        prompt="do",
        completion=f"It adds.\n```cpp\n{KERNEL}```\n",
        source=KERNEL,
        evaluation=Evaluation(
            verdict=Verdict.CORRECT if right else Verdict.WRONG,
            reason="ok" if right else "mismatch",
            check=checked,
            timing=timing,
            seed=7,
        ),
        reward=Reward(parts={"correct": float(right)}),
        versions={"torch": "2"},
    )


def rows_folder(folder: Path) -> None:
    """What `data build` leaves: right and wrong answers, and the funnel."""
    rows = RowFolder(folder)
    rows.open({"command": "data build", "seed": 0})
    rows.add([Done(id="a", rows=(_row(Verdict.CORRECT),), wrong=(_row(Verdict.WRONG),))])


def _row(verdict: Verdict) -> Row:
    right = verdict is Verdict.CORRECT
    return Row(
        name="relu_sums",
        code=CODE,
        dialect="cpp",
        reasoning="It adds.",
        kernel=KERNEL,
        source="own:a",
        licence="MIT",
        verdict=verdict,
        reason="ok" if right else "mismatch",
        speedup=2.0 if right else None,
    )


def suite_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.py").write_text(CODE, encoding="utf-8")


def own_rows(folder: Path) -> None:
    folder.mkdir(parents=True)
    rows = [Row(name=f"r{n}", code=CODE.replace("1024", str(n + 64))) for n in range(3)]
    (folder / "in.jsonl").write_text("".join(map(row_line, rows)), encoding="utf-8")


PUBLIC: dict[str, list[dict[str, Any]]] = {
    "kernelbook": [
        {"entry_point": "Model", "uuid": n, "licenses": ["MIT"], "python_code": CODE,
         "triton_code": KERNEL, "original_triton_python_code": KERNEL, "repo_name": "a/b",
         "original_triton_code": KERNEL, "module_name": "Model", "sha": "s", "repo_link": "l",
         "synthetic": False, "stars": 1}
        for n in range(3)
    ],
    "cuda-agent-ops": [
        {"ops": '["relu"]', "data_source": "s", "code": CODE} for _ in range(3)
    ],
    "drkernel-rl": [
        {"data_source": "s", "prompt": [{"role": "user", "content": CODE}], "ability": "k",
         "reward_model": {"ground_truth": CODE, "style": "rule"},
         "extra_info": {"entry_point": "Model", "uuid": str(n), "repo_name": "a/b"}}
        for n in range(3)
    ],
    "drkernel-coldstart": [
        {"uuid": str(n), "entry_point": "Model", "repo_name": "a/b", "module_name": "Model",
         "original_python_code": CODE, "final_speedup": 1.0, "num_rounds": 1, "best_round": 1,
         "timestamp": "t", "conversion_mode": "m", "enable_thinking": False,
         "messages": [{"role": "user", "content": CODE}, {"role": "assistant", "content": KERNEL}]}
        for n in range(3)
    ],
}  # fmt: skip


def public_rows(name: str, kind: str) -> Callable[[Path], None]:
    """A file of rows with the columns of a public set."""

    def make(folder: Path) -> None:
        folder.mkdir(parents=True)
        rows, file = PUBLIC[name], folder / f"in.{kind}"
        if kind == "parquet":
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        elif kind == "json":
            file.write_text(json.dumps(rows), encoding="utf-8")
        else:
            file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")

    return make


def answers_folder(folder: Path) -> None:
    """What `eval --write-only` leaves."""
    from kernelwright.envs.codec import to_json

    suite_folder(folder.parent / "suite")
    problem = the_problem()
    one = Written(
        row=0,
        problem="problem",
        problem_key=problem.key,
        dialect="cpp",
        prompt="do",
        completion=f"```cpp\n{KERNEL}```\n",
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answers.jsonl").write_text(to_json(one) + "\n", encoding="utf-8")
    question: dict[str, Any] = dict.fromkeys(ASKED, 1)
    question |= {"suite": f"modules:{folder.parent / 'suite'}", "more_dialects": []}
    question |= {"problems": [problem.key], "dialect": "cpp", "model": "m", "judged": False}
    _say(folder / "eval.json", {"question": question, "seconds": 1.0})


def recipe_folder(folder: Path) -> None:
    folder.mkdir(parents=True)
    text = "name: mine\nextends: quickstart\nseed: 3\ngrpo:\n  steps: 5\ndata:\n  dialect: cpp\n"
    (folder / "recipe.yaml").write_text(text, encoding="utf-8")


def judged_pair(folder: Path) -> None:
    suite_folder(folder)
    (folder / "answer.cpp").write_text(KERNEL, encoding="utf-8")


def search_folder(folder: Path) -> None:
    run_folder(folder)
    question = {"searched": "starter", "model": "m", "mode": {"name": "evolve"}}
    _say(folder / "search.json", {"question": question, "seconds": 1.0})


def knowledge_file(folder: Path) -> None:
    from kernelwright.rl.search.knowledge import Known, Situation, add_knowledge

    place = Situation(dialect="cpp", category="losses", limit="memory"), "fuse"
    for search in "ab":
        learned = {place: Known(asked=3, helped=1, saved=0.25)}
        add_knowledge(folder / "in.jsonl", search, learned)


def _say(file: Path, value: dict[str, Any]) -> None:
    import yaml

    file.parent.mkdir(parents=True, exist_ok=True)
    as_yaml = file.suffix == ".yaml"
    file.write_text(yaml.safe_dump(value) if as_yaml else json.dumps(value), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Reader:
    """A command: its input's maker, its words (IN is the input's folder, OUT a new place), and how
    many inputs of a hundred it gets."""

    make: Callable[[Path], None]
    words: str
    weight: float = 1.0
    limit_s: float = 30.0


OWN = "--no-judge --licence MIT"
SEARCH = "search starter:held_out --model no/model"
KNOWLEDGE = "--kinds bandit --knowledge IN/in.jsonl"
READERS = {
    "view --export": Reader(run_folder, "view IN --export OUT"),
    "report": Reader(run_folder, "report IN --out OUT"),
    "compare": Reader(run_folder, "compare IN:before IN:after"),
    "show": Reader(run_folder, "show IN grpo/0/1"),
    "reprice": Reader(run_folder, "reprice IN"),
    "replay": Reader(run_folder, "replay IN grpo/0/1", 0.15, 60),
    "eval --answers": Reader(
        answers_folder, "eval --answers IN --suite modules:IN/../suite --out OUT", 0.25, 60
    ),
    "judge": Reader(judged_pair, "judge IN/problem.py IN/answer.cpp", 0.25, 60),
    "data stats": Reader(rows_folder, "data stats IN"),
    "data show": Reader(rows_folder, "data show IN relu_sums"),
    "data diff": Reader(rows_folder, "data diff IN IN"),
    "data view": Reader(rows_folder, "data view IN --out OUT"),
    "data check": Reader(rows_folder, "data check IN", 0.15, 60),
    "data export": Reader(rows_folder, "data export IN OUT"),
    "data import rows": Reader(own_rows, f"data import IN/in.jsonl OUT {OWN}"),
    "data import folder": Reader(suite_folder, f"data import IN OUT {OWN}"),
    "data import run": Reader(run_folder, f"data import run:IN OUT {OWN}"),
    "recipes check": Reader(recipe_folder, "recipes check IN/recipe.yaml"),
    "train --dry-run": Reader(recipe_folder, "train IN/recipe.yaml --dry-run run_dir=OUT", 0.5, 60),
    "search --knowledge": Reader(knowledge_file, f"{SEARCH} {KNOWLEDGE} --out OUT", 0.5, 60),
    "search --resume": Reader(search_folder, f"{SEARCH} --resume --out IN", 0.5, 60),
    "suite check": Reader(suite_folder, "suite check modules:IN", 0.15, 60),
}
READERS |= {
    f"data import {name} ({kind})": Reader(
        public_rows(name, kind), f"data import {name}:IN/in.{kind} OUT --no-judge", 0.4
    )
    for name in PUBLIC
    for kind in ("jsonl", "json", "parquet")
}
