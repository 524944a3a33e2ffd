// Lines of a chart: single runs, or the mean over the seeds and a band as in package plots.

const maxPlaces = 600; // points of a mean

// curveOf returns the points of a run on two axes with increasing x; of two rounds at the
// same x, the later one. On a logarithmic axis, values below the floor count as the floor;
// without a floor, values up to zero are omitted. A count of events during a round holds from
// its start to its end, as in package plots.
function curveOf(run, x, y, xLog, yLog) {
  const xs = run.column(x.name), ys = run.column(y.name), rounds = run.column("round");
  const curve = { x: [], y: [], own: [], round: [], run };
  for (let i = 0; i < xs.length; i++) {
    const px = xs[i];
    let py = ys[i];
    if (!Number.isFinite(px) || Number.isNaN(py) || (xLog && px <= 0)) continue;
    if (yLog && py <= (y.floor || 0)) {
      if (!y.floor) continue;
      py = y.floor;
    }
    if (!Number.isFinite(py)) continue;
    let at = curve.x.length;
    if (at > 0 && px < curve.x[at - 1]) continue;
    if (at > 0 && px === curve.x[at - 1]) at--;
    curve.x[at] = px;
    curve.y[at] = py;
    curve.own[at] = ys[i];
    curve.round[at] = rounds[i];
  }
  if (y.count && curve.x.length > 0) {
    for (const list of [curve.y, curve.own, curve.round]) list.push(list[list.length - 1]);
    if (!xLog && curve.x[0] > 0) curve.x.unshift(0);
    else for (const list of [curve.y, curve.own, curve.round]) list.shift();
  }
  return curve;
}

// before returns the index of the last sorted number that is at most v; -1: none.
function before(sorted, v) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= v) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// nearest returns the index of the sorted number that is nearest to v on a scale.
function nearest(sorted, v, measure) {
  const i = before(sorted, v);
  if (i < 0) return 0;
  if (i === sorted.length - 1) return i;
  return Math.abs(measure(sorted[i + 1]) - measure(v)) < Math.abs(measure(v) - measure(sorted[i])) ? i + 1 : i;
}

const logarithm = { to: Math.log10, from: (v) => 10 ** v };
const identity = { to: (v) => v, from: (v) => v };

// A line jumps as in package plots: over a twentieth of its length it turns four times within a fiftieth
// of the axis, between values that are 1/25 of the vertical range apart.
function jumps(line, onX, onY, height) {
  const x = line.x.map(onX.to), y = line.y.map(onY.to), n = x.length;
  const width = (x[n - 1] - x[0]) / 100;
  let from = 0, to = 0, covered = 0;
  for (let i = 0; i + 1 < n; i++) {
    while (from + 1 < n && x[from + 1] <= x[i] - width) from++;
    while (to < n && x[to] <= x[i] + width) to++;
    let turns = 0, low = Infinity, high = -Infinity;
    for (let k = from; k < to; k++) {
      low = Math.min(low, y[k]);
      high = Math.max(high, y[k]);
      if (k > from && k + 1 < to && (y[k] - y[k - 1]) * (y[k + 1] - y[k]) < 0) turns++;
    }
    if (turns >= 4 && high - low >= height / 25) covered += x[i + 1] - x[i];
  }
  return covered > 0 && covered >= (x[n - 1] - x[0]) / 20;
}

// calm replaces the curves of lines that jump by their best values so far, run by run, and returns the
// indices of these lines. groups are curves by panel and line; best is -1 where lower values are
// better, 1 where higher ones are, 0 where the best so far would be a choice by test rows.
function calm(groups, best, xLog, yLog) {
  if (!best) return [];
  const onX = xLog ? logarithm : identity, onY = yLog ? logarithm : identity;
  let low = Infinity, high = -Infinity;
  for (const c of groups.flat(2)) for (const v of c.y) { low = Math.min(low, onY.to(v)); high = Math.max(high, onY.to(v)); }
  const found = [...(groups[0] || []).keys()].filter((k) => groups.some((lines) => lines[k].length > 0 && jumps(combine(lines[k], xLog, yLog, "none"), onX, onY, high - low)));
  for (const k of found) {
    for (const c of groups.flatMap((lines) => lines[k])) {
      for (let i = 1; i < c.y.length; i++) if (best * (c.y[i] - c.y[i - 1]) < 0) c.y[i] = c.y[i - 1];
    }
  }
  return found;
}

// endsOf returns the marks of the runs that end on a line: {x, y, of}.
function endsOf(curves, x, y) {
  return curves.filter((c) => c.run.ended).map((c) => {
    const end = c.x[c.x.length - 1];
    return { x: end, y: y[before(x, end)], of: c.run.ended };
  }).filter((e) => e.x <= x[x.length - 1]);
}

// combine returns the mean of curves and a band around it; on a logarithmic axis, the geometric mean. student has half
// of the 95 % confidence interval in standard errors, by the number of runs. A run that reached its target keeps its last value; the first of the others ends
// the line.
function combine(curves, xLog, yLog, band, student) {
  const onX = xLog ? logarithm : identity, onY = yLog ? logarithm : identity;
  let first = -Infinity, last = -Infinity;
  for (const c of curves) {
    first = Math.max(first, c.x[0]);
    last = Math.max(last, c.x[c.x.length - 1]);
  }
  for (const c of curves) {
    if (c.run.ended !== "target") last = Math.min(last, c.x[c.x.length - 1]);
  }
  const line = { x: [], y: [], low: [], high: [], round: null };
  if (last < first) return line;
  let places = [first, last];
  for (const c of curves) for (const x of c.x) if (x > first && x < last) places.push(x);
  places = Float64Array.from(places).sort().filter((x, i, all) => i === 0 || x !== all[i - 1]);
  if (places.length > maxPlaces) { // the last point in each of maxPlaces equal parts
    const from = onX.to(first), to = onX.to(last);
    const part = (x) => Math.floor(((onX.to(x) - from) / (to - from)) * (maxPlaces - 1));
    places = places.filter((x, i, all) => i === 0 || i === all.length - 1 || part(x) !== part(all[i + 1]));
  }
  places.forEach((x, i) => {
    let sum = 0, low = Infinity, high = -Infinity;
    const values = [];
    for (const c of curves) {
      const at = before(c.x, x);
      values.push(onY.to(c.y[at]));
      sum += values[values.length - 1];
      for (let k = at; k === at || (k < c.x.length && c.x[k] < places[i + 1]); k++) { // the range contains what is between places
        low = Math.min(low, onY.to(c.y[k]));
        high = Math.max(high, onY.to(c.y[k]));
      }
    }
    const n = curves.length, mean = sum / n;
    if (band !== "range") {
      const se = n > 1 ? Math.sqrt(values.reduce((s, v) => s + (v - mean) ** 2, 0) / (n - 1) / n) : 0;
      const by = { se, ci: se * (student?.[n] ?? 1.96), none: 0 }[band];
      low = mean - by;
      high = mean + by;
    }
    line.x.push(x);
    line.y.push(onY.from(mean));
    line.low.push(onY.from(low));
    line.high.push(onY.from(high));
  });
  line.ends = endsOf(curves, line.x, line.y);
  return line;
}
