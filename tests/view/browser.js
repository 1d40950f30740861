// The script of the page against the few parts of a browser that it uses, so that a test can read what it would show.
// node browser.js FILE HASH...            an exported page
// node browser.js http://HOST:PORT/ HASH...   a served one, its answers fetched
// Prints one JSON line a hash: {"hash", "tags": [...], "text", "alerts": [...]}
"use strict";
const fs = require("fs");

class Node {
  constructor(tag) { Object.assign(this, { tag, nodeType: 1, attributes: {}, children: [], style: {}, listeners: {}, parent: null, value: "" }); }
  append(...nodes) { for (const one of nodes) this.children.push(adopted(this, one)); }
  replaceChildren(...nodes) { for (const one of this.children) one.parent = null; this.children = []; this.append(...nodes); }
  setAttribute(name, value) {
    if (/^on|^style$|^srcdoc$/.test(name)) throw new Error(`markup attribute ${name}`);
    this.attributes[name] = String(value);
    if (name === "value") this.value = String(value);
  }
  addEventListener(name, act) { this.listeners[name] = act; }
  get textContent() { return this.children.map((one) => one.textContent).join(this.tag === "tr" || this.tag === "p" ? " " : ""); }
  set textContent(text) { this.replaceChildren(text); }
  get isConnected() { let top = this; while (top.parent) top = top.parent; return top === body; }
  set innerHTML(_) { throw new Error("innerHTML is used"); }
  set outerHTML(_) { throw new Error("outerHTML is used"); }
  insertAdjacentHTML() { throw new Error("insertAdjacentHTML is used"); }
  *[Symbol.iterator]() { yield this; for (const one of this.children) if (one instanceof Node) yield* one; }
}

function adopted(parent, one) {
  if (typeof one === "string") return { nodeType: 3, textContent: one };
  if (!(one instanceof Node)) throw new Error(`neither text nor node: ${JSON.stringify(one)}`);
  one.parent = parent;
  return one;
}

const body = new Node("body");
const byId = {};

async function start() {
  const [from, ...hashes] = process.argv.slice(2);
  const served = from.startsWith("http");
  const html = served ? await (await fetch(from)).text() : fs.readFileSync(from, "utf8");
  for (const id of ["main", "title", "facts", "nav", "embedded"]) { byId[id] = new Node("div"); body.append(byId[id]); }
  byId.embedded.append(html.match(/<script type="application\/json" id="embedded">(.*?)<\/script>/s)[1]);
  const events = {};
  const location = { hash: "#" + hashes[0] };
  const document = {
    getElementById: (id) => byId[id], createElement: (tag) => new Node(tag), createElementNS: (_, tag) => new Node(tag),
    addEventListener: () => {}, hidden: false, write: () => { throw new Error("document.write is used"); },
  };
  const window = { addEventListener: (name, act) => { events[name] = act; }, scrollTo: () => {} };
  const history = { replaceState: () => {} };
  let pending = 0;
  const ask = async (path) => {
    pending += 1;
    const response = await fetch(new URL(path, from));
    const { status, headers } = response, text = await response.text();
    pending -= 1;
    return new Response(text, { status, headers });
  };
  const settled = async () => {
    for (let idle = 0; idle < 4; idle = pending ? 0 : idle + 1) await new Promise((done) => setTimeout(done, 15));
  };
  const script = html.match(/<script>(.*?)<\/script>/s)[1];
  new Function("document", "window", "location", "history", "fetch", "setInterval", script)(document, window, location, history, ask, () => {});
  for (const [at, hash] of hashes.entries()) {
    location.hash = "#" + hash;
    if (at) events.hashchange();
    await settled();
    const nodes = [...body];
    const alerts = nodes.filter((one) => one.attributes.role === "alert").map((one) => one.textContent);
    console.log(JSON.stringify({ hash, tags: [...new Set(nodes.map((one) => one.tag))], text: byId.main.textContent, alerts }));
  }
}

start();
