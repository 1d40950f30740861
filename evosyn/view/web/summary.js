// ------------------------------------------------------------------------------- every other kind of directory
const PAGES = { crossexec: "matrix/", coevolve: "why/" };  // where a row of the table of problems leads to

function showSummary(view) {
  const main_ = ["reward", "pass_rate", "loss", "mean_token_accuracy"], curves = Object.entries(view.curves);
  const to = PAGES[view.kind];
  const tables = view.tables.map((one) => tableShown(one, (value, at) => (to && one.title === "problems" && at === 0 ? cell(link(to + value, value)) : null)));
  const chart = ([name, points]) => lineChart(name, points);
  const first = curves.filter(([name]) => main_.includes(name)), others = curves.filter(([name]) => !main_.includes(name));
  const notes = view.notes.filter((note) => !view.conclusion.why.includes(note) && note !== view.conclusion.did);
  return [hero(view.conclusion), first.length ? h("div", { class: "two" }, first.map(chart)) : null, tables, notes.length ? panel("Notes", notes.map((note) => h("p", {}, note))) : null,
    others.length ? h("details", {}, h("summary", {}, `${others.length} more curves`), h("div", { class: "two" }, others.map(chart))) : null,
    Object.keys(view.facts).length ? panel("Figures", facts(Object.fromEntries(Object.entries(view.facts).map(([name, value]) => [name.replaceAll(".", ", "), value])))) : null];
}

function showWaiting(view) {
  return [hero(view.conclusion), panel("", told("The page looks again every few seconds, and shows the run from its first line on."), h("pre", { class: "box" }, `evosyn evolve SEEDS --out ${view.path}`))];
}
