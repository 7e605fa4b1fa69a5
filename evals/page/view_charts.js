// Curves over steps as SVG, by the rules of charts.py; several runs in one drawing.

const SHAPE = { width: 340, height: 140, left: 52, right: 12, top: 8, bottom: 26, inset: 8 };
const MOST_DOTS = 60, SMALLEST = 1e-9, COLOURS = 8;
const clean = value => Number(value.toPrecision(12));

function short(value) {
  // A number as an axis has room for: from 100,000 on with k, M, G or T, below 0.001 as a power.
  if (value && Math.abs(value) < 1e-3) return Number(value.toPrecision(4)).toExponential();
  const power = Math.abs(value) < 1e5 ? 0 : Math.min(4, Math.floor(Math.log10(Math.abs(value)) / 3));
  return `${clean(value / 1000 ** power)}${["", " k", " M", " G", " T"][power]}`;
}

function niceTicks(low, high) {
  const span = high > low ? high - low : 1, power = 10 ** Math.floor(Math.log10(span));
  const step = [0.2, 0.5, 1, 2].map(one => one * power).find(one => span / one <= 6);
  const first = Math.floor(low / step + 1e-9), last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, at) => clean((first + at) * step));
}

function stepTicks(first, last) {
  let every = 1;
  for (let power = 0; (last - first) / every > 6.5; power += 1)
    every = [1, 2, 5].map(one => one * 10 ** power).find(one => (last - first) / one <= 6.5) || every;
  const start = Math.ceil(first / every), end = Math.floor(last / every);
  return Array.from({ length: Math.max(0, end - start + 1) }, (_, at) => (start + at) * every);
}

function movingMean(values, radius) {
  const sums = [0];
  for (const one of values) sums.push(sums[sums.length - 1] + one);
  return values.map((_, at) => {
    const from = Math.max(0, at - radius), to = Math.min(values.length, at + radius + 1);
    return (sums[to] - sums[from]) / (to - from);
  });
}

function frameOf(lines, share) {
  // Where values lie on the drawing: axes from 0, or from below it, to the highest value.
  const xs = lines.flatMap(one => one.points.map(([x]) => x)), ys = lines.flatMap(one => one.points.map(([, y]) => y));
  const least = some => some.reduce((a, b) => Math.min(a, b)), most = some => some.reduce((a, b) => Math.max(a, b));
  const top = share ? 1 : Math.max(most(ys), 0), low = Math.min(0, least(ys));
  const ticks = top - low > SMALLEST ? niceTicks(low, top) : niceTicks(0, 1);
  const first = least(xs), last = most(xs), bottom = ticks[0], high = ticks[ticks.length - 1];
  const across = SHAPE.width - SHAPE.left - SHAPE.right - 2 * SHAPE.inset;
  return {
    ticks, steps: stepTicks(first, last), label: value => share ? `${clean(100 * value)} %` : short(value),
    x: value => SHAPE.left + SHAPE.inset + (last > first ? (value - first) / (last - first) : 0.5) * across,
    y: value => SHAPE.top + (1 - (Math.min(Math.max(value, bottom), high) - bottom) / (high - bottom)) * SHAPE.height,
  };
}

function svg(tag, attributes, ...children) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  found.append(...children);
  return found;
}

