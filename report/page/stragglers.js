// Who answered, who held the rounds up, and what their time was spent on.

const partColours = () => css("--parts").split(/\s+/).map(hex);

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

// participationOf shows how many devices answered in a round, dropped and were late.
function participationOf(report, index) {
  const per = (r, name) => (r.totals.rounds > 0 ? r.totals[name] / r.totals.rounds : NaN);
  return table(["line", "rounds", "virtual time", "answers a round", "dropped a round", "late a round"], byLine(report, index).map((g) => [
    g.label, figure(mean(g.runs, (r) => r.totals.rounds)), amount(mean(g.runs, (r) => r.totals.time_s), report.quantity("time_s", index).units, 3),
    figure(mean(g.runs, (r) => per(r, "participants")), 3), figure(mean(g.runs, (r) => per(r, "dropped")), 3), figure(mean(g.runs, (r) => per(r, "late")), 3)]));
}

// pathsOf shows what the time of the rounds was spent on.
function pathsOf(report, index) {
  const seconds = report.quantity("time_s", index).units;
  const rows = byLine(report, index).map((g) => ({ ...g, runs: g.runs.filter((r) => r.stragglers) })).filter((g) => g.runs.length > 0).map((g) => {
    const total = mean(g.runs, (r) => r.stragglers.path.reduce((a, b) => a + b, 0));
    return { label: g.label, parts: report.parts.map((_, k) => mean(g.runs, (r) => r.stragglers.path[k]) / total), text: `${amount(total, seconds, 3)}; devices waited ${percent(mean(g.runs, (r) => r.stragglers.waited))}` };
  });
  return bars(report.parts, partColours(), rows, "What the time was spent on, on the way of the answers that ended the rounds");
}

// holdersOf shows devices or classes of them.
function holdersOf(report, index, heading, holders) {
  const seconds = report.quantity("time_s", index).units, joules = report.quantity("energy_j").units;
  const classes = holders.some((h) => h.class), several = holders.some((h) => h.devices > 1);
  return table([heading, classes ? "class" : null, several ? "devices" : null, "rounds ended", "later than the next", "mean answer", "taken", "late", "dropped", "waited", "energy"].filter(Boolean),
    holders.map((h) => [h.name, ...(classes ? [h.class] : []), ...(several ? [String(h.devices)] : []), String(h.ended), h.ended > 0 ? amount(h.excess_s, seconds, 3) : none,
      amount(h.answer_s, seconds, 3), String(h.taken), String(h.late), String(h.dropped), percent(h.waited), amount(h.energy_j, joules, 3)]));
}

// roundsOf shows, for a run to choose, each round's path and who held it up.
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
    const round = run.column("round"), colours = partColours();
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
      lines.push({ label: name, look: { colour: colours[k], dash: [] }, x, y, own: seen, round: x, show: true, fill: true, over: true, faint: true });
    });
    chart = new Chart(key + "/" + run.id, "Time of each round, on the way of the answer that ended it", lines.reverse(),
      { quantity: { ...report.quantity("round") }, log: false }, { quantity: { label: "virtual time", units: report.quantity("time_s", index).units }, log: false }, { height: 240 });
    const held = run.stragglers;
    element.replaceChildren(...[
      el("div", { class: "controls" }, choice(id + "-run", "run", runs.map((r) => [r.id, r.id]), run.id, (v) => { c.run = v; paint(); arrive(chart); })),
      el("p", {}, `A round asked ${figure(held.asked, 3)} of ${plural(held.devices, "device")} and took the answers of ${figure(held.taken, 3)}; devices waited ${percent(held.waited)} of their time.`),
      chart.element, el("p", { class: "key" }, lines.map((l) => el("span", {}, block(l.look.colour), l.label))),
      el("h4", {}, held.slowest.some((h) => h.ended > 0) ? "Who held it up" : "The slowest devices, none of which ended a round"), holdersOf(report, index, "device", held.slowest),
      held.classes.length > 0 ? [el("h4", {}, "By class of the fleet"), holdersOf(report, index, "class", held.classes)] : [],
    ].flat());
    if (element.isConnected) arrive(chart);
  };
  paint();
  return { element, arrive: () => arrive(chart), erase: () => chart.erase() };
}
