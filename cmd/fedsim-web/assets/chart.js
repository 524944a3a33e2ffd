'use strict';
// The curves of runs under way: a line for each run, a color for each method.
function makeChart(canvas, legend) {
  let runs = new Map(), methods = [], labels = null, pending = false;
  const color = i => getComputedStyle(document.documentElement).getPropertyValue(`--line-${i % 7}`).trim();

  // ticks returns about n round numbers between two.
  function ticks(low, high, n) {
    const raw = (high - low) / n, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw);
    const list = [];
    for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12); i++) list.push(i * step);
    return list;
  }
  const said = x => x === 0 ? '0' : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(0) : String(+x.toPrecision(6));

  function draw() {
    pending = false;
    if (!labels || !canvas.clientWidth) return;
    const scale = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    canvas.width = w * scale; canvas.height = h * scale;
    const c = canvas.getContext('2d'), css = getComputedStyle(document.documentElement);
    const ink = css.getPropertyValue('--ink'), rule = css.getPropertyValue('--rule'), quiet = css.getPropertyValue('--quiet');
    c.scale(scale, scale); c.font = `12px ${css.getPropertyValue('--sans')}`;
    const up = labels.log ? y => Math.log10(y) : y => y;
    let x0 = 0, x1 = 0, y0 = Infinity, y1 = -Infinity;
    for (const r of runs.values()) for (let i = 0; i < r.x.length; i++) {
      if (labels.log && r.y[i] <= 0) continue;
      x1 = Math.max(x1, r.x[i]); y0 = Math.min(y0, up(r.y[i])); y1 = Math.max(y1, up(r.y[i]));
    }
    if (!(y1 >= y0) || x1 <= x0) return;
    if (y1 - y0 < 1e-9 * Math.max(1, Math.abs(y1))) { y0 -= 0.5; y1 += 0.5; }
    const margin = { left: 54, right: 12, top: 24, bottom: 38 }, space = (y1 - y0) * 0.05;
    y0 -= space; y1 += space;
    const px = x => margin.left + (x - x0) / (x1 - x0) * (w - margin.left - margin.right);
    const py = y => h - margin.bottom - (y - y0) / (y1 - y0) * (h - margin.top - margin.bottom);
    c.strokeStyle = rule; c.fillStyle = quiet; c.lineWidth = 1; c.textAlign = 'center';
    for (const x of ticks(x0, x1, Math.max(2, w / 110))) c.fillText(said(x), px(x), h - margin.bottom + 16);
    c.textAlign = 'right';
    const marks = labels.log ? ticks(y0, y1, 5).filter(Number.isInteger) : ticks(y0, y1, 5);
    for (const y of marks.length ? marks : ticks(y0, y1, 5)) {
      c.beginPath(); c.moveTo(margin.left, py(y)); c.lineTo(w - margin.right, py(y)); c.stroke();
      c.fillText(labels.log ? (10 ** y).toExponential(Number.isInteger(y) ? 0 : 1) : said(y), margin.left - 6, py(y) + 4);
    }
    c.fillStyle = ink; c.textAlign = 'left'; c.fillText(labels.y, 8, 14);
    c.textAlign = 'right'; c.fillText(labels.x, w - margin.right, h - 6);
    c.lineJoin = 'round';
    for (const r of runs.values()) {
      c.strokeStyle = color(r.method); c.globalAlpha = 0.85; c.lineWidth = 1.6; c.beginPath();
      let down = false;
      const step = Math.max(1, Math.floor(r.x.length / (2 * w)));
      for (let i = 0; i < r.x.length; i += step) {
        if (labels.log && r.y[i] <= 0) continue;
        c[down ? 'lineTo' : 'moveTo'](px(r.x[i]), py(up(r.y[i]))); down = true;
      }
      c.stroke(); c.globalAlpha = 1;
    }
  }
  function soon() { if (!pending) { pending = true; requestAnimationFrame(draw); } }
  addEventListener('resize', soon);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { soon(); name(); });
  function name() {
    legend.replaceChildren(...methods.map((m, i) => {
      const entry = document.createElement('span'), line = entry.appendChild(document.createElement('i'));
      line.style.borderColor = color(i); entry.append(m);
      return entry;
    }));
  }
  return {
    clear() { runs = new Map(); methods = []; labels = null; name(); canvas.width = canvas.width; },
    add(curves) {
      for (const { run, method, x, y, xlabel, ylabel, log } of curves) {
        labels ??= { x: xlabel, y: ylabel, log };
        if (labels.y !== ylabel || labels.x !== xlabel) continue; // of another experiment
        if (!methods.includes(method)) { methods.push(method); name(); }
        let own = runs.get(run);
        if (!own) runs.set(run, own = { method: methods.indexOf(method), x: [], y: [] });
        for (let i = 0; i < x.length; i++) { own.x.push(x[i]); own.y.push(y[i]); }
      }
      soon();
      return !!labels;
    },
  };
}
