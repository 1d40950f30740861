// ----------------------------------------------------------------------------------------------------- a dataset
function funnel(report) {
  const rows = Object.entries(report.stages).map(([name, stage]) => h("tr", {}, cell(name), number(stage.entered), number(stage.dropped || ""), number(stage.left), cell(track(stage.left / Math.max(report.asked, 1)))));
  const settings = Object.entries(report.settings).map(([name, value]) => h("tr", {}, cell(link("samples/" + name, name)), number(value.kept),
    cell(Object.entries(value.dropped).map(([reason, count]) => `${count} ${reason}`).join(", ") || "nothing dropped")));
  const replies = Object.entries(report.unusable_replies || {}).map(([reason, count]) => h("tr", {}, number(count), cell(reason)));
  return h("div", { class: "two" }, panel("Where the problems went", told(`${report.asked} problems asked for`), table(["stage", ">entered", ">dropped", ">left", ""], rows)),
    panel("Kept by setting", table(["setting", ">kept", "dropped"], settings), replies.length ? [h("h3", {}, "Unusable replies"), table([">replies", "stage: reason"], replies)] : null));
}

function distributions(spreads) {
  const rows = Object.entries(spreads).filter(([, row]) => row);
  if (!rows.length) return null;
  return panel("Distributions (evosyn)", told("Line: all; thick: from the tenth to the ninetieth of a hundred; dot: the middle."), table(["of", ">min", "", ">max", ">median", ">mean"],
    rows.map(([name, row]) => h("tr", {}, cell(name.replaceAll("_", " ")), number(brief(row.min)), cell(spread(row, row.min, row.max)), number(brief(row.max)), number(brief(row.median)), number(brief(row.mean))))));
}

function showData(view) {
  const report = view.report, tokens = report ? report.tokens : {};
  return [hero(view.conclusion),
    panel("", figures({ rows: report ? report.kept : null, problems_ended: view.ended, model_calls: report ? report.calls : null, tokens: report ? `${tokens.input.toLocaleString("en")} in, ${tokens.output.toLocaleString("en")} out` : null,
      cost: report ? (report.cost === null ? "unknown price" : "$" + figure(report.cost, 4)) : null, executions: report ? report.executions : null }), h("p", {}),
    facts({ teacher: view.manifest.teacher, strategy: `${view.manifest.strategy} from ${view.manifest.strategy_from}`, seeds: view.manifest.seeds_from, sandbox: view.manifest.sandbox })),
    report ? funnel(report) : null, report ? distributions((report.distributions || {}).evosyn || {}) : null];
}

function samples(setting, query) {
  return listPage(`Samples of the setting ${setting}`, "samples/" + setting, query, [], ["problem", "title or statement", "domain", ">checks", ">difficulty", "model", "row"],
    (row) => rowTo("problem/" + row.index, {}, cell(link("problem/" + row.index, row.problem_id)), cell(row.title || row.statement, row.difficulty === 0 ? [" ", h("span", { class: "badge" }, "refuses nothing")] : null), cell(row.domain), number(row.tests),
      number(figure(row.difficulty, 2)), cell(row.model + (row.simulated ? " (simulated)" : "")), h("td", { class: "id dim" }, row.id)));
}

function rejects(query) {
  const dropped = ((overview.report || {}).settings || {}).relaxed ? Object.assign({}, ...Object.values(overview.report.settings).map((one) => one.dropped)) : {};
  const reasons = (choose) => h("p", {}, Object.entries(dropped).map(([reason, count]) => h("button", { type: "button", class: "chip", on: { click: () => choose(reason) } }, `${reason} (${count})`)));
  return listPage("Rejects: what was dropped, where and why", "rejects", query, [], ["stage", "reason", "item", "problem", "out of", "detail"],
    (row) => rowTo("problem/" + row.index, {}, cell(row.stage), cell(row.reason), cell(row.item), cell(link("problem/" + row.index, row.problem_id || row.index)),
      cell(row.settings.join(", ")), h("td", { class: "dim" }, row.detail.slice(0, 300))), reasons);
}

// A testing as input -> output, with what became of each check with the best and the worst solution.
function testingTable(one, best, worst) {
  if (!one.checks.length) return one.program ? source(one.program, { code: true }) : h("p", { class: "dim" }, "its text is not recorded");
  const judged = one.checks.some((check) => check.best !== null), outputs = one.checks.some((check) => check.expected !== null);
  const verdict = (value) => h("td", { class: "n" }, value === null ? "" : letter(value));
  const heads = ["", outputs ? "input" : "check", ...(outputs ? ["output"] : []), ...(judged ? [`best, s${best}`, `worst, s${worst}`] : [])];
  return table(heads, one.checks.map((check, at) => h("tr", {}, h("td", { class: "n dim" }, at + 1), cell(check.asked), outputs ? cell("-> ", check.expected ?? "") : null, judged ? [verdict(check.best), verdict(check.worst)] : null)), "checks");
}

