// Tables.

// scrolled makes wide content scrollable by itself, also by keyboard.
const scrolled = (label, ...content) => el("div", { class: "wide", tabindex: 0, role: "group", "aria-label": label }, content);

// bodyOf returns the rows of a table. The first cell of a row is its heading.
const bodyOf = (rows) => rows.map((row) => el("tr", {}, row.map((c, i) => el(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, c))));

// filled reports whether a cell has content.
const filled = (cell) => cell !== "" && cell !== "-" && cell !== none && cell !== null && cell !== undefined;

// table returns a table with headings and without empty columns. Numbers are aligned right.
function table(heads, cells, caption, className) {
  const used = heads.map((_, i) => i === 0 || cells.length === 0 || cells.some((row) => filled(row[i])));
  const head = heads.filter((_, i) => used[i]), rows = cells.map((row) => row.filter((_, i) => used[i]));
  return scrolled(caption || "table", el("table", { class: className }, caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, head.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, bodyOf(rows))));
}

// scientific converts a number like 2.9e-04 to 2.9·10⁻⁴; it does not change other texts.
function scientific(text) {
  const m = /^([0-9.]+)e([+-][0-9]+)$/.exec(text);
  if (!m) return text === "-" ? none : text;
  return (m[1] === "1" ? "" : m[1] + "·") + power(Number(m[2]));
}

// resultsOf returns the tables of an experiment as in the summary of a run, with the same
// columns, without empty columns, and with the best cells of each block marked.
function resultsOf(e) {
  const heads = [e.row_key, ...e.groups.flatMap((g) => g.heads)];
  const used = heads.map((_, i) => i === 0 || e.blocks.some((b) => b.rows.some((row) => filled(row[i]))));
  const shown = (list) => list.filter((_, i) => used[i]);
  const words = (text) => text.replace(/[0-9.]+e[+-][0-9]+$/, scientific);
  const groups = [], missed = [];
  let at = 1, wide = 1; // columns so far, and displayed columns so far
  for (const g of e.groups) {
    const columns = used.slice(at, at + g.heads.length).filter(Boolean).length;
    if (columns > 0) groups.push({ title: words(g.title), columns, begins: wide });
    else if (g.title.startsWith("to ")) missed.push(words(g.title).slice(3));
    at += g.heads.length;
    wide += columns;
  }
  const spaced = (tr) => { groups.forEach((g) => tr.children[g.begins].classList.add("begins")); return tr; };
  const rows = (b) => b.rows.map((row, i) => shown(row.map((c, j) => {
    const text = scientific(c);
    return b.best.some((mark) => mark[0] === i && mark[1] === j) ? el("strong", { class: "best", title: "the best of this block" }, text) : text;
  })));
  return [scrolled(e.caption, el("table", { class: "targets" },
    el("thead", {}, el("tr", { class: "above" }, el("td", {}), groups.map((g) => el("th", { scope: "colgroup", colspan: g.columns, class: "over" }, g.title))),
      spaced(el("tr", {}, shown(heads).map((h) => el("th", { scope: "col" }, h))))),
    e.blocks.map((b) => el("tbody", {}, b.title ? el("tr", { class: "title" }, el("th", { scope: "rowgroup", colspan: wide }, b.title)) : null, bodyOf(rows(b)).map(spaced),
      b.notes.map((n) => el("tr", { class: "note" }, el("td", { colspan: wide }, n))))))),
  missed.length > 0 ? el("p", { class: "quiet missed" }, `No method reached ${missed.join(", ")} with all seeds.`) : null];
}

// errorsOf returns a table of prediction errors.
function errorsOf(t) {
  const rows = t.rows.map((row) => row.map((c, i) => (i > 0 && c !== "" && !Number.isNaN(Number(c)) ? figure(Number(c), 4) : c)));
  return table(t.head.map((h) => h.replaceAll("_", " ")), rows, t.name, "texts");
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
