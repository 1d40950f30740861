// ------------------------------------------------------------------------------- environments that were made or evolved
function isSearch() { return overview.kind === "evolve" || overview.kind === "environment-search"; }

// Seeds of a search for environments are their levels, which have no page.
function seedLink(name) { return overview.kind === "evolve" ? link("matrix/" + name, name) : name; }

function environmentTables(tables, to) {
  return tables.map((one) => tableShown(one, (value, at) => (one.title === "environments" && at === 0 ? cell(link(to(value), value)) : null)));
}

function showEnvironmentSearch(view) {
  const [first, ...rest] = showRun(view);
  const names = Object.fromEntries(((view.report || {}).environments || []).map((one) => [one.id, one.name]));
  return [first, environmentTables(view.tables, (id) => "candidate/" + names[id]), rest];
}

function showEnvironments(view) {
  const summary = showSummary({ ...view, tables: [] });
  return [summary[0], environmentTables(view.tables, (id) => "why/" + id), summary.slice(1)];
}

async function draftPage(name) {
  const one = await ask("why/" + name);
  const said = one.judgements.map((found) => h("tr", {}, cell(found.of), cell(h("span", { class: "pill " + (found.accepts ? "yes" : "no") }, found.accepts ? "accepts" : "refuses")), cell(found.reason), cell(found.issues.join("; "))));
  const ends = one.rejects.map((found) => h("tr", {}, cell(found.item), cell(found.stage), cell(found.reason), cell(found.detail)));
  const check = one.crosscheck;
  return [panel(null, h("h2", {}, h("span", { class: "id" }, name)), facts({ brief: Object.entries(one.brief).map(([key, value]) => `${key} ${value}`).join(", "),
      written_by: one.author || "nobody", stands_on: "L" + one.level, revised: one.revised || null, flags: one.flags.join(", ") || null,
      nearest: one.nearest ? `${one.nearest.of}: question ${figure(one.nearest.prompt, 2)}, code ${figure(one.nearest.code, 2)}` : null,
      crosscheck: check ? `${check.verdict}: ${check.accepted} of ${check.programs.length} programs accepted, ${check.agree} others agree` : null })),
    said.length ? panel("What judges say", table(["asked", "", "why not", "in their words"], said)) : null,
    ends.length ? panel("What was dropped", table(["what", "at", "reason", "detail"], ends)) : null,
    one.prompts.length ? panel("A question of each level", one.prompts.map((text) => source(text, { wrap: true }))) : null,
    panel("Program", source(one.source || "(no reply could be read as a program)", { code: true }))];
}
