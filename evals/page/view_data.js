// What a viewer knows of its runs, without a page: merged updates, groups, tables, histories, diffs.

function merged(known, update) {
  // The runs after an update of the server; runs that it begins anew are replaced.
  return update.runs.map((news, number) => {
    const old = news.anew ? null : known[number];
    const run = old || { number, problems: [], prompts: [], rows: [], groups: new Map(), byId: new Map(), byKey: new Map(), madeFrom: new Map() };
    Object.assign(run, { name: news.name, remark: news.remark, summary: news.summary, curves: news.curves });
    for (const one of objects(news.problems)) run.problems.push({ ...one, run });
    for (const one of news.prompts) run.prompts.push(one);
    for (const one of objects(news.rows)) added(run, { ...one, isAnswer: !update.no_answers.includes(one.stage) });
    return run;
  });
}

function added(run, row) {
  const key = [row.stage, row.step, row.problem, row.dialect, row.skill].join("\u0000");
  Object.assign(row, { run, id: `${row.stage}/${row.step}/${row.row}`, prompt: run.prompts[row.prompt], problem: run.problems[row.problem] });
  if (!run.groups.has(key)) run.groups.set(key, []);
  row.group = run.groups.get(key);
  row.group.push(row);
  run.byId.set(row.id, row);
  if (row.key && !run.byKey.has(row.key)) run.byKey.set(row.key, row);
  if (row.parent && !run.madeFrom.has(row.parent)) run.madeFrom.set(row.parent, []);
  if (row.parent) run.madeFrom.get(row.parent).push(row);
  run.rows.push(row);
}

function finder(text) {
  // Whether a text has this one, in capitals or not.
  if (!text) return () => true;
  const rule = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  return one => rule.test(one);
}

function chosenRows(runs, wanted) {
  // Rows that a reader asked for, in order; a text may be in anything that a row says.
  const has = finder(wanted.text), equal = (a, b) => !b || a === b;
  const fits = row => equal(row.stage, wanted.stage) && equal(row.verdict, wanted.verdict) && equal(row.dialect, wanted.dialect)
    && equal(row.problem.category, wanted.category)
    && (!wanted.text || [row.id, row.problem.name, row.reason, row.kernel, row.before, row.after, row.log].some(has));
  return runs.flatMap(run => run.rows.filter(fits));
}

function tally(rows) {
  // What a set of rows comes to; unjudged ones say nothing of their kernels. The best speed is that of the kernel which is
  // surest to be fast, by the lower end of its interval.
  const judged = rows.filter(one => one.verdict !== "unjudged"), paid = rows.filter(one => one.reward !== null);
  const correct = judged.filter(one => one.verdict === "correct").length;
  const timed = rows.filter(one => one.low !== null);
  return {
    asked: rows.length, correct: judged.length ? correct / judged.length : null,
    reward: paid.length ? paid.reduce((sum, one) => sum + one.reward, 0) / paid.length : null,
    best: timed.length ? timed.reduce((a, b) => b.low > a.low ? b : a).speed : null,
  };
}

function grouped(rows, by) {
  const found = new Map();
  for (const row of rows) {
    const key = by(row);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return found;
}

function problemTable(runs, wanted) {
  // A line a problem; its figures are of the answers in the wanted stage and language. Examples and given kernels are
  // no answers of the model, and what was timed again is counted already: their figures are told where that stage is wanted.
  const has = finder(wanted.text);
  const rows = chosenRows(runs, { ...wanted, text: "", verdict: "" });
  const lines = [...grouped(rows, row => row.problem)].map(([problem, some]) => ({
    run: problem.run.name, name: problem.name, category: problem.category, problem,
    stages: [...new Set(some.map(one => one.stage))].join(", "), verdicts: new Set(some.map(one => one.verdict)),
    ...tally(some.filter(one => wanted.stage || one.isAnswer)),
  }));
  return lines.filter(one => (!wanted.verdict || one.verdicts.has(wanted.verdict)) && (has(one.name) || has(one.category)));
}

function sorted(lines, key, down) {
  // In order of one column; what has no value there comes last either way.
  const sign = down ? -1 : 1;
  const order = (a, b) => typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0;
  return [...lines].sort((a, b) => (a[key] === null) - (b[key] === null) || sign * order(a[key], b[key]));
}

function stepsOf(problem) {
  // The rows of a problem by stage and step, in the order in which they were written.
  const rows = problem.run.rows.filter(one => one.problem === problem);
  return [...grouped(rows, row => `${row.stage}\u0000${row.step}`).values()].map(some => ({
    stage: some[0].stage, step: some[0].step, rows: some, ...tally(some),
    top: some.reduce((a, b) => rank(b) > rank(a) ? b : a),
  }));
}

function rank(row) {
  return (row.verdict === "correct" ? 1e6 : 0) + (row.low || 0) * 1e3 + (row.reward || 0);
}

const MOST_LINES = 1500, CONTEXT = 3;

function lineDiff(before, after) {
  // [line or null, line or null, same] by a longest common subsequence of lines.
  const a = before.split("\n").slice(0, MOST_LINES), b = after.split("\n").slice(0, MOST_LINES);
  const width = b.length + 1, common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  const found = [], gone = [], come = [];
  function flush() {
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) found.push([gone[at] ?? null, come[at] ?? null, false]);
    gone.length = come.length = 0;
  }
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { flush(); found.push([a[i], b[j], true]); i += 1; j += 1; }
    else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) { gone.push(a[i]); i += 1; }
    else { come.push(b[j]); j += 1; }
  }
  flush();
  return found;
}

function folded(lines) {
  // The same; a number stands for that many lines that are alike and far from any change.
  const near = lines.map(() => false);
  lines.forEach(([, , same], at) => { if (!same) near.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1); });
  const found = [];
  for (let at = 0; at < lines.length; at += 1) {
    let end = at;
    while (end < lines.length && !near[end]) end += 1;
    if (end - at > 1) { found.push(end - at); at = end - 1; }
    else found.push(lines[at]);
  }
  return found;
}

function pageOf(items, page, size) {
  // The items of a page, and which page that is once it lies within the pages that there are.
  const last = Math.max(0, Math.ceil(items.length / size) - 1), at = Math.min(Math.max(0, page), last);
  return { at, last, first: at * size, items: items.slice(at * size, (at + 1) * size) };
}

const address = (...parts) => "#" + parts.map(encodeURIComponent).join("/");

function parts(hash) {
  try {
    return hash.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return [""];
  }
}
