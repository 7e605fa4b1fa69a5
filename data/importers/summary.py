"""What an import has come to, in one screen."""

from __future__ import annotations

from collections import Counter

from kernelwright.data.importers.import_rows import UNJUDGED
from kernelwright.data.importers.sized import ONE_SIZE
from kernelwright.data.suites.row_folder import FUNNEL, KEPT, WRONG, RowFolder
from kernelwright.envs.types import Verdict


def summary(output: RowFolder) -> str:
    """Counts of rows, of items that were left out by reason, and of wrong answers."""
    funnel, rows, wrong = output.funnel(), output.rows(), output.wrong()
    kept = sum(line["result"] == KEPT for line in funnel)
    answers = [row for row in rows if row.kernel is not None]
    right = sum(row.verdict is Verdict.CORRECT for row in answers)
    said = [f"{right} correct answers"]
    if unjudged := len(answers) - right:
        said.append(f"{unjudged} unjudged ones")
    bare = {row.problem.key for row in rows} - {row.problem.key for row in answers}
    said.append(f"{len(bare)} problems without an answer")
    lines = [f"{output.folder}: {kept} of {len(funnel)} items kept: {', '.join(said)}"]
    one_size = len({row.code for row in rows if row.note == ONE_SIZE})
    if one_size:
        lines.append(f"  {one_size} problems have one size: kernels made for it alone pass")
    lost = [line for line in funnel if line["result"] != KEPT]
    for reason, count in Counter(line["result"] for line in lost).most_common():
        first = next(line for line in lost if line["result"] == reason)
        lines.append(f"  left out, {reason}: {count} ({first['id']}: {first['why'][:120]})")
    silent = Counter(one for line in funnel for one in line.get(UNJUDGED, ()))
    if silent:
        told = ", ".join(f"{count} {what}" for what, count in silent.most_common())
        lines.append(f"  answers that stay without a verdict here: {told}")
    if wrong:
        reasons = Counter(f"{row.verdict} ({row.reason})" for row in wrong).most_common()
        told = ", ".join(f"{count} {reason}" for reason, count in reasons)
        lines.append(f"  wrong answers: {told}, in {WRONG}")
    if rows:
        key = "data.sft_suite" if answers else "data.train_suite"
        lines.append(f"  to train on it: {key}=rows:{output.folder}")
    lines.append(f"  what came of every item: {output.folder / FUNNEL}")
    return "\n".join(lines)
