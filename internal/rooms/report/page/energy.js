// Energy, bytes and FLOPs of the runs.

// againstEnergy returns axes that show the quality of the model against energy.
function againstEnergy(report, index) {
  const f = report.experiments[index].figure, runs = report.runs.filter((r) => r.experiment === index);
  const y = ["suboptimality", report.experiments[index].metric, f.y].find((name) => runs.some((r) => has(r, name))) || f.y;
  return { name: "energy", x: "energy_j", xLog: true, y, yLog: y === f.y ? f.y_log : y === "suboptimality" };
}

function energyOf(report, index) {
  const units = (name) => report.quantity(name).units;
  const groups = byLine(report, index);
  const of = (g, name) => mean(g.runs, (r) => r.totals[name]);
  const perResponse = (g) => mean(g.runs, (r) => (r.totals.participants > 0 ? r.totals.energy_j / r.totals.participants : NaN));
  return [
    bars(["energy"], [hex(css("--line-0"))], groups.map((g) => ({ label: g.label, parts: [of(g, "energy_j")], text: amount(of(g, "energy_j"), units("energy_j"), 3) })), "Energy of all devices"),
    table(["line", "energy of all devices", "per response used", "sent to devices", "sent by devices", "work"], groups.map((g) => [
      g.label, amount(of(g, "energy_j"), units("energy_j"), 3), amount(perResponse(g), units("energy_j"), 3), amount(of(g, "bytes_down"), units("bytes_up"), 3),
      amount(of(g, "bytes_up"), units("bytes_up"), 3), amount(of(g, "flops"), units("flops"), 3)])),
  ];
}
