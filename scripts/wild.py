"""Judges honest answers that nobody wrote for the judge (data/answers/wild).

Prints, for each dialect, how many are judged `correct`, and why the rest are not. Each verdict is
appended to `--out` when it is there, so that a run which is stopped goes on where it was.

The part `packages` is kernels of installed packages, wrapped: it needs `pip install liger-kernel`.

    python -m scripts.wild [--part open] [--kind inline_cuda] [--most N] [--only NAME] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from rich.progress import track

from kernelwright.data.suites.kernelbench import load_problem
from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Problem, Verdict

FOLDER = Path(__file__).parents[1] / "data" / "answers" / "wild"
PARTS = ("open", "blind", "packages")
DIALECTS = {"triton": "triton", "inline_cuda": "inline", "inline_cpp": "inline"}
BATCH = 8
Row = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, default="open")
    parser.add_argument("--kind", choices=sorted(DIALECTS), action="append")
    parser.add_argument("--most", type=int, help="of each kind, spread evenly")
    parser.add_argument("--only", help="part of the answers' names")
    parser.add_argument("--out", type=Path, help="rows of JSON; those that are there stay")
    parser.add_argument("--torch-allowed", action="store_true", help="PyTorch may compute a part")
    options = parser.parse_args()
    if options.part == "packages" and find_spec("liger_kernel") is None:
        parser.error("--part packages judges Liger's kernels: pip install liger-kernel")
    rows = _kept(options.out)
    paths = [
        path
        for kind in options.kind or sorted(DIALECTS)
        for path in _answers(FOLDER / options.part / kind, options.most)
        if (options.only or "") in path.name
    ]
    left = [path for path in paths if _name(path) not in rows]
    with Judge() as judge:
        for first in track(range(0, len(left), BATCH), description="judging"):
            batch = left[first : first + BATCH]
            jobs = [_job(path, torch_allowed=options.torch_allowed) for path in batch]
            found = judge.evaluate_many(jobs, timed=False)
            for path, one in zip(batch, found, strict=True):
                row = {"answer": _name(path), "verdict": one.verdict, "reason": one.reason}
                rows[_name(path)] = {**row, "log": one.log[-2000:]}
                if options.out:
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(rows[_name(path)]) + "\n")
    chosen = [rows[_name(path)] for path in paths]
    # Nobody looks at what became of one of the blind part's.
    show(chosen, names=options.part != "blind")


def show(rows: list[Row], *, names: bool) -> None:
    """A line for each kind, and one for each reason that is not `ok`."""
    for kind in sorted({row["answer"].split("/")[0] for row in rows}):
        some = [row for row in rows if row["answer"].startswith(f"{kind}/")]
        right = sum(row["verdict"] == Verdict.CORRECT for row in some)
        print(f"{kind}: {right} of {len(some)} correct ({right / len(some):.1%})")
        others = Counter(f"{row['verdict']} {row['reason']}" for row in some)
        for why, count in others.most_common():
            if why != "correct ok":
                who = [row["answer"] for row in some if why == f"{row['verdict']} {row['reason']}"]
                print(f"  {count:3}  {why}  {' '.join(who[:4]) if names else ''}".rstrip())


def _answers(folder: Path, most: int | None) -> Iterator[Path]:
    found = sorted(folder.glob("*.py"))
    count = min(most or len(found), len(found))
    yield from (found[i * len(found) // count] for i in range(count))


def _job(path: Path, *, torch_allowed: bool) -> tuple[Problem, Candidate]:
    problem = load_problem(path.parents[1] / "problems" / f"{path.stem.partition('__')[0]}.py")
    source = path.read_text(encoding="utf-8")
    dialect = DIALECTS[path.parent.name]
    return problem, Candidate(
        problem_key=problem.key, dialect=dialect, source=source, torch_allowed=torch_allowed
    )


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _kept(path: Path | None) -> dict[str, Row]:
    if path is None or not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {row["answer"]: row for row in map(json.loads, lines)}


if __name__ == "__main__":
    main()
