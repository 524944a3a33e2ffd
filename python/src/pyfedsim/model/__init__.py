"""Models of your own under fedsim's methods: ``problem.model = "external"`` in a scenario.

fedsim has the methods, their state, the messages and the time. A :class:`Model` has three
functions: the values that it starts with, the gradient of a mini-batch, and how well it fits
rows. Values and gradients lie in shared memory, and never cross a pipe::

    class Line(Model):
        def initial(self, rng):
            return np.zeros(self.features)

        def gradient(self, w, batch, rng):
            miss = batch.x @ w - batch.y
            return (miss**2).mean() / 2, batch.x.T @ miss / len(miss)

        def evaluate(self, w, batch):
            miss = batch.x @ w - batch.y
            return (miss**2).mean() / 2, (miss**2).sum()

    if __name__ == "__main__":
        serve(Line)

This implements docs/protocols.md#model.
"""

from __future__ import annotations

import math
import mmap
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pyfedsim._threads import limit_blas
from pyfedsim.model._code import digest
from pyfedsim.protocols._serve import Answering, known

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Batch", "Model"]

VERSION = 1
"""The version of the model protocol."""

Message = dict[str, Any]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Batch:
    """Rows of one client, whose number is ``client``.

    ``part`` is "train", "test" or "validation", and ``rows`` their numbers within the rows of the
    client, of shape (n,). ``x`` are their features, of shape (n, features), and ``y`` their targets,
    of shape (n,): class numbers, -1 and +1, or real numbers. Both are None where the model has the
    rows itself. ``weights``, of shape (n,), multiply the losses of the rows in a gradient; None: they
    are 1. Only models with ``predictions`` are given some.
    """

    client: int
    part: str
    rows: Array
    x: Any
    y: Any
    weights: Any = None


