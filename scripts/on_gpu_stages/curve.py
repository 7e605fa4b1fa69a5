"""Stage `curve`: a learning curve. GRPO of the embedded model in Triton, from an adapter that was
brought, hundreds of answers a step, as many steps as its minutes hold; the held-out problems before
and after; tokens a second, seconds by phase, memory by process."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernelwright.envs.system.cores import usable_cores
from kernelwright.rl.models.adapter_folder import find_adapter
from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.smi import Peaks, watched
from scripts.on_gpu_stages.stand_in import without_gpu
from scripts.on_gpu_stages.training import Fit, launched
from scripts.on_gpu_stages.verdicts import pace_of
from scripts.on_gpu_stages.worker import ROOT

RECIPE = ROOT / "recipes" / "quickstart-triton.yaml"
KEPT = ("records.jsonl", "metrics.jsonl", "summary.json", "report.html")
DEVICE_ENOUGH = 90.0
"""Answers a minute: where the judge on the device does fewer, answers are judged on the cores, as
on a machine without a GPU: else a step of hundreds would take longer than the stage."""
GROUP, TOKENS, HELD_OUT, ROWS, MOST_STEPS = 16, 560, 48, 512, 400
REHEARSED_TOKENS = 160
LEARNING_RATE = 2e-4
"""Twice the recipe's: a step has many times its answers, and there are few of them."""
SPLITS = (("sft", "sft"), ("train", "rl"), ("held_out", "held_out"))
"""The recipe's suites. A timed answer at a GPU's sizes takes half a minute of a core, and a step of
hundreds longer than the stage."""
SPARE_CORES = 2
"""Left to who samples, which starts its kernels from Python."""
END_S, LOOK_S, COPY_S = 6.0, 0.5, 10.0
PHASES = {"prompt": "seconds/prompt", "generate": "seconds/generate", "judge": "seconds/judge"}


def run(context: StageContext) -> None:
    without_gpu(context)
    pace = pace_of(context)
    on_cores = not context.rehearsal and (pace or 0.0) < DEVICE_ENOUGH
    where = "cores" if on_cores else "device"
    context.row(
        "plan", judge=where, triton_a_minute=pace, adapter="brought" if adapter(context) else "new"
    )
    with tempfile.TemporaryDirectory() as folder:
        run_dir, memory = Path(folder) / "run", context.out / "memory.csv"
        memory.unlink(missing_ok=True)
        fit = Fit(
            on_cores=on_cores,
            rows=context.share(ROWS),
            ends=time.monotonic() + context.left_s() - END_S,
            step_s=min(40.0, context.left_s() / 8),
            fewest=context.share(32),
            most=context.share(ROWS),
        )
        with watched(memory) as peaks:
            status = trained(context, words(context, run_dir, on_cores=on_cores), fit, run_dir)
        context.row("run", status=status, stages=stages(run_dir))
        tell(context, run_dir, peaks)
        if not of_stage(run_dir, "eval_after"):
            raise SystemExit("the run ended before it was measured again: there is no curve")


def adapter(context: StageContext) -> Path | None:
    """The one that was brought."""
    folder = context.carried / "adapter"
    return folder if (folder / "adapter_config.json").exists() else None


