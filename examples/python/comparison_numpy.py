"""Federated averaging of logistic regression in NumPy, on rows that fedsim has prepared.

See comparison.toml. The test error is the mean over clients, as fedsim's own methods report it.
"""

import numpy as np
import rows
from pyfedsim.learner import Learner, Metric, Update, serve


class FedAvg(Learner):
    metrics = (Metric("test", "error", "lower"),)
    defaults = {"rows": "rows", "epochs": 5, "batch": 32, "step": 0.05}

    def start(self):
        self.train_rows, self.test_rows = rows.read(self.options["rows"], self.data_digest)
        self.parameters = {"w": np.zeros(self.features)}
        self.step_flops = 4.0 * self.features

    def train(self, client, steps, rng):
        x, y = self.train_rows[client]
        w = self.parameters["w"]
        wanted = self.options["epochs"] * len(y)
        left = steps = wanted if steps is None else min(steps, wanted)
        while left > 0:
            chosen = rng.choice(len(y), min(self.options["batch"], left, len(y)), replace=False)
            slope = -y[chosen] / (1 + np.exp(y[chosen] * (x[chosen] @ w)))
            w = w - self.options["step"] * slope @ x[chosen] / len(chosen)
            left -= len(chosen)
        return Update({"w": w}, steps)

    def evaluate(self):
        wrong = [y * (x @ self.parameters["w"]) <= 0 for x, y in self.test_rows]
        return {"test_error": np.concatenate(wrong).mean()}


if __name__ == "__main__":
    serve(FedAvg)
