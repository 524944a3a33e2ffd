// An interactive chart, for mouse, touch and keyboard.

const zooms = new Map(); // zoom and cursor by chart key, for charts that are drawn again

// Chart draws lines {label, look, x, y, low, high, round, show} with increasing x. A value
// holds until the next measurement. x and y are {quantity, log}.
class Chart {
  constructor(key, title, lines, x, y, options = {}) {
    Object.assign(this, { key, title, lines, x, y, options });
    this.unit = { x: this.unitOf(x, "x"), y: this.unitOf(y, "y") };
    this.readout = el("div", { class: "readout", hidden: true });
    this.frame = el("div", {
      class: "frame", tabindex: 0, role: "group", id: "chart-" + slug(key),
      "aria-label": `${title || "curves"}: ${y.quantity.label} against ${x.quantity.label}. Arrow keys move the cursor, plus and minus zoom, 0 shows everything.`,
      onkeydown: (e) => this.pressed(e),
    });
    const button = (text, name, act) => el("button", { type: "button", title: name, "aria-label": name, onclick: act }, text);
    this.element = el("figure", { class: "chart" },
      el("figcaption", {}, el("span", {}, title || " "), el("span", { class: "zoom" },
        button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)), button("⤢", "Show all", () => this.reset()))),
      this.frame, this.readout);
  }

  // unitOf returns the unit of an axis.
  unitOf(axis, which) {
    let most = 0;
    for (const l of this.lines) if (l.show) for (const v of l[which]) if (Number.isFinite(v)) most = Math.max(most, v);
    return unitFor(axis.quantity.units, most / 1.5);
  }

  label(axis, unit) { return axis.quantity.label + (unit.name ? ` (${unit.name})` : ""); }

  // draw draws the chart; the element must be in the page.
  draw() {
    if (this.plot || !this.element.isConnected) return;
    const shown = this.lines.filter((l) => l.show && l.x.length > 0);
    this.frame.replaceChildren();
    if (shown.length === 0) {
      this.frame.append(el("p", { class: "quiet" }, "There are no values on these axes."));
      return;
    }
    // uPlot needs one increasing list of all x.
    const all = Float64Array.from(shown.flatMap((l) => Array.from(l.x))).sort().filter((v, i, list) => i === 0 || v !== list[i - 1]);
    const place = new Map();
    all.forEach((v, i) => place.set(v, i));
    const data = [Array.from(all)], series = [{}], bands = [];
    this.shown = shown;
    for (const l of shown) {
      l.at = Array.from(l.x, (v) => place.get(v));
      const column = (values) => {
        const c = new Array(all.length).fill(null);
        values.forEach((v, i) => { c[l.at[i]] = v; });
        return c;
      };
      const stroke = rgb(l.look.color);
      data.push(column(l.y));
      l.series = series.push({
        label: l.label, stroke, width: l.faint ? 1 : 2, dash: l.look.dash, spanGaps: true, points: { show: l.x.length === 1 },
        fill: l.fill ? rgb(l.look.color) : undefined, paths: uPlot.paths.stepped({ align: l.over ? -1 : 1 }),
      }) - 1;
      if (!l.low) continue;
      const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) };
      data.push(column(l.high), column(l.low));
      const high = series.push({ ...edge }) - 1, low = series.push({ ...edge }) - 1;
      bands.push({ series: [high, low], fill: rgb(l.look.color, 0.16) });
    }
    const ink = css("--ink"), quiet = css("--quiet"), rule = css("--rule");
    const axis = (a, unit, extra) => ({
      stroke: ink, font: "12px " + css("--sans"), labelFont: "12px " + css("--sans"), label: this.label(a, unit), labelGap: 0, labelSize: 20,
      grid: { stroke: rule, width: 1 }, ticks: { stroke: quiet, width: 1, size: 4 }, gap: 4,
      splits: a.log ? (_, i, low, high) => (few(low, high) ? evenly(low / unit.size, high / unit.size) : decades(low / unit.size, high / unit.size)).map((v) => v * unit.size) : undefined,
      filter: (_, splits) => splits,
      values: (u, splits, i) => ticks(splits, unit, a.log && !few(u.scales[u.axes[i].scale].min, u.scales[u.axes[i].scale].max)), ...extra,
    });
    const scale = (a) => ({ time: false, auto: false, distr: a.log ? 3 : 1, log: 10, range: (_, low, high) => [low, high] });
    this.plot = new uPlot({
      width: Math.max(this.frame.clientWidth, 120), height: this.options.height || 300, padding: [8, 12, 0, 0],
      scales: { x: scale(this.x), y: scale(this.y) }, series, bands, legend: { show: false },
      axes: [axis(this.x, this.unit.x, { size: 28, space: 64, incrs: increments(this.unit.x) }), axis(this.y, this.unit.y, { size: 56, space: 32, incrs: increments(this.unit.y) })],
      cursor: {
        drag: { x: true, y: false, setScale: false }, points: { size: 7 },
        dataIdx: (_, s, hovered, x) => this.nearest(s, x),
        bind: { dblclick: () => () => { this.reset(); return null; } },
      },
      hooks: {
        setCursor: [() => this.showValues()],
        setSelect: [(u) => this.dragged(u)],
        setScale: [() => this.remember()],
        draw: [(u) => this.drawEnds(u), () => { if (performance.getEntriesByName("first-curve").length === 0) performance.mark("first-curve"); }],
      },
    }, data, this.frame);
    this.touch();
    this.show(zooms.get(this.key)?.window || this.window());
    const cursor = zooms.get(this.key)?.cursor;
    if (cursor) this.plot.setCursor(cursor);
    this.width = new ResizeObserver(() => {
      const width = this.frame.clientWidth;
      if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.plot.height });
    });
    this.width.observe(this.frame);
  }

  // drawEnds marks where runs end: a dot at their target, a circle at their budget, a cross where
  // they stalled.
  drawEnds(u) {
    const c = u.ctx, ratio = u.width > 0 ? u.ctx.canvas.width / u.width : 1, radius = 3.5 * ratio;
    c.save();
    c.lineWidth = 1.5 * ratio;
    for (const l of this.shown) {
      c.strokeStyle = rgb(l.look.color);
      for (const e of l.ends || []) {
        const x = u.valToPos(e.x, "x", true), y = u.valToPos(e.y, "y", true);
        if (!(x >= u.bbox.left - 1 && x <= u.bbox.left + u.bbox.width + 1 && y >= u.bbox.top - 1 && y <= u.bbox.top + u.bbox.height + 1)) continue;
        c.fillStyle = e.of === "target" ? rgb(l.look.color) : css("--paper");
        c.beginPath();
        if (e.of === "stalled") {
          for (const up of [radius, -radius]) { c.moveTo(x - radius, y - up); c.lineTo(x + radius, y + up); }
        } else {
          c.arc(x, y, radius, 0, 2 * Math.PI);
          c.fill();
        }
        c.stroke();
      }
    }
    c.restore();
  }

  erase() {
    this.width?.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  // window returns the limits that show all lines, or all lines in a part of the
  // horizontal axis.
  window(part = null) {
    const w = {};
    for (const which of ["x", "y"]) {
      const a = this[which];
      if (which === "x" && part) {
        w.x = part;
        continue;
      }
      let low = Infinity, high = -Infinity;
      for (const l of this.shown) {
        if (l.fill && which === "y") low = 0; // areas start at zero
        const first = part ? Math.max(before(l.x, part[0]), 0) : 0, end = part ? before(l.x, part[1]) + 1 : l.x.length;
        for (const values of which === "x" ? [l.x] : [l.y, l.low, l.high]) {
          for (const v of (values || []).slice(first, end)) if (Number.isFinite(v) && (!a.log || v > 0)) { low = Math.min(low, v); high = Math.max(high, v); }
        }
      }
      w[which] = widened(low, high, a.log, which);
    }
    return w;
  }

  // dragged shows the selected part of the horizontal axis.
  dragged(u) {
    const { left, width } = u.select;
    if (!(width > 0)) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.show(this.window([u.posToVal(left, "x"), u.posToVal(left + width, "x")]));
    this.remember();
  }

  show(w) {
    this.showing = true;
    this.plot.batch(() => {
      this.plot.setScale("x", { min: w.x[0], max: w.x[1] });
      this.plot.setScale("y", { min: w.y[0], max: w.y[1] });
    });
    this.showing = false;
  }

  reset() {
    if (!this.plot) return;
    this.show(this.window());
    zooms.delete(this.key);
  }

  // zoom scales the limits by a factor around the cursor, or around the center.
  zoom(factor) {
    if (!this.plot) return;
    const w = {}, u = this.plot, { left, top } = u.cursor;
    for (const [which, share] of [["x", left >= 0 ? left / u.over.clientWidth : 0.5], ["y", top >= 0 ? 1 - top / u.over.clientHeight : 0.5]]) {
      const on = this[which].log ? logarithm : identity;
      const low = on.to(u.scales[which].min), high = on.to(u.scales[which].max);
      const middle = low + share * (high - low);
      w[which] = [on.from(middle - (middle - low) * factor), on.from(middle + (high - middle) * factor)];
    }
    this.show(w);
    this.remember();
  }

  // remember stores the current zoom.
  remember() {
    if (this.showing || !this.plot) return;
    const { x, y } = this.plot.scales;
    if (x.min === null || y.min === null) return;
    zooms.set(this.key, { ...zooms.get(this.key), window: { x: [x.min, x.max], y: [y.min, y.max] } });
  }

  pressed(e) {
    if (!this.plot || e.ctrlKey || e.metaKey || e.altKey) return;
    const u = this.plot, step = (e.shiftKey ? 20 : 2);
    const left = u.cursor.left >= 0 ? u.cursor.left : u.over.clientWidth / 2;
    const top = u.cursor.top >= 0 ? u.cursor.top : u.over.clientHeight / 2;
    const move = (x) => u.setCursor({ left: Math.min(Math.max(x, 0), u.over.clientWidth - 1), top });
    const act = {
      ArrowLeft: () => move(left - step), ArrowRight: () => move(left + step), Home: () => move(0), End: () => move(Infinity),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(),
      Escape: () => u.setCursor({ left: -10, top: -10 }),
    }[e.key];
    if (!act) return;
    act();
    e.preventDefault();
  }

  // touch moves the cursor with a finger; vertical moves scroll the page.
  touch() {
    const u = this.plot;
    const follow = (e) => {
      const box = u.over.getBoundingClientRect(), finger = e.touches[0];
      if (e.touches.length === 1) u.setCursor({ left: finger.clientX - box.left, top: finger.clientY - box.top });
    };
    u.over.addEventListener("touchstart", follow, { passive: true });
    u.over.addEventListener("touchmove", follow, { passive: true });
  }

  // nearest returns the index of the point of a series that is nearest to x.
  nearest(s, x) {
    const line = this.shown.find((l) => l.series === s);
    if (!line) return null;
    return line.at[nearest(line.x, x, (this.x.log ? logarithm : identity).to)];
  }

  // showValues displays the values at the cursor.
  showValues() {
    const u = this.plot;
    if (!u) return;
    const { left, top } = u.cursor;
    zooms.set(this.key, { ...zooms.get(this.key), cursor: left >= 0 ? { left, top } : null });
    this.readout.hidden = !(left >= 0);
    if (!(left >= 0)) return;
    const at = u.posToVal(left, "x");
    const measure = (this.x.log ? logarithm : identity).to;
    const wide = this.frame.clientWidth > 480;
    const rows = this.shown.map((l) => {
      const i = nearest(l.x, at, measure), value = (l.own || l.y)[i], size = this.unit.y.size;
      const spread = wide && l.low && l.high[i] > l.low[i] ? `${figure(l.low[i] / size, 3)} to ${figure(l.high[i] / size, 3)}` : "";
      return el("tr", { "data-line": l.label, "data-x": l.x[i], "data-y": value, "data-round": l.round ? l.round[i] : null },
        el("td", {}, swatch(l.look)), el("th", { scope: "row" }, l.label), el("td", {}, figure(value / size, wide ? 6 : 4)),
        el("td", { class: "where" }, l.round && this.x.quantity.name !== "round" ? "round " + l.round[i] : spread));
    });
    const where = this.x.quantity.name === "round" ? "round " + Math.round(at) : amount(at, this.x.quantity.units, 4);
    this.readout.replaceChildren(el("table", {}, el("caption", {}, `${this.label(this.y, this.unit.y)} at ${where}`), el("tbody", {}, rows)));
  }
}

