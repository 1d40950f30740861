// ------------------------------------------------------------------------------- worlds of tools, and rollouts in them
async function toolGraph() {
  const found = await ask("graph");
  const marks = Object.entries(found.colours).map(([kind, colour]) => svg("marker", { id: "to-" + kind, viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
    svg("path", { d: "M0 0L8 4L0 8z", fill: colour })));
  const edges = found.edges.map((one) => svg("line", { x1: one.x1, y1: one.y1, x2: one.x2, y2: one.y2, stroke: found.colours[one.kind], "stroke-opacity": 0.6, "marker-end": `url(#to-${one.kind})` },
    svg("title", {}, `${one.kind}: ${one.first} -> ${one.then} ${one.parameters}`)));
  const nodes = found.nodes.flatMap((one) => [svg("circle", { cx: one.x, cy: one.y, r: 7, fill: one.writes ? "currentColor" : "none", stroke: "currentColor" }),
    svg("text", { x: one.label_x, y: one.y + 4, "text-anchor": one.anchor }, one.name)]);
  return panel("What leads from tool to tool", h("p", { class: "told" }, Object.entries(found.means).map(([kind, means]) => `${kind}: ${means}`).join("; ") + "; filled: was seen to write"),
    svg("svg", { viewBox: `0 0 ${found.size} ${found.size}`, class: "chart", role: "img", "aria-label": `${found.nodes.length} tools, ${found.edges.length} edges` }, svg("defs", {}, ...marks), ...edges, ...nodes));
}

async function showWorld(view) {
  const [first, , ...rest] = showSummary(view);
  const tables = view.tables.map((one) => tableShown(one, (value, at) => (one.title === "tasks" && at === 0 ? cell(link("why/" + value, value)) : null)));
  return [first, tables, view.kind === "world" ? await toolGraph() : null, rest.slice(1)];
}

async function storyPage(name) {
  const one = await ask("why/" + name);
  return [panel(null, h("h2", {}, h("span", { class: "id" }, one.name)), source(one.lines.join("\n"), { wrap: true }))];
}
