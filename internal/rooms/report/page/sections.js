// The sections of the page: {id, title, element, live}. live are the parts with methods
// that must be called after they are added to the page and before they are removed.

function section(id, title, live, ...content) {
  return { id, title, live: live.filter(Boolean), element: el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), ...content) };
}

// perExperiment returns the content that make returns for each experiment, with headings if
// there are several experiments.
function perExperiment(report, make) {
  const live = [];
  const content = report.experiments.map((e, i) => {
    const made = make(e, i);
    if (!made || (Array.isArray(made) && made.length === 0)) return null;
    const parts = (Array.isArray(made) ? made : [made]).map((m) => {
      if (!m || !m.arrive) return m;
      live.push(m);
      return m.element;
    });
    return el("div", { class: "experiment" }, report.experiments.length > 1 ? el("h3", {}, e.figure.title || e.name, e.figure.title && e.figure.title.toLowerCase() !== e.name.toLowerCase() ? el("small", {}, e.name) : null) : null, ...parts);
  }).filter(Boolean);
  return { live, content };
}

function sections(report) {
  const list = [];
  const add = (id, title, { live, content }, ...more) => { if (content.length > 0) list.push(section(id, title, live, ...more, content)); };
  if (report.plan) list.push(section("plan", "Plan", [], planOf(report.plan)));
  if (report.runs.length === 0 && report.state === "running" && !report.plan) {
    list.push(section("results", "Results", [], el("p", {}, "No run has started: fedsim prepares the data and tunes the methods. The page shows the rounds when there are some.")));
  }
  add("results", "Results", perExperiment(report, (e, i) => (e.blocks.length > 0 ? [e.description ? el("p", {}, e.description) : null, el("p", { class: "quiet" }, capital(e.caption) + "."), resultsOf(e), (e.below || []).map((line) => el("p", { class: "quiet" }, capital(line) + "."))].flat() : null)));
  if (report.tables.length > 0) list.push(section("errors", "Prediction errors", [], report.tables.map(errorsOf)));
  add("curves", "Curves", perExperiment(report, (_, i) => curvesOf(report, i)), el("p", { class: "quiet hint" }, "Drag over a part of the horizontal axis to zoom in; double-click to show everything. A finger or the arrow keys move the cursor, + and − zoom. A line is the mean over repeated runs; its band reaches from the lowest to the highest. Where a run ends, its line has a dot if the run reached its target, a circle if its budget was spent, and a cross if it stalled; a mean ends with the first run that missed its target."),
    report.shown < report.rows ? el("p", { class: "quiet" }, `The page holds ${report.shown.toLocaleString("en")} of the run's ${report.rows.toLocaleString("en")} rounds, the first rounds of each run and evenly spread later ones; rounds.csv contains all.`) : null);
  add("left", "Who is left behind", perExperiment(report, (_, i) => leftOf(report, i)), el("p", { class: "quiet" }, "Values by client at the last evaluation, of all seeds. Positive correlations: clients with more of it are worse; bold ones count, being at least as large as the last column. A correlation is no cause. docs/explain.md has the definitions."));
  add("sweep", "Sweep", perExperiment(report, (_, i) => sweepOf(report, i)));
  const stragglers = perExperiment(report, (e, i) => [participationOf(report, i), ...(report.devices ? [el("h4", {}, "Parts of the time"), pathsOf(report, i), roundsOf(report, i)] : [])]);
  add("stragglers", "Stragglers", stragglers, report.devices || report.runs.length === 0 ? null : el("p", { class: "quiet" }, "Stragglers need rows by device: run the scenario with ", el("code", {}, "--set run.devices=true"), "."));
  add("energy", "Energy", perExperiment(report, (e, i) => [...energyOf(report, i), curvesOf(report, i, againstEnergy(report, i))]));
  if (report.runs.length > 0) list.push(section("runs", "Runs", [], runsOf(report)));
  list.push(section("scenario", "Scenario", [], scenarioOf(report)), section("reproduce", "Reproduce", [], reproduce(report)));
  return list;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// opening returns the header of the page.
function opening(report) {
  const m = report.made, done = report.runs.filter((r) => r.status === "done").length;
  const state = (report.plan && workOf(report.plan)) || { complete: "complete", incomplete: report.absent.length > 0 ? "partial merge" : "interrupted", running: "running" }[report.state] || report.state;
  const fact = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  const stalled = report.runs.filter((r) => r.status === "stalled").length;
  return [
    el("p", { class: "kind" }, "fedsim report ", el("span", { class: "state " + report.state }, state)),
    el("h1", {}, report.name), report.description ? el("p", { class: "lead" }, report.description) : null,
    (report.messages || []).length > 0 ? el("ul", { class: "messages", role: "status" }, report.messages.map((m) => el("li", { class: m.split(":")[0] }, capital(m) + "."))) : null,
    el("dl", { class: "facts" },
      report.expected > 0 ? fact("runs", `${done.toLocaleString("en")} of ${report.expected.toLocaleString("en")}`, stalled > 0 ? `, ${stalled} stalled` : "") : null,
      report.absent.length > 0 ? fact("absent", report.absent[0], report.absent.length > 1 ? ` and ${(report.absent.length - 1).toLocaleString("en")} more` : "") : null,
      m.data ? fact("data", m.data) : null,
      fact("seeds", m.seeds.join(", ")),
      known(m.took_s) ? fact("took", clock(m.took_s), known(m.events_per_s) ? `, ${amount(m.events_per_s, thousands, 3)} events/s` : "") : null,
      m.started ? fact("started", new Date(m.started).toISOString().slice(0, 16).replace("T", " ") + " UTC") : null,
      fact("made by", `fedsim ${m.version}, ${m.go}, ${m.platform.os}/${m.platform.arch}`)),
  ];
}
const thousands = [{ name: "", size: 1 }, { name: "k", size: 1e3 }, { name: "M", size: 1e6 }];

function runsOf(report) {
  const rows = report.runs.map((r) => [r.id, r.status + (r.reason ? ": " + r.reason : ""), String(r.totals.rounds), amount(r.totals.time_s, report.quantity("time_s", r.experiment).units, 4), r.tuned || none,
    known(r.optimum) ? figure(r.optimum, 6) : none, el("code", {}, r.event_hash), el("code", {}, r.model_hash)]);
  return el("details", { id: "all-runs" }, el("summary", {}, plural(report.runs.length, "run")),
    table(["run", "status", "rounds", "virtual time", "tuned", "optimum", "event hash", "model hash"], rows, "all runs", "texts"));
}

function scenarioOf(report) {
  const status = el("span", { role: "status" });
  const copy = el("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(report.scenario);
      status.textContent = " copied";
    } catch {
      getSelection().selectAllChildren(document.getElementById("toml"));
      status.textContent = " selected: copy it with the keyboard";
    }
  } }, "Copy");
  return [el("p", {}, "All defaults are included; running it gives these results. ", copy, status), el("pre", { id: "toml", tabindex: 0 }, el("code", {}, ...colored(report.scenario)))];
}

