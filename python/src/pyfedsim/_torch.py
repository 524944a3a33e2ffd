"""PyTorch models under the methods of fedsim. The FLOPs of a row are counted: see :func:`forward_flops`."""

from __future__ import annotations

import importlib
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from pyfedsim.model import Batch, Model, metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["TorchModel", "forward_flops"]

_EVALUATED_ROWS = 1024  # of a batch in evaluations, so that memory does not grow with the data


class TorchModel(Model):
    """A PyTorch module that the methods of fedsim learn: FedAvg, SCAFFOLD, Ditto and the others.

    Parameters
    ----------
    module
        A function (or class) without arguments that returns a torch.nn.Module, whose random
        numbers follow the seed of the run; or a module, which starts as it is under every seed.
    loss
        The mean loss of a mini-batch, from outputs and targets; None: cross-entropy.
    datasets
        Rows of the program's own: a list for "train" and "test" ("validation" is optional) with
        the rows of each client, a pair of tensors (inputs, targets) or a map-style
        torch.utils.data.Dataset of such pairs. None: fedsim has the rows.
    shape
        Of the input of a row of fedsim, such as (1, 28, 28); None: a vector.
    row_loss
        The losses of the rows of a mini-batch, of shape (n,), whose mean is ``loss``, from outputs and
        targets, which ``fedem`` needs; None: that of the cross-entropy, and of other losses none.
        Outputs of integer targets are the scores of classes, whose softmax predicts them.
    metrics
        Further measures by name, as those of :class:`pyfedsim.Model`: functions of the outputs and
        targets of all rows of a client that return a number, such as {"f1": f1}.
    device, threads
        Where torch computes, and its threads on the CPU. More than one may change the last bits.
    """

    def __init__(
        self,
        module: Any,
        loss: Callable[[Any, Any], Any] | None = None,
        datasets: Mapping[str, Any] | None = None,
        *,
        shape: tuple[int, ...] | None = None,
        row_loss: Callable[[Any, Any], Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        self.metrics = metrics or {}
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.set_num_threads(threads)
        self.threads = threads
        torch.use_deterministic_algorithms(True)
        self._make = (lambda: module) if isinstance(module, nn.Module) else module
        self.module = self._make().to(device)
        self._loss = loss or nn.functional.cross_entropy
        if row_loss is None and self._loss is nn.functional.cross_entropy:
            row_loss = _cross_entropies
        self._row_loss = row_loss
        self._datasets, self._shape, self._device = datasets, shape, device
        self._weights = list(self.module.parameters())
        kinds = {p.dtype for p in self._weights}
        if kinds not in ({torch.float32}, {torch.float64}):
            raise TypeError(
                f"parameters have the types {kinds}: must be all float32 or all float64"
            )
        for layer in self.module.modules():
            if getattr(layer, "track_running_stats", False) and layer.momentum is None:
                raise TypeError(
                    f"{type(layer).__name__} with momentum=None counts the mini-batches before: "
                    "a gradient would not depend on its arguments alone; set a momentum"
                )
        self._means = _means(self.module)
        self.buffers = sum(b.numel() for b in self._means)
        self.dtype = "float32" if kinds == {torch.float32} else "float64"
        self.name = type(self.module).__name__
        self._start = self._flat(self.module)
        self._trained = len(self._start) - self.buffers
        self._places: dict[int, Any] = {}  # by the address of w
        self._flops = 0.0
        self._predictions = -1

    @staticmethod
    def _flat(module: Any) -> np.ndarray[Any, Any]:
        values = [*module.parameters(), *_means(module)]
        parts = [p.detach().cpu().reshape(-1) for p in values]
        flat: np.ndarray[Any, Any] = torch.cat(parts).numpy().copy()
        return flat

    @property
    def row_flops(self) -> float:  # type: ignore[override]
        """FLOPs of the gradient of a row: three times those of its forward pass."""
        if not self._flops:
            self._flops = 3.0 * forward_flops(self.module, self._example()[0])
        return self._flops

    def _example(self) -> tuple[Any, bool]:
        """Return the inputs of a row, and whether its target is a class."""
        if self._datasets is not None:
            inputs, targets = pick(self._datasets["train"][0], np.zeros(1, dtype=np.int64))
            return inputs.to(self._device), not targets.is_floating_point()
        shape = self._shape or (self.features,)
        inputs = torch.zeros((1, *shape), dtype=getattr(torch, self.dtype))
        return inputs.to(self._device), self.outputs > 1

    @property
    def predictions(self) -> int:  # type: ignore[override]
        """How many numbers predict a row: the classes, or 1 for a real target; 0 without ``row_loss``."""
        if self._row_loss is None:
            return 0
        if self._predictions < 0:
            inputs, classes = self._example()
            self.module.eval()
            with torch.no_grad():
                self._predictions = self.module(inputs).shape[1] if classes else 1
        return self._predictions

    def rows(self) -> dict[str, list[int]] | None:
        """Return how many rows of its own the model has."""
        if self._datasets is None:
            return None
        return {part: [count(d) for d in of] for part, of in self._datasets.items()}

    def named_shapes(self) -> list[tuple[str, tuple[int, ...]]] | None:
        """Return the names of parameters and running means, as in state_dict."""
        means = [(n, b) for n, b in self.module.named_buffers() if b.is_floating_point()]
        return [(n, tuple(x.shape)) for n, x in [*self.module.named_parameters(), *means]]

    def initial(self, rng: np.random.Generator) -> Any:
        """Return the values of a new module, or of the given one."""
        torch.manual_seed(int(rng.integers(2**63)))
        module = self._make()
        return self._start if module is self.module else self._flat(module)

    def mapped(self, w: np.ndarray[Any, Any], g: np.ndarray[Any, Any]) -> None:
        """Lay the parameters and their gradients in shared memory; on a GPU, beside it."""
        key = w.ctypes.data
        if key not in self._places:
            self._places[key] = self._views(torch.from_numpy(w), torch.from_numpy(g))
        self._shared, self._w, self._g, values, gradients = self._places[key]
        for p, value, gradient in zip(self._weights, values, gradients, strict=False):
            p.data, p.grad = value, gradient
        for b, value in zip(self._means, values[len(self._weights) :], strict=True):
            b.data = value

    def _views(self, w: Any, g: Any) -> tuple[Any, Any, Any, list[Any], list[Any]]:
        """Return arrays and their copies on the device, with views of each parameter and running mean."""
        shared, (here, there) = (w, g), (x.to(self._device) for x in (w, g))
        values: list[Any] = []
        gradients: list[Any] = []
        first = 0
        for p in [*self._weights, *self._means]:
            last = first + p.numel()
            values.append(here[first:last].view(p.shape))
            gradients.append(there[first:last].view(p.shape))
            first = last
        return shared, here, there, values, gradients

    def draws(self, seed: int) -> Any:
        """Return the random numbers of a gradient: torch needs their seed alone."""
        return _Draws(seed)

    def gradient(
        self, w: np.ndarray[Any, Any], batch: Batch, rng: np.random.Generator
    ) -> tuple[float, Any]:
        """Compute the gradient in place."""
        del w  # the parameters are views of it
        seed = rng.seed if isinstance(rng, _Draws) else int(rng.integers(2**63))
        if self._device == "cpu":
            torch.default_generator.manual_seed(seed)  # manual_seed looks for other devices
        else:
            torch.manual_seed(seed)
        self._receive()
        if not self.module.training:
            self.module.train()
        self._g.zero_()
        inputs, targets = self._pick(batch, batch.rows)
        outputs = self.module(inputs)
        if batch.weights is None:
            loss = self._loss(outputs, targets)
        else:
            weights = torch.from_numpy(batch.weights).to(outputs)
            loss = (self._row_losses(outputs, targets) * weights).mean()
        loss.backward()
        if self.buffers:  # the forward pass has moved them
            self._g[self._trained :] = self._w[self._trained :]
        if self._g is not self._shared[1]:
            self._shared[1].copy_(self._g)
        return float(loss.detach()), None

    def evaluate(self, w: np.ndarray[Any, Any], batch: Batch) -> tuple[float, ...]:
        """Return the mean loss, and the wrong classes or the sum of squared errors."""
        del w  # likewise
        self._receive()
        self.module.eval()
        loss, errors = 0.0, 0.0
        self._seen: list[tuple[Any, Any]] = []
        with torch.no_grad():
            for first in range(0, len(batch.rows), _EVALUATED_ROWS):
                rows = batch.rows[first : first + _EVALUATED_ROWS]
                inputs, targets = self._pick(batch, rows)
                outputs = self.module(inputs)
                if self.metrics:
                    self._seen.append((outputs, targets))
                loss += float(self._loss(outputs, targets)) * len(rows)
                if targets.is_floating_point():
                    errors += float(((outputs.reshape(targets.shape) - targets) ** 2).sum())
                else:
                    errors += int((outputs.argmax(1) != targets).sum())
        return loss / len(batch.rows), errors

    def losses(self, w: np.ndarray[Any, Any], batch: Batch) -> tuple[Any, Any, Any]:
        """Return the losses of rows, their targets, and probabilities of classes or the outputs."""
        del w  # likewise
        self._receive()
        self.module.eval()
        found: list[tuple[Any, Any, Any]] = []
        with torch.no_grad():
            for first in range(0, len(batch.rows), _EVALUATED_ROWS):
                rows = batch.rows[first : first + _EVALUATED_ROWS]
                inputs, targets = self._pick(batch, rows)
                outputs = self.module(inputs)
                real = targets.is_floating_point()
                predicted = outputs.reshape(-1, 1) if real else outputs.softmax(1)
                found.append((self._row_losses(outputs, targets), targets, predicted))
        losses, targets, predictions = (
            torch.cat(of).cpu().numpy() for of in zip(*found, strict=True)
        )
        return losses, targets, predictions

    def _row_losses(self, outputs: Any, targets: Any) -> Any:
        losses = self._row_loss(outputs, targets) if self._row_loss else None
        if losses is None:
            raise TypeError("there are no losses of rows: give TorchModel a row_loss")
        if losses.shape != targets.shape[:1]:
            shape = f"{tuple(losses.shape)}, must be {tuple(targets.shape[:1])}"
            raise ValueError(f"row_loss returned a tensor of shape {shape}")
        return losses

    def measure(self, w: np.ndarray[Any, Any], batch: Batch) -> dict[str, Any]:
        """Return the values of ``metrics``, of the outputs of :meth:`evaluate`."""
        del w, batch  # it has seen them
        if not self.metrics:
            return {}
        outputs, targets = (torch.cat(of) for of in zip(*self._seen, strict=True))
        with torch.no_grad():
            return {name: metric(of)[0](outputs, targets) for name, of in self.metrics.items()}

    def _receive(self) -> None:
        if self._w is not self._shared[0]:
            self._w.copy_(self._shared[0])

    def _pick(self, batch: Batch, rows: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """Return inputs and targets of some rows of a batch."""
        if self._datasets is not None:
            data = self._datasets[batch.part][batch.client]
            inputs, targets = pick(data, rows.astype(np.int64))
        else:
            x, y = batch.x, batch.y
            if len(rows) < len(batch.rows):
                x, y = x[rows], y[rows]
            inputs = torch.from_numpy(np.array(x))
            if self._shape is not None:
                inputs = inputs.reshape(-1, *self._shape)
            targets = torch.from_numpy(np.array(y))
            targets = targets.long() if self.outputs > 1 else targets.to(inputs.dtype)
        return inputs.to(self._device), targets.to(self._device)

    def code(self) -> list[Any]:
        """Return the classes and functions that compute, with those of the module and its loss."""
        kinds = {kind.__qualname__: kind for kind in map(type, self.module.modules())}
        layers = re.sub(r" at 0x\w+", "", repr(self.module))
        losses = [x for x in (self._loss, self._row_loss) if x is not None]
        return [*super().code(), *(kinds[k] for k in sorted(kinds)), layers, self._make, *losses]

    def libraries(self) -> list[str]:
        """Return the version of PyTorch, and the device."""
        return [f"PyTorch {torch.__version__}", self._device]


def _cross_entropies(outputs: Any, targets: Any) -> Any:
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


class _Draws:
    """A generator of a seed that is made at its first use, as this takes 20 microseconds."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __getattr__(self, name: str) -> Any:
        self._generator = self.__dict__.get("_generator") or np.random.default_rng(self.seed)
        return getattr(self._generator, name)


def _means(module: Any) -> list[Any]:
    """Return the buffers of real numbers, such as running means and variances."""
    return [b for b in module.buffers() if b.is_floating_point()]


def count(data: Any) -> int:
    """Return the number of rows of ``data``, a pair of tensors or a dataset."""
    return len(data[1]) if isinstance(data, (tuple, list)) else len(data)


def pick(data: Any, rows: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Any, Any]:
    """Return the inputs and targets of some rows of ``data``, a pair of tensors or a dataset.

    ``rows`` are their numbers, of shape (n,), which is the first size of both results.
    """
    if isinstance(data, (tuple, list)):
        chosen = torch.from_numpy(rows)
        return data[0][chosen], data[1][chosen]
    inputs, targets = torch.utils.data.default_collate([data[int(row)] for row in rows])
    return inputs, targets


def forward_flops(module: Any, inputs: Any) -> float:
    """Return the FLOPs of a forward pass of ``module`` on ``inputs``; a multiply and an add are 2.

    torch's own counter counts them if torch has one (torch.utils.flop_counter, from 2.1).
    Otherwise hooks on the layers do, for Linear, Conv and ConvTranspose layers, which gives the
    same number. Both count matrix products and convolutions without their biases, and nothing
    for activations, normalization and embeddings.

    Raises
    ------
    ValueError
        if no FLOPs were counted, or if hooks meet a layer whose FLOPs they cannot count
    """
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            with counting() as counted:
                module(inputs)
            flops = counted()
    finally:
        module.train(training)
    if flops <= 0:
        raise ValueError("no FLOPs were counted in the model: override row_flops")
    return flops


@contextmanager
def counting() -> Iterator[Callable[[], float]]:
    """Count the FLOPs that torch executes in a with statement, whose value returns them.

    The counter is that of :func:`forward_flops`. torch's own counts backward passes as well;
    without it, a forward pass whose gradient can be computed counts three times.
    """
    try:
        counter = importlib.import_module("torch.utils.flop_counter").FlopCounterMode(display=False)
    except ModuleNotFoundError:
        hooks = _Hooks()
        handle = nn.modules.module.register_module_forward_hook(hooks.count)
        try:
            yield hooks.flops
        finally:
            handle.remove()
        return
    with counter:
        yield lambda: float(counter.get_total_flops())


_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_FREE = (
    nn.Embedding,
    nn.LayerNorm,
    nn.GroupNorm,
    nn.PReLU,
    nn.modules.batchnorm._NormBase,  # noqa: SLF001 - the base class of batch normalizations
)


class _Hooks:
    """Counts FLOPs of layers in hooks on their forward passes."""

    def __init__(self) -> None:
        self._total = 0.0
        self._unknown = ""

    def flops(self) -> float:
        """Return the FLOPs so far."""
        if self._unknown:
            raise ValueError(
                f"the FLOPs of a {self._unknown} cannot be counted by hooks: "
                "use torch 2.1 or later, or override row_flops"
            )
        return self._total

    def count(self, layer: Any, args: tuple[Any, ...], output: Any) -> None:
        """Count the forward pass of a layer, and the backward pass that it prepares."""
        passes = 3.0 if getattr(output, "requires_grad", False) else 1.0
        if isinstance(layer, nn.Linear):
            self._total += passes * 2.0 * output.numel() * layer.in_features
        elif isinstance(layer, (*_CONVOLUTIONS, *_TRANSPOSED)):
            # Each weight is used once at each position of the output, or of the input.
            image = args[0] if isinstance(layer, _TRANSPOSED) else output
            positions = image.numel() // image.shape[-len(layer.kernel_size) - 1]
            self._total += passes * 2.0 * positions * layer.weight.numel()
        elif (
            not isinstance(layer, _FREE) and next(layer.parameters(recurse=False), None) is not None
        ):
            self._unknown = self._unknown or type(layer).__name__
