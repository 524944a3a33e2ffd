"""A learner that does the arithmetic of fedsim's method fedavg, full batch and logistic loss.

tests/test_truth.py runs it beside fedavg.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pyfedsim.learner import Learner, Metric, Update

if TYPE_CHECKING:
    from collections.abc import Mapping


class Logistic(Learner):
    """w -= step (X^T slope / n + l2 w), which fedsim counts as 4 FLOPs a value of a row."""

    metrics = (Metric("train", "error", "lower"), Metric("train", "loss", "lower"))
    defaults: ClassVar[Mapping[str, Any]] = {
        "data": "",
        "model": "",
        "epochs": 1,
        "step": 0.1,
        "l2": 0.0,
        "mu": 0.0,
    }

    def start(self) -> None:
        with Path(self.options["data"]).open(newline="") as file:
            table = np.array([[float(v) for v in row] for row in list(csv.reader(file))[1:]])
        parts = [table[table[:, 0] == task] for task in np.unique(table[:, 0])]
        self.data = [(part[:, 2:], part[:, 1]) for part in parts]
        self.parameters = {"w": np.zeros(table.shape[1] - 2)}
        self.step_flops = 4.0 * (table.shape[1] - 2)

    def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
        x, y = self.data[client]
        sent = self.parameters["w"]
        w, o = sent.copy(), self.options
        for _ in range(o["epochs"]):
            slope = -y / (1 + np.exp(y * (x @ w)))
            w = w - o["step"] * (x.T @ slope / len(y) + o["l2"] * w + o["mu"] * (w - sent))
        return Update({"w": w}, o["epochs"] * len(y))

    def evaluate(self) -> Mapping[str, float]:
        """Return the mean error of the tasks, as fedsim does for its own methods."""
        margins = [y * (x @ self.parameters["w"]) for x, y in self.data]
        return {
            "train_error": float(np.mean([np.mean(m <= 0) for m in margins])),
            "train_loss": float(np.log1p(np.exp(-np.concatenate(margins))).mean()),
        }

    def finish(self) -> None:
        np.save(self.options["model"], self.parameters["w"])
