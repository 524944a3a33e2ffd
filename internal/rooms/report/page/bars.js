// Parts of colored bars, and tables of charts.

// scrolled makes wide content scrollable by itself, also by keyboard.
const scrolled = (label, ...content) => el("div", { class: "wide", tabindex: 0, role: "group", "aria-label": label }, content);

// scientific converts a number like 2.9e-04 to 2.9·10⁻⁴; it does not change other texts.
function scientific(text) {
  const m = /^([0-9.]+)e([+-][0-9]+)$/.exec(text);
  if (!m) return text === "-" ? none : text;
  return (m[1] === "1" ? "" : m[1] + "·") + power(Number(m[2]));
}

// bars returns horizontal bars of parts. Rows are {label, parts: [v], text}; names and
// colors are those of the parts.
function bars(names, colors, rows, caption) {
  const most = Math.max(...rows.map((r) => r.parts.reduce((a, b) => a + b, 0)), 1e-300);
  const used = names.map((_, k) => rows.some((r) => r.parts[k] > 0));
  return el("div", { class: "bars", role: "group", "aria-label": caption },
    names.length > 1 ? el("p", { class: "key" }, names.map((n, k) => (used[k] ? el("span", {}, block(colors[k]), n) : null))) : null,
    rows.map((r) => el("div", { class: "bar" }, el("span", { class: "name" }, r.label), bar(r.parts, colors, most, names), el("span", { class: "amount" }, r.text))));
}

const block = (color) => svg("svg", { width: 11, height: 11, viewBox: "0 0 11 11", class: "block", "aria-hidden": "true" }, svg("rect", { width: 11, height: 11, fill: rgb(color) }));

function bar(parts, colors, most, names) {
  const drawing = svg("svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none", class: "stack", role: "img", "aria-label": parts.map((p, k) => (p > 0 ? `${names[k]} ${percent(p / most)}` : "")).filter(Boolean).join(", ") });
  let at = 0;
  parts.forEach((p, k) => {
    const width = (1000 * p) / most;
    if (width > 0) drawing.append(svg("rect", { x: at, y: 0, width, height: 16, fill: rgb(colors[k]) }));
    at += width;
  });
  return drawing;
}
