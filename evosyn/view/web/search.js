// ------------------------------------------------------------------------------------------------ a search: overview
function leaderboard(report) {
  const boards = report.leaderboard, train = Object.fromEntries(boards.train.strategies.map((row) => [row.strategy, row]));
  const chosen = report.selection || {}, rule = (chosen.winner_is ?? (chosen.evolved_wins === false ? "known" : "")) === "known" ? chosen.known : null, best = rule || "evolved";
  const rows = boards.heldout.strategies.filter((row) => row.strategy === best || row.strategy !== "evolved"), ends = rows.filter((row) => row.ci).flatMap((row) => row.ci);
  const [low, high] = [Math.min(...ends, 1), Math.max(...ends, 0)];
  const start = report.initial.strategy;
  const name = (row) => (row.strategy === best ? [rule || candidateLink(report.best.id, "evolved"), " (the winner)"] : row.strategy === start ? [row.strategy, " (the start)"] : row.strategy);
  const heads = ["strategy", `>held out (${boards.heldout.problems})`, "95 % interval", `>train (${boards.train.problems})`, ">top is right", ">testing bal. acc."];
  const body = rows.map((row) => (row.invalid ? h("tr", { class: "dead" }, cell(row.strategy), h("td", { colspan: 5 }, "invalid: " + row.invalid))
    : h("tr", { class: row.strategy === best ? "best" : null }, cell(name(row)), number(figure(row.score)), cell(interval(row, low, high)),
      number(figure((train[row.strategy] || {}).score)), number(figure(row.criterion1)), number(figure(row.testing_balanced_accuracy)))));
  body.push(h("tr", { class: "dead" }, cell("the best that any ranking could reach"), number(figure(boards.heldout.oracle)), cell(), number(figure(boards.train.oracle)), cell(), cell()));
  return panel("Against the known strategies", told(`Seed consistency at M = ${boards.train.M}, N = ${boards.train.N}, ties ${boards.train.ties}. Held-out problems chose nothing; the score on the train problems is too high, since the search chose by it.`),
    table(heads, body));
}

function proposers(rows) {
  const share = (count, total) => number(`${(100 * count / Math.max(total, 1)).toFixed(0)} %`);
  const body = Object.entries(rows).map(([name, row]) => {
    const fates = row.fates, total = row.candidates, fate = (...names) => names.reduce((sum, one) => sum + (fates[one] || 0), 0);
    return h("tr", {}, cell(name), number(row.proposals), number(total), share(fate("duplicate"), total), share(fate("same-behaviour"), total),
      share(fate("invalid", "no-program"), total), share(fate("new", "improved"), total), number(Object.values(row.wasted).reduce((a, b) => a + b, 0)),
      number(figure(row.gain)), number(row.replies || ""), number(row.cost ? "$" + figure(row.cost, 4) : ""));
  });
  const wasted = Object.entries(rows).flatMap(([name, row]) => Object.entries(row.wasted).map(([reason, count]) => h("li", {}, `${name}: ${count} x ${reason}`)));
  return panel("Proposers", told("What each made, repeated, wasted and won."),
    table(["name", ">proposals", ">candidates", ">duplicate", ">same behaviour", ">invalid", ">kept", ">wasted", ">gain", ">replies", ">cost"], body), wasted.length ? h("ul", {}, wasted) : null);
}

function grids(view) {
  const scores = view.grids.grids.flatMap((grid) => grid.cells.map((one) => one.score));
  if (!scores.length) return null;
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const [down, right] = view.grids.axes;
  const said = (down ? `Rows: ${down.name}, upwards` : "") + (right ? `; columns: ${right.name}, ${right.low} to ${right.high}` : "") + ". The best score of each cell in hundredths.";
  const [all, ...islands] = [...view.grids.grids].reverse();
  return panel("Islands", told(said), h("div", { class: "row" }, heat(all, view.grids.axes, low, high)),
    islands.length ? h("details", {}, h("summary", {}, `the ${islands.length} islands one by one`), h("div", { class: "row" }, islands.reverse().map((grid) => heat(grid, view.grids.axes, low, high)))) : null);
}

