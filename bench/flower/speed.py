"""Compare the speed and memory of pyfedsim.flower with those of Flower's own simulation.

The same app runs on both in turn: 100 clients, logistic regression on 20 weights of
NumPy, FedAvg over all clients, ten rounds. Needs flwr[simulation] and pyfedsim with
its program (or FEDSIM_BINARY).

    python bench/flower/speed.py [--turns 3]

Prints trainings per second over all rounds with the start, and after the first round, and
the peak of the memory of all processes (PSS: shared pages count in part).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

CLIENTS, ROUNDS, WEIGHTS = 100, 10, 20


def app() -> tuple[Any, Any, list[float]]:
    """Return ServerApp, ClientApp and the list of the times at which rounds end."""
    import numpy as np
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.serverapp.strategy import FedAvg

    try:
        from flwr.clientapp import ClientApp
        from flwr.serverapp import ServerApp
    except ImportError:  # to 1.35
        from flwr.client import ClientApp
        from flwr.server import ServerApp

    client, server, ends = ClientApp(), ServerApp(), []

    @client.train()
    def train(message: Any, context: Any) -> Any:
        rng = np.random.default_rng(context.node_config["partition-id"])
        x = rng.normal(size=(20, WEIGHTS))
        y = x[:, 0] > 0
        w = message.content["arrays"].to_numpy_ndarrays()[0]
        w = w - 0.1 * x.T @ (1 / (1 + np.exp(-x @ w)) - y)
        metrics = MetricRecord({"num-examples": 20})
        content = RecordDict({"arrays": ArrayRecord([w]), "metrics": metrics})
        return Message(content, reply_to=message)

    def ended(round_: int, arrays: Any) -> None:
        del round_, arrays
        ends.append(time.perf_counter())

    @server.main()
    def main(grid: Any, context: Any) -> None:
        del context
        strategy = FedAvg(
            fraction_evaluate=0.0, min_train_nodes=CLIENTS, min_available_nodes=CLIENTS
        )
        arrays = ArrayRecord([np.zeros(WEIGHTS)])
        strategy.start(grid=grid, initial_arrays=arrays, num_rounds=ROUNDS, evaluate_fn=ended)

    return server, client, ends


def measure(side: str) -> None:
    """Run the app on one side, and print its figures as JSON."""
    warnings.simplefilter("ignore")
    import_start = time.perf_counter()
    server, client, ends = app()
    logging.getLogger("flwr").setLevel(logging.ERROR)
    if side == "fedsim":
        from pyfedsim import flower

        imported = time.perf_counter()
        scenario = {"name": "speed", "data": {"synthetic": {"clients": CLIENTS}}}
        with tempfile.TemporaryDirectory() as folder:
            flower.run(
                server,
                client,
                scenario,
                flops_per_example=6 * WEIGHTS,
                out=Path(folder) / "run",
                figures=False,
            )
    else:
        from flwr.simulation import run_simulation

        imported = time.perf_counter()
        run_simulation(server, client, CLIENTS)
    end = time.perf_counter()
    json.dump(
        {
            "import_s": imported - import_start,
            "all": CLIENTS * ROUNDS / (end - imported),
            "later": CLIENTS * (ROUNDS - 1) / (ends[-1] - ends[1]),
        },
        sys.stdout,
    )


def memory(root: int) -> tuple[float, int]:
    """Return the PSS in MiB and the number of a process and all that it started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended
    total, processes = 0, 0
    for process in parents:
        ancestor = process
        while ancestor != root and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor != root:
            continue
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        processes += 1
        total += next(int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:")
    return total / 1024, processes


def run(side: str) -> dict[str, float]:
    """Run one side in a process, and return its figures with the peak of the memory."""
    command = [sys.executable, "-W", "ignore", __file__, "--side", side]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    peak = [(0.0, 0)]

    def watch() -> None:
        while process.poll() is None:
            peak.append(memory(process.pid))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate(timeout=300)
    watcher.join()
    if process.returncode:
        sys.exit(f"{side} ended with exit status {process.returncode}")
    largest = max(peak)
    return {**json.loads(output), "mib": largest[0], "processes": largest[1]}


def main() -> None:
    """Run both sides in turn, and print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--side", choices=("fedsim", "flower"))
    options = parser.parse_args()
    if options.side:
        measure(options.side)
        return
    found: dict[str, list[dict[str, float]]] = {"fedsim": [], "flower": []}
    for _ in range(options.turns):
        for side, figures in found.items():
            figures.append(run(side))
    print(f"{CLIENTS} clients, {ROUNDS} rounds, medians of {options.turns} turns")
    print(f"{'':30}{'fedsim':>10}{'Flower':>10}{'ratio':>8}")
    for key, label in (
        ("all", "trainings/s with the start"),
        ("later", "trainings/s after round 1"),
        ("import_s", "import, s"),
        ("mib", "peak memory, MiB (PSS)"),
        ("processes", "processes"),
    ):
        ours, theirs = (statistics.median(f[key] for f in found[s]) for s in found)
        ratio = ours / theirs if key in ("all", "later") else theirs / ours
        print(f"{label:30}{ours:10.1f}{theirs:10.1f}{ratio:7.1f}x")


if __name__ == "__main__":
    main()