def words(context: StageContext, run_dir: Path, *, on_cores: bool) -> list[str]:
    """The recipe and what is changed of it."""
    group, brought = max(2, context.share(GROUP)), adapter(context)
    timed = not (on_cores or context.rehearsal)
    tokens = REHEARSED_TOKENS if context.rehearsal else TOKENS
    changed: dict[str, Any] = {
        "name": "gpu",
        "run_dir": run_dir,
        "stages": "[grpo,eval]",
        "grpo.steps": MOST_STEPS,
        "grpo.group_size": group,
        "grpo.groups_per_step": 2,
        "grpo.oversampled_groups": 0,
        "grpo.learning_rate": LEARNING_RATE,
        "grpo.trainer.warmup_steps": 1,
        "grpo.micro_batch_size": 2 * group,
        "grpo.max_completion_length": tokens,
        "judge.timed": str(timed).lower(),
        "eval.before_problems": context.share(HELD_OUT),
        "eval.problems": context.share(HELD_OUT),
        "eval.max_new_tokens": tokens,
    }
    if timed:
        changed |= {f"data.{name}_suite": f"starter:{split}?sizes=cpu" for name, split in SPLITS}
    if on_cores:
        changed["judge.workers"] = max(1, len(usable_cores()) - SPARE_CORES)
    if found := find_adapter(str(brought)) if brought else None:
        changed |= {"model.adapter": found.folder, "model.quantization": found.quantization}
    return [str(RECIPE), *(f"{name}={value}" for name, value in changed.items())]


def trained(context: StageContext, given: list[str], fit: Fit, run_dir: Path) -> int | str:
    """Trains; what there is of its files is copied again and again. Its status, or `cut`."""
    command, environment = launched(given, fit)
    process, copied = subprocess.Popen(command, cwd=ROOT, env=environment), time.monotonic()
    while process.poll() is None and context.left_s() > END_S - 2:
        time.sleep(LOOK_S)
        if time.monotonic() - copied > COPY_S:
            keep(run_dir, context.out)
            copied = time.monotonic()
    status: int | str = "cut" if process.poll() is None else process.returncode
    process.kill()
    process.wait()
    keep(run_dir, context.out)
    return status


def keep(run_dir: Path, out: Path) -> None:
    for name in KEPT:
        with suppress(OSError):
            shutil.copy(run_dir / name, out / name)


def stages(run_dir: Path) -> str:
    with suppress(OSError, ValueError):
        known = json.loads((run_dir / "stages.json").read_text())
        return " ".join(f"{name}:{seconds:.0f}s" for name, seconds in known.items())
    return "none"


def tell(context: StageContext, run_dir: Path, peaks: Peaks) -> None:
    records = lines(run_dir / "records.jsonl")
    for stage in ("eval_before", "eval_after"):
        context.row(stage, **verdicts(of_stage(run_dir, stage)))
    for row in lines(run_dir / "metrics.jsonl"):
        if row.get("stage") == "grpo" and "seconds/train" in row:
            some = [r for r in records if r["stage"] == "grpo" and r["step"] == row["step"] - 1]
            context.row(f"step_{row['step']}", **step_facts(row, some))
    context.row("peak_mib", **peaks.most)


def of_stage(run_dir: Path, stage: str) -> list[dict[str, Any]]:
    return [one for one in lines(run_dir / "records.jsonl") if one["stage"] == stage]


def lines(path: Path) -> list[dict[str, Any]]:
    """The whole ones: the last may have been cut."""
    found = []
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
    return found


def verdicts(records: list[dict[str, Any]]) -> dict[str, Any]:
    """How many are correct, of how many, how many have a speed, and what the others are."""
    found = Counter(one["evaluation"]["verdict"] for one in records)
    timed = sum(bool(one["evaluation"].get("timing")) for one in records)
    others = {name: count for name, count in found.items() if name != "correct"}
    return {"correct": found["correct"], "of": len(records), "timed": timed, **others}


def step_facts(row: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, Any]:
    """A step's verdicts, seconds by phase, and tokens a second."""
    seconds = {name: round(row.get(key, 0.0), 1) for name, key in PHASES.items()}
    tokens = row.get("sampled/tokens", 0.0) * len(records)
    known = verdicts(records)
    return {
        "correct": known["correct"],
        "of": known["of"],
        "timed": known["timed"],
        **seconds,
        "train": round(row["seconds/train"], 1),
        "tokens_s": round(tokens / max(0.1, row.get("seconds/generate", 0.0))),
        "truncated": round(row.get("sampled/truncated", 0.0), 2),
    }
