"""A run folder in, `report.html` out: one file that needs no network, no script, no server.

What a model wrote is untrusted text. It is escaped wherever it is printed, and the page's own
content policy forbids scripts and every outside resource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernelwright.data.runs.folder import Folder
from kernelwright.data.runs.metrics import MetricsFile
from kernelwright.data.runs.stages import EXAMPLES, NO_ANSWERS, STAGES
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.plan.counters import Facts, counted
from kernelwright.envs.referee.profile import profiled
from kernelwright.envs.system.paths import write_whole
from kernelwright.envs.types import CaseCheck, Dialect, Evaluation, Record, Speedup, Verdict
from kernelwright.evals.numbers.against_given import given_of, over_given, words_of_outcomes
from kernelwright.evals.numbers.compiled_baselines import compiler_named
from kernelwright.evals.numbers.metrics import Interval, relative, timed_at
from kernelwright.evals.numbers.summary import SIDE_NAMES, float32
from kernelwright.evals.numbers.unfinished import Evidence, evidence
from kernelwright.evals.page.curves import health_charts, learning_charts
from kernelwright.evals.page.problem_table import filters, problem_rows
from kernelwright.evals.page.showcase import held_out_pairs, training_pairs

HELD_OUT_KERNELS = 640
TRAINING_KERNELS = 40
"""Most kernels in one page."""

LONGEST = 12_000
"""Characters of one text (source, log, completion, prompt); what is cut is said."""

FAILED_ROUNDS = 4
"""Most failed rounds that are shown of a kernel, each of another case."""

Shown = Callable[[float | None], str]
STAGE_NAMES = {name: row.title for name, row in STAGES.items() if row.title}


def write_report(run_dir: Path) -> Path:
    """Writes `report.html` from a run's records, finished or not; gives its path.

    Raises ValueError where the folder is no run.
    """
    return write_page(run_dir, evidence(run_dir))


def write_page(run_dir: Path, found: Evidence, path: Path | None = None) -> Path:
    """Writes the page of what was found of a run, to its `report.html` unless told; gives its
    path."""
    page = page_template("report.html.j2").render(
        name=run_dir.resolve().name,
        **_numbers(found),
        **_charts(run_dir, found),
        **_kernels(found),
        environment=flat(_environment(run_dir) | _devices(found.summary)),
        against=_against(found),
    )
    path = path or run_dir / "report.html"
    write_whole(path, page)
    return path


def _numbers(found: Evidence) -> dict[str, Any]:
    summary = found.summary
    verdicts = summary["verdicts"].items()
    written = {stage: found for stage, found in verdicts if stage not in NO_ANSWERS}
    sides = summary["held_out"]
    timed = [name for name, side in sides.items() if side["geomean_speedup"] is not None]
    return {
        "summary": summary,
        "finished": found.finished,
        "damage": found.damage,
        "side_names": SIDE_NAMES,
        "stage_names": STAGE_NAMES,
        "verdict_order": [verdict.value for verdict in Verdict],
        "written": sum(sum(one.values()) for one in written.values()),
        "examples": sum(summary["verdicts"].get(EXAMPLES, {}).values()),
        "cheated": sum(one.get("cheated", 0) for one in written.values()),
        "timed": timed[-1] if timed else None,
    }


def _charts(run_dir: Path, found: Evidence) -> dict[str, Any]:
    metrics = MetricsFile(run_dir).steps()
    return {"learning": learning_charts(found.records, metrics), "health": health_charts(metrics)}


def _kernels(found: Evidence) -> dict[str, Any]:
    rows = problem_rows(found.records, found.summary.get("problem_categories", {}))
    place = {one.key: index for index, one in enumerate(rows)}
    held_out = sorted(
        held_out_pairs(found.records, HELD_OUT_KERNELS), key=lambda one: place[one.key]
    )
    return {
        "problems": rows,
        "rows": {one.key: one for one in rows},
        "filters": filters(rows),
        "held_out": held_out,
        "shown": {one.key for one in held_out},
        "training": training_pairs(found.records, TRAINING_KERNELS),
    }


def failed_rounds(evaluation: Evaluation) -> list[CaseCheck]:
    """The first failed round of each case, at most `FAILED_ROUNDS` of them."""
    rounds = evaluation.check.rounds if evaluation.check else ()
    failed = {one.case: one for one in reversed(rounds) if not one.passed}
    return [one for one in rounds if failed.get(one.case) is one][:FAILED_ROUNDS]


def _environment(run_dir: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        return Folder(run_dir).environment() or {}
    return {}


def _devices(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The GPUs that judged, and how they were set; nothing where none did, or in an older run."""
    return {"devices": summary["devices"]} if "devices" in summary else {}


def highlight(source: str, dialect: Dialect) -> Markup:
    """Escaped HTML with a class around each token; the page's stylesheet colours them."""
    from pygments import highlight as paint
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    language = DIALECTS[dialect].lexer if dialect in DIALECTS else "text"  # a later version's
    lexer = get_lexer_by_name(language, stripnl=False)
    return Markup(paint(clip(source), lexer, HtmlFormatter(nowrap=True)))


