// The curves of an experiment, with selectable axes.

const choices = new Map(); // selections of the reader, by key

// chosen returns the selections for a key, at first the defaults.
function chosen(key, defaults) {
  if (!choices.has(key)) choices.set(key, { ...defaults });
  return choices.get(key);
}

// curvesOf returns the curves of an experiment. The initial axes are those of preset, or
// of the figure of the experiment.
function curvesOf(report, index, preset = {}) {
  const e = report.experiments[index], f = e.figure;
  const key = `${e.name}/${preset.name || "curves"}`, id = slug(key);
  const own = { x: f.x, y: f.y, xLog: f.x_log, yLog: f.y_log, band: e.band, hidden: [], ...preset };
  const c = chosen(key, own);
  const runs = report.runs.filter((r) => r.experiment === index);
  const seeds = new Set(runs.map((r) => r.seed)).size > 1;
  const place = el("div", { class: "panels" }), notes = el("div", { class: "notes" });
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Lines" });
  let drawn = [];

  const paint = () => {
    drawn.forEach((d) => d.erase());
    const x = report.quantity(c.x, index), y = report.quantity(c.y, index), look = looks(f);
    const groups = f.panels.map((_, panel) => f.lines.map((_, k) => runs.filter((r) => r.panel === panel && r.line === k).map((r) => curveOf(r, x, y, c.xLog, c.yLog)).filter((v) => v.x.length > 0)));
    const calmed = c.band === "each" ? [] : calm(groups, y.best, c.xLog, c.yLog);
    const off = f.lines.map((_, k) => runs.some((r) => r.line === k && ((c.yLog && r.column(c.y).some((v) => v <= 0)) || (c.xLog && r.count > 1 && r.column(c.x).every((v) => v <= 0)))));
    const note = (text, of) => (of.length > 0 ? el("p", { class: "quiet" }, `${text}: ${of.map((k) => f.lines[k].Text).join(", ")}.`) : null);
    notes.replaceChildren(...[note("Values up to 0, which are not on a logarithmic axis", [...off.keys()].filter((k) => off[k])),
      note("Curves that jump, drawn as the best value so far of each run", calmed)].filter(Boolean));
    drawn = f.panels.map((title, panel) => {
      const lines = [];
      f.lines.forEach((line, k) => {
        const curves = groups[panel][k];
        const of = { label: line.Label, look: look[k], show: !c.hidden.includes(line.Label) };
        if (curves.length === 1 || c.band === "each") {
          for (const v of curves) lines.push({ ...of, label: of.label + (curves.length > 1 ? ", seed " + v.run.seed : ""), x: v.x, y: v.y, own: calmed.includes(k) ? null : v.own, round: v.round, ends: endsOf([v], v.x, v.y), faint: curves.length > 1 });
        } else if (curves.length > 1) {
          lines.push({ ...of, ...combine(curves, c.xLog, c.yLog, c.band, report.student) });
        }
      });
      const chartKey = `${key}/${panel}/${c.x}/${c.y}/${c.xLog}/${c.yLog}`;
      return new Chart(chartKey, title, lines, { quantity: x, log: c.xLog }, { quantity: y, log: c.yLog });
    });
    place.dataset.count = drawn.length;
    place.replaceChildren(...drawn.map((d) => d.element));
    legend.replaceChildren(f.legend ? el("span", { class: "of" }, f.legend) : "", ...f.lines.map((line, k) => {
      const hidden = c.hidden.includes(line.Label);
      return el("button", { type: "button", id: `${id}-line-${k}`, "aria-pressed": String(!hidden), title: hidden ? "Show" : "Hide", onclick: () => {
        c.hidden = hidden ? c.hidden.filter((l) => l !== line.Label) : [...c.hidden, line.Label];
        paint();
        document.getElementById(`${id}-line-${k}`).focus();
      } }, swatch(look[k]), line.Label);
    }));
    if (place.isConnected) drawn.forEach(arrive);
  };
  const change = (name) => (value) => {
    c[name] = value;
    paint();
  };
  const options = (which) => report.quantities.filter((q) => q[which] && runs.some((r) => has(r, q.name))).map((q) => [q.name, q.label]);
  const controls = el("div", { class: "controls" },
    el("span", { class: "axis" }, choice(id + "-y", "show", options("y"), c.y, change("y")), tick(id + "-y-log", "log", c.yLog, change("yLog"))),
    el("span", { class: "axis" }, choice(id + "-x", "against", options("x"), c.x, change("x")), tick(id + "-x-log", "log", c.xLog, change("xLog"))),
    seeds ? choice(id + "-band", "band", [["se", "standard error"], ["ci", "95 % interval"], ["range", "lowest to highest"], ["none", "none"], ["each", "each seed"]], c.band, change("band")) : null);
  paint();
  return { element: el("div", { class: "curves" }, controls, place, legend, notes), arrive: () => drawn.forEach(arrive), erase: () => drawn.forEach((d) => d.erase()) };
}

// has reports whether a run records a quantity.
function has(run, name) {
  const c = run.column(name);
  for (let i = 0; i < c.length; i++) if (Number.isFinite(c[i])) return true;
  return false;
}
