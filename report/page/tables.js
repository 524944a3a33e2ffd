// Tables.

// table makes a table. Heads are rows of cells; a cell is a text or {text, span}. The
// first cell of a row heads it; numbers stand to the right.
function table(heads, rows, caption, className) {
  const text = (c) => (typeof c === "object" && c !== null && !(c instanceof Node) ? c.text : c);
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption || "table" },
    el("table", { class: className || "figures" }, caption ? el("caption", {}, caption) : null,
      el("thead", {}, heads.map((head) => el("tr", {}, head.map((c) => el("th", { scope: "col", colspan: c.span > 1 ? c.span : null, class: c.span > 1 ? "over" : null }, text(c)))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((c, i) => el(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, text(c))))))));
}

// resultsOf shows the tables of an experiment as the summary of a run has them.
function resultsOf(report, e) {
  return e.blocks.map((b) => {
    const [above, head] = b.heads;
    const heads = [];
    if (!e.totals) {
      const spans = [{ text: "", span: 1 }];
      for (let i = 1; i + 4 <= above.length - 1; i += 4) spans.push({ text: "to " + above[i + 1], span: 4 });
      spans.push({ text: "", span: 1 }, { text: "", span: 1 });
      heads.push(spans);
    }
    heads.push(head);
    return table(heads, b.rows, b.title, "figures grouped" + (e.totals ? "" : " targets"));
  });
}

// errorsOf shows a table of prediction errors.
function errorsOf(t) {
  const rows = t.rows.map((row) => row.map((c, i) => (i > 0 && c !== "" && !Number.isNaN(Number(c)) ? figure(Number(c), 4) : c)));
  return table([t.head.map((h) => h.replaceAll("_", " "))], rows, t.name);
}

// bars draws horizontal bars of parts: rows are {label, parts: [v], text}, names and
// colours those of the parts.
function bars(names, colours, rows, caption) {
  const most = Math.max(...rows.map((r) => r.parts.reduce((a, b) => a + b, 0)), 1e-300);
  const used = names.map((_, k) => rows.some((r) => r.parts[k] > 0));
  return el("div", { class: "bars", role: "group", "aria-label": caption },
    names.length > 1 ? el("p", { class: "key" }, names.map((n, k) => (used[k] ? el("span", {}, block(colours[k]), n) : null))) : null,
    rows.map((r) => el("div", { class: "bar" }, el("span", { class: "name" }, r.label), bar(r.parts, colours, most, names), el("span", { class: "amount" }, r.text))));
}

const block = (colour) => svg("svg", { width: 11, height: 11, viewBox: "0 0 11 11", class: "block", "aria-hidden": "true" }, svg("rect", { width: 11, height: 11, fill: rgb(colour) }));

function bar(parts, colours, most, names) {
  const drawing = svg("svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none", class: "stack", role: "img", "aria-label": parts.map((p, k) => (p > 0 ? `${names[k]} ${percent(p / most)}` : "")).filter(Boolean).join(", ") });
  let at = 0;
  parts.forEach((p, k) => {
    const width = (1000 * p) / most;
    if (width > 0) drawing.append(svg("rect", { x: at, y: 0, width, height: 16, fill: rgb(colours[k]) }));
    at += width;
  });
  return drawing;
}
