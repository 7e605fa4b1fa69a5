"""Numbers in, inline SVG out: no script, no outside file. Colours come from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, ROW = 640, 46
CURVE_WIDTH, CURVE_HEIGHT = 400, 150
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 6, 24

TRACK = Markup('<rect class="track" x="{}" y="{}" width="{}" height="14" rx="3"/>')
BAR = Markup('<rect class="bar b{}" x="{}" y="{}" width="{:.1f}" height="14" rx="3"/>')
DOT = Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.5"><title>{}</title></circle>')


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One row of an interval chart: a share of 1 with its interval."""

    label: str
    value: float
    low: float
    high: float
    note: str


def interval_chart(rows: Sequence[Share]) -> Markup:
    """A bar per share from 0 to 100 %, its interval drawn across the bar's end."""
    height = TOP + ROW * len(rows) + BOTTOM
    left, right = 4, WIDTH - RIGHT - 22

    def x(share: float) -> float:
        return left + share * (right - left)

    parts = [
        _line(x(tick / 4), TOP, x(tick / 4), height - BOTTOM, "grid")
        + _text(x(tick / 4), height - 8, f"{25 * tick} %", "tick", "middle" if tick else "start")
        for tick in range(5)
    ]
    for index, row in enumerate(rows):
        top = TOP + ROW * index
        middle = top + 31
        parts += [
            _text(left, top + 14, row.label, "label"),
            _text(right, top + 14, row.note, "tick", "end"),
            TRACK.format(left, top + 24, right - left),
            BAR.format(index, left, top + 24, max(2.0, x(row.value) - left)),
            _line(x(row.low), middle, x(row.high), middle, "whisker"),
            _line(x(row.low), middle - 5, x(row.low), middle + 5, "whisker"),
            _line(x(row.high), middle - 5, x(row.high), middle + 5, "whisker"),
        ]
    return _svg(WIDTH, height, parts, "Shares with their 95 % intervals")


def curve(points: Sequence[tuple[float, float]], title: str, top: float | None = None) -> Markup:
    """A line chart: every point faint, their moving mean in front. `top` fixes the upper end."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    ticks = nice_ticks(min(0.0, *ys), max(*ys, 1e-9) if top is None else top)
    low, high, first, last = ticks[0], ticks[-1], min(xs), max(xs)

    def place(x: float, y: float) -> tuple[float, float]:
        along = (x - first) / (last - first) if last > first else 0.5
        up = (min(y, high) - low) / (high - low)
        return LEFT + along * (CURVE_WIDTH - LEFT - RIGHT), TOP + (1 - up) * CURVE_HEIGHT

    parts = []
    for tick in ticks:
        _, y = place(first, tick)
        parts += [
            _line(LEFT, y, CURVE_WIDTH - RIGHT, y, "grid"),
            _text(LEFT - 6, y + 4, f"{tick:g}", "tick", "end"),
        ]
    for step in sorted({first, last}):
        anchor = "middle" if first == last else "start" if step == first else "end"
        parts.append(
            _text(place(step, low)[0], TOP + CURVE_HEIGHT + 17, f"step {step:g}", "tick", anchor)
        )
    parts += [DOT.format(*place(x, y), f"step {x:g}: {y:.3g}") for x, y in points]
    smooth = zip(xs, moving_mean(ys, max(1, len(ys) // 10)), strict=True)
    path = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in smooth)
    parts.append(Markup('<polyline class="curve" points="{}"/>').format(path))
    return _svg(CURVE_WIDTH, TOP + CURVE_HEIGHT + BOTTOM, parts, title)


def moving_mean(values: Sequence[float], radius: int) -> list[float]:
    """Mean of each value and up to `radius` neighbours on either side.

    >>> moving_mean([0, 3, 3], 1)
    [1.5, 2.0, 3.0]
    """
    windows = [values[max(0, i - radius) : i + radius + 1] for i in range(len(values))]
    return [math.fsum(window) / len(window) for window in windows]


def nice_ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers that reach from `low` or below to `high` or above.

    >>> nice_ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = high - low if high > low else 1.0
    power = 10.0 ** math.floor(math.log10(span))
    step = next(m * power for m in (0.2, 0.5, 1.0, 2.0) if span / (m * power) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * i, 12) for i in range(first, max(last, first + 1) + 1)]


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> Markup:
    shape = '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
    return Markup(shape).format(name, x1, y1, x2, y2)


def _text(x: float, y: float, text: str, name: str, anchor: str = "start") -> Markup:
    shape = '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>'
    return Markup(shape).format(name, x, y, anchor, text)


def _svg(width: float, height: float, parts: Sequence[Markup], title: str) -> Markup:
    head = '<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    return Markup(head).format(width, height, title, Markup("").join(parts))
