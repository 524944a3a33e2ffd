// The runs of an experiment on its axes: a measure in a heat map and as main effects.

const mostLevels = { sampled: 8, grid: 40 }; // of an axis of numbers; one with more has bins

// levelsOf returns the levels of an axis, {label, x}, and the level of each of its
// values. The levels of numbers increase.
function levelsOf(axis) {
  const numbers = axis.numbers;
  if (numbers.length === 0) return { levels: axis.values.map((label, i) => ({ label, x: i })), of: axis.values.map((_, i) => i), numeric: false, log: false };
  const low = Math.min(...numbers), high = Math.max(...numbers), sorted = [...numbers].sort((a, b) => a - b);
  // The scale on which the median is nearer to the middle.
  const middle = sorted[Math.floor(sorted.length / 2)];
  const off = (on) => Math.abs((on.to(middle) - on.to(low)) / (on.to(high) - on.to(low)) - 0.5);
  const log = low > 0 && high / low > 5 && off(logarithm) < off(identity);
  const on = log ? logarithm : identity;
  if (numbers.length <= (axis.sampled ? mostLevels.sampled : mostLevels.grid)) {
    return { levels: sorted.map((x) => ({ label: axis.values[numbers.indexOf(x)], x })), of: numbers.map((x) => sorted.indexOf(x)), numeric: true, log };
  }
  const count = Math.min(Math.max(Math.round(Math.sqrt(numbers.length)), 4), 6);
  const edge = (i) => on.from(on.to(low) + (i / count) * (on.to(high) - on.to(low)));
  const part = (x) => Math.min(Math.floor(((on.to(x) - on.to(low)) / (on.to(high) - on.to(low))) * count), count - 1);
  const levels = Array.from({ length: count }, (_, i) => {
    const own = sorted.filter((x) => part(x) === i), ends = own.length > 0 ? [own[0], own[own.length - 1]] : [edge(i), edge(i + 1)];
    return { label: ends[0] === ends[1] ? figure(ends[0], 3) : ends.map((x) => figure(x, 3)).join(" to "), x: on.from((on.to(edge(i)) + on.to(edge(i + 1))) / 2) };
  });
  return { levels, of: numbers.map(part), numeric: true, log, binned: true };
}

// summarized returns what trials have of a measure: how many there are, how many have a value, of how many that
// is a bound from below, how many ended without one, the mean, which is a bound if one is, and two standard errors
// of the mean. There is no mean to a target that a run cannot reach. Runs of one setting are not independent, unless there is only one: their deviations are added first
// (Liang and Zeger 1986).
function summarized(trials, measure) {
  const m = measure.index;
  const have = trials.filter((t) => known(t.values[m])), n = have.length;
  const average = have.reduce((sum, t) => sum + t.values[m], 0) / n;
  const off = new Map(); // by setting
  const one = have.every((t) => t.setting === have[0].setting);
  for (const t of have) off.set(one ? t : t.setting, (off.get(t.setting) || 0) + t.values[m] - average);
  const error = off.size > 1 ? (2 / n) * Math.sqrt((off.size / (off.size - 1)) * [...off.values()].reduce((sum, d) => sum + d * d, 0)) : null;
  const above = have.filter((t) => t.bounds[m]).length, missed = trials.filter((t) => t.ended && !known(t.values[m])).length;
  const mean = n > 0 && !(measure.target && missed > 0) ? average : null;
  return { runs: trials.length, values: n - above, above, missed, open: trials.length - n - missed, mean, error: above > 0 || mean === null ? null : error };
}

// counted tells how many runs a number averages, and what became of the others.
function counted(s, target) {
  if (s.runs === 0) return "no run";
  const parts = [];
  if (s.values === s.runs) return plural(s.runs, "run");
  if (target && s.above + s.missed > 0) parts.push(`${s.values} of ${s.runs} reached it`);
  else if (s.values > 0) parts.push(`${s.values} of ${plural(s.runs, "run")}`);
  else if (s.missed > 0) parts.push(`no value, ${plural(s.runs, "run")}`);
  if (target && s.missed > 0) parts.push(`${s.missed} stalled`);
  if (s.open > 0) parts.push(`${s.open} unfinished`);
  return parts.join("; ");
}

// meanText formats the mean, or its bound.
const meanText = (s, scale, digits) => (s.above > 0 ? "> " : "") + amount(s.mean, scale, digits);

// lastPart returns the last part of a dotted key.
const lastPart = (key) => key.slice(key.lastIndexOf(".") + 1);

// sweepOf returns the section of an experiment, null without runs on an axis.
function sweepOf(report, index) {
  const e = report.experiments[index], { axes, measures, trials } = e.swept;
  if (measures.length === 0 || axes.every((a) => a.name === "method")) return null;
  // The default is the time to the last target that half of the runs reach.
  const often = (m, i) => m.units === "time_s" && m.target && trials.filter((t) => known(t.values[i]) && !t.bounds[i]).length >= 0.5 * trials.length;
  const start = measures.findLastIndex(often);
  const c = chosen(e.name + "/sweep", { measure: measures[Math.max(start, 0)].name, fixed: {} });
  const id = slug(e.name + "-sweep");
  const element = el("div", { class: "swept" });
  const grid = axes.map((a) => ({ ...a, ...levelsOf(a) }));
  // A setting is a point of the sample, or of the grid, under all seeds.
  const sampled = axes.some((a) => a.sampled);
  for (const t of trials) t.setting = t.at.filter((_, i) => axes[i].sampled || !sampled).join();
  const paint = () => {
    const m = Math.max(measures.findIndex((x) => x.name === c.measure), 0);
    const measure = { ...measures[m], index: m, text: measures[m].name.replace(/[0-9.]+e[+-][0-9]+$/, scientific), scale: measures[m].units ? report.quantity(measures[m].units, index).units : [] };
    element.replaceChildren(...[
      el("div", { class: "controls" }, choice(id + "-measure", "show", measures.map((x) => [x.name, x.name.replace(/[0-9.]+e[+-][0-9]+$/, scientific)]), measure.name, (v) => { c.measure = v; paint(); document.getElementById(id + "-measure").focus(); })),
      heatOf(e, grid, trials, measure), ...effectsOf(e, grid, trials, measure),
    ].filter(Boolean));
  };
  paint();
  return element;
}
