// The parts of the time, and energy.

const partColors = () => css("--parts").split(/\s+/).map(hex);

// byLine groups the runs of an experiment by panel and line: {label, runs}.
function byLine(report, index) {
  const f = report.experiments[index].figure, groups = [];
  f.panels.forEach((title, panel) => f.lines.forEach((line, k) => {
    const runs = report.runs.filter((r) => r.experiment === index && r.panel === panel && r.line === k);
    if (runs.length > 0) groups.push({ label: (title.trim() ? title + ", " : "") + line.Text, runs });
  }));
  return groups;
}

const mean = (list, of) => list.reduce((sum, v) => sum + of(v), 0) / list.length;

// pathsOf returns the parts of the time of the rounds.
function pathsOf(report, index) {
  const seconds = report.quantity("time_s", index).units;
  const groups = byLine(report, index).map((g) => ({ ...g, runs: g.runs.filter((r) => r.stragglers) })).filter((g) => g.runs.length > 0);
  const rows = groups.map((g) => {
    const total = mean(g.runs, (r) => r.stragglers.where.reduce((a, b) => a + b, 0));
    return { label: g.label, parts: report.parts.map((_, k) => mean(g.runs, (r) => r.stragglers.where[k]) / total), text: `${amount(total, seconds, 3)}; devices waited ${percent(mean(g.runs, (r) => r.stragglers.waited))}` };
  });
  const runs = groups.flatMap((g) => g.runs), means = runs.filter((r) => r.stragglers.means).length;
  const along = "Time along the responses that ended the rounds", devices = "Time of the devices, mean";
  return bars(report.parts, partColors(), rows, means === 0 ? along : means === runs.length ? devices : `${along}; of the devices, mean, where deadlines did`);
}

// roundsOf returns the path of each round of a run.
function roundsOf(report, index, { run: at }) {
  const run = report.runs[at], round = run.column("round"), colors = partColors();
  const below = new Float64Array(round.length), lines = [];
  report.parts.forEach((name, k) => {
    const own = run.column("path_" + k);
    if (!(run.stragglers.path[k] > 0)) return;
    const x = [], y = [], seen = [];
    for (let i = 0; i < round.length; i++) {
      if (!Number.isFinite(own[i])) continue;
      below[i] += own[i];
      x.push(round[i]);
      y.push(below[i]);
      seen.push(own[i]);
    }
    lines.push({ label: name, look: { color: colors[k], dash: [] }, x, y, own: seen, round: x, show: true, fill: true, over: true, faint: true });
  });
  const chart = new Chart("rounds/" + run.id, "Time of each round along the response that ended it", lines.reverse(),
    { quantity: { ...report.quantity("round") }, log: false }, { quantity: { label: "virtual time", units: report.quantity("time_s", index).units }, log: false }, { height: 240 });
  return { element: el("div", {}, chart.element, el("p", { class: "key" }, lines.map((l) => el("span", {}, block(l.look.color), l.label)))), arrive: () => arrive(chart), erase: () => chart.erase() };
}

// energyOf returns the energy of the lines.
function energyOf(report, index) {
  const units = report.quantity("energy_j").units;
  return bars(["energy"], [hex(css("--line-0"))], byLine(report, index).map((g) => {
    const joules = mean(g.runs, (r) => r.totals.energy_j);
    return { label: g.label, parts: [joules], text: amount(joules, units, 3) };
  }), "Energy of all devices");
}

// againstEnergy returns axes that show the quality of the model against energy.
function againstEnergy(report, index) {
  const f = report.experiments[index].figure, runs = report.runs.filter((r) => r.experiment === index);
  const y = ["suboptimality", report.experiments[index].metric, f.y].find((name) => runs.some((r) => has(r, name))) || f.y;
  return { name: "energy", x: "energy_j", xLog: true, y, yLog: y === f.y ? f.y_log : y === "suboptimality" };
}
