"""The linear models of fedsim, whose gradients methods in Python need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyfedsim.model import Batch, Model

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

_SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    "logistic": lambda z, y: -y / (1 + np.exp(np.minimum(y * z, 700))),
    "squared": lambda z, y: z - y,
    "hinge": lambda z, y: np.where(y * z < 1, -y, 0.0),
}


class Linear(Model):
    """A score w_c . x for each output c: w has the shape (outputs * features,).

    Losses but for softmax are one-vs-rest: the loss of a row is the sum over the classes.
    """

    def __init__(self, loss: str) -> None:
        if loss != "softmax" and loss not in _SLOPES:
            has = ", ".join(sorted((*_SLOPES, "softmax")))
            raise ValueError(f"problem.loss = {loss!r}: a method in Python has {has}")
        self.loss = loss

    @property
    def row_flops(self) -> float:  # type: ignore[override]
        """FLOPs of the gradient of a row."""
        return 4.0 * self.features * self.outputs

    def initial(self, rng: np.random.Generator) -> Any:
        """Return zeros."""
        del rng
        return np.zeros(self.features * self.outputs)

    def gradient(self, w: Array, batch: Batch, rng: np.random.Generator) -> tuple[float, Any]:
        """Return the gradient, without the loss."""
        del rng
        z = batch.x @ w.reshape(self.outputs, self.features).T
        y = batch.y[:, None]
        if self.outputs > 1:
            y = np.where(np.arange(self.outputs) == y, 1.0, -1.0)
        if self.loss == "softmax":
            p = np.exp(z - z.max(axis=1, keepdims=True))
            slopes = p / p.sum(axis=1, keepdims=True) - (y > 0)
        else:
            slopes = _SLOPES[self.loss](z, y)
        return 0.0, (slopes.T @ batch.x).ravel() / len(batch.y)
