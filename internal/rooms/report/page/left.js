// Who is left behind: the worst clients, the rest and the classes of the fleet, by method.

// leftOf returns the section of an experiment, with a selectable metric by client.
function leftOf(report, index) {
  const reports = report.experiments[index].left;
  if (reports.length === 0) return null;
  const first = reports.find((r) => r.metric.startsWith("test_")) || reports[0];
  const c = chosen(report.experiments[index].name + "/left", { metric: first.metric });
  const id = slug(report.experiments[index].name + "-left");
  const element = el("div", { class: "behind" }), lines = report.experiments[index].figure.lines;
  let charts = [];
  const paint = () => {
    charts.forEach((d) => d.erase());
    const r = reports.find((x) => x.metric === c.metric) || first;
    const value = (v) => (!known(v) ? none : r.share ? figure(100 * v, 3) + " %" : figure(v, 4) + (r.unit ? " " + r.unit : ""));
    const seconds = report.quantity("time_s", index).units;
    const group = (g) => [figure(g.clients, 3), value(g.value), figure(g.rows, 3), amount(g.compute_s, seconds, 3), amount(g.transfer_s, seconds, 3), figure(g.updates, 3)];
    const name = (m) => [m.name, ...m.point.map((p) => `${p.key} = ${p.value}`)].join(", ");
    const rows = r.methods.flatMap((m) => [
      [name(m), "worst 10 %", none, ...group(m.worst)], ["", "rest", none, ...group(m.rest)],
      ...m.classes.map((k) => ["", k.name, `${k.worst} of ${m.classes.reduce((sum, x) => sum + x.worst, 0)}`, ...group(k)])]);
    const traits = [];
    for (const m of r.methods) for (const t of m.traits) if (!traits.some((x) => x.name === t.name && x.class === t.class)) traits.push(t);
    const rho = (v) => (known(v) ? (v < 0 ? "−" : "+") + Math.abs(v).toFixed(2) : none);
    const correlations = r.methods.map((m) => [name(m), ...traits.map((t) => {
      const own = m.traits.find((x) => x.name === t.name && x.class === t.class);
      const counts = own && known(own.rho) && known(m.threshold) && Math.abs(own.rho) >= m.threshold;
      return counts ? el("strong", { title: "counts" }, rho(own.rho)) : rho(own && own.rho);
    }), known(m.threshold) ? m.threshold.toFixed(2) : none]);
    const look = looks(report.experiments[index].figure);
    charts = distributionsOf(report, index, r);
    element.replaceChildren(...[
      reports.length > 1 ? el("div", { class: "controls" }, choice(id + "-metric", "metric", reports.map((x) => [x.metric, x.label]), r.metric, (v) => { c.metric = v; paint(); charts.forEach(arrive); })) : null,
      el("ul", { class: "verdicts" }, r.methods.map((m) => el("li", {}, el("strong", {}, name(m)), ": ", m.verdict, "."))),
      el("p", { class: "key" }, look.map((l, k) => el("span", {}, swatch(l), " ", lines[k].Label))),
      el("div", { class: "panels", "data-count": charts.length }, charts.map((d) => d.element)),
      table(["method", "clients", "in worst", "number", r.label, "rows", "compute", "transfer", "updates"], rows, `${capital(r.label)} of the worst 10 % of the clients, of the rest, and of the classes of the fleet`, "texts"),
      el("h4", {}, "Rank correlations with a worse " + r.label),
      table(["method", ...traits.map((t) => (t.name === "class" ? "class " + t.class : t.name.replace("_s", ""))), "counts from"], correlations, "Rank correlations"),
    ].filter(Boolean));
  };
  paint();
  return { element, arrive: () => charts.forEach(arrive), erase: () => charts.forEach((d) => d.erase()) };
}

// distributionsOf returns the charts of the share of clients at or below a value, by panel.
function distributionsOf(report, index, r) {
  const f = report.experiments[index].figure, look = looks(f);
  const size = r.share ? 100 : 1;
  const x = { quantity: { label: `${r.label} of a client`, units: r.share ? [{ name: "%", size: 1 }] : r.unit ? [{ name: r.unit, size: 1 }] : [], name: r.metric }, log: false };
  const y = { quantity: { label: "clients at or below", units: [{ name: "%", size: 1 }], name: "share" }, log: false };
  return f.panels.map((title, panel) => {
    const lines = r.distributions.filter((d) => d.panel === panel).map((d) => ({
      label: f.lines[d.line].Label, look: look[d.line], show: true, x: d.x.map((v) => size * v), y: d.share.map((v) => 100 * v),
    }));
    return new Chart(`${report.experiments[index].name}/left/${panel}/${r.metric}`, title, lines, x, y, { height: 260 });
  });
}
