"""Test pyfedsim.flower with five releases of Flower, and against Flower's own simulation.

    python flower_releases.py FOLDER

The virtual environments are built in FOLDER once (1.3 GB), and used again. FEDSIM_BINARY names
the program.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

RELEASES = ("1.22.0", "1.30.0", "1.36.0", "1.41.0", "newest")
TESTS = Path(__file__).resolve().parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]),
    "PYTHONWARNINGS": "ignore",
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
}


def environment(folder: Path, name: str, *packages: str) -> Path:
    """Return the Python of a virtual environment, built if it is missing."""
    python = folder / name / "bin" / "python"
    done = folder / name / "complete"
    if not done.exists():
        print(f"building {folder / name}", flush=True)  # noqa: T201
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder / name], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        done.touch()
    return python


def call(python: Path, *arguments: str, folder: Path | None = None, read: bool = False) -> str:
    """Run Python; return its output if it is read."""
    done = subprocess.run(
        [python, *arguments],
        env=ENVIRONMENT,
        cwd=folder or TESTS.parent,
        check=True,
        stdout=subprocess.PIPE if read else None,
        stderr=subprocess.DEVNULL if read else None,
        text=True,
        timeout=900,
    )
    return done.stdout or ""


def main() -> int:
    """Run all tests. Returns the exit status."""
    folder = Path(sys.argv[1]).resolve()
    hashes = {}
    for release in RELEASES:
        flower = "flwr" if release == "newest" else f"flwr=={release}"
        python = environment(folder, release, flower, "pytest>=8", "scikit-learn", "joblib")
        version = call(
            python, "-c", "import importlib.metadata as m; print(m.version('flwr'))", read=True
        ).strip()
        print(f"=== Flower {version}", flush=True)  # noqa: T201
        tests = [str(path) for path in sorted(TESTS.glob("test_flower*.py"))]
        call(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *tests)
        hashes[version] = json.loads(call(python, str(TESTS / "flower_hashes.py"), read=True))
    first, *others = hashes.values()
    if any(other != first for other in others):
        different = [n for n in first if any(other[n] != first[n] for other in others)]
        print(f"hashes differ between releases: {', '.join(different)}")  # noqa: T201
        return 1
    print(f"=== one hash each over {', '.join(hashes)}:")  # noqa: T201
    for name, (events, model, _) in first.items():
        print(f"{name:14} events {events}  model {str(model)[:16]}")  # noqa: T201
    simulation = environment(folder, "simulation", "flwr[simulation]", "scikit-learn", "joblib")
    print("=== Flower's own simulation: relative difference of models", flush=True)  # noqa: T201
    print(call(simulation, str(TESTS / "flower_stock.py"), read=True), end="")  # noqa: T201
    print("=== apps that flwr 1.22 generates", flush=True)  # noqa: T201
    oldest = folder / RELEASES[0] / "bin" / "python"
    print(  # noqa: T201
        call(simulation, str(TESTS / "flower_templates.py"), str(oldest), read=True), end=""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
