// Round figures between low and high, about `most` of them.
function ticks(low, high, most = 5) {
  const rough = Math.max(high - low, 1e-12) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step);
  return found;
}
const rounded = (value) => (Math.abs(value) >= 1000 ? value.toLocaleString("en") : Number(value.toPrecision(6)).toString());

// The width of a chart in a panel that takes this share of the page: one unit is one pixel, so letters keep their size.
const room = (share) => Math.max(300, Math.round(((main.clientWidth || 1320) - 50) * ((main.clientWidth || 1320) > 1130 ? share : 1) - 44));

// Axes with their figures and names; `draw` gets the scales.
function axes({ xs, ys, across, up, told: label, height = 260, width = room(0.5) }, draw) {
  const [left, right, top, bottom] = [54, 14, 12, 42];
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const wide = Math.max(...ys) - Math.min(...ys) || Math.max(Math.abs(ys[0] || 0) * 0.1, 1e-6);
  const [low, high] = [Math.min(...ys) - wide * 0.06, Math.max(...ys) + wide * 0.06];
  const x = (value) => left + (width - left - right) * (value - x0) / Math.max(x1 - x0, 1e-12);
  const y = (value) => top + (height - top - bottom) * (high - value) / (high - low);
  const lines = ticks(low, high).flatMap((value) => [svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "axis" }),
    svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, rounded(value))]);
  const below = ticks(x0, x1, width > 420 ? 8 : 4).map((value) => svg("text", { x: x(value), y: height - bottom + 17, "text-anchor": "middle" }, rounded(value)));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": label }, ...lines, ...below,
    svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, across),
    svg("text", { x: 12, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + height - bottom) / 2})` }, up), ...draw(x, y));
}

function lineChart(name, points, unit = "step") {
  const title = name.replaceAll("_", " ");
  if (points.length < 2) return panel(title, h("p", {}, `${plain(points[0][1])} at ${unit} ${points[0][0]}`));
  const [first, last] = [points[0][1], points.at(-1)[1]];
  const drawn = axes({ xs: points.map((one) => one[0]), ys: points.map((one) => one[1]), across: unit, up: title, height: 210, told: `${title} from ${plain(first)} to ${plain(last)}` }, (x, y) =>
    [svg("path", { class: "line", d: points.map(([at, value], place) => `${place ? "L" : "M"}${x(at)} ${y(value)}`).join("") }),
      ...(points.length > 60 ? [] : points.map(([at, value]) => svg("circle", { class: "p0", cx: x(at), cy: y(value), r: 3 }, svg("title", {}, `${plain(value)} at ${unit} ${at}`))))]);
  return panel(title, h("p", { class: "told" }, `${plain(first)} to ${plain(last)}`), drawn);
}

// Every candidate that was evaluated, by who made it, under the best so far.
function fitnessChart(fitness, curve, evaluations) {
  const names = Object.keys(fitness), all = names.flatMap((name) => fitness[name]);
  if (!all.length) return null;
  const scores = all.map((point) => point[1]).sort((a, b) => a - b);
  // The worst twentieth would press all others together; it stays at the lower edge.
  const floor = scores[Math.floor(scores.length / 20)];
  const end = Math.max(evaluations, ...all.map((point) => point[0]));
  const open = (id) => () => { location.hash = "candidate/" + encodeURIComponent(id); };
  const drawn = axes({ xs: [0, end], ys: [floor, scores.at(-1), ...curve.map((point) => point[2])], across: "evaluations", up: "score on the seeds", width: room(1), height: (main.clientWidth || 1320) > 640 ? 300 : 240,
    told: `scores of ${all.length} candidates, the best ${figure(scores.at(-1))}` }, (x, y) => {
    const dots = names.flatMap((name, kind) => fitness[name].map(([at, score, id]) =>
      svg("circle", { class: `dot p${kind % 6}`, cx: x(at).toFixed(1), cy: y(Math.max(score, floor)).toFixed(1), r: 3, on: { click: open(id) } }, svg("title", {}, `${id}, ${name}: ${figure(score)}`))));
    let path = "";
    curve.forEach(([at, , score], place) => { path += place ? `H${x(at)}V${y(score)}` : `M${x(at)} ${y(score)}`; });
    const steps = curve.map(([at, id, score]) => svg("a", { href: "#candidate/" + encodeURIComponent(id), "aria-label": `best so far ${figure(score)} at ${at}` },
      svg("circle", { cx: x(at), cy: y(score), r: 5, class: "mark" }, svg("title", {}, `best so far: ${id}, ${figure(score)} at ${at}`))));
    return [...dots, svg("path", { d: path + `H${x(end)}`, class: "curve" }), ...steps];
  });
  return panel("Every candidate, and the best so far", told("A dot is a candidate, a step of the line one that was better than all before it; both lead to it."), drawn,
    h("p", { class: "legend" }, names.map((name, kind) => h("span", {}, h("i", { class: "p" + (kind % 6) }), `${name} (${fitness[name].length})`))));
}

function interval(row, low, high) {
  const x = (value) => 6 + 148 * (value - low) / Math.max(high - low, 1e-9);
  const said = `${figure(row.score)}, 95 % interval ${row.ci ? figure(row.ci[0]) + " to " + figure(row.ci[1]) : "none, for so few problems"}`;
  return svg("svg", { width: 160, height: 16, role: "img", "aria-label": said }, row.ci ? svg("line", { x1: x(row.ci[0]), x2: x(row.ci[1]), y1: 8, y2: 8, class: "ci" }) : null,
    svg("circle", { cx: x(row.score), cy: 8, r: 4, class: "here" }));
}

// From the least to the most, the tenth to the ninetieth, the middle.
function spread(row, low, high) {
  const x = (value) => 4 + 192 * (value - low) / Math.max(high - low, 1e-9);
  return svg("svg", { width: 200, height: 16, role: "img", "aria-label": `median ${brief(row.median)}` }, svg("line", { x1: x(row.min), x2: x(row.max), y1: 8, y2: 8, class: "zero" }),
    svg("line", { x1: x(row.p10), x2: x(row.p90), y1: 8, y2: 8, class: "ci" }), svg("circle", { cx: x(row.median), cy: 8, r: 4, class: "here" }));
}

const track = (share) => h("span", { class: "track" }, h("span", { look: { width: `${Math.max(0, Math.min(100, 100 * share))}%` } }));

function heat(grid, axesOf, low, high) {
  const [down, right] = axesOf;
  const best = new Map();
  grid.cells.forEach((one) => {
    const key = `${one.cell[0] ?? 0},${one.cell[1] ?? 0}`;
    if (!best.has(key) || best.get(key).score < one.score) best.set(key, one);
  });
  const rows = [];
  for (let at = (down ? down.bins : 1) - 1; at >= 0; at -= 1) {
    const cells = [];
    for (let over = 0; over < (right ? right.bins : 1); over += 1) {
      const one = best.get(`${at},${over}`);
      const strength = one ? 8 + 42 * (one.score - low) / Math.max(high - low, 1e-9) : 0;
      cells.push(h("td", { look: one ? { background: `color-mix(in srgb, var(--heat) ${strength.toFixed(0)}%, var(--panel))` } : {} },
        one ? h("a", { href: "#candidate/" + encodeURIComponent(one.id), title: `${one.id}: ${figure(one.score, 4)}` }, (100 * one.score).toFixed(0)) : ""));
    }
    rows.push(h("tr", {}, h("th", {}, down ? figure(down.low + at * (down.high - down.low) / down.bins, 2) : ""), cells));
  }
  return h("div", {}, h("h3", {}, `${grid.name}: ${grid.filled} of ${grid.capacity} cells`), scroll(h("table", { class: "grid" }, h("tbody", {}, rows))));
}
