// Colors from the style sheet, which defines them for light and dark.

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Dashes and gaps of methods in pixels, as in package plots; empty: a solid line.
const dashes = [[], [8, 3], [9, 3, 2, 3], [4, 3], [14, 4], [8, 2, 2, 2, 2, 2], [2, 2, 5, 2]];
const categories = 7; // colors of --line-0 ... in the style sheet

// mix interpolates in a list of colors; share is in [0, 1].
function mix(colors, share) {
  const at = Math.min(Math.max(share, 0), 1) * (colors.length - 1);
  const i = Math.min(Math.floor(at), colors.length - 2);
  const [a, b] = [colors[i], colors[i + 1]].map((c) => [1, 3, 5].map((k) => parseInt(c.slice(k, k + 2), 16)));
  return a.map((v, k) => Math.round(v + (at - i) * (b[k] - v)));
}
const rgb = (c, opacity = 1) => `rgba(${c[0]}, ${c[1]}, ${c[2]}, ${opacity})`;
const hex = (c) => [1, 3, 5].map((k) => parseInt(c.slice(k, k + 2), 16));

// looks returns the color and the dashes of each line of an experiment.
function looks(figure) {
  const plain = figure.lines.filter((l) => !l.Emphasis).length;
  const ramp = css("--ramp").split(/\s+/);
  return figure.lines.map((line, i) => {
    if (line.Emphasis) return { color: hex(css("--emphasis")), dash: [2, 4] };
    if (figure.ordered) {
      const each = Math.ceil(plain / 8); // lines of a color: at most eight colors, then dashes
      return { color: mix(ramp, plain > 1 ? Math.floor(i / each) / Math.max(Math.floor((plain - 1) / each), 1) : 0), dash: dashes[(i % each) % dashes.length] };
    }
    return { color: hex(css("--line-" + (i % categories))), dash: dashes[Math.floor(i / categories + i) % dashes.length] };
  });
}

// swatch returns a sample of a line.
function swatch(look) {
  return svg("svg", { width: 28, height: 10, viewBox: "0 0 28 10", "aria-hidden": "true", class: "swatch" },
    svg("line", { x1: 1, y1: 5, x2: 27, y2: 5, stroke: rgb(look.color), "stroke-width": 2.5, "stroke-dasharray": look.dash.join(" ") }));
}

// heatColor returns the color of a share in [0, 1], and a readable text color for it.
function heatColor(share) {
  const c = mix(css("--heat").split(/\s+/), share);
  const light = (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]) / 255;
  return { background: rgb(c), ink: light > 0.5 ? "#111" : "#fff" };
}
