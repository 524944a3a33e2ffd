// The state of a plan: its groups and prerequisites by condition.

// workOf says whether the work of a plan goes on.
function workOf(plan) {
  if (plan.groups.done === plan.groups.total) return "done, not merged";
  return plan.workers > 0 ? plural(plan.workers, "worker") : "no worker";
}

// countsOf returns counts in words, without zeros.
function countsOf(counts) {
  const parts = ["failed", "running", "stopped", "waiting"].filter((c) => counts[c] > 0).map((c) => `${counts[c].toLocaleString("en")} ${c}`);
  return [`${counts.done.toLocaleString("en")} of ${counts.total.toLocaleString("en")} done`, ...parts].join(", ");
}

function timeLeft(plan) {
  if (known(plan.left_s)) return "about " + clock(plan.left_s);
  if (known(plan.work_s)) return `about ${clock(plan.work_s)} of work for one worker; nobody works`;
  return "not known before something is done";
}

// itemsOf returns a table of the items in a condition; total is how many there are.
function itemsOf(plan, condition, total) {
  const items = plan.items.filter((i) => i.state === condition);
  if (items.length === 0) return null;
  const ago = condition === "running" ? "last heartbeat" : condition;
  const rows = items.map((i) => [el("code", {}, i.id), i.kind === "group" ? i.about + (i.runs > 1 ? ` and ${plural(i.runs - 1, "more run")}` : "") : `${i.kind} ${i.about}`,
    i.host ? i.host + (i.pid ? `:${i.pid}` : "") : "", known(i.progress) ? percent(i.progress) : "", known(i.took_s) ? clock(Math.round(i.took_s)) : "",
    known(i.age_s) ? clock(Math.round(i.age_s)) + " ago" : "", i.waits_for.length > 0 ? i.waits_for.join(", ") : "", i.reason]);
  const rest = total > items.length ? `; the first ${items.length} are shown` : "";
  return table(["ID", "runs", "host", "progress", "time", ago, "waits for", "reason"], rows, `${capital(condition)}: ${total.toLocaleString("en")}${rest}`, "texts " + condition);
}

function planOf(plan) {
  const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  const total = (c) => plan.groups[c] + plan.prerequisites[c];
  const waiting = itemsOf(plan, "waiting", total("waiting"));
  return [
    el("dl", { class: "facts" }, fact("groups", countsOf(plan.groups)), plan.prerequisites.total > 0 ? fact("prerequisites", countsOf(plan.prerequisites)) : null,
      plan.groups.done < plan.groups.total ? fact("time left", timeLeft(plan)) : null),
    ["failed", "running", "stopped"].map((c) => itemsOf(plan, c, total(c))),
    waiting ? el("details", { id: "waiting" }, el("summary", {}, plural(total("waiting"), "group or prerequisite waits", "groups and prerequisites wait")), waiting) : null,
    plan.groups.done === plan.groups.total ? el("p", {}, "All groups are done: ", el("code", {}, "fedsim merge " + plan.directory), " makes the run directory.") : null,
  ];
}
