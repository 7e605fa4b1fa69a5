// Leafs through the rows of a page, with what shared.js has.

const AT_ONCE = 200;
function pace(row) {
  if (row.low === null) return "not timed";
  return row.low > 1 ? "faster" : row.high < 1 ? "slower" : "as fast";
}

function matches(row, wanted) {
  const problem = row.problem;
  const equal = (a, b) => !b || a === b;
  return equal(problem.category, wanted.category) && equal(row.dialect, wanted.dialect)
    && equal(row.verdict, wanted.verdict) && equal(pace(row), wanted.pace)
    && (!wanted.text || [problem.name, problem.code, row.kernel, row.reasoning, row.error, row.reason]
      .some(one => one.toLowerCase().includes(wanted.text.toLowerCase())));
}

function unpacked(plain) {
  // Rows as objects that know their problem.
  const problems = objects(plain.problems);
  return objects(plain.rows).map(row => ({ ...row, problem: problems[row.problem] }));
}

function detail(row) {
  const problem = row.problem;
  const facts = [problem.category, problem.splits, problem.tags, `source: ${problem.source}`, `licence: ${problem.licence || "none"}`, problem.note];
  const head = el("p", "", el("span", `chip v-${row.verdict || "unjudged"}`, (row.verdict || "unjudged").replace("_", " ")), ` ${row.dialect} `,
    el("b", "fast", speedText(row)), row.low === null ? "" : ` ${pace(row)}`, " ", row.reason && row.reason !== "ok" ? el("code", "", row.reason) : "");
  const cases = el("table", "cases", el("thead", "", el("tr", "", ...["case", "for", "sizes", "values"].map(one => el("th", "", one)))),
    el("tbody", "", ...problem.cases.map(one => el("tr", "", ...one.map(cell => el("td", "", cell))))));
  const part = (title, open, ...inner) => { const found = el("details", "inner", el("summary", "", title), ...inner); found.open = open; return found; };
  return [el("h3", "", problem.name), head, el("p", "dim", facts.filter(Boolean).join(" · ")),
    row.error ? part("what the judge says", true, el("pre", "log", row.error)) : "",
    part("problem", true, painted(problem.code, "python")), part("reasoning", true, el("pre", "prose", row.reasoning || "none")),
    part("kernel", true, painted(row.kernel, known(LANGUAGE_OF, row.dialect, "c"))),
    part(`${problem.cases.length} cases`, false, el("div", "scroll", cases))];
}

async function start() {
  const at = id => document.getElementById(id);
  const rows = unpacked(await inflated(at("data").textContent));
  const picks = ["category", "dialect", "verdict", "pace"];
  let found = [], shown = AT_ONCE, chosen = null;

  function item(row) {
    const found = el("button", row === chosen ? "row on" : "row", el("b", "", row.problem.name),
      el("span", `mark v-${row.verdict || "unjudged"}`, (row.verdict || "unjudged").replace("_", " ")), el("span", "dim", row.dialect),
      el("span", "dim", row.speed === null ? "" : `${row.speed.toFixed(2)}×`));
    found.type = "button";
    found.onclick = () => choose(row);
    return found;
  }
  function list() {
    const more = el("button", "row more", `show more: ${found.length - shown} are left`);
    more.type = "button";
    more.onclick = () => { shown += AT_ONCE; list(); };
    at("list").replaceChildren(...found.slice(0, shown).map(item), ...(found.length > shown ? [more] : []));
  }
  function choose(row) {
    chosen = row;
    const place = found.indexOf(row);
    if (place >= shown) shown = place + 1;
    at("place").textContent = row ? `${place + 1} of ${found.length}` : "no row fits";
    at("detail").replaceChildren(...(row ? detail(row) : []));
    list();
    at("list").querySelector(".on")?.scrollIntoView({ block: "nearest" });
  }
  function move(by) {
    const place = found.indexOf(chosen) + by;
    if (found[place]) choose(found[place]);
  }
  function filter() {
    const wanted = { text: at("text").value, ...Object.fromEntries(picks.map(one => [one, at(one).value])) };
    found = rows.filter(row => matches(row, wanted));
    shown = AT_ONCE;
    choose(found.includes(chosen) ? chosen : found[0] || null);
  }
  const values = { category: row => row.problem.category, dialect: row => row.dialect, verdict: row => row.verdict, pace };
  for (const name of picks) {
    const counts = new Map();
    for (const row of rows) counts.set(values[name](row), (counts.get(values[name](row)) || 0) + 1);
    for (const [value, many] of [...counts].sort((a, b) => b[1] - a[1])) {
      const option = el("option", "", `${String(value).replace("_", " ")} (${many})`);
      option.value = value;
      at(name).append(option);
    }
    at(name).onchange = filter;
  }
  at("text").oninput = filter;
  at("before").onclick = () => move(-1);
  at("after").onclick = () => move(1);
  document.onkeydown = event => {
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowLeft" || event.key === "k") move(-1);
    if (event.key === "ArrowRight" || event.key === "j") move(1);
  };
  filter();
}

if (typeof document !== "undefined") start();
