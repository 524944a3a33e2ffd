"""Compare FedAvg of a PyTorch model under fedsim with a bare PyTorch loop of the same work.

    FEDSIM_BINARY=bin/fedsim PYTHONPATH=python/src python3 bench/training/seam.py

LeNet-5 in float32, 100 clients of 60 rows, one epoch. A time is that of a round after the first,
which warms up; fedsim makes no evaluations between. The loop and fedsim with one and with two
processes, each of one thread, take turns; the medians of their times are printed.
"""

from __future__ import annotations

import argparse
import atexit
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyfedsim
import torch
from pyfedsim._threads import limit_blas
from pyfedsim import TorchModel
from torch import nn

CLIENTS, ROWS, STEP = 100, 60, 0.05


def lenet() -> Any:
    torch.manual_seed(5)
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def data() -> dict[str, list[Any]]:
    generator = torch.Generator().manual_seed(7)

    def rows(count: int) -> Any:
        inputs = torch.randn(count, 1, 28, 28, generator=generator)
        return inputs, torch.randint(10, (count,), generator=generator)

    return {"train": [rows(ROWS) for _ in range(CLIENTS)], "test": [rows(1)] * CLIENTS}


def loop(batch: int, rounds: int) -> float:
    """Return the seconds of a round of FedAvg in a loop as one writes it."""
    torch.set_num_threads(1)
    limit_blas(1)
    module, clients = lenet(), data()["train"]
    optimizer = torch.optim.SGD(module.parameters(), lr=STEP)
    w = {name: value.clone() for name, value in module.state_dict().items()}
    for number in range(1 + rounds):
        if number == 1:
            began = time.perf_counter()
        total = {name: torch.zeros_like(value) for name, value in w.items()}
        for inputs, targets in clients:
            module.load_state_dict(w)
            order = torch.randperm(len(targets))
            for first in range(0, len(targets), batch):
                rows = order[first : first + batch]
                optimizer.zero_grad()
                nn.functional.cross_entropy(module(inputs[rows]), targets[rows]).backward()
                optimizer.step()
            for name, value in module.state_dict().items():
                total[name].add_(value, alpha=1 / CLIENTS)
        w = total
    return (time.perf_counter() - began) / rounds


class Timed(TorchModel):
    """A model that notes when it has computed gradients, in a file of the folder TIMES."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.times: list[float] = []
        file = Path(os.environ["TIMES"]) / f"{os.getpid()}"
        atexit.register(lambda: file.write_text("\n".join(map(repr, self.times))))

    def gradient(self, *arguments: Any) -> tuple[float, Any]:
        answer = super().gradient(*arguments)
        self.times.append(time.perf_counter())
        return answer


def seam(batch: int, rounds: int, processes: int) -> float:
    """Return the seconds of a round of fedsim with so many processes."""
    scenario = {
        "name": "seam",
        "data": {
            "source": "external",
            "target": "classes",
            "external": {"clients": CLIENTS, "rows": ROWS},
        },
        "problem": {
            "model": "external",
            "program": {
                "command": [sys.executable, str(Path(__file__).resolve()), "--serve"],
                "processes": processes,
            },
            "regularizer": "independent",
        },
        "run": {"rounds": 1 + rounds, "eval_every": 1000},
        "methods": {"fedavg": {"options": {"batch": batch, "step": STEP}}},
    }
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIMES"] = folder
        pyfedsim.run(
            scenario,
            out=Path(folder) / "out",
            workers=2,
            progress=False,
            figures=False,
            allow_external=True,
        )
        files = [file for file in Path(folder).iterdir() if file.is_file()]
        times = sorted(float(t) for file in files for t in file.read_text().split())
    return (times[-1] - times[len(times) // (1 + rounds) - 1]) / rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--batch", type=int, nargs="*", default=[32, 10])
    options = parser.parse_args()
    if options.serve:
        pyfedsim.serve(Timed(lenet(), datasets=data()))
    print(f"PyTorch {torch.__version__}, seconds a round of {CLIENTS} clients of {ROWS} rows")
    print("batch   loop  1 process  2 processes  1 / loop  1 / 2")
    for batch in options.batch:
        found: list[tuple[float, float, float]] = []
        for _ in range(options.turns):
            one, two = (seam(batch, options.rounds, n) for n in (1, 2))
            found.append((loop(batch, options.rounds), one, two))
        bare, one, two = (statistics.median(times) for times in zip(*found, strict=True))
        print(f"{batch:5} {bare:6.3f} {one:10.3f} {two:12.3f} {one / bare:9.2f} {one / two:6.2f}")


if __name__ == "__main__":
    main()