// What two strategies chose on a seed where they differ.
function duel(one, mine, other) {
  const right = (yes) => h("span", { class: "pill " + (yes ? "yes" : "no") }, yes ? "right" : "wrong");
  const at = (chosen) => `?best=${chosen.best}&worst=${chosen.worst}${chosen.testing === null ? "" : `&testing=${chosen.testing}`}`;
  const named = (chosen) => chosen.testing === null ? "none" : `t${chosen.testing}${chosen.joined > 1 ? ` and ${chosen.joined - 1} joined with it` : ""}`;
  const solution = (chosen, place, yes) => cell(link("matrix/" + one.problem, "s" + place, at(chosen)), " ", right(yes));
  const testing = (chosen) => cell(link("matrix/" + one.problem, named(chosen), at(chosen)), ` accepts ${chosen.accepts} of ${one.solutions}, agrees with the human one on ${chosen.agrees}`);
  const won = one.ours > one.theirs;
  return h("div", { class: "duel" }, h("h3", {}, h("span", { class: "pill " + (won ? "yes" : "no") }, won ? "won" : "lost"), link("matrix/" + one.problem, one.problem),
    ` ${figure(one.ours, 2)} against ${figure(one.theirs, 2)}`), scroll(h("table", {}, h("thead", {}, h("tr", {}, ["", mine, other].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {},
    h("tr", {}, h("th", { scope: "row" }, "on top"), solution(one.mine, one.mine.best, one.mine.right), solution(one.other, one.other.best, one.other.right)),
    h("tr", {}, h("th", { scope: "row" }, "at the bottom"), solution(one.mine, one.mine.worst, one.mine.worst_right), solution(one.other, one.other.worst, one.other.worst_right)),
    h("tr", {}, h("th", { scope: "row" }, "testing"), testing(one.mine), testing(one.other))))));
}

function duels(title, found, mine, other, tally) {
  if (!found.length) return null;
  const counted = tally ? `${tally.won} seeds won, ${tally.lost} lost, ${tally.even} even. ` : "";
  return panel(title, told(counted + "The draws on which the two differ most; s and t are the solution and the testing that were chosen."), found.map((one) => duel(one, mine, other)));
}

function matters(card) {
  const pruned = card.pruned;
  const most = Math.max(...card.terms.map((term) => Math.abs(term.gain || 0)), 1e-9);
  const terms = card.terms.map((term) => h("tr", {}, cell(h("code", {}, term.removed)), cell(term.where), number(term.gain === null ? "invalid without it" : signed(term.gain)),
    cell(term.gain === null ? "" : track(term.gain / most)), number(term.testing_gain === null ? "" : signed(term.testing_gain))));
  const level = pruned && pruned.removed.length ? `Without ${pruned.removed.length} of its terms it is level with the whole${pruned.worse ? " on the seeds but not held out, so it needs them" : ""}: ${figure(pruned.score)} against ${figure(card.score)} on the seeds`
    + (pruned.heldout_score === null ? "" : `, ${figure(pruned.heldout_score)} against ${figure(card.heldout_score)} held out`) + `; ${pruned.tokens} tokens of ${pruned.tokens_before}.${pruned.worse ? "" : " It stands in pruned.py."}`
    : "No term can go without a loss that chance does not explain.";
  const formula = pruned && pruned.formula ? [h("h3", {}, "ranks solutions by"), h("code", { class: "formula" }, pruned.formula.solutions), h("h3", {}, "ranks testings by"), h("code", { class: "formula" }, pruned.formula.testings)]
    : pruned ? h("details", {}, h("summary", {}, "what is left of it"), source(pruned.text, { code: true })) : null;
  const words = card.words.filter((line) => !/are ranked by/.test(line));
  return panel("Which of its parts matter", told(level), formula, words.length ? h("details", {}, h("summary", {}, "the words of it"), h("ul", {}, words.map((line) => h("li", {}, line.replaceAll("`", ""))))) : null,
    terms.length ? h("details", {}, h("summary", {}, `what each of its ${terms.length} terms is worth`), table(["left out", "of", ">score lost", "", ">bal. acc. lost"], terms)) : null);
}

function showRun(view) {
  const report = view.report || {}, counts = view.counts, card = view.card;
  const skipped = Object.entries(report.skipped || {}).map(([reason, count]) => `${count} ${reason}`).join(", ");
  return [hero(view.conclusion),
    panel("", figures({ candidates: counts.candidates, evaluations: counts.evaluations, proposals: counts.proposals, cells: `${counts.cells} of ${counts.capacity}`, migrations: counts.migrations, restarts: counts.restarts,
      model_calls: report.model_calls,
      by_phase: Object.entries(report.spent || {}).map(([phase, one]) => `${phase}: ${one.calls} calls` + (one.cost ? `, $${figure(one.cost, 4)}` : "")).join("; ") || null,
      cost: report.cost ? "$" + figure(report.cost, 4) : report.cost === null ? "unknown price" : null, ended_by: report.stopped, left_out: skipped || null })),
    fitnessChart(view.fitness, view.curve, counts.evaluations), report.leaderboard ? leaderboard(report) : null,
    card ? h("div", { class: "two" }, h("div", { class: "stack" }, matters(card), duels("What it has over its parent", card.parent_duels, "the winner", "its parent")),
      duels(`Against ${card.against}, seed by seed`, card.duels, "the winner", card.against, card.seeds)) : null,
    grids(view), proposers(view.proposers)];
}

// ------------------------------------------------------------------------------------------ candidates
function listPage(title, question, query, sorts, heads, rowOf, above = null) {
  const box = h("div", {}), count = h("p", { class: "dim", role: "status" });
  const input = h("input", { type: "search", placeholder: "filter: every word must occur", "aria-label": "filter", value: query.q || "" });
  const order = sorts.length ? h("select", { "aria-label": "order" }, sorts.map((sort) => h("option", { value: sort, selected: sort === query.sort }, sort))) : null;
  let turn = 0, timer = null;
  const fill = async () => {
    if (turn && !box.isConnected) return;
    const mine = (turn += 1);
    const wanted = { q: input.value, sort: order ? order.value : "" };
    const kept = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value)).toString();
    // A viewer that shows the file in a closed frame forbids it; the list does not depend on it.
    try { history.replaceState(history.state, "", "#" + question + (kept ? "?" + kept : "")); } catch (error) { console.debug(error); }
    const found = await ask(question, wanted).catch((error) => ({ error }));
    if (mine !== turn) return;
    if (found.error) { box.replaceChildren(problemText(found.error)); return; }
    count.textContent = `${found.rows.length} shown of ${found.matching} that match, ${found.total} in all` + (found.rows.length < found.matching ? "; narrow the filter to see others" : "");
    box.replaceChildren(table(heads, found.rows.map(rowOf)));
  };
  const wordsIs = (words) => { input.value = input.value === words ? "" : words; fill(); };
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(fill, 150); });
  if (order) order.addEventListener("change", fill);
  return [panel(title, above ? above(wordsIs) : null, h("p", {}, input, " ", order), count, box), fill()];
}