function matrix(found, query = {}) {
  const picked = (key, value) => query[key] !== undefined && Number(query[key]) === value;
  const best = query.best !== undefined ? Number(query.best) : (found.solutions[0] || {}).m, worst = query.worst !== undefined ? Number(query.worst) : found.worst;
  const isBest = (one) => one.chosen || picked("best", one.m), isTesting = (one) => one.chosen || picked("testing", one.n);
  const solutionBox = h("div", { class: "half" }), otherBox = h("div", { class: "half" }), testingBox = h("div", {});
  const title = (one) => `solution s${one.m}${isBest(one) ? ", the best" : one.m === worst ? ", the worst" : ""}${one.human ? (one.human === "P" ? ", right by the human testing" : ", wrong by the human testing") : ""}`;
  const text = (one) => (one.text ? source(one.text, { code: true }) : h("p", { class: "dim" }, "its text is not recorded"));
  const showSolution = (one) => solutionBox.replaceChildren(h("h3", {}, title(one)), text(one));
  const showTesting = (one) => testingBox.replaceChildren(h("h3", {}, `testing t${one.n}${isTesting(one) ? ", the chosen one" : ""}`), testingTable(one, found.solutions[0].m, found.worst));
  const press = (act, one, said, label) => h("button", { type: "button", "aria-label": label, on: { click: () => act(one) } }, said);
  const human = found.solutions.some((one) => one.human !== null);
  const score = (one) => (one.score === null ? null : h("th", { class: "n dim" }, Number(one.score).toPrecision(3)));
  const head = h("tr", {}, h("th", {}), found.solutions[0] && found.solutions[0].score !== null ? h("th", {}) : null, found.testings.map((one) => h("th", { class: isTesting(one) ? "chosen" : null, title: `score ${plain(one.score)}` },
    press(showTesting, one, "t" + one.n, `show testing ${one.n}`))), human ? h("th", { class: "dim" }, "human") : null);
  const rows = found.solutions.map((one) => h("tr", { class: isBest(one) ? "chosen" : null }, h("th", {}, press(showSolution, one, "s" + one.m, `show solution ${one.m}`)), score(one),
    [...one.verdicts].map((verdict, at) => h("td", { class: `v-${VERDICTS[verdict] ? verdict : "U"}${isTesting(found.testings[at]) ? " chosen" : ""}`, title: `s${one.m} on t${found.testings[at].n}: ${VERDICTS[verdict] || verdict}` }, verdict)),
    human ? h("td", { class: one.human ? "v-" + one.human : null, title: "the human testing" }, one.human || "") : null));
  const top = found.solutions.find((one) => one.m === best) || found.solutions[0], last = found.solutions.find((one) => one.m === worst), testing = found.testings.find(isTesting) || found.testings[0];
  if (top) showSolution(top);
  if (last && last !== top) otherBox.replaceChildren(h("h3", {}, title(last)), text(last));
  if (testing) showTesting(testing);
  const part = found.solutions.length < found.rows || found.testings.length < found.columns ? `; the first ${found.solutions.length} x ${found.testings.length} of them` : "";
  return [panel(`Matrix: ${found.rows} solutions x ${found.columns} testings${part}`, told(found.ranked_by ? `Best first, ranked by ${found.ranked_by}. Framed: the best solution and the chosen testing. Select a row or a column to read it.` : "In the order of the pool. Select a row or a column to read it."),
    scroll(h("table", { class: "matrix" }, h("tbody", {}, head, rows))), h("p", { class: "legend" }, Object.entries(VERDICTS).map(([one, name]) => h("span", {}, letter(one), name)))),
  panel("Testing", testingBox), panel("Solutions", h("div", { class: "row" }, solutionBox, otherBox))];
}

async function matrixPage(name, query) {
  const found = await ask("matrix/" + name);
  return [panel(found.problem, told(overview.kind === "evolve" ? "A seed problem, with the verdicts that every strategy of this search was scored on." : "A problem of this cross-execution.")), matrix(found, query)];
}

async function problem(index) {
  const one = await ask("problem/" + index), made = one.problem || { payload: {}, provenance: {} };
  const fates = Object.entries(one.settings).map(([setting, reject]) => h("tr", {}, cell(setting), cell(h("span", { class: "pill " + (reject ? "no" : "yes") }, reject ? `dropped in ${reject.stage}: ${reject.reason}` : "kept")), h("td", { class: "dim" }, reject ? reject.detail : "")));
  const list = (items) => Object.entries(items).map(([name, value]) => `${name}: ${plain(value)}`).join("; ");
  return [panel(`Problem ${one.index}: ${made.problem_id || "none could be read"}`, made.provenance.simulated ? h("p", {}, h("span", { class: "badge" }, "simulated: made by a stand-in for a model")) : null,
    table([], fates, ""), h("p", {}),
    facts({ domain: made.domain, model: made.provenance.source, entry_point: made.payload.entry_point, seeds_in_context: (one.brief.seeds || []).join(", "), wishes: list(one.brief.wishes || {}), model_calls: one.usage.calls, executed_cells: one.usage.cells,
      cost: one.usage.cost ? "$" + figure(one.usage.cost, 4) : null, ranking: one.ranking_invalid ? "invalid: " + one.ranking_invalid : null, unusable_replies: list(one.unusable),
      prompts_and_replies: link("why/" + one.index, "every prompt and reply behind it") })),
  made.statement ? panel("Statement", h("pre", { class: "wrap" }, made.statement), made.payload.starter_code ? [h("h3", {}, "starter code"), source(made.payload.starter_code, { code: true })] : null) : null,
  one.matrix ? matrix(one.matrix) : null];
}

async function problemWhy(index) {
  const one = await ask("why/" + index);
  const prompts = Object.entries(one.prompts).map(([what, turns]) => panel(`Prompt of the ${what === "problem" ? "problem" : what + "s"}`, h("details", {}, h("summary", {}, `${turns.length} messages`), turns.map((turn) => [h("h3", {}, turn.role), source(turn.content, { wrap: true })]))));
  const replies = one.replies.map((reply) => h("details", {}, h("summary", {}, `${reply.asked} by ${reply.model}`, reply.became ? ", which became the " + (reply.became === "problem" ? "problem" : "chosen " + reply.became) : ""), source(reply.text, { wrap: true })));
  return [panel(`Behind problem ${one.index}`, h("p", {}, link("problem/" + one.index, "the problem itself"))), prompts, panel(`${replies.length} replies`, replies)];
}
