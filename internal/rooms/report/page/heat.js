// The heat map of a measure over two axes. The other axes have one value each, or all.

function heatOf(e, grid, trials, measure) {
  if (grid.length < 2) return null;
  const key = e.name + "/heat", id = slug(e.name + "-heat");
  const c = chosen(key, { down: grid[0].name, across: grid[1].name, rest: {} });
  const element = el("div", { class: "heat" });
  const paint = () => {
    const down = grid.find((a) => a.name === c.down) || grid[0];
    const across = grid.find((a) => a.name === c.across && a !== down) || grid.find((a) => a !== down);
    const rest = grid.filter((a) => a !== down && a !== across);
    // A mean over methods has no meaning: the first one is selected.
    const fixed = (a) => c.rest[a.name] ?? (a.name === "method" ? "0" : "all");
    const within = trials.filter((t) => rest.every((a) => fixed(a) === "all" || a.of[t.at[grid.indexOf(a)]] === Number(fixed(a))));
    const level = (a, t) => a.of[t.at[grid.indexOf(a)]];
    const cells = down.levels.map((_, i) => across.levels.map((_, j) => summarized(within.filter((t) => level(down, t) === i && level(across, t) === j), measure)));
    const means = cells.flat().map((s) => s.mean).filter(known);
    const low = Math.min(...means), high = Math.max(...means);
    const log = low > 0 && high / low > 10;
    const share = (v) => (high > low ? (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)) : 0.5);
    const set = (name) => (v) => { c[name] = v; paint(); document.getElementById(`${id}-${name}`)?.focus(); };
    const named = grid.map((a) => [a.name, a.name]);
    const cell = (s) => {
      const data = { "data-runs": s.runs, "data-reached": s.values };
      if (s.mean === null) return el("td", { class: s.runs === 0 ? "blank" : "missed", ...data }, s.runs === 0 ? "no run" : [el("strong", {}, measure.target && s.missed > 0 ? "never" : "no value"), el("small", {}, s.open > 0 || measure.target ? counted(s, measure.target) : plural(s.runs, "run"))]);
      const color = heatColor(share(s.mean));
      const td = el("td", { "data-value": s.mean, class: s.values < s.runs ? "partly" : null, ...data }, el("span", {}, meanText(s, measure.scale, 3)), el("small", {}, counted(s, measure.target)));
      td.style.background = color.background;
      td.style.color = color.ink;
      return td;
    };
    const ramp = el("span", { class: "ramp", role: "img", "aria-label": "colors from low to high" });
    ramp.style.background = `linear-gradient(to right, ${css("--heat").split(/\s+/).join(", ")})`;
    element.replaceChildren(
      el("h4", {}, `${capital(measure.text)} by ${down.name} and ${across.name}`),
      el("div", { class: "controls" },
        choice(id + "-down", "rows", named, down.name, set("down")), choice(id + "-across", "columns", named.filter(([n]) => n !== down.name), across.name, set("across")),
        rest.map((a) => choice(`${id}-${slug(a.name)}`, a.name, [...(a.name === "method" ? [] : [["all", "all (mean)"]]), ...a.levels.map((l, i) => [i, l.label])], fixed(a), (v) => { c.rest[a.name] = v; paint(); document.getElementById(`${id}-${slug(a.name)}`)?.focus(); }))),
      means.length > 0 ? el("p", { class: "key" }, el("span", {}, amount(low, measure.scale, 3), ramp, amount(high, measure.scale, 3), log ? " (logarithmic)" : ""),
        el("span", {}, `The mean over the runs of a cell${measure.target ? "; a frame marks cells where runs ended before the target, so that the mean is above" : ""}.`)) : null,
      scrolled(measure.text,
        el("table", {},
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, `${lastPart(down.name)} \\ ${lastPart(across.name)}`), across.levels.map((l) => el("th", { scope: "col" }, l.label)))),
          el("tbody", {}, down.levels.map((l, i) => el("tr", {}, el("th", { scope: "row" }, l.label), cells[i].map(cell)))))));
  };
  paint();
  return element;
}
