"""Stage `tiny`: training itself on the device, with a model of random weights: NF4, SFT, GRPO in
Triton, a run that is killed in GRPO and goes on, beside one that is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.smi import watched
from scripts.on_gpu_stages.stand_in import without_gpu
from scripts.on_gpu_stages.training import Fit, launched
from scripts.on_gpu_stages.worker import ROOT

RECIPE = ROOT / "tests" / "fixtures" / "recipes" / "tiny.yaml"
PAID_BY_HASH = ROOT / "tests" / "fixtures" / "paid_by_hash"
WORDS = (
    *("data.dialect=triton", "data.max_triples=2", "judge.timed=false", "eval.timed=false"),
    *("sft.epochs=2", "sft.batch_size=2", "sft.micro_batch_size=2"),
    *("grpo.steps=2", "grpo.group_size=4", "grpo.groups_per_step=2", "grpo.micro_batch_size=8"),
    *("eval.problems=1", "model.quantization=nf4"),
)
LOOK_S, END_S = 0.02, 5.0


def run(context: StageContext) -> None:
    without_gpu(context)
    with tempfile.TemporaryDirectory() as folder, watched() as peaks:
        work = Path(folder)
        model = saved_model(work / "model")
        fit = Fit()  # one of the two is probed: the other is to be killed and to go on in time
        whole = begun(work, "whole", model, Fit(probed=not context.rehearsal))
        cut = begun(work, "cut", model, fit)
        killed = kill_in_grpo(context, cut, work / "cut")
        context.row("killed", step=killed, status=ended(context, cut))
        resumed = begun(work, "cut", model, fit, "--resume")
        context.row("resumed", status=ended(context, resumed), stages=stages(work / "cut"))
        context.row("whole", status=ended(context, whole), stages=stages(work / "whole"))
        tell_last_words(work)
        context.row("equal", **compared(work / "whole", work / "cut"))
        context.row("metrics", **last_metrics(work / "whole"))
    context.row("peak_mib", **peaks.most)


def saved_model(folder: Path) -> Path:
    """In a process of its own: this one needs no torch."""
    program = "import sys; from pathlib import Path; from tests.tiny_model import save_tiny"
    words = [sys.executable, "-c", f"{program}; save_tiny(Path(sys.argv[1]))", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True)
    return folder


def begun(work: Path, name: str, model: Path, fit: Fit, *more: str) -> subprocess.Popen[bytes]:
    """A run that is paid by the hash of its answers: a model of random weights writes no kernel."""
    words = [str(RECIPE), f"model.name={model}", f"run_dir={work / name}", *WORDS, *more]
    command, environment = launched(words, fit)
    paths = [PAID_BY_HASH, ROOT / "src", ROOT, os.environ.get("PYTHONPATH", "")]
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, paths)), "TRAINED_WEIGHTS": ""}
    with (work / f"{name}.log").open("ab") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


def kill_in_grpo(context: StageContext, process: subprocess.Popen[bytes], run_dir: Path) -> str:
    """Ends the run's processes once a step of GRPO was saved; says where it was."""
    first = run_dir / "checkpoints" / "grpo" / "checkpoint-1" / "trainer_state.json"
    while process.poll() is None and context.left_s() > END_S:
        if first.exists():
            for child in reversed(below(process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            return "after step 1"
        time.sleep(LOOK_S)
    return "not reached"


def below(process_id: int) -> list[int]:
    """The process and what it started, its children last; without a judge's workers, which end by
    themselves."""
    found = [process_id]
    with suppress(OSError):
        text = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
        for child in map(int, text.split()):
            if b"envs.workers" not in Path(f"/proc/{child}/cmdline").read_bytes():
                found += below(child)
    return found


def ended(context: StageContext, process: subprocess.Popen[bytes]) -> int | str:
    try:
        return process.wait(max(0.1, context.left_s() - END_S))
    except subprocess.TimeoutExpired:
        process.kill()
        return "cut"


def stages(run_dir: Path) -> str:
    with suppress(OSError, ValueError):
        return " ".join(
            f"{name}:{seconds:.0f}"
            for name, seconds in json.loads((run_dir / "stages.json").read_text()).items()
        )
    return "none"


def tell_last_words(work: Path) -> None:
    for log in sorted(work.glob("*.log")):
        print(f"--- {log.name}\n{log.read_text(errors='replace')[-2500:]}", flush=True)


def compared(one: Path, other: Path) -> dict[str, Any]:
    """Whether both runs have the same weights, and how far apart they are at most."""
    program = (
        "import json, sys\nfrom safetensors.numpy import load_file\n"
        "a, b = (load_file(one) for one in sys.argv[1:])\n"
        "far = max(float(abs(a[name] - b[name]).max()) for name in a)\n"
        "moved = max(float(abs(a[name]).max()) for name in a if 'lora_B' in name)\n"
        "print(json.dumps({'equal': far == 0, 'farthest': far, 'largest_b': moved}))"
    )
    names = [str(it / "checkpoints/grpo-final/adapter_model.safetensors") for it in (one, other)]
    done = subprocess.run(
        [sys.executable, "-c", program, *names], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1][:90]}
    return dict(json.loads(done.stdout))


def last_metrics(run_dir: Path) -> dict[str, float]:
    """Seconds of the last step's phases, and its loss."""
    with suppress(OSError, ValueError, IndexError):
        lines = (run_dir / "metrics.jsonl").read_text().splitlines()
        row = [one for one in map(json.loads, lines) if one["stage"] == "grpo"][-1]
        wanted = ("seconds/", "loss", "grad_norm", "sampled/reward")
        return {name: round(it, 3) for name, it in row.items() if name.startswith(wanted)}
    return {}
