// The viewer's page: which part is shown, what is chosen, and what a running run adds.

const AT_ONCE = 100, EVERY_MS = 3000, TYPED_MS = 200;
const PICKS = { category: row => row.problem.category, stage: row => row.stage, verdict: row => row.verdict, dialect: row => row.dialect };
const COLUMNS = { run: "run", name: "problem", category: "category", stages: "stages", asked: "asked", correct: "correct", best: "best speedup" };
const PARTS = { main: "Main curves", verdicts: "Shares of verdicts", metrics: "Everything else that was logged" };
const CHART_PARTS = Object.keys(PARTS);

const at = id => document.getElementById(id);
const view = { runs: [], stages: {}, token: "", off: new Set(), pages: {}, sort: ["asked", true], found: [], row: null, compared: [null, null], folded: new Set(["metrics"]) };
const shownRuns = () => view.runs.filter(one => !view.off.has(one.number));
const wanted = () => ({ text: at("text").value, ...Object.fromEntries(Object.keys(PICKS).map(one => [one, at(one).value])) });
const turn = name => page => { view.pages[name] = page; route(); };

function take(update) {
  // An update of the server's, or the data of the page; null says that there is nothing new.
  if (!update) return;
  view.runs = merged(view.runs, update);
  [view.stages, view.token] = [update.stages, update.token];
  view.row = view.row && (view.runs[view.row.run.number]?.byId.get(view.row.id) || null);
  view.compared = view.compared.map(one => one && (view.runs[one.run.number]?.byId.get(one.id) || null));
  selector();
  for (const name of Object.keys(PICKS)) options(name);
  route();
}

function selector() {
  const row = run => {
    const box = el("input", ""), { records, correct, reward, speedup } = run.summary, last = run.rows[run.rows.length - 1];
    box.type = "checkbox";
    box.checked = !view.off.has(run.number);
    box.onchange = () => { view.off[box.checked ? "delete" : "add"](run.number); route(); };
    return [el("label", "", box, el("i", `swatch r${run.number % COLOURS}`), ` ${run.name}`), String(records), percent(correct), figure(reward), times(speedup), last ? last.id : "–", run.remark];
  };
  at("runs").replaceChildren(table("left", ["run", "rollouts", "correct", "mean reward", "geometric mean speedup", "last rollout", ""], view.runs.map(row)));
}

function options(name) {
  const counts = new Map(), select = at(name), before = select.value;
  for (const run of view.runs) for (const row of run.rows) counts.set(PICKS[name](row), (counts.get(PICKS[name](row)) || 0) + 1);
  const some = [...counts].sort((a, b) => b[1] - a[1]).map(([value, many]) => {
    const found = el("option", "", `${name === "stage" ? known(view.stages, value, value) : value.replace("_", " ")} (${many})`);
    found.value = value;
    return found;
  });
  select.replaceChildren(select.firstElementChild, ...some);
  select.value = counts.has(before) ? before : "";
}

function showCurves() {
  const all = overlaid(shownRuns());
  at("curves").replaceChildren(...CHART_PARTS.flatMap(part => {
    const some = all.filter(one => one.part === part);
    if (!some.length) return [];
    const found = fold(`${PARTS[part]} (${some.length})`, !view.folded.has(part), ...(view.folded.has(part) ? [] : [el("div", "curves", ...some.map(chart))]));
    found.ontoggle = () => {
      if (found.open !== view.folded.has(part)) return;
      view.folded[found.open ? "delete" : "add"](part);
      showCurves();
    };
    return [found];
  }), ...(all.length ? [] : [el("p", "dim", "There is no curve of these runs yet.")]));
}

function showProblems() {
  const [key, down] = view.sort, several = view.runs.length > 1, lines = sorted(problemTable(shownRuns(), wanted()), key, down), shown = pageOf(lines, view.pages.problems || 0, AT_ONCE);
  const columns = Object.entries(COLUMNS).filter(([name]) => several || name !== "run");
  const heads = columns.map(([name, label]) => button(`${label}${name === key ? (down ? " ↓" : " ↑") : ""}`, "sort", () => {
    view.sort = [name, name === key ? !down : ["asked", "correct", "best"].includes(name)];
    showProblems();
  }));
  const named = stages => stages.split(", ").map(one => known(view.stages, one, one)).join(", ");
  const cells = one => [...(several ? [one.run] : []), link(one.name, ...problemPage(one.problem)), one.category, named(one.stages), String(one.asked), percent(one.correct), times(one.best)];
  at("problems").replaceChildren(pager(shown, lines.length, turn("problems")), table("left", heads, shown.items.map(cells)));
}

function item(row) {
  const found = button("", row === view.row ? "row on" : "row", () => { location.hash = address(...rollout(row)); });
  found.append(el("b", "", row.problem.name), mark(row), el("span", "dim", `${row.id} ${row.dialect}`), el("span", "dim", row.speed === null ? "" : times(row.speed)));
  return found;
}

