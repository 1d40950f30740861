// The contrast (WCAG 2.2) of every visible text with what stands behind it, as the browser computes both.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "#000"; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const light = (colour) => { const [r, g, b] = colour.slice(0, 3).map((one) => { const c = one / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const behind = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) layers.push(read(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), read(getComputedStyle(document.documentElement).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#fff"));
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), node = walker.currentNode.parentElement;
    if (!text || !node || ["SCRIPT", "STYLE", "NOSCRIPT", "TITLE"].includes(node.tagName.toUpperCase()) || node.closest("title")) continue;
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    if (!box.width || style.visibility === "hidden" || box.right < 0) continue;
    seen += 1;
    const back = behind(node), colour = over(read(node instanceof SVGElement ? style.fill : style.color), back);
    texts.push({ text: text.slice(0, 40), kind: node.tagName + "." + (node.getAttribute("class") || ""), contrast: Math.round(ratio(colour, back) * 100) / 100 });
  }
  return JSON.stringify({ seen, texts: texts.sort((a, b) => a.contrast - b.contrast).slice(0, 40) });
})()
