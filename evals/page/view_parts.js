// Pieces of the viewer's page. Every text of a model becomes a text node.

const VERDICT = row => row.verdict.replace("_", " ");
const times = value => value === null ? "–" : `${value.toFixed(2)}×`;
const percent = value => value === null ? "–" : `${(100 * value).toFixed(1)}\u00a0%`;
const figure = value => value === null ? "–" : String(Number(value.toPrecision(4)));

function link(text, ...where) {
  const found = el("a", "", text);
  found.href = address(...where);
  return found;
}

function button(text, name, act) {
  const found = el("button", name, text);
  found.type = "button";
  found.onclick = act;
  return found;
}

const rollout = row => ["rollout", row.run.number, row.stage, row.step, row.row];
const problemPage = problem => ["problem", problem.run.number, problem.key, problem.name];

function table(name, heads, lines) {
  const row = (tag, cells) => el("tr", "", ...cells.map(one => el(tag, "", one)));
  return el("div", "scroll", el("table", name, el("thead", "", row("th", heads)), el("tbody", "", ...lines.map(one => row("td", one)))));
}

function fold(title, open, ...inner) {
  const found = el("details", "inner", el("summary", "", title), ...inner);
  found.open = open;
  return found;
}

function pager(shown, many, turn) {
  // Which of many are shown, with buttons where there are other pages.
  const last = Math.min(many, shown.first + shown.items.length), said = many ? `${shown.first + 1}–${last} of ${many}` : "none fits";
  const back = button("←", "", () => turn(shown.at - 1)), on = button("→", "", () => turn(shown.at + 1));
  back.disabled = shown.at === 0;
  on.disabled = shown.at === shown.last;
  back.title = "the page before";
  on.title = "the next page";
  return el("div", "move", ...(shown.last ? [back, on] : []), el("span", "", said));
}

function chart({ title, share, note, lines }) {
  return el("figure", "", el("figcaption", "", title, el("small", "", note)), drawn(lines, title, share));
}

function mark(row) {
  return el("span", `mark v-${row.verdict}`, VERDICT(row));
}

function siblings(row, stages) {
  // The rows of its group beside it, with what each was paid; of a large group the page that it is on.
  const turns = row.group.some(one => one.turn || one.trajectory);
  const heads = ["rollout", ...(turns ? ["trajectory, turn"] : []), "verdict", "reason", "speedup", "reward", "credit"];
  const shown = pageOf(row.group, Math.floor(row.group.indexOf(row) / AT_ONCE), AT_ONCE);
  const part = shown.last ? `, of which ${shown.first + 1} to ${shown.first + shown.items.length}` : "";
  const lines = shown.items.map(one => [
    one === row ? el("b", "", `${one.row} (this)`) : link(String(one.row), ...rollout(one)),
    ...(turns ? [`${one.trajectory}, ${one.turn}`] : []), mark(one), one.reason, one.speed === null ? "–" : speedText(one), figure(one.reward), figure(one.credit),
  ]);
  return fold(`${row.group.length} rollouts of this group${part}: ${known(stages, row.stage, row.stage)}, step ${row.step}`, true, table("left", heads, lines));
}

function lineage(row) {
  // What a kernel was made from, what its prompt showed, what was made from it, and the turns of its trajectory.
  const one = found => link(`${found.id}${found.speed === null ? "" : ` ${times(found.speed)}`}`, ...rollout(found));
  const named = key => row.run.byKey.has(key) ? one(row.run.byKey.get(key)) : el("span", "dim", "a kernel of no rollout here");
  const turns = row.group.filter(other => other.trajectory === row.trajectory).sort((a, b) => a.turn - b.turn);
  const children = row.run.madeFrom.get(row.key) || [], more = children.length - AT_ONCE;
  const lines = {
    "made from": row.parent ? [named(row.parent)] : [],
    "its prompt showed": row.exemplars.map(named),
    "made from it": [...children.slice(0, AT_ONCE).map(one), ...(more > 0 ? [`and ${more} more`] : [])],
    "turns of its trajectory": turns.some(other => other.turn) ? turns.map(one) : [],
  };
  return Object.entries(lines).filter(([, some]) => some.length).map(([title, some]) => el("p", "links", `${title}: `, ...some.flatMap(it => [it, " "])));
}

