"""A stage that says two things and ends well."""

from scripts.on_gpu_stages.context import StageContext


def run(context: StageContext) -> None:
    context.row("first", number=1.23456789, text="two\nlines")
    context.row("second", left_s=context.left_s(), share=context.share(80))
    (context.out / "good.csv").write_text("1\n")