function candidates(query) {
  const best = overview.report && overview.report.best ? overview.report.best.id : null;
  return listPage("Candidates", "candidates", query, ["score", "newest", "oldest"], [">score", "candidate", "fate", ">proposal", ">island", "proposer", "operator", "parent", ">characters", "reason"],
    (row) => rowTo("candidate/" + row.id, { class: row.score === null ? "dead" : row.id === best ? "best" : null }, number(figure(row.score, 4)), cell(candidateLink(row.id), row.id === best ? " the winner" : null), cell(row.fate),
      number(row.proposal < 0 ? "start" : row.proposal), number(row.island < 0 ? "all" : row.island), cell(row.proposer), cell(row.operator), h("td", { class: "id dim" }, row.parents[0]), number(row.size), h("td", { class: "dim" }, row.reason)));
}

function rival(one) {
  const seeds = one.seeds.map((seed) => h("tr", {}, cell(h("span", { class: "pill " + (seed.ours > seed.theirs ? "yes" : "no") }, seed.ours > seed.theirs ? "won" : "lost")), cell(seedLink(seed.problem)), number(figure(seed.ours, 2)), number(figure(seed.theirs, 2))));
  return panel(one.role === "parent" ? "Against its parent" : "Against the initial program", told(candidateLink(one.id), ` scores ${figure(one.score)}: ${one.tally[0]} seeds won, ${one.tally[1]} lost, ${one.tally[2]} even`),
    seeds.length ? table(["", "seed", ">its score", `>${one.role === "parent" ? "parent" : "initial"}`], seeds) : null);
}

