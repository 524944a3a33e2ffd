// The page as a whole: what is shown, light and dark, print, and what a server sends.

const main = document.getElementById("main");
let report = null, shown = [];

// compose shows the report, again when it has changed. What the reader has chosen, where
// the page stands and what has the focus stay.
function compose() {
  const focus = document.activeElement?.id, open = [...document.querySelectorAll("details[open]")].map((d) => d.id);
  const height = main.offsetHeight;
  main.style.minHeight = height + "px"; // so that the page does not jump
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

// Light and dark: as the system has it, until the reader chooses.
const themes = ["auto", "light", "dark"];
let theme = "auto";
try { theme = themes.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto"; } catch { /* a page from a file may have no storage */ }

function setTheme(name) {
  theme = name;
  if (name === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", name);
}

function themeButton() {
  return el("button", { type: "button", id: "theme", class: "theme", "aria-label": `Colours: ${theme}`, onclick: () => {
    setTheme(themes[(themes.indexOf(theme) + 1) % themes.length]);
    try { localStorage.setItem("theme", theme); } catch { /* it lasts as long as the page */ }
    compose();
  } }, { auto: "◐ auto", light: "○ light", dark: "● dark" }[theme]);
}

setTheme(theme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => report && theme === "auto" && compose());

// Paper is white, narrow, and holds what is not on the screen too.
let onScreen = null;
addEventListener("beforeprint", () => {
  onScreen = theme;
  setTheme("light");
  document.documentElement.classList.add("printing"); // as wide as paper, before the charts are drawn
  if (report) compose();
  drawAll();
});
addEventListener("afterprint", () => {
  setTheme(onScreen || "auto");
  document.documentElement.classList.remove("printing");
  if (report) compose();
});

// say puts a text at the foot of the page, or instead of what is not there yet.
function say(text) {
  const note = document.getElementById("note");
  if (note) note.textContent = text;
  document.getElementById("foot").replaceChildren(text);
}

async function show(text) {
  report = await read(text);
  compose();
}

// follow shows what a server has, and again whenever it says that it has changed.
async function follow() {
  let busy = false, again = false, failed = false;
  let told = ""; // what the page says while the server answers
  const tell = (text) => { told = text; say(text); };
  const fetchAndShow = async () => {
    again = true;
    if (busy) return;
    busy = true;
    try {
      while (again) {
        again = false;
        const answer = await fetch("data", { cache: "no-cache" });
        const text = await answer.text();
        if (answer.status !== 200) { // 202: there is nothing yet
          tell(text);
          continue;
        }
        await show(text);
        if (failed) say(told);
        failed = false;
      }
    } catch (e) {
      failed = true;
      say(`The results could not be read: ${e.message}`);
    } finally {
      busy = false;
    }
  };
  const events = new EventSource("events");
  events.addEventListener("open", () => { // when it opens again, what was told is not told twice
    if (told) say(told);
    if (failed) fetchAndShow();
  });
  events.addEventListener("changed", () => { tell("Following the run"); fetchAndShow(); });
  events.addEventListener("finished", () => { fetchAndShow(); tell("The run is over"); });
  events.addEventListener("error", () => say("The server does not answer; the page goes on when it does"));
  await fetchAndShow();
}

const own = document.getElementById("data").textContent;
if (own.trim()) show(own).catch((e) => say(`The results could not be read: ${e.message}`));
else follow();
