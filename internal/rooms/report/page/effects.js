// Main effects: the mean of a measure by the values of one axis, over all runs of a method.

const effect = { width: 420, height: 270, left: 62, right: 14, top: 30, bottom: 44 };
const mostDots = 1500; // of a panel

function effectsOf(e, grid, trials, measure) {
  const methods = grid.find((a) => a.name === "method"), axes = grid.filter((a) => a.name !== "method");
  const groups = (methods ? methods.levels : [{ label: "" }]).map((l, k) => ({
    label: l.label, trials: methods ? trials.filter((t) => t.at[grid.indexOf(methods)] === k) : trials,
    look: { color: hex(css("--line-" + (k % categories))), dash: dashes[Math.floor(k / categories + k) % dashes.length] },
  }));
  const lines = axes.map((a) => groups.map((g) => ({ ...g, points: a.levels.map((l, i) => ({ ...l, ...summarized(g.trials.filter((t) => a.of[t.at[grid.indexOf(a)]] === i), measure) })) })));
  const bounds = lines.flat().flatMap((g) => g.points.flatMap((p) => (known(p.mean) ? [p.mean, p.mean - (p.error || 0), p.mean + (p.error || 0)] : [])));
  const dots = axes.some((a) => a.binned) ? trials.map((t) => t.values[measure.index]).filter(known) : [];
  const all = [...bounds, ...dots];
  if (all.length === 0) return [el("p", { class: "quiet" }, "No run has a value.")];
  const means = lines.flat().flatMap((g) => g.points.map((p) => p.mean)).filter(known);
  const log = Math.min(...means, ...dots) > 0 && Math.max(...means, ...dots) / Math.min(...means, ...dots) > 30;
  const range = widened(Math.min(...(log ? [...means, ...dots] : all)), Math.max(...all), log, "y");
  const missed = lines.flat().some((g) => g.points.some((p) => p.missed + p.above > 0));
  return [
    el("h4", {}, `Main effects on ${measure.text}`),
    el("p", { class: "quiet" }, `The mean over all runs with a value of one key, whatever their other keys and seeds; bars reach two standard errors of the mean to either side, which takes the runs of one setting under several seeds${axes.some((a) => a.sampled) ? ", or of one point of the sample," : ""} as one observation, if there are several settings.${axes.some((a) => a.binned) ? " A dot is a run; the mean is over the runs of a bin." : ""}${missed ? measure.target ? " An open circle: runs ended before the target, so that the mean is above. A cross: a run stalled." : " Runs without a value are left out." : ""}`),
    groups.length > 1 ? el("p", { class: "key" }, groups.map((g) => el("span", {}, swatch(g.look), " ", g.label))) : null,
    el("div", { class: "panels", "data-count": axes.length }, axes.map((a, i) => panelOf(a, lines[i], grid.indexOf(a), measure, range, log))),
    el("details", { id: slug(e.name + "-effects") }, el("summary", {}, "The means as a table"), axes.map((a, i) => tableOfEffects(a, lines[i], measure))),
  ];
}

