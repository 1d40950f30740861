// ------------------------------------------------------------------------------------------------------ the frame
const KINDS = { evolve: "strategy search", "environment-search": "search for environments", synthesize: "dataset", coevolve: "training on problems that evolve", "coevolve-environments": "training on environments that evolve", waiting: "no run yet" };
const SHOWN = { evolve: showRun, "environment-search": showEnvironmentSearch, environments: showEnvironments, synthesize: showData, world: showWorld, "world-rollout": showWorld, waiting: showWaiting };

function problemText(error) { return h("section", {}, h("p", { class: "cut", role: "alert" }, error.message || error), h("p", {}, h("a", { href: "#overview" }, "back to the overview"))); }

function frame(here) {
  const more = isSearch() ? [["candidates", "candidates"]]
    : overview.kind === "synthesize" ? [...overview.settings.map((setting) => ["samples/" + setting, "samples: " + setting]), ["rejects", "rejects"]] : [];
  const pages = [["overview", "overview"], ...more];
  document.title = overview.path + " - evosyn";
  document.getElementById("title").replaceChildren(overview.path);
  document.getElementById("facts").replaceChildren(h("span", { class: "dim" }, (KINDS[overview.kind] || overview.kind) + " "),
    overview.simulated ? h("span", { class: "badge", title: "what was made here comes from a stand-in for a model" }, "SIMULATED") : "", overview.finished ? "" : h("span", { class: "badge" }, "not finished"));
  document.getElementById("nav").replaceChildren(...pages.map(([target, name]) => h("a", { href: "#" + target, class: target === here ? "here" : null, "aria-current": target === here ? "page" : null }, name)));
}

function contentOf(what, name, query) {
  if (what === "overview") return (SHOWN[overview.kind] || showSummary)(overview);
  if (what === "candidates") return candidates(query);
  if (what === "candidate") return candidate(name);
  if (what === "samples") return samples(name, query);
  if (what === "rejects") return rejects(query);
  if (what === "problem") return problem(name);
  if (what === "why") return overview.kind === "environments" ? draftPage(name) : overview.kind.startsWith("world") || overview.kind.startsWith("coevolve") ? storyPage(name) : problemWhy(name);
  if (what === "matrix") return matrixPage(name, query);
  throw new Error(`there is no page #${what}`);
}

async function show() {
  const turn = (shown += 1);
  const [path, rest] = (location.hash.slice(1) || "overview").split("?");
  const [what, name] = path.split("/").map(decodeURIComponent);
  const query = Object.fromEntries(new URLSearchParams(rest || ""));
  let content;
  try {
    if (overview === null || what === "overview") overview = await ask("overview");
    frame(path);
    content = await contentOf(what, name || "", query);
  } catch (error) { content = [problemText(error)]; }
  const parts = [content].flat(4);
  await Promise.all(parts.filter((one) => one instanceof Promise));
  if (turn !== shown) return;
  main.replaceChildren(...parts.filter((one) => one && one.nodeType));
  try { history.replaceState("seen", ""); } catch (error) { console.debug(error); }
}

function step(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const row = event.target.closest && event.target.closest("tr[tabindex]");
  const next = row && (event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling);
  if (next) { next.focus(); event.preventDefault(); }
}

// Where a page was left, for the way back to it; a page that is new begins at its top.
const places = new Map();
const leave = () => { places.set(location.hash, window.scrollY); };
window.addEventListener("hashchange", () => {
  const place = history.state === "seen" ? places.get(location.hash) || 0 : 0;
  show().then(() => window.scrollTo(0, place));
});
document.addEventListener("click", leave, true);
document.addEventListener("keydown", leave, true);
document.addEventListener("keydown", step);
if (!embedded) setInterval(() => { if (overview && !overview.finished && !document.hidden && (location.hash || "#overview") === "#overview") show(); }, 5000);
show();
