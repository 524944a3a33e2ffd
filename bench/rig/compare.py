"""Calibrates on logs of the rig and compares the others: FEDSIM DIR LAYER..."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

PLAN = Path(__file__).resolve().parent / "plan.toml"


def main() -> int:
    """Print the comparison of each layer. Returns the exit status."""
    fedsim, out = sys.argv[1], Path(sys.argv[2])
    table = tomllib.loads(PLAN.read_text(encoding="utf-8"))
    usage = [fedsim, "calibrate", "--help"]
    if "--check" not in subprocess.run(usage, capture_output=True, text=True, check=False).stdout:
        print(f"the logs are in {out}; this fedsim has no calibrate --check to compare them")
        return 0
    for layer in sys.argv[3:]:
        runs = table["flower" if layer == "flower" else "run"]
        groups: dict[str, list[Path]] = {}
        for run in runs:
            logs = sorted(
                (out / layer).glob(f"{run['name']}*.csv"), key=lambda path: len(path.stem)
            )
            own = [path for path in logs if path.stem.partition("-")[0] == run["name"]]
            groups.setdefault(run["group"], []).extend(own)
        base = groups["calibration"]
        print(f"\n# {layer}: calibrated on {names(base)}\n", flush=True)
        check(fedsim, out / layer / "model", base, groups["held-out"] + groups.get("extra", []))
        if larger := groups.get("larger"):
            print(f"\n# {layer}: calibrated on {names(larger)}, too\n", flush=True)
            bytes4 = [path for path in groups["held-out"] if path.stem == "bytes4"]
            check(fedsim, out / layer / "model-larger", base + larger, bytes4)
    return 0


def names(logs: list[Path]) -> str:
    """Return the names of logs."""
    return ", ".join(path.stem for path in logs)


def check(fedsim: str, model: Path, base: list[Path], others: list[Path]) -> None:
    """Calibrate on some logs, and print how well it predicts others."""
    subprocess.run([fedsim, "calibrate", *base, "-o", model, "--force"], check=True)
    subprocess.run([fedsim, "calibrate", "--with", model, "--check", *others], check=True)


if __name__ == "__main__":
    sys.exit(main())