// panelOf returns the drawing of one axis.
function panelOf(axis, lines, at, measure, range, log) {
  const { width, height, left, right, top, bottom } = effect;
  const onX = axis.log ? logarithm : identity, onY = log ? logarithm : identity;
  const xs = axis.numeric ? [...axis.numbers] : axis.levels.map((l) => l.x);
  const low = onX.to(Math.min(...xs)), high = onX.to(Math.max(...xs)), margin = axis.numeric ? 0.06 * (high - low) : 0.5;
  const toX = (x) => left + ((onX.to(x) - low + margin) / (high - low + 2 * margin)) * (width - left - right);
  const [from, to] = range.map(onY.to);
  const toY = (y) => height - bottom - (Math.min(Math.max((onY.to(Math.max(y, log ? range[0] : -Infinity)) - from) / (to - from), 0), 1)) * (height - top - bottom);
  const unit = unitFor(measure.scale, range[1] / 1.5);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "effect", "data-axis": axis.name, "aria-label": `Mean of ${measure.text} by ${axis.name}; the table below has the numbers.` });
  const put = (tag, attributes, ...content) => drawing.append(svg(tag, attributes, ...content));
  const inY = (list) => list.map((v) => v * unit.size).filter((v) => v >= range[0] && v <= range[1]);
  const splits = inY(log ? (few(range[0], range[1]) ? evenly : decades)(range[0] / unit.size, range[1] / unit.size) : evenly(range[0] / unit.size, range[1] / unit.size));
  ticks(splits, unit, log && !few(range[0], range[1])).forEach((text, i) => {
    put("line", { x1: left, x2: width - right, y1: toY(splits[i]), y2: toY(splits[i]), class: "rule" });
    if (text) put("text", { x: left - 6, y: toY(splits[i]) + 4, "text-anchor": "end" }, text);
  });
  const [first, last] = [onX.from(low), onX.from(high)];
  const places = !axis.numeric ? axis.levels.map((l) => [l.x, l.label]) : axis.binned
    ? ((list) => ticks(list, plainUnit, axis.log && !few(first, last)).map((text, i) => [list[i], text]))((axis.log ? (few(first, last) ? evenly : decades)(first, last) : evenly(first, last)).filter((v) => v >= first && v <= last))
    : axis.levels.map((l) => [l.x, l.label]);
  let free = -Infinity; // labels do not overlap
  for (const [x, text] of places) {
    const half = 3.4 * text.length;
    put("line", { x1: toX(x), x2: toX(x), y1: height - bottom, y2: height - bottom + 4, class: "tick" });
    if (!text || toX(x) - half < free) continue;
    free = toX(x) + half + 4;
    put("text", { x: toX(x), y: height - bottom + 17, "text-anchor": "middle" }, text);
  }
  put("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "tick" });
  put("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, axis.name);
  put("text", { x: 4, y: 13 }, measure.text + (unit.name ? ` (${unit.name})` : ""));
  const one = lines.length;
  lines.forEach((g, k) => {
    const color = rgb(g.look.color), shift = axis.numeric ? 0 : (k - (one - 1) / 2) * 9;
    if (axis.binned) {
      const step = Math.ceil((g.trials.length * one) / mostDots);
      g.trials.forEach((t, i) => {
        const v = t.values[measure.index];
        if (i % step === 0 && known(v)) put("circle", { cx: toX(axis.numbers[t.at[at]]), cy: toY(v), r: 2.2, fill: rgb(g.look.color, 0.35), class: "dot" });
      });
    }
    const x = (p) => toX(p.x) + shift;
    g.points.slice(1).forEach((p, i) => { // no line over a value without a mean
      const q = g.points[i];
      if (axis.numeric && known(p.mean) && known(q.mean)) put("line", { x1: x(q), y1: toY(q.mean), x2: x(p), y2: toY(p.mean), stroke: color, "stroke-width": 2, "stroke-dasharray": g.look.dash.join(" ") });
    });
    for (const p of g.points) {
      const title = svg("title", {}, `${g.label ? g.label + ", " : ""}${axis.name} ${p.label}: ${meanText(p, measure.scale, 4)}${known(p.error) ? " ± " + amount(p.error, measure.scale, 2) : ""}; ${counted(p, measure.target)}`);
      if (known(p.mean)) {
        if (known(p.error)) put("line", { x1: x(p), x2: x(p), y1: toY(p.mean - p.error), y2: toY(p.mean + p.error), stroke: color, "stroke-width": 1.5 });
        put("circle", { cx: x(p), cy: toY(p.mean), r: 4, stroke: color, "stroke-width": 2, fill: p.values < p.runs ? css("--paper") : color, class: "mean" }, title);
      } else if (p.runs > 0) {
        put("text", { x: x(p), y: top + 2 + 11 * k, "text-anchor": "middle", class: "never", fill: color }, "×", title);
      }
    }
  });
  return el("figure", { class: "drawn" }, drawing);
}

// tableOfEffects returns the numbers of a panel.
function tableOfEffects(axis, lines, measure) {
  const rows = lines.flatMap((g) => g.points.map((p) => [g.label ? `${p.label}, ${g.label}` : p.label, p.mean === null ? (p.runs > 0 && measure.target && p.missed > 0 ? "never" : none) : meanText(p, measure.scale, 4), known(p.error) ? "± " + amount(p.error, measure.scale, 2) : none, counted(p, measure.target)]));
  const caption = `${capital(measure.text)} by ${axis.name}`;
  return scrolled(caption, el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, [axis.name, "mean", "two standard errors", "runs"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, rows.map(([label, ...cells]) => el("tr", {}, el("th", { scope: "row" }, label), cells.map((c) => el("td", {}, c)))))));
}