function showRollouts(row) {
  view.found = chosenRows(shownRuns(), wanted());
  const changed = !view.detailed || row !== view.drawn || row?.group.length !== view.detailed;
  if (row && row !== view.row) view.pages.rollouts = Math.floor(Math.max(0, view.found.indexOf(row)) / AT_ONCE);
  view.row = row;
  const shown = pageOf(view.found, view.pages.rollouts || 0, AT_ONCE), place = view.found.indexOf(row);
  at("list").replaceChildren(pager(shown, view.found.length, turn("rollouts")), ...shown.items.map(item));
  at("place").textContent = row ? (place < 0 ? "not among those that fit" : `${place + 1} of ${view.found.length}`) : "choose a rollout";
  if (changed) at("detail").replaceChildren(...(row ? rolloutDetail(row, view.stages, choose) : []));
  [view.drawn, view.detailed] = [row, row?.group.length];
  const list = at("list"), on = list.querySelector(".on");
  if (changed && on) list.scrollTop += on.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 2;
}

function choose(side, row) {
  view.compared[side] = row;
  location.hash = address("compare", ...(view.compared.every(Boolean) ? view.compared.flatMap(one => rollout(one).slice(1)) : []));
  route();
}

function showCompare(...ids) {
  // The two that are chosen; an address may name them: run, stage, step, row, twice.
  const named = [ids.slice(0, 4), ids.slice(4, 8)].map(([number, ...id]) => view.runs[number]?.byId.get(id.join("/")) || null);
  if (named.every(Boolean)) view.compared = named;
  const [before, after] = view.compared;
  const told = (row, side) => el("p", "", `${side}: `, row ? link(`${row.run.name} ${row.id} ${row.problem.name}`, ...rollout(row)) : "none; a rollout's page has a button for it");
  at("compared").replaceChildren(told(before, "A"), told(after, "B"), ...(before && after ? [diffTable(before, after)] : []));
}

function showProblem(number, key, name) {
  const problem = view.runs[number]?.problems.find(one => one.key === key && one.name === name);
  if (!problem) {
    at("history").replaceChildren(el("p", "dim", "There is no such problem."));
    return;
  }
  const all = button("its rollouts", "", () => { at("text").value = name; view.pages = {}; location.hash = address("rollouts"); });
  at("history").replaceChildren(el("p", "links", all), ...problemDetail(shownRuns(), problem, view.stages, turn("history"), view.pages.history || 0));
}

const SHOW = {
  curves: showCurves, problems: showProblems, compare: showCompare, problem: showProblem,
  rollouts: () => showRollouts(view.row),
  rollout: (number, ...id) => showRollouts(view.runs[number]?.byId.get(id.join("/")) || null),
};
const SECTION = { rollout: "rollouts" };

function route() {
  const [asked, ...rest] = parts(location.hash), name = Object.hasOwn(SHOW, asked) ? asked : "curves", section = SECTION[name] || name;
  for (const one of document.querySelectorAll("main > section")) one.hidden = one.dataset.part !== section;
  for (const one of document.querySelectorAll("nav a")) one.classList.toggle("on", one.hash === `#${section}`);
  at("sieve").hidden = !["problems", "rollouts"].includes(section);
  SHOW[name](...rest);
}

function move(by) {
  const next = view.found[view.found.indexOf(view.row) + by];
  if (next) location.hash = address(...rollout(next));
}

async function follow() {
  // Asks for news for as long as the page is open; a hidden page waits.
  const asks = !document.hidden || !view.token;
  const answer = asks ? await fetch(`data?known=${encodeURIComponent(view.token)}`).catch(() => null) : null;
  try {
    if (answer?.status === 200) take(await unzipped(await answer.arrayBuffer()));
  } finally {
    const many = view.runs.reduce((sum, one) => sum + one.rows.length, 0);
    at("state").textContent = !asks || answer?.ok ? `following: ${many} rollouts` : "the server does not answer";
    setTimeout(follow, EVERY_MS);
  }
}

async function start() {
  let typed = 0;
  const again = () => { view.pages = {}; route(); };
  for (const name of Object.keys(PICKS)) at(name).onchange = again;
  at("text").oninput = () => { clearTimeout(typed); typed = setTimeout(again, TYPED_MS); };
  at("before").onclick = () => move(-1);
  at("after").onclick = () => move(1);
  window.onhashchange = route;
  document.onkeydown = event => {
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey || at("list").closest("section").hidden) return;
    if (event.key === "ArrowLeft" || event.key === "k") move(-1);
    if (event.key === "ArrowRight" || event.key === "j") move(1);
  };
  if (document.body.dataset.live) await follow();
  else take(await inflated(at("data").textContent));
}

if (typeof document !== "undefined") start();
