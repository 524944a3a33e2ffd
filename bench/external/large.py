"""A model of a million values, for measurements of memory: half the squared distance from a number of each client."""

import numpy as np

from pyfedsim import Model, serve


class Large(Model):
    dtype = "float32"

    def rows(self):
        return {"train": [2] * 1000, "test": [1] * 1000}

    def initial(self, rng):
        return np.zeros(1_000_000)

    def gradient(self, w, batch, rng):
        g = w - np.float32(batch.client % 7 - 3)
        return float(g[:100] @ g[:100]) / 2, g

    def evaluate(self, w, batch):
        loss, _ = self.gradient(w[:100], batch, None)
        return loss, 0


if __name__ == "__main__":
    serve(Large)