function drawn(lines, title, share) {
  // A line for each of `lines` ({ name, colour, points }): a moving mean, with dots where they are few; where they
  // are many, some of them are there unseen, for the pointer.
  const frame = frameOf(lines, share), parts = [], right = SHAPE.width - SHAPE.right;
  for (const tick of frame.ticks) {
    const y = frame.y(tick).toFixed(1);
    parts.push(svg("line", { class: "grid", x1: SHAPE.left, x2: right, y1: y, y2: y }),
      svg("text", { class: "tick", "text-anchor": "end", x: SHAPE.left - 6, y: Number(y) + 4 }, frame.label(tick)));
  }
  for (const step of frame.steps)
    parts.push(svg("text", { class: "tick", "text-anchor": "middle", x: frame.x(step).toFixed(1), y: SHAPE.top + SHAPE.height + 18 }, String(step)));
  for (const { name, colour, points } of lines) {
    const smooth = movingMean(points.map(([, y]) => y), Math.floor(points.length / 10));
    const path = points.map(([x], at) => `${frame.x(x).toFixed(1)},${frame.y(smooth[at]).toFixed(1)}`).join(" ");
    parts.push(svg("polyline", { class: `curve r${colour % COLOURS}`, points: path }, svg("title", {}, name)));
    const every = Math.ceil(points.length / MOST_DOTS), seen = every === 1 ? "" : " unseen";
    for (const [x, y] of points.filter((_, at) => at % every === 0))
      parts.push(svg("circle", { class: `dot r${colour % COLOURS}${seen}`, cx: frame.x(x).toFixed(1), cy: frame.y(y).toFixed(1), r: 3 },
        svg("title", {}, `${name} step ${x}: ${frame.label(Number(y.toPrecision(4)))}`)));
  }
  const box = `0 0 ${SHAPE.width} ${SHAPE.top + SHAPE.height + SHAPE.bottom}`;
  return svg("svg", { viewBox: box, role: "img", "aria-label": title }, ...parts);
}

function inTime(us) {
  // A duration with its unit.
  const [value, unit] = us < 1000 ? [us, "µs"] : us < 1e6 ? [us / 1000, "ms"] : [us / 1e6, "s"];
  return `${Number(value.toPrecision(3))} ${unit}`;
}

function timesDrawn(times, floor) {
  // What rounds took, of PyTorch and of the kernel below it: a line over all, a box over half of them, the median. One slow
  // round may not press all others together: a line that reaches the edge goes on.
  const ticks = niceTicks(0, edgeOf(times)), last = ticks[ticks.length - 1];
  const left = 66, right = SHAPE.width - 2 * SHAPE.right, x = us => (left + Math.min(us / last, 1) * (right - left)).toFixed(1), parts = [];
  ticks.forEach((tick, at) => {
    parts.push(svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 4, y2: 60 }));
    if (at % Math.ceil(ticks.length / 4) === 0) parts.push(svg("text", { class: "tick", "text-anchor": "middle", x: x(tick), y: 76 }, inTime(tick)));
  });
  times.forEach(([least, low, middle, high, most], at) => {
    const y = 18 + 28 * at;
    parts.push(svg("text", { class: "tick", "text-anchor": "end", x: left - 8, y: y + 4 }, at ? "kernel" : "PyTorch"),
      svg("line", { class: "whisker", x1: x(least), x2: x(most), y1: y, y2: y }),
      svg("rect", { class: "dot r0", x: x(low), y: y - 8, width: Math.max(1, x(high) - x(low)), height: 16 }),
      svg("line", { class: "whisker", x1: x(middle), x2: x(middle), y1: y - 10, y2: y + 10 }, svg("title", {}, inTime(middle))));
  });
  if (floor !== null && floor <= last) parts.push(svg("line", { class: "thin", x1: x(floor), x2: x(floor), y1: 4, y2: 60 }, svg("title", {}, inTime(floor))));
  return svg("svg", { viewBox: `0 0 ${SHAPE.width} 82`, role: "img", "aria-label": timesSaid(times, floor) }, ...parts);
}

function edgeOf(times) {
  // Twice the slower upper quartile, or the longest round where that is less.
  const [low, high] = [3, 4].map(at => Math.max(times[0][at], times[1][at]));
  return Math.min(high, 2 * low);
}

function timesSaid(times, floor) {
  const light = floor === null ? "" : `; the work takes ${inTime(floor)} at least (speed of light, the thin line): ${(100 * floor / times[1][2]).toFixed(0)} % of the kernel's`;
  const longest = times.some(one => one[4] > edgeOf(times)) ? `, longest ${times.map(one => inTime(one[4])).join(" and ")}` : "";
  return `median of PyTorch ${inTime(times[0][2])}, of the kernel ${inTime(times[1][2])}${longest}${light}`;
}

function overlaid(runs) {
  // The curves of several runs by title, in the order in which each was first seen.
  const found = new Map();
  for (const run of runs)
    for (const { title, share, note, part, points } of run.curves) {
      if (!found.has(title)) found.set(title, { title, share, note, part, lines: [] });
      found.get(title).lines.push({ name: run.name, colour: run.number, points });
    }
  return [...found.values()];
}
