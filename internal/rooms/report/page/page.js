// The page: its content, light and dark, print, and updates from a server.

let report = null, live = [];

// charts are what the script makes: by the attribute data-chart of an element, its content, and methods that must be called after
// it is added to the page and before it is removed.
const charts = {
  copy: copyOf, curves: curvesOf, "against-energy": (r, i) => curvesOf(r, i, againstEnergy(r, i)),
  energy: energyOf, left: leftOf, paths: pathsOf, rounds: roundsOf, sweep: sweepOf,
};

// compose displays the report, again after each change. It preserves the selections of the
// reader, the scroll position and the focus.
function compose(changed) {
  const page = document.getElementById("page"), focus = document.activeElement?.id, open = [...document.querySelectorAll("details[open]")].map((d) => d.id);
  page.style.minHeight = page.offsetHeight + "px"; // prevents a jump of the page
  live.forEach((l) => l.erase());
  live = [];
  waiting.clear();
  watch.disconnect();
  if (changed && report.page) page.innerHTML = report.page;
  document.title = `${report.name} · fedsim`;
  document.getElementById("theme")?.remove();
  document.getElementById("top").append(themeButton());
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const place of document.querySelectorAll("[data-chart]")) {
    const made = charts[place.dataset.chart](report, Number(place.dataset.experiment), place.dataset);
    place.replaceChildren(...[made?.element || made].flat().filter(Boolean));
    if (made?.arrive) live.push(made);
  }
  menus();
  live.forEach((l) => l.arrive());
  page.style.minHeight = "";
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
}

// menus shows the experiment of the selected tab and the comparison of the selected target of each experiment.
function menus() {
  const c = chosen("menus", { tab: 0 });
  const update = () => {
    const several = document.querySelector("[data-tab]") !== null;
    for (const b of document.querySelectorAll("[data-tab]")) b.setAttribute("aria-pressed", String(Number(b.dataset.tab) === c.tab));
    for (const e of document.querySelectorAll(".experiment")) e.hidden = several && Number(e.dataset.of) !== c.tab;
    for (const s of document.querySelectorAll("[data-shows]")) {
      for (const d of document.querySelectorAll(`[data-shown^="${s.dataset.shows}/"]`)) d.hidden = d.dataset.shown !== `${s.dataset.shows}/${s.value}`;
    }
  };
  for (const b of document.querySelectorAll("[data-tab]")) b.onclick = () => { c.tab = Number(b.dataset.tab); update(); };
  for (const s of document.querySelectorAll("[data-shows]")) {
    if (c[s.id]) s.value = c[s.id];
    s.onchange = () => { c[s.id] = s.value; update(); };
  }
  update();
}

// copyOf returns a button that copies the scenario.
function copyOf() {
  const status = el("span", { role: "status" }), toml = document.getElementById("toml");
  return [el("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(toml.textContent);
      status.textContent = " copied";
    } catch {
      getSelection().selectAllChildren(toml);
      status.textContent = " selected: copy it with the keyboard";
    }
  } }, "Copy"), status];
}

// Light or dark: the setting of the system, until the reader selects one.
const themes = ["auto", "light", "dark"];
let theme = "auto";
try { theme = themes.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto"; } catch { /* a page from a file may have no storage */ }

function setTheme(name) {
  theme = name;
  if (name === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", name);
}

function themeButton() {
  return el("button", { type: "button", id: "theme", class: "theme", "aria-label": `Colors: ${theme}`, onclick: () => {
    setTheme(themes[(themes.indexOf(theme) + 1) % themes.length]);
    try { localStorage.setItem("theme", theme); } catch { /* the setting is lost when the page closes */ }
    compose();
  } }, { auto: "◐ auto", light: "○ light", dark: "● dark" }[theme]);
}

setTheme(theme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => report && theme === "auto" && compose());

// Printed pages are light and narrow, with all charts.
let onScreen = null;
addEventListener("beforeprint", () => {
  onScreen = theme;
  setTheme("light");
  for (const d of document.querySelectorAll("details.part:not([open]), details.messages:not([open])")) { d.open = true; d.dataset.folded = ""; }
  document.documentElement.classList.add("printing"); // the width of paper, before the charts are drawn
  if (report) compose();
  drawAll();
});
addEventListener("afterprint", () => {
  setTheme(onScreen || "auto");
  document.documentElement.classList.remove("printing");
  for (const d of document.querySelectorAll("[data-folded]")) { d.open = false; delete d.dataset.folded; }
  if (report) compose();
});

// say displays a text at the foot of the page, and in place of missing content.
function say(text) {
  const note = document.getElementById("note");
  if (note) note.textContent = text;
  document.getElementById("foot").replaceChildren(text);
}

async function show(text) {
  report = await read(text);
  compose(true);
}

// follow displays the report of a server and updates it after each change.
async function follow() {
  let busy = false, again = false, failed = false;
  let message = () => ""; // displayed while the server is available; depends on the report
  const announce = (text) => { message = text; say(message()); };
  const fetchAndShow = async () => {
    again = true;
    if (busy) return;
    busy = true;
    try {
      while (again) {
        again = false;
        const response = await fetch("data", { cache: "no-cache" });
        const text = await response.text();
        if (response.status !== 200) { // 202: no run yet
          announce(() => text);
          continue;
        }
        await show(text);
        if (message()) say(message());
        failed = false;
      }
    } catch (e) {
      failed = true;
      say(`Cannot read the results: ${e.message}`);
    } finally {
      busy = false;
    }
  };
  const events = new EventSource("events");
  events.addEventListener("open", () => { // after a reconnection, the server repeats no events
    if (message()) say(message());
    if (failed) fetchAndShow();
  });
  events.addEventListener("changed", () => { announce(() => (report?.plan ? "Following the work" : "Following the run")); fetchAndShow(); });
  events.addEventListener("finished", () => { fetchAndShow(); announce(() => (report?.plan ? "All groups are done" : "The run has ended")); });
  events.addEventListener("error", () => say("The server does not respond; the page continues when it does"));
  await fetchAndShow();
}

const own = document.getElementById("data").textContent;
if (own.trim()) show(own).catch((e) => say(`Cannot read the results: ${e.message}`));
else follow();
