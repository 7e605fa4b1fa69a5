"""Numbers in, inline SVG out: no script, no outside file. Colours come from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT = 340, 140
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 8, 26
INSET = 8
"""Between the axis and the first step."""
MOST_DOTS = 60
"""With more points the line alone is drawn."""

SMALLEST = 1e-9
"""What spans less is 0 to a reader, and gets an axis to 1."""

DOT = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>')
BAR = Markup('<rect class="s{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">{}</rect>')


def short(value: float) -> str:
    """A number as an axis has room for: from 100,000 on with k, M, G or T, below 0.001 as a power.

    >>> short(0.25), short(12000), short(2500000), short(0.00015)
    ('0.25', '12000', '2.5 M', '1.5e-4')
    """
    size = abs(value)
    if 0 < size < 1e-3:
        factor, _, exponent = f"{value:.3e}".partition("e")
        return f"{float(factor):g}e{int(exponent)}"
    power = 0 if size < 1e5 else min(4, math.floor(math.log10(size) / 3))
    return f"{value / 1000**power:g}{('', ' k', ' M', ' G', ' T')[power]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A value at a step, with its interval where one is known."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    marked: bool = False
    """Whether a ring is drawn around it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes: which values lie where on the drawing."""

    first: float
    last: float
    ticks: Sequence[float]
    share: bool

    def x(self, value: float) -> float:
        along = (value - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return LEFT + INSET + along * (WIDTH - LEFT - RIGHT - 2 * INSET)

    def y(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        up = (min(max(value, low), high) - low) / (high - low)
        return TOP + (1 - up) * HEIGHT

    def label(self, value: float) -> str:
        return f"{100 * value:g} %" if self.share else short(value)

    def drawn(self) -> list[Markup]:
        parts = []
        for tick in self.ticks:
            y = self.y(tick)
            parts += [
                _line(LEFT, y, WIDTH - RIGHT, y, "grid"),
                _text(LEFT - 6, y + 4, self.label(tick), "tick", "end"),
            ]
        for step in step_ticks(self.first, self.last):
            parts.append(_text(self.x(step), TOP + HEIGHT + 18, f"{step:g}", "tick", "middle"))
        return parts


def curve(points: Sequence[Point], title: str, *, share: bool = False) -> Markup:
    """A line over steps: a moving mean, every point faint behind it, intervals as whiskers.

    A `share` is of 1, and its axis reaches from 0 to 100 %.
    """
    frame = _frame(points, share)
    parts = frame.drawn()
    for one in points:
        if one.low is not None and one.high is not None:
            x = frame.x(one.x)
            parts.append(_line(x, frame.y(one.low), x, frame.y(one.high), "whisker thin"))
    measured = any(one.low is not None for one in points)
    radius = 0 if measured else len(points) // 10
    smooth = moving_mean([one.y for one in points], radius)
    places = ((frame.x(one.x), frame.y(y)) for one, y in zip(points, smooth, strict=True))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(Markup('<polyline class="curve" points="{}"/>').format(path))
    for one in points:
        if len(points) <= MOST_DOTS or one.marked:
            text = f"step {one.x:g}: {frame.label(round(one.y, 4))}"
            name, size = ("dot best", 5.5) if one.marked else ("dot", 3)
            parts.append(DOT.format(name, frame.x(one.x), frame.y(one.y), size, text))
    return _svg(parts, title)


def stacked_bars(rows: Sequence[tuple[float, Mapping[str, float]]], title: str) -> Markup:
    """A bar per step, made of named parts; part i has the class `si`."""
    names = list(rows[0][1])
    totals = [math.fsum(parts.values()) for _, parts in rows]
    ends = rows[0][0] - 0.5, rows[-1][0] + 0.5
    frame = Frame(*ends, nice_ticks(0.0, max(totals) or 1.0), share=False)
    width = (WIDTH - LEFT - RIGHT - 2 * INSET) / (ends[1] - ends[0])
    drawn = frame.drawn()
    for step, parts in rows:
        below = 0.0
        for index, name in enumerate(names):
            value = max(0.0, parts.get(name, 0.0))
            top, height = frame.y(below + value), frame.y(below) - frame.y(below + value)
            note = Markup("<title>{}</title>").format(f"step {step:g}, {name}: {value:.3g}")
            drawn.append(
                BAR.format(index, frame.x(step) - 0.38 * width, top, 0.76 * width, height, note)
            )
            below += value
    return _svg(drawn, title)


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


def step_ticks(first: float, last: float) -> list[float]:
    """At most six whole steps at even distances, within the range.

    >>> step_ticks(1, 14), step_ticks(3, 3)
    ([2, 4, 6, 8, 10, 12, 14], [3])
    """
    span = last - first
    every = next(m * 10**p for p in range(12) for m in (1, 2, 5) if span / (m * 10**p) <= 6.5)
    start = math.ceil(first / every)
    return [every * i for i in range(start, math.floor(last / every) + 1)]


def _frame(points: Sequence[Point], share: bool) -> Frame:
    """Axes from 0, or from below it, to the highest value; values that are 0 throughout fit too."""
    xs, ys = [one.x for one in points], [one.y for one in points]
    top = 1.0 if share else max(ys) if max(ys) > 0 else 0.0
    low = min(0.0, *ys)
    ticks = nice_ticks(low, top) if top - low > SMALLEST else nice_ticks(0.0, 1.0)
    return Frame(min(xs), max(xs), ticks, share)


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> Markup:
    shape = '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
    return Markup(shape).format(name, x1, y1, x2, y2)


def _text(x: float, y: float, text: str, name: str, anchor: str = "start") -> Markup:
    shape = '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>'
    return Markup(shape).format(name, x, y, anchor, text)


def _svg(parts: Sequence[Markup], title: str) -> Markup:
    head = '<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    return Markup(head).format(WIDTH, TOP + HEIGHT + BOTTOM, title, Markup("").join(parts))