// colored marks tables, keys and comments of TOML.
function colored(text) {
  return text.split(/(?<=\n)/).map((line) => {
    if (/^\s*\[/.test(line)) return el("span", { class: "toml-table" }, line);
    if (/^\s*#/.test(line)) return el("span", { class: "toml-comment" }, line);
    const m = /^(\s*[^=]+?)(\s*=)(.*)$/s.exec(line);
    return m ? [el("span", { class: "toml-key" }, m[1]), m[2] + m[3]] : line;
  }).flat();
}

function reproduce(report) {
  const m = report.made;
  return [
    el("p", {}, "Command of these results:"),
    el("pre", {}, el("code", {}, m.command.map((a) => (/^[\w@%+=:,./-]+$/.test(a) ? a : `'${a.replaceAll("'", "'\\''")}'`)).join(" "))),
    el("p", {}, "Save the scenario above as ", el("code", {}, "scenario.toml"), " and run it with the same version:"),
    el("pre", {}, el("code", {}, "fedsim version\nfedsim run scenario.toml --out again\nfedsim results show again")),
    el("p", {}, "The same version gives the same results, bit for bit, on any number of cores",
      report.state === "complete" ? [": ", el("code", {}, "result_hash"), " in ", el("code", {}, "again/manifest.json"), " must be ", el("code", {}, m.result_hash)] : null, "."),
  ];
}
