// The page: its content, light and dark, print, and updates from a server.

const main = document.getElementById("main");
let report = null, shown = [];

// compose displays the report, again after each change. It preserves the selections of the
// reader, the scroll position and the focus.
function compose() {
  const focus = document.activeElement?.id, open = [...document.querySelectorAll("details[open]")].map((d) => d.id);
  const height = main.offsetHeight;
  main.style.minHeight = height + "px"; // prevents a jump of the page
  for (const s of shown) s.live.forEach((l) => l.erase());
  waiting.clear();
  watch.disconnect();
  shown = sections(report);
  document.title = `${report.name} · fedsim`;
  document.getElementById("top").replaceChildren(...opening(report).filter(Boolean), themeButton());
  document.getElementById("contents").replaceChildren(...shown.map((s) => el("a", { href: "#" + s.id }, s.title)));
  main.replaceChildren(...shown.map((s) => s.element));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const s of shown) s.live.forEach((l) => l.arrive());
  main.style.minHeight = "";
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
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
  document.documentElement.classList.add("printing"); // the width of paper, before the charts are drawn
  if (report) compose();
  drawAll();
});
addEventListener("afterprint", () => {
  setTheme(onScreen || "auto");
  document.documentElement.classList.remove("printing");
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
  compose();
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
