"""Calibrates on logs of the rig and compares the others: compare.py FEDSIM DIR LAYER...

It prints the tables of bench/rig/README.md, in Markdown.
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


def percent(values: list[float | None], signed: bool = False) -> str:
    """Return the mean of shares in percent; the range if they are signed and differ."""
    known = [100 * value for value in values if value is not None]
    if not known:
        return ""
    if not signed:
        return f"{sum(known) / len(known):.1f}"
    ends = [f"{end:+.1f}" for end in (min(known), max(known))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def show(report: dict[str, Any], summary: bool = True) -> None:
    """Print a row for each configuration, and what holds for all."""
    repeated = {name: repeat["runs"] for repeat in report["repeats"] for name in repeat["runs"]}
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in report["runs"]:
        groups.setdefault(min(repeated.get(run["run"], [run["run"]])), []).append(run)
    polls = any(run["ahead"] for run in report["runs"])
    heads = ["run", "measured, s", "makespan", "attempts", "P95"]
    heads += ["rounds ahead", "polls exact"] if polls else ["transfer", "at speed"]
    heads += ["nominal", "its attempts", "same set", "tau"]
    print("|" + "|".join(heads) + "|")
    print("|---" * len(heads) + "|")
    for name, runs in groups.items():
        print("|" + "|".join([name, *cells(runs, polls)]) + "|")
    if summary:
        summarize(report)


def cells(runs: list[dict[str, Any]], polls: bool) -> list[str]:
    """Return the cells of a configuration."""
    own = [run["calibrated"] for run in runs]
    nominal = [run["nominal"] for run in runs if run["nominal"]]
    ahead = [run["ahead"] for run in runs if run["ahead"]]
    measured = [run["measured_s"] for run in runs]
    ends = [f"{end:.1f}" for end in (min(measured), max(measured))]
    found = [ends[0] if ends[0] == ends[1] else " to ".join(ends)]
    found += [percent([e["makespan"] for e in own], signed=True)]
    found += [percent([e["response"][key] for e in own]) for key in ("mape", "p95")]
    if polls:
        found += [percent([a["round"]["mape"] for a in ahead]), percent([a["exact"] for a in ahead])]
    else:
        found += [percent([e["transfer"]["mape"] for e in own])]
        found += [percent([run["at_speed"]["makespan"] for run in runs], signed=True)]
    found += [percent([e["makespan"] for e in nominal], signed=True)]
    found += [percent([e["response"]["mape"] for e in nominal])]
    taus = [e["order"] for e in own if e["order"] is not None]
    found += [percent([e["equal"] for e in own]), f"{sum(taus) / len(taus):.2f}" if taus else ""]
    return found


def summarize(report: dict[str, Any]) -> None:
    """Print the errors over all runs, the noise floor and the ranking."""

    def extreme(of: dict[str, float], signed: bool) -> str:
        return f"{100 * of['mean']:.1f} ({100 * of['worst']:{'+' if signed else ''}.1f})"

    print("\n|all runs: mean (worst)|makespan|attempts|P95|\n|---|---|---|---|")
    for m in report["models"]:
        row = [extreme(m[key], key == "makespan") for key in ("makespan", "mape", "p95")]
        print("|" + "|".join([m["model"], *row]) + "|")
    print("\n|repeated: mean (worst)|floor: makespan|attempts|P95|model: makespan|\n|---|---|---|---|---|")
    for r in report["repeats"]:
        row = [extreme(r["floor"], True), percent([r["response"]["mape"]]), percent([r["response"]["p95"]])]
        print("|" + "|".join([f"{min(r['runs'])}, {len(r['runs'])} times", *row, extreme(r["model"], True)]) + "|")
    print(f"\nRanking of the configurations by makespan: Kendall's tau {report['tau']:.2f}.")


if __name__ == "__main__":
    sys.exit(main())