function rolloutDetail(row, stages, choose) {
  const paid = Object.entries(row.parts).map(([name, value]) => `${name} ${figure(value)}`).join(", ");
  const facts = [row.run.name, row.id, row.dialect, row.skill, row.how, row.seconds === null ? "" : `judged in ${figure(row.seconds)} s`];
  const head = el("p", "", el("span", `chip v-${row.verdict}`, VERDICT(row)), " ", el("code", "", row.reason), " ", el("b", "fast", speedText(row)));
  const reward = el("p", "", `reward ${figure(row.reward)}`, paid ? ` (${paid})` : "", ` · credit ${figure(row.credit)}`);
  const language = known(LANGUAGE_OF, row.dialect, "c");
  return [
    el("h3", "", row.problem.name), head, reward, el("p", "dim", facts.filter(Boolean).join(" · ")),
    el("p", "links", link("this problem over steps", ...problemPage(row.problem)), ...(row.kernel ? [button("compare: as A", "", () => choose(0, row)), button("as B", "", () => choose(1, row))] : [])),
    ...lineage(row),
    row.times ? el("figure", "", el("figcaption", "", "Timed rounds", el("small", "", timesSaid(row.times, row.floor))), timesDrawn(row.times, row.floor)) : "",
    ...(row.rounds.length ? [el("ul", "rounds", ...row.rounds.map(([name, error, note]) => el("li", "", `case ${name} failed: `, error === null ? "no error known" : `${figure(error)} of what is allowed`, note ? ` · ${note}` : "")))] : []),
    row.log ? fold("build log or error", true, el("pre", "log", row.log)) : "",
    siblings(row, stages),
    fold("prompt", false, el("pre", "prose", row.prompt)),
    fold("reasoning", true, el("pre", "prose", row.before || "none")),
    row.kernel ? fold("kernel", true, painted(row.kernel, language)) : "",
    row.after ? fold("after the kernel", false, el("pre", "prose", row.after)) : "",
  ];
}

function problemLines(runs, problem) {
  // The steps of a problem in each run that has it, and which of them a line is drawn of.
  const same = runs.flatMap(run => run.problems.filter(one => one.key === problem.key && one.name === problem.name));
  const steps = same.flatMap(stepsOf), lines = [...grouped(steps, one => `${one.top.run.number}/${one.stage}`).values()];
  return { steps, lines: lines.filter(some => some.length > 1) };
}

function problemDetail(runs, problem, stages, turnTo, page) {
  const { steps, lines } = problemLines(runs, problem), shown = pageOf(steps, page, AT_ONCE);
  const named = one => `${one.top.run.name}, ${known(stages, one.stage, one.stage)}`;
  const legend = lines.map(([first], at) => el("span", "", el("i", `swatch r${at % COLOURS}`), ` ${named(first)} `));
  const curve = (title, key, share) => {
    const points = some => some.filter(one => one[key] !== null).map(one => [one.step, one[key]]);
    const known = lines.map((some, at) => ({ name: named(some[0]), colour: at, points: points(some) })).filter(one => one.points.length);
    return known.length ? [chart({ title, share, note: "", lines: known })] : [];
  };
  const heads = ["run", "stage", "step", "asked", "correct", "mean reward", "best speedup", "best rollout"];
  const rows = shown.items.map(one => [one.top.run.name, known(stages, one.stage, one.stage), String(one.step), String(one.asked), percent(one.correct), figure(one.reward), times(one.best),
    el("span", "", mark(one.top), " ", link(one.top.id, ...rollout(one.top)))]);
  return [
    el("h3", "", problem.name), el("p", "dim", `${problem.category} · ${problem.key} · steps count from 0, as in the names of rollouts`),
    el("p", "links", ...legend), el("div", "curves", ...curve("Correct kernels", "correct", true), ...curve("Mean reward", "reward", false), ...curve("Best speedup", "best", false)),
    pager(shown, steps.length, turnTo), table("left", heads, rows),
  ];
}

function diffTable(before, after) {
  const cell = (text, kind) => el("td", text === null ? "" : kind, text ?? "");
  const texts = [before, after].map(one => one.kernel.replace(/\n+$/, ""));
  const cut = texts.some(one => one.split("\n").length > MOST_LINES) ? ` · the first ${MOST_LINES} lines` : "";
  const lines = folded(lineDiff(...texts)).map(one => {
    if (typeof one !== "number") return el("tr", "", cell(one[0], one[2] ? "same" : "del"), cell(one[1], one[2] ? "same" : "add"));
    const gap = el("td", "", `${one} lines are alike`);
    gap.colSpan = 2;
    return el("tr", "gap", gap);
  });
  const head = row => el("th", "", link(`${row.run.name} ${row.id}`, ...rollout(row)), ` ${row.problem.name} `, mark(row), row.speed === null ? "" : ` ${times(row.speed)}`, cut);
  return el("table", "diff", el("thead", "", el("tr", "", head(before), head(after))), el("tbody", "", ...lines));
}
