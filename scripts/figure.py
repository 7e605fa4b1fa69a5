"""Draws docs/quickstart.svg from the rows of docs/measured/quickstart.jsonl.

python -m scripts.figure
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.evals.numbers.metrics import wilson

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROWS, FIGURE = DOCS / "measured" / "quickstart.jsonl", DOCS / "quickstart.svg"
TITLE = "Held-out kernels that are correct, before and after the quickstart"
LEFT, WIDTH, ROW_HEIGHT, TOP = 150, 420, 44, 44
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1f2328}.dim{fill:#656d76;font-size:12px}"
    ".track{fill:#d0d7de}.bar{fill:#2da44e}.whisker{stroke:#1f2328;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#8d96a0}"
    ".track{fill:#30363d}.whisker{stroke:#e6edf3}}"
)


def figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """A bar for each recipe, with the 95 % interval of its share."""
    height = TOP + ROW_HEIGHT * len(rows) + 24
    bars = [part for number, row in enumerate(rows) for part in _bar(number, row)]
    scale = [
        f'<text class="dim" x="{LEFT + WIDTH * share // 100}" y="{height - 8}" '
        f'text-anchor="middle">{share} %</text>'
        for share in (0, 25, 50, 75, 100)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 {height}" width="740" '
        f'role="img" aria-label="{TITLE}"><style>{STYLE}</style>'
    )
    title = f'<text x="8" y="22">{TITLE}</text>'
    return "\n".join([head, title, *bars, *scale, "</svg>"]) + "\n"


def _bar(number: int, row: Mapping[str, Any]) -> Iterable[str]:
    (solved, asked), (before, tried) = row["after"], row["before"]
    low, high = wilson(solved, asked)
    y = TOP + ROW_HEIGHT * number
    right = LEFT + WIDTH
    yield f'<text x="8" y="{y + 17}">{row["language"]}</text>'
    yield f'<text class="dim" x="62" y="{y + 17}">{before} of {tried} before</text>'
    yield f'<rect class="track" x="{LEFT}" y="{y}" width="{WIDTH}" height="24" rx="3"/>'
    width = WIDTH * solved / asked
    yield f'<rect class="bar" x="{LEFT}" y="{y}" width="{width:.0f}" height="24" rx="3"/>'
    x1, x2 = LEFT + WIDTH * low, LEFT + WIDTH * high
    yield f'<line class="whisker" x1="{x1:.0f}" y1="{y + 12}" x2="{x2:.0f}" y2="{y + 12}"/>'
    text = f"{100 * solved / asked:.0f} % of {asked}, {row['minutes']} minutes"
    yield f'<text class="dim" x="{right + 8}" y="{y + 17}">{text}</text>'


def read_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    FIGURE.write_text(figure(read_rows()), encoding="utf-8")
