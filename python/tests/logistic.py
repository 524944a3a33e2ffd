"""A learner that does the arithmetic of fedsim's method fedavg, full batch and logistic loss.

tests/test_truth.py runs it beside fedavg.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pyfedsim.learner import Learner, Metric, Update

if TYPE_CHECKING:
    from collections.abc import Mapping


class Logistic(Learner):
    """w -= step (X^T slope / n + l2 w): 4 FLOPs a value of a row, and 5 a value of w."""

    metrics = (Metric("train", "error", "lower"), Metric("test", "error", "lower"))
    defaults: ClassVar[Mapping[str, Any]] = {
        "rows": "",
        "model": "",
        "epochs": 1,
        "step": 0.1,
        "l2": 0.0,
        "mu": 0.0,
    }

    def start(self) -> None:
        folder = Path(self.options["rows"])
        about = json.loads((folder / "data.json").read_text("utf-8"))
        if about["digest"] != self.data_digest:
            raise ValueError(f"the rows in {folder} are not those of the scenario")
        self.splits = []
        for split in ("train", "test"):
            x, y = (np.load(folder / f"{split}_{name}.npy") for name in "xy")
            ends = np.cumsum(about[f"{split}_rows"])[:-1]
            self.splits.append(list(zip(np.split(x, ends), np.split(y, ends), strict=True)))
        self.parameters = {"w": np.zeros(self.features)}
        self.step_flops = 4.0 * self.features

    def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
        x, y = self.splits[0][client]
        sent = self.parameters["w"]
        w, o = sent.copy(), self.options
        for _ in range(o["epochs"]):
            slope = -y / (1 + np.exp(y * (x @ w)))
            w = w - o["step"] * (x.T @ slope / len(y) + o["l2"] * w + o["mu"] * (w - sent))
        flops = o["epochs"] * (4.0 * x.size + 5.0 * w.size)
        return Update({"w": w}, o["epochs"] * len(y), flops=flops)

    def evaluate(self) -> Mapping[str, float]:
        """Return the errors by rows, as fedsim does for its own methods."""
        errors = (
            np.mean(np.concatenate([y * (x @ self.parameters["w"]) <= 0 for x, y in split]))
            for split in self.splits
        )
        return dict(zip(("train_error", "test_error"), map(float, errors), strict=True))

    def finish(self) -> None:
        np.save(self.options["model"], self.parameters["w"])