def clip(text: str) -> str:
    """A text short enough for the page, with characters that would hide or turn it made visible."""
    cut = len(text) - LONGEST
    shown = text if cut <= 0 else f"{text[:LONGEST]}\n… {cut} more characters"
    if shown.replace("\n", " ").replace("\t", " ").isprintable():
        return shown
    return "".join(_visible(character) for character in shown)


def breakable(text: str) -> Markup:
    """A name that may be broken after an underscore where space is short.

    >>> breakable("row_<b>")
    Markup('row_<wbr>&lt;b&gt;')
    """
    return Markup("_<wbr>").join(clip(text).split("_"))


def _visible(character: str) -> str:
    if character in "\n\t" or character.isprintable():
        return character
    return f"\\u{ord(character):04x}"


def page_template(name: str) -> Any:
    """A template of a page, with the filters that print figures and untrusted text."""
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
        "sure": sure,
        "over_the_least_time": over_the_least_time,
        "drawn_over": drawn_over,
        "clock": clock,
        "clip": clip,
        "breakable": breakable,
        "float32": float32,
    }
    environment.globals |= {
        "highlight": highlight,
        "failed_rounds": failed_rounds,
        "counts": counts,
        "compiler_named": compiler_named,
        "words_of_outcomes": words_of_outcomes,
    }
    return environment.get_template(name)


def counts(facts: Facts) -> list[str]:
    """Lines about what was counted in a kernel, on a CPU and on a GPU."""
    return [line for line in (counted(facts), profiled(facts)) if line]


def percent(share: float | None, digits: int = 1) -> str:
    """`0.5` → `50.0 %`; a dash where nothing is known."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def speedup(ratio: float | None) -> str:
    """`1.834` → `1.83×`; a dash where nothing is known."""
    return "–" if ratio is None else f"{ratio:.2f}×"


def sure(value: float | None, interval: Interval | None, said: Shown = percent) -> str:
    """A figure with its 95 % interval, where there is one.

    >>> sure(0.5, (0.25, 0.75)), sure(1.5, None, speedup)
    ('50.0 % [25.0 %, 75.0 %]', '1.50×')
    """
    if value is None or interval is None:
        return said(value)
    return f"{said(value)} [{said(interval[0])}, {said(interval[1])}]"


def drawn_over(side: Mapping[str, Any], k: str) -> str:
    """Over what a side's pass@k is: problems; of several languages each problem in each of them.

    >>> drawn_over({"problems": 2, "pass_at_k_problems": {"4": 2}}, "4")
    '2 problems'
    >>> drawn_over({"problems": 2, "pass_at_k_problems": {"4": 3}}, "4")
    '3 pairs of problem and language'
    """
    count = side["pass_at_k_problems"][k]
    several = max(side["pass_at_k_problems"].values()) > side["problems"]
    return f"{count} {'pairs of problem and language' if several else 'problems'}"


def over_the_least_time(side: Mapping[str, Any]) -> str:
    """How many times the least time for their work a side's correct kernels take, by its
    `speed_of_light`, which is known."""
    light, interval = side["speed_of_light"], side.get("speed_of_light_ci")
    return sure(1 / light, interval and (1 / interval[1], 1 / interval[0]), speedup)


def clock(seconds: float | None) -> str:
    """`754` → `12 min 34 s`; a dash where nothing is known."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _against(shown: Evidence) -> Callable[[Record], dict[str, Speedup]]:
    """How fast a record's kernel is beside torch.compile and its given kernel; without those of
    which one was not timed, or not in the same place."""
    compiled, given = _against_compile(shown.summary), given_of(shown.records)

    def against(record: Record) -> dict[str, Speedup]:
        first = given.get(record.problem_key)
        found = {
            "torch.compile": compiled(record),
            "the given kernel": over_given(record, first) if first else None,
        }
        return {name: one for name, one in found.items() if one}

    return against


def _against_compile(summary: Mapping[str, Any]) -> Callable[[Record], Speedup | None]:
    found = summary.get("compile", {})
    compiled = {problem: Speedup(**one) for problem, one in found.get("speedups", {}).items()}
    where = found.get("environments", {})

    def against(record: Record) -> Speedup | None:
        evaluation, baseline = record.evaluation, compiled.get(record.problem)
        same = timed_at(evaluation, where.get(record.problem, ""))
        if baseline is None or evaluation.timing is None or not same:
            return None
        return relative(evaluation.timing.speedup, baseline)

    return against


def flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Leaves of nested JSON with dotted names, for a table.

    >>> flat({"cpu": "Zen 4", "versions": {"torch": "2.13"}})
    [('cpu', 'Zen 4'), ('versions.torch', '2.13')]
    """
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        rows = (flat(one, f"{name}.{key}" if name else key) for key, one in value.items())
        return [leaf for row in rows for leaf in row]
    return [(name, "–" if value is None else str(value))]
