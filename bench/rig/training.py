"""The work of a client: a multi-layer perceptron from 64 inputs to 10 classes, in NumPy."""

from __future__ import annotations

import itertools
import time

import numpy as np

INPUTS, CLASSES = 64, 10
PACED_EVERY = 8
"""Under a pace, one of so many steps is computed, and then slept until the time of all of them.

So the time is right on a slow or busy machine, too.
"""


def shapes(hidden: list[int]) -> list[tuple[int, int]]:
    """Return inputs and outputs of the layers."""
    widths = [INPUTS, *hidden, CLASSES]
    return list(itertools.pairwise(widths))


def parameters(hidden: list[int]) -> int:
    """Return the number of weights and biases."""
    return sum(rows * columns + columns for rows, columns in shapes(hidden))


def flops(hidden: list[int], examples: int, epochs: int) -> int:
    """Return the FLOPs of a training: 2 forward and 4 backward for a parameter and an example."""
    return 6 * parameters(hidden) * examples * epochs


def steps(examples: int, epochs: int, batch: int) -> int:
    """Return the mini-batches of a training."""
    return epochs * -(-examples // batch)


def data(client: int, examples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and labels of a client."""
    rng = np.random.default_rng(client)
    return rng.standard_normal((examples, INPUTS), np.float32), rng.integers(0, CLASSES, examples)


class Pace:
    """Makes a training take a + b steps + c FLOPs seconds."""

    def __init__(self, a: float, b: float, c: float) -> None:
        self.a, self.b, self.c = a, b, c
        self.behind_s = 0.0  # the most by which real work took longer

    def wait(self, begun: float, done_steps: int, done_flops: float) -> None:
        """Sleep until the time at which this work is done."""
        left = begun + self.a + self.b * done_steps + self.c * done_flops - time.perf_counter()
        if left > 0:
            time.sleep(left)
        self.behind_s = max(self.behind_s, -left)


def train(
    vector: np.ndarray,
    hidden: list[int],
    rows: np.ndarray,
    labels: np.ndarray,
    epochs: int,
    batch: int,
    pace: Pace | None,
) -> np.ndarray:
    """Return the parameters after local SGD; they are one vector of float32."""
    begun = time.perf_counter()
    vector = vector.copy()
    layers, at = [], 0
    for inputs, outputs in shapes(hidden):
        weights = vector[at : at + inputs * outputs].reshape(inputs, outputs)
        at += inputs * outputs
        layers.append((weights, vector[at : at + outputs]))
        at += outputs
    done, rows_done, row_flops = 0, 0, 6 * len(vector)
    for _ in range(epochs):
        for start in range(0, len(rows), batch):
            x, y = rows[start : start + batch], labels[start : start + batch]
            done += 1
            rows_done += len(x)
            if pace is None or done % PACED_EVERY == 0:
                step(layers, x, y)
            if pace and done % PACED_EVERY == 0:
                pace.wait(begun, done, row_flops * rows_done)
    if pace:
        pace.wait(begun, done, row_flops * rows_done)
    return vector


def step(layers: list[tuple[np.ndarray, np.ndarray]], x: np.ndarray, y: np.ndarray) -> None:
    """Take one gradient step on a batch, in place: ReLU layers, softmax cross-entropy."""
    activations = [x]
    for i, (weights, bias) in enumerate(layers):
        x = x @ weights + bias
        if i < len(layers) - 1:
            np.maximum(x, 0, out=x)
        activations.append(x)
    x = np.exp(x - x.max(axis=1, keepdims=True))
    x /= x.sum(axis=1, keepdims=True)
    x[np.arange(len(y)), y] -= 1
    gradient = x * np.float32(1 / len(y))
    for i in range(len(layers) - 1, -1, -1):
        weights, bias = layers[i]
        change = activations[i].T @ gradient
        below = gradient @ weights.T if i else None
        bias -= 0.05 * gradient.sum(axis=0)
        weights -= 0.05 * change
        if below is not None:
            gradient = below * (activations[i] > 0)
