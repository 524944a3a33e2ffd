// Lines of a chart: the runs of a line, or their mean and spread over the seeds,
// as package plots combines them.

const maxPlaces = 600; // that a mean is drawn through

// curveOf returns what a run shows on two axes: the places that exist there, x
// increasing, the later of two rounds at one x. On a logarithmic axis values of zero and
// below count as the floor; without one they are left out.
function curveOf(run, x, y, xLog, yLog) {
  const xs = run.column(x.name), ys = run.column(y.name), rounds = run.column("round");
  const curve = { x: [], y: [], round: [], run };
  for (let i = 0; i < xs.length; i++) {
    const px = xs[i];
    let py = ys[i];
    if (!Number.isFinite(px) || Number.isNaN(py) || (xLog && px <= 0)) continue;
    if (yLog && py <= 0) {
      if (!y.floor) continue;
      py = y.floor;
    }
    if (!Number.isFinite(py)) continue;
    let at = curve.x.length;
    if (at > 0 && px < curve.x[at - 1]) continue;
    if (at > 0 && px === curve.x[at - 1]) at--;
    curve.x[at] = px;
    curve.y[at] = py;
    curve.round[at] = rounds[i];
  }
  return curve;
}

// before returns the index of the last of sorted numbers that is at most v; -1: none.
function before(sorted, v) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= v) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// nearest returns the index of the sorted number that is nearest to v by a measure.
function nearest(sorted, v, measure) {
  const i = before(sorted, v);
  if (i < 0) return 0;
  if (i === sorted.length - 1) return i;
  return Math.abs(measure(sorted[i + 1]) - measure(v)) < Math.abs(measure(v) - measure(sorted[i])) ? i + 1 : i;
}

const logarithm = { to: Math.log10, from: (v) => 10 ** v };
const identity = { to: (v) => v, from: (v) => v };

// combine returns the mean, the lowest and the highest of several curves, interpolated
// as the axes show them. A curve that has come to its end keeps its last value; an
// interrupted one, or one that goes on, cuts the line.
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
  if (places.length > maxPlaces) {
    const from = onX.to(first), to = onX.to(last);
    places = Array.from({ length: maxPlaces }, (_, i) => onX.from(from + (to - from) * (i / (maxPlaces - 1))));
  }
  for (const x of places) {
    let sum = 0, low = Infinity, high = -Infinity;
    for (const c of curves) {
      const v = valueAt(c, x, onX, onY);
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

// valueAt returns where a curve is at x, in axis space.
function valueAt(c, x, onX, onY) {
  const i = before(c.x, x);
  if (i < 0) return onY.to(c.y[0]);
  const y = onY.to(c.y[i]);
  if (i === c.x.length - 1 || c.x[i] === x) return y;
  const share = (onX.to(x) - onX.to(c.x[i])) / (onX.to(c.x[i + 1]) - onX.to(c.x[i]));
  return y + share * (onY.to(c.y[i + 1]) - y);
}