// few reports whether a logarithmic axis may have fewer than two of 1, 2 and 5 times powers
// of ten.
const few = (low, high) => high / low < 5;

// evenly returns about five evenly spaced ticks, at least three.
function evenly(low, high, most = 5) {
  const least = (high - low) / most, size = 10 ** Math.floor(Math.log10(least)), list = [];
  const step = [1, 2, 5, 10].map((m) => m * size).find((v) => v >= least) || least;
  for (let k = Math.ceil(low / step); k * step <= high; k++) list.push(k * step);
  return list.length < 3 && most < 20 ? evenly(low, high, most + 1) : list;
}

// decades returns the ticks of a longer logarithmic axis: powers of ten, and their
// multiples if there are few.
function decades(low, high) {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high)), list = [];
  const step = Math.ceil((to - from) / 12);
  for (let e = from; e <= to; e += step) {
    for (let m = 1; m < (to - from > 5 ? 2 : 10); m++) {
      const v = Number(m + "e" + e);
      if (v >= low && v <= high) list.push(v);
    }
  }
  return list;
}

// ticks returns the labels of an axis: all values, or with ofDecades the powers of ten, and
// 2 and 5 times these, or all multiples, if there are fewer than three.
function ticks(splits, unit, ofDecades) {
  const values = splits.map((v) => v / unit.size);
  if (!ofDecades) return values.map((v) => figure(v, 6));
  const exponent = (v) => Math.floor(Math.log10(v) + 1e-9), leading = (v) => Math.round(v / 10 ** exponent(v));
  const labeled = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]].find((of, i) => i === 2 || values.filter((v) => of.includes(leading(v))).length >= 3);
  const powers = values.some((v) => leading(v) === 1 && (v < 0.005 || v > 5000));
  return values.map((v) => {
    if (!labeled.includes(leading(v))) return "";
    return leading(v) === 1 && powers ? power(exponent(v)) : figure(v, 6);
  });
}

