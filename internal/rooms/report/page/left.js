// Which values clients have: the share of them at or below a value, by method.

// leftOf returns the charts of a metric by client of an experiment.
function leftOf(report, index, { metric }) {
  const f = report.experiments[index].figure, look = looks(f);
  const charts = distributionsOf(report, index, report.experiments[index].left[metric]);
  return { element: el("div", {}, el("p", { class: "key" }, look.map((l, k) => el("span", {}, swatch(l), " ", f.lines[k].Text))),
    el("div", { class: "panels", "data-count": charts.length }, charts.map((d) => d.element))), arrive: () => charts.forEach(arrive), erase: () => charts.forEach((d) => d.erase()) };
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
