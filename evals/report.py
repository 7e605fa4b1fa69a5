"""A run folder in, `report.html` out: one file that needs no network, no script, no server.

What a model wrote is untrusted text. It is escaped wherever it is printed, and the page's own
content policy forbids scripts and every outside resource.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from data.store import read_records
from envs.types import Dialect, Record, Speedup, Verdict
from evals.charts import Share, curve, interval_chart
from evals.metrics import relative, scores
from evals.showcase import held_out_exhibits, training_exhibits
from evals.summary import group, mean_reward, read_summary

KERNELS = 80
"""At most so many kernels stand in one page."""

LONGEST = 12_000
"""Characters of one text (source, log, completion, prompt); what is cut is said."""

LEXERS = {
    Dialect.CPP: "cpp",
    Dialect.CUDA: "cuda",
    Dialect.TRITON: "python",
    Dialect.INLINE: "python",
}
SIDE_NAMES = {
    "before": "before training",
    "after_sft": "after SFT",
    "after": "after training",
    "measured": "this model",
}


def write_report(run_dir: Path) -> Path:
    """Writes `report.html` from `summary.json` and the records of a run; gives its path."""
    summary = read_summary(run_dir)
    env_path = run_dir / "env.json"
    env = json.loads(env_path.read_text(encoding="utf-8")) if env_path.exists() else {}
    records, metrics = read_records(run_dir), read_metrics(run_dir)
    page = _template().render(
        name=run_dir.resolve().name,
        summary=summary,
        side_names=SIDE_NAMES,
        verdict_order=[verdict.value for verdict in Verdict],
        shares=_shares(summary["held_out"]),
        curves=_curves(records, metrics),
        held_out=held_out_exhibits(records, KERNELS // 2 if _trained(summary) else KERNELS),
        training=training_exhibits(records, KERNELS // 2),
        cheated=sum(one.get("cheated", 0) for one in summary["verdicts"].values()),
        environment=flat(env),
        against=_against(summary),
    )
    path = run_dir / "report.html"
    path.write_text(page, encoding="utf-8", errors="replace")
    return path


def read_metrics(run_dir: Path) -> list[dict[str, Any]]:
    """One dict per (stage, step) of `metrics.jsonl`: the last wins, a torn end is left out."""
    path = run_dir / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: dict[tuple[Any, Any], dict[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            if number < len(lines):
                raise
            continue
        found.setdefault((row["stage"], row["step"]), {}).update(row)
    return list(found.values())


def highlight(source: str, dialect: Dialect) -> Markup:
    """Escaped HTML with a class around each token; the page's stylesheet colours them."""
    from pygments import highlight as paint
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(LEXERS[dialect], stripnl=False)
    return Markup(paint(clip(source), lexer, HtmlFormatter(nowrap=True)))


def clip(text: str) -> str:
    """A text short enough for the page, with characters that would hide or turn it made visible."""
    cut = len(text) - LONGEST
    shown = text if cut <= 0 else f"{text[:LONGEST]}\n… {cut} more characters"
    return "".join(_visible(character) for character in shown)


def _visible(character: str) -> str:
    if character in "\n\t" or character.isprintable():
        return character
    return f"\\u{ord(character):04x}"


def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "speedup": speedup,
        "clock": clock,
        "clip": clip,
    }
    environment.globals["highlight"] = highlight
    return environment.get_template("report.html.j2")


def percent(share: float | None, digits: int = 1) -> str:
    """`0.5` → `50.0 %`; a dash where nothing is known."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def speedup(ratio: float | None) -> str:
    """`1.834` → `1.83×`; a dash where nothing is known."""
    return "–" if ratio is None else f"{ratio:.2f}×"


def clock(seconds: float | None) -> str:
    """`754` → `12 min 34 s`; a dash where nothing is known."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _against(summary: Mapping[str, Any]) -> Callable[[Record], Speedup | None]:
    """How fast a record's kernel is beside torch.compile; None where one of them was not timed."""
    compiled = {
        problem: Speedup(**one)
        for problem, one in summary.get("compile", {}).get("speedups", {}).items()
    }

    def against(record: Record) -> Speedup | None:
        timing, baseline = record.evaluation.timing, compiled.get(record.problem)
        return relative(timing.speedup, baseline) if timing and baseline else None

    return against


def _shares(held_out: Mapping[str, Any]) -> Markup | None:
    rows = [
        Share(
            label=SIDE_NAMES[name],
            value=side["correct_rate"],
            low=side["correct_rate_ci"][0],
            high=side["correct_rate_ci"][1],
            note=f"{side['correct']} of {side['n']} correct",
        )
        for name, side in held_out.items()
        if side["n"]
    ]
    return interval_chart(rows) if rows else None


def _curves(
    records: Sequence[Record], metrics: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Markup]]:
    """Title and chart: GRPO per step from the records, the loss of SFT from the metrics."""
    steps = group((one for one in records if one.stage == "grpo"), lambda one: one.step)
    rewards = [(step, mean_reward(rows)) for step, rows in sorted(steps.items())]
    shares = [
        (step, scores(one.evaluation for one in rows).correct_rate)
        for step, rows in sorted(steps.items())
    ]
    losses = [(row["step"], row.get("loss")) for row in metrics if row["stage"] == "sft"]
    charts = (
        ("GRPO: mean reward of a step", rewards, None),
        ("GRPO: share of correct kernels", shares, 1.0),
        ("SFT: loss", losses, None),
    )
    return [
        (title, curve(known, title, top))
        for title, points, top in charts
        if (known := [(x, y) for x, y in points if y is not None and math.isfinite(y)])
    ]


def _trained(summary: Mapping[str, Any]) -> bool:
    return "grpo" in summary["verdicts"]


def flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Leaves of nested JSON with dotted names, for a table.

    >>> flat({"cpu": "Zen 4", "versions": {"torch": "2.13"}})
    [('cpu', 'Zen 4'), ('versions.torch', '2.13')]
    """
    if isinstance(value, dict):
        rows = (flat(one, f"{name}.{key}" if name else key) for key, one in value.items())
        return [leaf for row in rows for leaf in row]
    return [(name, "–" if value is None else str(value))]
