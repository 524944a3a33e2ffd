"""A model without values that records the rows of fedsim and the mini-batches of a run.

fedsim asks one process of it for gradients, and so says which clients take part in a round, and
which rows each of their steps takes. At the end TASK.npz has them for the peers: see task.py.

    python record.py TASK.npz
"""

from __future__ import annotations

import atexit
import sys

import numpy as np
from pyfedsim import Model, serve


class Recorder(Model):
    """Takes no step, and records what it is asked for."""

    row_flops = 1.0

    def __init__(self) -> None:
        self.x, self.y, self.steps = {}, {}, []
        atexit.register(self.save)

    def initial(self, rng):
        return np.zeros(1)

    def gradient(self, w, batch, rng):
        self.steps.append((batch.client, batch.rows.astype(np.int32)))
        return 0.0, np.zeros(1)

    def evaluate(self, w, batch):
        key = batch.part, batch.client
        if key not in self.x:  # the pixels are k/255
            self.x[key] = np.rint(batch.x * 255).astype(np.uint8)
            self.y[key] = np.asarray(batch.y, np.int64)
        return 0.0, 0

    def save(self) -> None:
        """Write rows and steps; the rows of a step are padded with -1."""
        if not self.steps:
            return
        arrays = {}
        for part in ("train", "test"):
            keys = sorted(key for key in self.x if key[0] == part)
            arrays[f"{part}_x"] = np.concatenate([self.x[key] for key in keys])
            arrays[f"{part}_y"] = np.concatenate([self.y[key] for key in keys])
            arrays[f"{part}_rows"] = np.array([len(self.y[key]) for key in keys])
        longest = max(len(rows) for _, rows in self.steps)
        steps = np.full((len(self.steps), longest), -1, np.int32)
        for step, (_, rows) in zip(steps, self.steps, strict=True):
            step[: len(rows)] = rows
        clients = np.array([client for client, _ in self.steps])
        np.savez(sys.argv[1], steps=steps, clients=clients, **arrays)


if __name__ == "__main__":
    serve(Recorder())
