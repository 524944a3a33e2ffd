"""Federated averaging of a small network in PyTorch, on rows that fedsim has prepared.

See comparison.toml. The test error is the mean over clients, as fedsim's own methods report it.
"""

import numpy as np
import rows
import torch
from pyfedsim.learner import Metric, serve
from pyfedsim.torch import TorchLearner
from torch import nn


class Network(TorchLearner):
    metrics = (Metric("test", "error", "lower"),)
    defaults = {"rows": "rows", "epochs": 5.0, "batch": 32, "step": 0.05}

    def start(self):
        self.train_rows, self.test_rows = (
            [(torch.tensor(x, dtype=torch.float32), torch.tensor(y > 0).long()) for x, y in split]
            for split in rows.read(self.options["rows"], self.data_digest)
        )
        super().start()

    def model(self):
        return nn.Sequential(nn.Linear(self.features, 16), nn.ReLU(), nn.Linear(16, 2))

    def data(self, client):
        return self.train_rows[client]

    def evaluate(self):
        errors = [1 - self.measure(rows)[1] for rows in self.test_rows]
        return {"test_error": np.average(errors, weights=[len(rows[1]) for rows in self.test_rows])}


if __name__ == "__main__":
    serve(Network)
