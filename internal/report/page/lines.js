// Lines of a chart: single runs, or the mean and the range over the seeds as in package
// plots.

const maxPlaces = 600; // points of a mean

// curveOf returns the points of a run on two axes with increasing x; of two rounds at the
// same x, the later one. On a logarithmic axis, values below the floor count as the floor;
// without a floor, values up to zero are omitted.
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

// combine returns the mean, lowest and highest values of curves; on a logarithmic axis, the
// geometric mean. A finished run keeps its last value; an interrupted or running one ends
// the line.
function combine(curves, xLog, yLog) {
  const onX = xLog ? logarithm : identity, onY = yLog ? logarithm : identity;
  let first = -Infinity, last = -Infinity;
  for (const c of curves) {
    first = Math.max(first, c.x[0]);
    last = Math.max(last, c.x[c.x.length - 1]);
  }
  for (const c of curves) {
    if (c.run.status === "interrupted" || c.run.status === "running") last = Math.min(last, c.x[c.x.length - 1]);
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
  for (const x of places) {
    let sum = 0, low = Infinity, high = -Infinity;
    for (const c of curves) {
      const v = onY.to(c.y[before(c.x, x)]);
      sum += v;
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
    line.x.push(x);
    line.y.push(onY.from(sum / curves.length));
    line.low.push(onY.from(low));
    line.high.push(onY.from(high));
  }
  return line;
}
