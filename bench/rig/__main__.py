"""Measures federations on this machine: python3 bench/rig [--layer LAYER] [--out DIR] [RUN...].

Each run of plan.toml becomes a log, DIR/LAYER/RUN.csv. Logs that exist are not measured again.
Layers: "paced" (training takes a known time), "quota" (a share of a core), "flower" (Flower's
own processes). Without names, all runs of the layer. It needs Linux and root, and NumPy.

CUT=1: shorter rounds and no repetitions. RIG_BUSY=1: measure although the machine is busy.
Exit status: 0, or 1 for an error, or 77 if this machine cannot have the rig.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python" / "src"))

import checks  # noqa: E402
import groups  # noqa: E402

UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
SKIPPED = 77
LAYERS = ("paced", "quota", "flower")
RUN_S = 900.0
ENVIRONMENT = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    # Otherwise glibc returns the arrays of a large model to the system after each step: page
    # faults then take more than half of the time.
    **dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(1 << 28)),
}


def main() -> int:
    """Measure. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="bench/rig", description=__doc__.splitlines()[0])
    parser.add_argument("--layer", choices=LAYERS, action="append")
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("run", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ |= ENVIRONMENT
    os.environ["PYTHONPATH"] = str(HERE.parents[1] / "python" / "src")
    try:
        checks.tools()
        checks.namespaces(UNSHARE)
    except checks.CannotError as error:
        print(f"skipped: {error}")
        return SKIPPED
    core = checks.core_gflops(options.out)
    for layer in options.layer or ("paced", "quota"):
        if layer == "flower":
            import flower_layer  # noqa: PLC0415

            todo = [run for run in flower_layer.runs(options.out) if wanted(run, options.run)]
        else:
            todo = [run for run in plan(layer, options.out, core) if wanted(run, options.run)]
        if todo:
            measure(layer, todo)
    return 0


def wanted(run: dict[str, Any], names: list[str]) -> bool:
    """Report whether a run is asked for, and is not measured yet."""
    return (not names or run["plan"] in names) and not Path(run["log"]).exists()


def plan(layer: str, out: Path, core: float) -> list[dict[str, Any]]:
    """Return the runs of a layer, each with everything that it needs to know."""
    table = tomllib.loads((HERE / "plan.toml").read_text(encoding="utf-8"))
    cut = bool(os.environ.get("CUT"))
    found = []
    for own in table["run"]:
        run = {**table["base"], **{k: v for k, v in own.items() if k not in ("paced", "quota")}}
        run.update(own.get(layer, {}))
        rounds = run.pop("cut_rounds")
        if cut:
            run["rounds"], run["repeat"] = rounds, 1
        run["layer"], run["plan"] = layer, run["name"]
        run["client"] = clients(run, table["client"], core)
        for i in range(run.pop("repeat")):
            name = run["name"] + (f"-{i + 1}" if i else "")
            log = out / layer / f"{name}.csv"
            found.append({**run, "name": name, "log": str(log)})
    return found


def clients(run: dict[str, Any], table: dict[str, Any], core: float) -> dict[str, Any]:
    """Return the clients of a run by name: rates, examples, quota, pace and nominal speed."""
    found = {}
    for i, number in enumerate(run["clients"]):
        client = dict(table[str(number)])
        scale = run["rate_scale"][i % len(run["rate_scale"])]
        client |= {way: round(client[way] * scale, 6) for way in ("down", "up")}
        if run["layer"] == "paced":
            quota = client.pop("quota")
            client["pace"] = [0.02 + 0.01 * number, 75e-6 / quota, 16e-12 / quota]
            client["gflops"] = round(quota / 16e-3, 6)
        else:
            client["pace"] = []
            client["gflops"] = round(client["quota"] * core, 6)
        found[str(number)] = client
    return found


def measure(layer: str, todo: list[dict[str, Any]]) -> None:
    """Check the rig, and measure runs."""
    limits = groups.Groups() if layer == "quota" else None
    try:
        if layer != "flower":
            inside("checks.py", {"groups": [limits.add("check", 0.2)] if limits else []})
        for i, run in enumerate(todo):
            run["machine"] = checks.idle()
            for name, client in run.get("client", {}).items():
                client["groups"] = [limits.add(f"c{name}", client["quota"])] if limits else []
            print(f"{layer}: {run['name']} ({i + 1} of {len(todo)})", flush=True)
            log = Path(run["log"])
            log.parent.mkdir(parents=True, exist_ok=True)
            part = log.with_suffix(".part")
            part.unlink(missing_ok=True)
            program = "flower_layer.py" if layer == "flower" else "inside.py"
            inside(program, {**run, "log": str(part)})
            part.rename(log)
    finally:
        if limits:
            limits.close()


def inside(program: str, config: dict[str, Any]) -> None:
    """Run a program in namespaces of its own. Both end with this process, also if it is killed."""
    libc = ctypes.CDLL(None)
    command = [*UNSHARE, sys.executable, str(HERE / program), json.dumps(config)]
    with subprocess.Popen(command, preexec_fn=lambda: libc.prctl(1, signal.SIGKILL)) as process:  # noqa: PLW1509
        try:
            status = process.wait(RUN_S)
        except BaseException:
            process.kill()
            raise
    if status:
        raise SystemExit(f"{program} ended with status {status}")


if __name__ == "__main__":
    sys.exit(main())
