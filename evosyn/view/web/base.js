"use strict";
// Every text below may have been written by a model: it enters the page as a text node (`append`), never as markup.
const embedded = JSON.parse(document.getElementById("embedded").textContent);
const main = document.getElementById("main");
const VERDICTS = { P: "pass", F: "wrong", E: "exception", T: "time limit", K: "killed", B: "broken testing", N: "not run", U: "unknown" };
let overview = null;
let shown = 0;

function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "look") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(4).filter((one) => one !== null && one !== undefined && one !== false)
    .map((one) => (typeof one === "object" ? one : String(one))));
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter(Boolean));
  return node;
}

// A question as an address: what is asked, then the name of a thing, which may hold slashes of its own.
function addressed(question) {
  const [what, ...name] = question.split("/");
  return name.length ? what + "/" + encodeURIComponent(name.join("/")) : what;
}
const holds = (question) => !embedded || Object.hasOwn(embedded, question);

async function ask(question, query = {}) {
  if (embedded) {
    if (!holds(question)) throw new Error("This file does not hold it; open the directory with: evosyn view " + (overview ? overview.path : "DIR"));
    const held = embedded[question];
    return Array.isArray(held.rows) ? filtered(held, query) : held;
  }
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  const response = await fetch("/api/" + addressed(question) + (given.size ? "?" + given : ""));
  const type = response.headers.get("content-type") || "";
  if (!type.includes("json")) throw new Error(await response.text());
  const value = await response.json();
  if (!response.ok) throw new Error(value.error);
  return value;
}

function filtered(list, query) {
  const words = (query.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  const rows = list.rows.filter((row) => {
    const text = list.columns.map((column) => row[column] ?? "").join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (query.sort === "newest") rows.sort((a, b) => b.number - a.number);
  if (query.sort === "oldest") rows.sort((a, b) => a.number - b.number);
  return { ...list, rows, matching: words.length ? rows.length : list.matching };
}

const figure = (value, digits = 3) => (value === null || value === undefined ? "" : Number(value).toFixed(digits));
const brief = (value) => (Number.isInteger(value) ? String(value) : Number(value.toPrecision(3)).toString());
const plain = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? brief(value) : typeof value === "object" ? JSON.stringify(value) : String(value));
const signed = (value) => (value < 0 ? "" : "+") + figure(value);
const panel = (title, ...children) => h("section", {}, title ? h("h2", {}, title) : null, ...children);
const told = (...children) => h("p", { class: "told" }, ...children);
const scroll = (...children) => h("div", { class: "scroll", tabindex: null }, ...children);
const number = (value) => h("td", { class: "n" }, value);
const cell = (...children) => h("td", {}, ...children);
const letter = (one) => h("span", { class: `v v-${VERDICTS[one] ? one : "U"}`, title: VERDICTS[one] || one }, one);

// A link inside the page; in an exported file that does not hold its target it is a text that says so.
function link(question, text, query = "") {
  if (!holds(question)) return h("span", { class: "id absent", title: "not in this file; evosyn view shows it" }, text);
  return h("a", { href: "#" + addressed(question) + query, class: "id" }, text);
}
const candidateLink = (id, text) => link("candidate/" + id, text || id);

function table(heads, rows, kind = "wide") {
  const body = h("tbody", {}, rows);
  const sort = (at, head) => () => {
    const up = head.getAttribute("aria-sort") === "descending";
    for (const one of head.parentNode.children) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => row.children[at] ? row.children[at].textContent : "";
    const order = (a, b) => { const [x, y] = [parseFloat(value(a)), parseFloat(value(b))]; return Number.isNaN(x) || Number.isNaN(y) ? value(b).localeCompare(value(a)) : y - x; };
    const sorted = [...body.children].sort(order);
    body.replaceChildren(...(up ? sorted.reverse() : sorted));
  };
  const cells = heads.map((name, at) => {
    const head = h("th", { class: name.startsWith(">") ? "n" : null, scope: "col" });
    const text = name.replace(/^>/, "");
    head.append(text && rows.length > 2 ? h("button", { type: "button", title: "sort", on: { click: sort(at, head) } }, text) : text);
    return head;
  });
  return scroll(h("table", { class: kind }, h("thead", {}, h("tr", {}, cells)), body));
}

// A table as the reading gives it: columns with a number stand right, heads and cells; `drawn` draws what else a cell may be.
function tableShown(one, drawn = () => null) {
  const numbers = one.columns.map((_, at) => one.rows.some((cells) => typeof cells[at] === "number" || /^[-+]?\d+\.\d+ \[/.test(cells[at])));
  const cells = (row) => row.map((value, at) => drawn(value, at) || (numbers[at] ? number(typeof value === "number" ? plain(value) : value) : cell(plain(value))));
  const heads = one.columns.map((name, at) => (numbers[at] ? ">" : "") + name.replaceAll("_", " "));
  return panel(one.title || "", table(heads, one.rows.map((row) => h("tr", {}, cells(row)))));
}

function rowTo(question, attributes, ...cells) {
  if (!holds(question)) return h("tr", attributes, cells);
  const open = () => { location.hash = addressed(question); };
  return h("tr", { ...attributes, tabindex: 0, on: { click: (event) => event.target.closest("a") || open(), keydown: (event) => event.key === "Enter" && open() } }, cells);
}

const given = (pairs) => Object.entries(pairs).filter(([, value]) => value !== null && value !== undefined && value !== "");
const figures = (pairs) => h("dl", { class: "figures" }, given(pairs).map(([name, value]) => h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, value))));
const facts = (pairs) => scroll(h("table", {}, given(pairs).map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name.replaceAll("_", " ")), h("td", {}, typeof value === "object" && value.nodeType ? value : plain(value))))));