// increments returns the steps of a linear axis in base units: 1, 2 and 5 times powers of ten
// of the unit, and for hours and minutes those of a clock, as in package plots.
function increments(unit) {
  const list = [], steps = { h: [1, 2, 3, 6, 12, 24], min: [1, 2, 5, 10, 15, 30, 60] }[unit.name] || [];
  const own = (v) => v < 1 || v > steps[steps.length - 1] || steps.length === 0;
  for (let e = -12; e <= 18; e++) for (const m of [1, 2, 5]) if (own(Number(m + "e" + e))) list.push(Number(m + "e" + e) * unit.size);
  return [...list, ...steps.map((v) => v * unit.size)].sort((a, b) => a - b);
}

// widened returns limits with a margin around low to high.
function widened(low, high, log, which) {
  if (!(low <= high)) return log ? [0.1, 1] : [0, 1];
  if (log) {
    const from = Math.log10(low), to = Math.log10(high), by = 0.04 * (to - from) || 0.5;
    return [10 ** (from - by), 10 ** (to + by)];
  }
  if (low > 0 && (which === "x" || low < high / 2)) low = 0;
  const by = 0.04 * (high - low) || Math.abs(high) * 0.1 || 0.5;
  return [low === 0 ? 0 : low - by, high + by];
}

// Charts are drawn when they are near the visible part of the page.
const waiting = new Map();
const watch = new IntersectionObserver((entries) => {
  for (const e of entries) {
    if (!e.isIntersecting) continue;
    watch.unobserve(e.target);
    const chart = waiting.get(e.target);
    waiting.delete(e.target);
    chart?.draw();
  }
}, { rootMargin: "400px" });

// arrive draws a chart that was added to the page, or draws it later when it is near.
function arrive(chart) {
  if (chart.element.getBoundingClientRect().top < innerHeight + 400) {
    chart.draw();
    return;
  }
  waiting.set(chart.element, chart);
  watch.observe(chart.element);
}

// drawAll draws all waiting charts, for printing.
function drawAll() {
  for (const [element, chart] of waiting) {
    watch.unobserve(element);
    chart.draw();
  }
  waiting.clear();
}