class Model:
    """A model whose gradients fedsim's methods ask for. Answers depend on the arguments alone.

    Attributes
    ----------
    name
        name of the model in messages; empty: that of the class
    dtype
        "float64", or "float32": then ``w`` is rounded, and gradients are widened. The state and
        the steps of methods are float64
    row_flops
        FLOPs of the gradient of a row; 0: six for each value, as in a dense network
    row_traffic_bytes
        bytes of memory that the gradient of a row reads and writes beside the model
    buffers
        how many values at the end have no gradient, such as running means. ``gradient`` returns
        their new values in the place of a gradient; methods that average models learn them
    threads
        of OpenBLAS in this process, unless OPENBLAS_NUM_THREADS is set: more processes, not threads,
        use more cores
    squared
        whether evaluate returns the mean of the squared losses as well
    predictions
        how many numbers predict a row in :meth:`losses`, which ``fedem`` needs: the classes, or 1
        for the labels -1 and +1 and for real targets; 0: the model has no losses of single rows
    metrics
        further measures by name: a function of ``w`` and ``batch`` that returns a finite number for
        the rows of the batch, of which a higher one is better. Or a tuple of the function, "higher"
        or "lower", and a unit if there is one: ``{"f1": f1, "delay": (delay, "lower", "ms")}``
    features, outputs, real, clients
        what fedsim says of its rows: their features, the classes (1 for the labels -1 and +1 and
        for real targets), whether targets are real, and how many clients have rows
    """

    name = ""
    dtype = "float64"
    row_flops: float = 0.0
    row_traffic_bytes: float = 0.0
    buffers = 0
    threads = 1
    squared = False
    predictions: int = 0
    metrics: Mapping[str, Any] = MappingProxyType({})
    features = 0
    outputs = 1
    real = False
    clients = 0

    def rows(self) -> dict[str, list[int]] | None:
        """Return how many rows of its own the model has.

        A list for "train" and "test", and "validation" if there are such rows, with a number for
        each client; None, the default: fedsim has the rows.
        """
        return None

    def named_shapes(self) -> list[tuple[str, tuple[int, ...]]] | None:
        """Return names and shapes of the values, in their order, for errors; None: there are none."""
        return None

    def initial(self, rng: np.random.Generator) -> Any:
        """Return the values that the model starts with, of shape (values,), drawn from ``rng``."""
        raise NotImplementedError(f"{type(self).__name__} must define initial")

    def gradient(self, w: Array, batch: Batch, rng: np.random.Generator) -> tuple[float, Any]:
        """Return the mean loss of the rows of ``batch``, and its gradient at ``w``.

        Each loss counts ``batch.weights`` times, where they are not None. ``w`` and the gradient have
        the shape (values,); ``w`` must not be changed, and ``rng`` is the only source of random
        numbers. None in the place of the gradient: it is in the array
        that :meth:`mapped` was given.
        """
        raise NotImplementedError(f"{type(self).__name__} must define gradient")

    def draws(self, seed: int) -> np.random.Generator:
        """Return the random numbers of a gradient, which ``seed`` determines."""
        return np.random.default_rng(seed)

    def mapped(self, w: Array, g: Array) -> None:
        """Take the arrays ``w`` and ``g`` in shared memory, of shape (values,), for the next requests.

        ``w`` has the values, and ``g`` takes the gradient, for models that compute in place. There
        are two such pairs, which take turns: fedsim prepares a request in one of them while this
        process answers that in the other.
        """

    def evaluate(self, w: Array, batch: Batch) -> tuple[float, ...]:
        """Return the mean loss of the rows of ``batch``, and how many predictions are wrong.

        ``w`` has the shape (values,). With real targets the sum of the squared errors takes the place of
        wrong predictions.
        With ``squared = True`` there is a third number, the mean of the squared losses of rows,
        which selection by ``oort`` needs.
        """
        raise NotImplementedError(f"{type(self).__name__} must define evaluate")

    def losses(self, w: Array, batch: Batch) -> tuple[Any, Any, Any]:
        """Return the losses of the n rows of ``batch``, their targets, and what predicts them.

        ``w`` has the shape (values,), losses and targets (n,), and what predicts them
        (n, predictions): the probabilities of the classes, that of the label +1, or the real
        number. A loss is minus the logarithm of a likelihood, but for a constant, and that of
        :meth:`evaluate`. ``fedem``, whose clients have mixtures of models, asks for them, and for
        gradients with ``batch.weights``.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define losses, as it has predictions"
        )

    def measure(self, w: Array, batch: Batch) -> dict[str, Any]:
        """Return the values of ``metrics`` for the rows of ``batch``, after :meth:`evaluate` for them.

        ``w`` has the shape (values,).
        """
        return {name: metric(of)[0](w, batch) for name, of in self.metrics.items()}

    def fingerprint(self) -> str:
        """Return what identifies the code, the libraries and the kind of processor.

        fedsim promises equal bytes among equal fingerprints, and resumes no run with another one
        unless it is told to. The code is that of :meth:`code`, with the files that it imports, and
        attributes of the model that are numbers or text and do not begin with ``_``.
        """
        parts = [
            digest(self.code(), self),
            f"Python {platform.python_version()}",
            f"NumPy {np.__version__}",
            *self.libraries(),
            processor(),
        ]
        return ", ".join(parts)

    def code(self) -> list[Any]:
        """Return the classes and functions that compute, for the fingerprint.

        It has their code with what that imports, but for libraries.
        """
        return [type(self), *(metric(of)[0] for of in self.metrics.values())]

    def libraries(self) -> list[str]:
        """Return the names and versions of further libraries, for the fingerprint."""
        return []


def metric(given: Any) -> tuple[Any, str, str]:
    """Return the function, the direction and the unit of a metric of a model."""
    function, better, unit = (*given, "")[:3] if isinstance(given, tuple) else (given, "higher", "")
    return function, better, unit


def processor() -> str:
    """Return the kind of the processor."""
    kind = platform.machine()
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            names = [
                line.partition(":")[2].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return f"{kind} {names[0]}" if names else kind


class Server(Answering):
    """Answers the requests for one model."""

    def __init__(self, model: Model, *, quiet: bool = False) -> None:
        self.model = model
        self.quiet = quiet
        self.fingerprint = model.fingerprint
        self.sizes: dict[str, list[int]] = {}  # rows of each client, by part
        # of requests: rows, w, g and the numbers by row
        self.places: list[tuple[Array, Array, Array, Array]] = []
        self.place = -1
        self.data: dict[str, tuple[Array, Array, Array]] = {}

    def dispatch(self, request: Message) -> Message:
        """Return the response of the method on_OPERATION."""
        if (place := request.get("place", self.place)) != self.place:
            self.turn_to(place)
        operation = getattr(self, f"on_{request['op']}", None)
        if operation is None:
            return {"error": f"the operation {request['op']!r} is unknown"}
        response: Message = operation(request)
        return response

    def on_hello(self, request: Message) -> Message:
        """Say what the model is."""
        if VERSION not in request["v"]:
            raise ValueError(f"this model speaks version {VERSION}, not {request['v']}")
        model = self.model
        model.features = request.get("features", 0)
        model.outputs = request.get("outputs", 1)
        model.real = request.get("real", False)
        model.clients = request.get("clients", 0)
        if model.dtype not in ("float32", "float64"):
            raise ValueError(f'dtype = {model.dtype!r}: must be "float32" or "float64"')
        limit_blas(model.threads)
        values = len(self._initial(0))
        self.row_flops = float(model.row_flops or 6 * values)
        about: Message = {
            "v": VERSION,
            "name": model.name or type(model).__name__,
            "fingerprint": self.fingerprint(),
            "values": values,
            "dtype": model.dtype,
            "row_flops": self.row_flops,
            "row_traffic_bytes": float(model.row_traffic_bytes),
            "squared_losses": bool(model.squared),
            "buffers": int(model.buffers),
        }
        if model.predictions:
            about["predictions"] = int(model.predictions)
        if (shapes := model.named_shapes()) is not None:
            about["shapes"] = [{"name": name, "shape": list(shape)} for name, shape in shapes]
        if model.metrics:
            about["metrics"] = [
                {"name": name, "better": better, "unit": unit}
                for name, (_, better, unit) in ((n, metric(of)) for n, of in model.metrics.items())
            ]
        if (rows := model.rows()) is not None:
            self.sizes = {part: [int(n) for n in of] for part, of in rows.items()}
            about["rows"] = self.sizes
        return about

    def on_open(self, request: Message) -> Message:
        """Map the files of the places, and that of the rows."""
        values, places = len(self._initial(0)), []
        for layout in request["files"]:
            with Path(layout["path"]).open("r+b") as file:
                shared = mmap.mmap(file.fileno(), 0)
            rows = np.frombuffer(shared, np.int32, layout["most_rows"], layout["rows"])
            w, g = (
                np.frombuffer(shared, self.model.dtype, values, layout[name]) for name in ("w", "g")
            )
            start = layout.get("by_row", len(shared))
            by_row = np.frombuffer(shared, np.float64, (len(shared) - start) // 8, start)
            places.append((rows, w, g, by_row))
        self.open(places, request.get("data"))
        return {}

    def open(self, places: list[tuple[Array, Array, Array, Array]], data: Message | None) -> None:
        """Take the places of requests, and map the rows.

        A place has arrays of row numbers, values, a gradient, and numbers by row.
        """
        self.places = places
        self.turn_to(0)
        for part in ("train", "test", "validation"):
            if data is not None and data.get(part) is not None:
                self._take(part, data[part], data)

    def turn_to(self, place: int) -> None:
        """Answer in a place from now on."""
        self.place = place
        self.numbers, self.w, self.g, self.by_row = self.places[place]
        self.given = self.w.view()
        self.given.flags.writeable = False
        self.model.mapped(self.w, self.g)

    def _take(self, part: str, of: Message, data: Message) -> None:
        """Map the rows of a part."""
        self.sizes[part] = of["rows"]
        total, features = sum(of["rows"]), data["features"]
        starts = np.concatenate(([0], np.cumsum(of["rows"])))
        x, y = np.zeros((total, features), self.model.dtype), np.zeros(total)
        if total * features:
            x = np.memmap(data["path"], self.model.dtype, "r", of["x"], (total, features))
        if total:
            y = np.memmap(data["path"], np.float64, "r", of["y"], (total,))
        self.data[part] = (starts, np.asarray(x), np.asarray(y))

    def on_init(self, request: Message) -> Message:
        """Write the values that the model starts with."""
        self.w[:] = self._initial(request["seed"])
        return {}

    def on_gradient(self, request: Message) -> Message:
        """Write the gradient of a mini-batch."""
        rows = self.numbers[: request["rows"]].copy()
        weights = self.by_row[: len(rows)].copy() if request.get("weighted") else None
        return {"loss": known(self.gradient(request["client"], rows, request["seed"], weights))}

    def gradient(self, client: int, rows: Array, seed: int, weights: Array | None = None) -> float:
        """Set ``g`` to the gradient of rows of a client at ``w``, and return their mean loss."""
        rng, batch = self.model.draws(seed), self.batch("train", client, rows)
        if weights is not None:
            batch = replace(batch, weights=weights)
        loss, g = self.model.gradient(self.given, batch, rng)
        if g is not None:
            if np.shape(g) != self.g.shape:
                shape = f"{np.shape(g)}, must be {self.g.shape}"
                raise ValueError(f"gradient returned an array of shape {shape}")
            self.g[:] = g
        return loss

    def on_losses(self, request: Message) -> Message:
        """Write the losses of all rows of a client, their targets and what predicts them."""
        part, client, n = request["part"], request["client"], self.model.predictions
        rows = self.sizes[part][client]
        if rows:
            batch = self.batch(part, client, np.arange(rows, dtype=np.int32))
            table = self.by_row[: rows * (2 + n)].reshape(rows, 2 + n)
            found = self.model.losses(self.given, batch)
            shapes = {"losses": (rows,), "targets": (rows,), "predictions": (rows, n)}
            for (name, shape), x in zip(shapes.items(), found, strict=True):
                if np.shape(x) != shape:
                    raise ValueError(
                        f"losses returned {name} of shape {np.shape(x)}, must be {shape}"
                    )
            table[:, 0], table[:, 1], table[:, 2:] = found
        return {"rows": rows}

    def on_evaluate(self, request: Message) -> Message:
        """Measure the model on the rows of clients."""
        part = request["part"]
        names = ["losses", "errors", "squared_losses"][: 3 if self.model.squared else 2]
        answer: Message = {"rows": [], **{name: [] for name in names}}
        if self.model.metrics:
            answer["metrics"] = {name: [] for name in self.model.metrics}
        for client in request["clients"]:
            rows = self.sizes[part][client]
            found: tuple[float, ...] = (0.0,) * len(names)
            own: dict[str, Any] = dict.fromkeys(self.model.metrics, 0.0)
            if rows:
                batch = self.batch(part, client, np.arange(rows, dtype=np.int32))
                found = tuple(self.model.evaluate(self.given, batch))
                if len(found) != len(names):
                    raise ValueError(
                        f"evaluate returned {len(found)} numbers, must be {len(names)}"
                    )
                own = self.model.measure(self.given, batch)
            answer["rows"].append(rows)
            for name, value in zip(names, found, strict=True):
                answer[name].append(known(value))
            for name in self.model.metrics:
                answer["metrics"][name].append(known(own[name]))
                if answer["metrics"][name][-1] is None and math.isfinite(found[0]):
                    raise ValueError(
                        f"metric {name} of the {part} rows of client {client} is {own[name]}: "
                        "must be a finite number, as the loss is one"
                    )
        return answer

    def _initial(self, seed: int) -> Array:
        values = np.asarray(self.model.initial(np.random.default_rng(seed)), self.model.dtype)
        if values.ndim != 1:
            shape = f"{values.shape}, must have one dimension"
            raise ValueError(f"initial returned an array of shape {shape}")
        return values

    def batch(self, part: str, client: int, rows: Array) -> Batch:
        """Return rows of a client."""
        if part not in self.data:
            return Batch(client, part, rows, None, None)
        starts, x, y = self.data[part]
        first, last = starts[client], starts[client + 1]
        if len(rows) == last - first and (len(rows) < 2 or np.all(np.diff(rows) == 1)):  # noqa: PLR2004
            return Batch(client, part, rows, x[first:last], y[first:last])
        return Batch(client, part, rows, x[first:last][rows], y[first:last][rows])
