"""A stage that never ends, with a process in a group of its own that does not either."""

import subprocess
import time

from scripts.on_gpu_stages.context import StageContext


def run(context: StageContext) -> None:
    child = subprocess.Popen(["sleep", "1000"], process_group=0)
    context.row("started", child=child.pid)
    time.sleep(1000)
