"""Federated averaging of softmax regression in NumPy, on UCI HAR's six activities.

fedsim starts it: fedsim run numpy_fedavg.toml --allow-external
"""

import har
import numpy as np
from pyfedsim.protocols import Learner, Metric, Update, serve


def softmax(parameters, x):
    scores = x @ parameters["w"] + parameters["b"]
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


class FedAvg(Learner):
    metrics = (Metric("train", "loss", "lower"), Metric("test", "accuracy", "higher"))
    defaults = {"epochs": 5, "batch": 32, "step": 0.05}

    def start(self):
        self.train_rows, self.test_rows = har.people()
        d, classes = self.train_rows[0][0].shape[1], 6
        self.parameters = {"w": np.zeros((d, classes)), "b": np.zeros(classes)}
        self.step_flops = 4.0 * d * classes  # of a row: its scores and its gradient

    def train(self, client, steps, rng):
        x, y = self.train_rows[client]
        model = {name: value.copy() for name, value in self.parameters.items()}
        wanted = self.options["epochs"] * len(y)
        left = steps = wanted if steps is None else min(steps, wanted)
        while left > 0:
            rows = rng.choice(len(y), min(self.options["batch"], left, len(y)), replace=False)
            slope = softmax(model, x[rows]) - np.eye(6)[y[rows]]
            model["w"] -= self.options["step"] * x[rows].T @ slope / len(rows)
            model["b"] -= self.options["step"] * slope.mean(axis=0)
            left -= len(rows)
        return Update(model, steps)

    def evaluate(self):
        x, y = (np.concatenate(column) for column in zip(*self.test_rows))
        right = softmax(self.parameters, x).argmax(axis=1) == y
        x, y = (np.concatenate(column) for column in zip(*self.train_rows))
        loss = -np.log(softmax(self.parameters, x)[np.arange(len(y)), y]).mean()
        return {"test_accuracy": right.mean(), "train_loss": loss}


if __name__ == "__main__":
    serve(FedAvg)
