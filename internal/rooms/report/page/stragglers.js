// Participation, stragglers and the parts of the time.

const partColors = () => css("--parts").split(/\s+/).map(hex);

// byLine groups the runs of an experiment by panel and line: {label, runs}.
function byLine(report, index) {
  const f = report.experiments[index].figure, groups = [];
  f.panels.forEach((title, panel) => f.lines.forEach((line, k) => {
    const runs = report.runs.filter((r) => r.experiment === index && r.panel === panel && r.line === k);
    if (runs.length > 0) groups.push({ label: (title.trim() ? title + ", " : "") + line.Label, runs });
  }));
  return groups;
}

const mean = (list, of) => list.reduce((sum, v) => sum + of(v), 0) / list.length;

// participationOf returns the mean responses, dropouts and late responses per round.
function participationOf(report, index) {
  const per = (r, name) => (r.totals.rounds > 0 ? r.totals[name] / r.totals.rounds : NaN);
  return table(["line", "rounds", "virtual time", "responses per round", "dropped per round", "late per round"], byLine(report, index).map((g) => [
    g.label, figure(mean(g.runs, (r) => r.totals.rounds)), amount(mean(g.runs, (r) => r.totals.time_s), report.quantity("time_s", index).units, 3),
    figure(mean(g.runs, (r) => per(r, "participants")), 3), figure(mean(g.runs, (r) => per(r, "dropped")), 3), figure(mean(g.runs, (r) => per(r, "late")), 3)]));
}

// pathsOf returns the parts of the time of the rounds.
function pathsOf(report, index) {
  const seconds = report.quantity("time_s", index).units;
  const rows = byLine(report, index).map((g) => ({ ...g, runs: g.runs.filter((r) => r.stragglers) })).filter((g) => g.runs.length > 0).map((g) => {
    const total = mean(g.runs, (r) => r.stragglers.path.reduce((a, b) => a + b, 0));
    return { label: g.label, parts: report.parts.map((_, k) => mean(g.runs, (r) => r.stragglers.path[k]) / total), text: `${amount(total, seconds, 3)}; devices waited ${percent(mean(g.runs, (r) => r.stragglers.waited))}` };
  });
  return bars(report.parts, partColors(), rows, "Time along the responses that ended the rounds");
}

// stragglersOf returns a table of devices or of classes.
function stragglersOf(report, index, heading, list) {
  const seconds = report.quantity("time_s", index).units, joules = report.quantity("energy_j").units;
  const classes = list.some((h) => h.class), several = list.some((h) => h.devices > 1);
  return table([heading, classes ? "class" : null, several ? "devices" : null, "rounds ended", "later by", "mean response", "used", "late", "dropped", "waited", "energy"].filter(Boolean),
    list.map((h) => [h.name ?? String(h.device), ...(classes ? [h.class] : []), ...(several ? [String(h.devices)] : []), String(h.ended), h.ended > 0 ? amount(h.excess_s, seconds, 3) : none,
      amount(h.response_s, seconds, 3), String(h.taken), String(h.late), String(h.dropped), percent(h.wait_share), amount(h.energy_j, joules, 3)]));
}

// roundsOf returns the path of each round and the stragglers of a selected run.
function roundsOf(report, index) {
  const runs = report.runs.filter((r) => r.experiment === index && r.stragglers);
  if (runs.length === 0) return null;
  const key = report.experiments[index].name + "/rounds", id = slug(key);
  const c = chosen(key, { run: runs[0].id });
  const element = el("div", {});
  let chart = null;
  const paint = () => {
    chart?.erase();
    const run = runs.find((r) => r.id === c.run) || runs[0];
    const round = run.column("round"), colors = partColors();
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
    chart = new Chart(key + "/" + run.id, "Time of each round along the response that ended it", lines.reverse(),
      { quantity: { ...report.quantity("round") }, log: false }, { quantity: { label: "virtual time", units: report.quantity("time_s", index).units }, log: false }, { height: 240 });
    const s = run.stragglers;
    element.replaceChildren(...[
      el("div", { class: "controls" }, choice(id + "-run", "run", runs.map((r) => [r.id, r.id]), run.id, (v) => { c.run = v; paint(); arrive(chart); })),
      el("p", {}, `Mean round: ${figure(s.selected, 3)} of ${plural(s.devices, "device")} selected, ${figure(s.taken, 3)} responses used; devices waited ${percent(s.waited)} of their time.`),
      chart.element, el("p", { class: "key" }, lines.map((l) => el("span", {}, block(l.look.color), l.label))),
      el("h4", {}, s.slowest.some((h) => h.ended > 0) ? "Stragglers" : "Slowest devices (no round ended with a response)"), stragglersOf(report, index, "device", s.slowest),
      s.classes.length > 0 ? [el("h4", {}, "By class"), stragglersOf(report, index, "class", s.classes)] : [],
    ].flat());
    if (element.isConnected) arrive(chart);
  };
  paint();
  return { element, arrive: () => arrive(chart), erase: () => chart.erase() };
}
