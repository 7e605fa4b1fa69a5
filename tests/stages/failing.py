"""A stage that fails after its first finding."""

from scripts.on_gpu_stages.context import StageContext


def run(context: StageContext) -> None:
    context.row("before", works=True)
    raise RuntimeError("it failed on purpose")
