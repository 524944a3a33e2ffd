"""Calibrates on logs of the rig and compares the others: compare.py FEDSIM DIR LAYER...

It prints the tables of docs/validation.md, in Markdown.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

PLAN = Path(__file__).resolve().parent / "plan.toml"


def main() -> int:
    """Print the comparison of each layer. Returns the exit status."""
    fedsim, out = sys.argv[1], Path(sys.argv[2])
    table = tomllib.loads(PLAN.read_text(encoding="utf-8"))
    for layer in sys.argv[3:]:
        runs = table["flower" if layer == "flower" else "run"]
        groups: dict[str, list[Path]] = {}
        for run in runs:
            logs = sorted((out / layer).glob(f"{run['name']}*.csv"), key=lambda path: (len(path.stem), path.stem))
            own = [path for path in logs if path.stem.partition("-")[0] == run["name"]]
            groups.setdefault(run["group"], []).extend(own)
        base = groups["calibration"]
        print(f"\n### {layer}: calibrated on {names(base)}\n", flush=True)
        report = check(fedsim, out / layer / "model", base, groups["held-out"])
        show(report)
        if extra := groups.get("extra"):
            print(f"\n{layer}: what the log does not tell\n")
            show(check(fedsim, out / layer / "model", base, extra), summary=False)
        if larger := groups.get("larger"):
            print(f"\n{layer}: calibrated on {names(larger)}, too\n", flush=True)
            bytes4 = [path for path in groups["held-out"] if path.stem == "bytes4"]
            show(check(fedsim, out / layer / "model-larger", base + larger, bytes4), summary=False)
    return 0


def names(logs: list[Path]) -> str:
    """Return the names of logs."""
    return ", ".join(path.stem for path in logs)


def check(fedsim: str, model: Path, base: list[Path], others: list[Path]) -> dict[str, Any]:
    """Calibrate on some logs, and return how well it predicts others."""
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([fedsim, "calibrate", *base, "-o", model, "--force"], **quiet)
    command = [fedsim, "calibrate", "--with", model, "--check", "--json", *others]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def percent(value: float | None, signed: bool = False) -> str:
    """Return a share in percent."""
    if value is None:
        return ""
    return f"{100 * value:{'+' if signed else ''}.1f}"


def show(report: dict[str, Any], summary: bool = True) -> None:
    """Print a row for each configuration, and what holds for all."""
    runs = {run["run"]: run for run in report["runs"]}
    polls = any(run["ahead"] for run in runs.values())
    heads = ["run", "measured s", "makespan", "attempts", "P95", "transfer", "at speed", "nominal", "its attempts", "same set", "tau"]
    if polls:
        heads[5:7] = ["rounds ahead", "polls exact"]
    print("|" + "|".join(heads) + "|")
    print("|---" * len(heads) + "|")
    for name, run in runs.items():
        own, nominal, ahead = run["calibrated"], run["nominal"] or {}, run["ahead"]
        cells = [name, f"{run['measured_s']:.1f}", percent(own["makespan"], signed=True)]
        cells += [percent(own["response"][key]) for key in ("mape", "p95")]
        if polls:
            cells += [percent(ahead["round"]["mape"]), percent(ahead["exact"])] if ahead else ["", ""]
        else:
            cells += [percent(own["transfer"]["mape"]), percent(run["at_speed"]["makespan"], signed=True)]
        cells += [percent(nominal.get("makespan"), signed=True), percent(nominal.get("response", {}).get("mape"))]
        tau = own["order"]
        cells += [percent(own["equal"]), "" if tau is None else f"{tau:.2f}"]
        print("|" + "|".join(cells) + "|")
    if not summary:
        return
    print("\n|all runs|makespan: mean|worst|attempts: mean|worst|P95: mean|worst|\n|---|---|---|---|---|---|---|")
    for m in report["models"]:
        cells = [percent(m[key][kind], signed=kind == "worst" and key == "makespan") for key in ("makespan", "mape", "p95") for kind in ("mean", "worst")]
        print(f"|{m['model']}|" + "|".join(cells) + "|")
    print("\n|repeated|floor: makespan|worst|attempts|P95|model: makespan|worst|\n|---|---|---|---|---|---|---|")
    for r in report["repeats"]:
        floor, response, model = r["floor"], r["response"], r["model"]
        cells = [percent(floor["mean"]), percent(floor["worst"], signed=True), percent(response["mape"]), percent(response["p95"])]
        cells += [percent(model["mean"]), percent(model["worst"], signed=True)]
        print(f"|{r['runs'][0]} and {len(r['runs']) - 1} more|" + "|".join(cells) + "|")
    print(f"\nRanking by makespan: Kendall's tau {report['tau']:.2f}.")


if __name__ == "__main__":
    sys.exit(main())