async function candidate(id) {
  const one = await ask("candidate/" + id), found = one.evaluation || {}, card = overview.card;
  const measured = Object.fromEntries(Object.entries(found.metrics || {}).map(([name, value]) => [name, figure(value)]));
  const behaviour = (found.descriptor || []).map((value, at) => `${one.axes[at]} ${figure(value, 2)}`).join(", ");
  const { prompt, idea, replies, ...detail } = one.detail;
  const isBest = overview.report && overview.report.best && overview.report.best.id === one.id;
  const ancestors = one.lineage.map((row) => rowTo("candidate/" + row.id, {}, cell(candidateLink(row.id)), number(figure(row.score, 4)), number(row.proposal < 0 ? "start" : row.proposal), cell(row.proposer), cell(row.operator), cell(row.fate)));
  const seeds = Object.entries(one.seeds).sort((a, b) => b[1] - a[1]).map(([name, value]) => h("tr", {}, cell(seedLink(name)), number(figure(value, 2)), cell(track(value))));
  return [panel(null, h("h2", {}, h("span", { class: "id" }, one.id), isBest ? [" ", h("span", { class: "pill yes" }, "the winner")] : null), one.idea ? h("p", {}, one.idea) : null,
    figures({ score: one.score === null ? "none" : figure(one.score, 4), ...measured, characters: one.size }),
    h("p", {}), facts({ why: one.why, invalid: found.invalid, made: one.proposal < 0 ? "the search started from it, on every island" : `proposal ${one.proposal} on island ${one.island} by ${one.proposer}`, behaviour, ...detail,
      parents: one.parents.length ? h("span", {}, one.parents.map((parent) => [candidateLink(parent), " "])) : "none" })),
  isBest && card ? h("div", { class: "two" }, h("div", { class: "stack" }, matters(card), one.rivals.map(rival)), duels(`Against ${card.against}, seed by seed`, card.duels, "the winner", card.against, card.seeds))
    : one.rivals.length ? h("div", { class: "two" }, one.rivals.map(rival)) : null,
  h("div", { class: "two" }, panel("Source", source(one.text, { code: true })), one.difference ? panel("Difference to its parent", difference(one.difference.lines)) : null),
  seeds.length ? panel("Score on each seed", h("details", {}, h("summary", {}, `${seeds.length} seed problems`), table(["seed", ">score", ""], seeds))) : null,
  (found.feedback || []).length ? panel("Evidence", source(found.feedback.join("\n"), { wrap: true })) : null,
  panel("Lineage, newest first", table(["candidate", ">score", ">proposal", "proposer", "operator", "fate"], ancestors)),
  prompt ? panel("Prompt", source(prompt, { wrap: true })) : null,
  one.replies.map((reply) => panel("Reply " + reply.id, source(reply.text ?? "(not in the reply cache of this run)", { wrap: true })))];
}
