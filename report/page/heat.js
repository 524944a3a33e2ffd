// The heat map of a sweep: two keys are the axes, the others are selected.

function heatOf(report, index) {
  const e = report.experiments[index];
  const keys = e.keys.filter((k) => k.values.length > 1);
  if (keys.length < 2 || e.cells.length < 4) return null;
  const units = (name) => report.quantity(name, index).units;
  const measures = [];
  report.targets.forEach((t, i) => {
    const to = t.text.replace(/[0-9.]+e[+-][0-9]+$/, scientific);
    measures.push({ name: `time to ${to}`, of: (c) => c.targets[i]?.time_s, units: units("time_s") },
      { name: `data sent to ${to}`, of: (c) => c.targets[i]?.bytes, units: units("bytes_up") },
      { name: `energy to ${to}`, of: (c) => c.targets[i]?.energy_j, units: units("energy_j") },
      { name: `rounds to ${to}`, of: (c) => c.targets[i]?.rounds, units: [] });
  });
  e.named.forEach((label, i) => measures.push({ name: `${label} at the end`, of: (c) => c.named[i], units: [] }));
  measures.push({ name: "sub-optimality at the end", of: (c) => c.last, units: [] },
    { name: "test error at the end", of: (c) => c.test_error, units: [] },
    { name: "total virtual time", of: (c) => c.time_s, units: units("time_s") },
    { name: "total energy", of: (c) => c.energy_j, units: units("energy_j") });
  const usable = measures.filter((m) => e.cells.some((c) => known(m.of(c))));
  if (usable.length === 0) return null;
  // The default is the time to the last target that three of four rows reach.
  const often = (m) => m.name.startsWith("time to") && e.cells.filter((c) => known(m.of(c))).length >= 0.75 * e.cells.length;
  const first = usable.findLast(often) || usable[0];
  const c = chosen(e.name + "/heat", { measure: first.name, down: keys[0].name, across: keys[1].name, rest: {} });
  const id = slug(e.name + "-heat");
  const element = el("div", { class: "heat" });
  const paint = () => {
    const measure = usable.find((m) => m.name === c.measure) || first;
    let down = keys.find((k) => k.name === c.down) || keys[0];
    let across = keys.find((k) => k.name === c.across && k !== down) || keys.find((k) => k !== down);
    const rest = keys.filter((k) => k !== down && k !== across);
    const at = (k) => e.keys.indexOf(k);
    const cellAt = (i, j) => e.cells.find((x) => x.at[at(down)] === i && x.at[at(across)] === j && rest.every((k) => x.at[at(k)] === Number(c.rest[k.name] || 0)));
    const values = e.cells.filter((x) => rest.every((k) => x.at[at(k)] === Number(c.rest[k.name] || 0))).map(measure.of).filter(known);
    const low = Math.min(...values), high = Math.max(...values);
    const log = low > 0 && high / low > 10;
    const share = (v) => (high > low ? (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)) : 0.5);
    const set = (name) => (v) => { c[name] = v; paint(); document.getElementById(`${id}-${name}`)?.focus(); };
    const named = keys.map((k) => [k.name, k.name]);
    const cell = (i, j) => {
      const v = cellAt(i, j) && measure.of(cellAt(i, j));
      if (!known(v)) return el("td", { class: "blank", title: cellAt(i, j) ? "not reached by every seed" : "no run" }, none);
      const color = heatColor(share(v));
      const td = el("td", { "data-value": v }, amount(v, measure.units, 3));
      td.style.background = color.background;
      td.style.color = color.ink;
      return td;
    };
    element.replaceChildren(
      el("div", { class: "controls" }, choice(id + "-measure", "show", usable.map((m) => [m.name, m.name]), measure.name, set("measure")),
        choice(id + "-down", "rows", named, down.name, set("down")), choice(id + "-across", "columns", named.filter(([n]) => n !== down.name), across.name, set("across")),
        rest.map((k) => choice(`${id}-${slug(k.name)}`, k.name, k.values.map((v, i) => [i, v]), c.rest[k.name] || 0, (v) => { c.rest[k.name] = v; paint(); }))),
      el("p", { class: "quiet" }, `${capital(measure.name)}, mean over repeated runs; colors ${log ? "on a logarithmic scale " : ""}from ${amount(low, measure.units, 3)} to ${amount(high, measure.units, 3)}.`),
      scrolled(measure.name,
        el("table", {},
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, `${down.name} \\ ${across.name}`), across.values.map((v) => el("th", { scope: "col" }, v)))),
          el("tbody", {}, down.values.map((v, i) => el("tr", {}, el("th", { scope: "row" }, v), across.values.map((_, j) => cell(i, j))))))));
  };
  paint();
  return element;
}