const WORD = /(#[^\n]*|"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\b(?:def|return|for|in|if|else|elif|while|import|from|as|lambda|not|and|or|is|None|True|False|class|with|try|except|raise|yield|assert|pass|break|continue)\b|\b\d+(?:\.\d+)?\b)/;
function coloured(text) {
  return text.split(WORD).filter(Boolean).map((part) => {
    const kind = /^#/.test(part) ? "c" : /^["']/.test(part) && part.length > 1 ? "s" : /^\d/.test(part) ? "d" : WORD.test(part) && /^\w+$/.test(part) ? "k" : null;
    return kind ? h("span", { class: kind }, part) : part;
  });
}

function source(text, { wrap = false, code = false } = {}) {
  const copy = h("button", { type: "button", class: "button", on: { click: () => navigator.clipboard.writeText(text).then(() => { copy.textContent = "copied"; }) } }, "copy");
  return h("div", {}, h("p", {}, copy), h("pre", { class: "box long" + (wrap ? " wrap" : "") }, code ? coloured(text) : text));
}

function difference(lines) {
  const kinds = { "+": "add", "-": "cut", "@": "hunk" };
  return h("pre", { class: "box long" }, lines.map((line) => h("span", { class: kinds[line[0]] }, line + "\n")));
}

const SAID = { yes: "It worked", no: "It did not work", unclear: "Unclear", open: "Running, or stopped on the way", done: "Finished" };
function hero(found, more) {
  const won = found.won ? [h("dt", {}, "What won"), h("dd", {}, found.link && found.won.startsWith(found.link) ? [candidateLink(found.link), found.won.slice(found.link.length)] : found.won)] : null;
  const why = found.why.length ? [h("dt", {}, "Why"), h("dd", {}, h("ul", {}, found.why.map((line) => h("li", {}, line))))] : null;
  return h("section", { class: "hero " + found.worked, "aria-label": "what came of it" }, h("span", { class: "pill " + found.worked }, SAID[found.worked]),
    h("p", { class: "did" }, found.did.replaceAll(" %", "\u00a0%")), won || why ? h("dl", {}, won, why) : null, more);
}
