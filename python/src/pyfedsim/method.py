"""Methods of your own beside fedsim's: ``algorithm = "external"`` in a scenario.

A :class:`Method` has the steps of a client and the step of the server, in NumPy. It learns the model
of the scenario from the same rows, with the same initial model and mini-batches, as the built-in
methods beside it; fedsim evaluates it, and simulates devices, links and faults::

    class ServerMomentum(Method):
        defaults = {"beta": 0.9}

        def server(self, w, replies, state):
            state["v"] = self.options["beta"] * state.get("v", 0.0) + replies.mean()
            return w + state["v"]

    if __name__ == "__main__":
        serve(ServerMomentum)

This implements the part ``model`` of docs/protocols.md#learner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pyfedsim.model import Batch, Model, Server
from pyfedsim.model._linear import Linear
from pyfedsim.protocols._arrays import Arrays, Sent, Tentative, freeze, size
from pyfedsim.protocols._learner import Learner, Update, Work
from pyfedsim.protocols._load import load
from pyfedsim.protocols._streams import Stream

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

__all__ = ["Local", "Method", "Replies", "Reply"]


class Method:
    """A federated method: what clients and the server do. Without changes it is FedAvg.

    ``w`` is the model, an array of shape (values,) and float64, read-only: return a new one. A
    ``state`` is a dictionary of arrays that belong to the server or to a client, empty at first; it
    is saved with checkpoints. Put new arrays in it; those that it has are read-only.

    Attributes
    ----------
    model
        the model, a class or an instance of :class:`pyfedsim.Model`; None: that of the scenario, of which
        a file of Python has the class, or which is linear
    defaults
        options and their default values, in addition to those of base classes: ``step``, ``epochs`` and
        ``batch`` of the local steps, as those of ``fedavg``
    update_flops
        FLOPs of a local step for each value of the model, beside its gradient
    options, seed, clients, rows
        those of the run: its options and seed, the number of clients, and their training rows, an
        array of shape (clients,)
    """

    name: ClassVar[str] = ""
    model: ClassVar[Any] = None
    defaults: ClassVar[Mapping[str, Any]] = {"step": 0.1, "epochs": 1.0, "batch": 32}
    update_flops: ClassVar[float] = 5.0

    options: dict[str, Any]
    seed: int
    clients: int
    rows: Array

    def start(self, w: Array, state: Arrays) -> None:
        """Prepare ``state``, arrays by name of the server, for the initial model ``w`` of shape (values,)."""

    def message(self, w: Array, state: Arrays) -> Mapping[str, Array]:  # noqa: ARG002
        """Return the arrays that the server sends a client beside ``w``, as :attr:`Local.sent`.

        ``w`` has the shape (values,), and ``state`` the arrays by name of the server; it must not change.
        """
        return {}

    def client(
        self,
        w: Array,
        local: Local,
        state: Arrays,  # noqa: ARG002 - of methods whose clients have a state
    ) -> Array | tuple[Array, Mapping[str, Array]]:
        """Do the local work of a client, from the model ``w`` of shape (values,) that it was sent.

        Return its model, of shape (values,), or a pair of that and further arrays that the client sends.
        ``state`` has its own arrays by name, which it keeps if the server takes the response. Draw random
        numbers from ``local`` alone, and change nothing else.
        """
        return local.sgd(w)

    def server(self, w: Array, replies: Replies, state: Arrays) -> Array | None:  # noqa: ARG002
        """Return the next model of the server after ``w``, of shape (values,), for the replies of a round.

        ``state`` has arrays by name, of the server. Without rounds (``protocol = "asynchronous"``) there is
        one reply at a time; None: it is refused, and the state stays as it was.
        """
        return w + replies.mean()


class Local:
    """The work of a client: its rows, mini-batches and gradients, whose cost is counted.

    Attributes
    ----------
    client, round
        its number, from 0, and the rounds before this one
    sent
        arrays that the server has sent beside the model
    step
        the option ``step``
    steps
        the rows of ``epochs`` passes, at most those that the protocol allows
    updates, flops
        mini-batches so far, and the FLOPs of gradients and steps; add those of your own arithmetic
    rng
        a generator of NumPy for random numbers of your own
    x, y
        features and targets of its training rows, of shapes (rows, features) and (rows,); None where
        the model has the rows
    """

    def __init__(self, of: _Served, work: Work) -> None:
        self._of, self._server, self._options = of, of.server, of.options
        self.client, self.round, self.step = work.client, work.round, of.options["step"]
        self.sent = {k: v for k, v in work.parameters.items() if k != "w"}
        batches, seeds = work.streams
        self._batches, self._seeds = Stream(batches), Stream(seeds)
        self.rng = work.rng()
        self.updates = self._taken = 0
        self._rows = 0  # of gradients
        self.flops = 0.0
        self._n = int(of.rows[work.client])
        self.steps = min(
            math.inf if work.steps is None else work.steps,
            math.ceil(self._options["epochs"] * self._n) or math.inf,
        )
        self._buffers: Array | None = None
        batch: Batch = self._server.batch("train", work.client, np.arange(self._n, dtype=np.int32))
        self.x, self.y = batch.x, batch.y

    def batches(self) -> Iterator[Array]:
        """Return the numbers of the rows of each mini-batch, drawn as for fedsim's methods.

        Each is an array of shape (rows,). They are drawn without replacement until a pass is over, and
        each counts as a step.
        """
        if self.steps == math.inf:
            raise ValueError(
                'epochs = "fill" takes as many rows as the protocol allows: it must limit them'
            )
        order, at, left = list(range(self._n)), 0, int(self.steps)
        most = self._options["batch"] or self._n
        while left > 0:
            to = min(at + min(most, left), self._n)
            self._batches.draw(order, at, to)
            rows = np.array(order[at:to], np.int32)
            at = to % self._n
            left -= len(rows)
            self._taken += len(rows)
            self.updates += 1
            yield rows

    def gradient(self, w: Array, rows: Array | None = None) -> Array:
        """Return the gradient of the mean loss of rows of the client at ``w``, of shape (values,).

        ``rows`` are numbers of its rows; None: all. Buffers of the model, such as running means, have no
        gradient: the client sends those after its last mini-batch.
        """
        if rows is None:
            rows = np.arange(self._n, dtype=np.int32)
        server, buffers = self._server, self._server.model.buffers
        server.w[:] = w
        if buffers and self._buffers is not None:
            server.w[-buffers:] = self._buffers
        server.gradient(self.client, rows, self._seeds.next() >> 11)
        self._rows += len(rows)
        g: Array = server.g.astype(np.float64)
        if buffers:
            self._buffers = g[-buffers:].copy()
            g[-buffers:] = 0.0
        return g

    def sgd(self, w: Array, *, slope: Any = None, mu: float = 0.0) -> Array:
        """Return the model after the local steps of fedsim's methods, from ``w`` of shape (values,).

        A step is u - step (gradient + mu (u - w) + slope), on each of :meth:`batches`; ``slope`` is an
        array of shape (values,).
        """
        u = w
        for rows in self.batches():
            n = len(rows)
            pulled = (1 - self.step * mu) * u + (self.step * mu) * w if mu else u
            u = pulled - (self.step / n) * (n * self.gradient(u, rows))
            if slope is not None:
                u = u - self.step * slope
        return u

    def _ended(self, returned: Any) -> tuple[Array, Mapping[str, Array]]:
        """Return the model of the client and further arrays, from what client returned."""
        w, more = returned if isinstance(returned, tuple) else (returned, {})
        if np.shape(w) != self._server.w.shape:
            shape = f"{np.shape(w)}, must be {self._server.w.shape}"
            raise ValueError(f"client {self.client}: client returned an array of shape {shape}")
        if self._buffers is not None:
            w = np.concatenate((w[: -len(self._buffers)], self._buffers))
        return w, more

    def _cost(self) -> tuple[int, float]:
        """Return the steps, in rows, and the FLOPs."""
        update = self._of.update_flops
        flops = float(self._rows) * self._of.row_flops + float(self.updates) * update + self.flops
        return self._taken or self._rows, flops


@dataclass(frozen=True)
class Reply:
    """The response of a client.

    ``client`` is its number, ``change`` the change of its model, of shape (values,), ``rows`` its
    training rows, ``arrays`` what it sent beside, and ``weight`` the factor of a late response,
    otherwise 1. Without rounds, ``staleness`` is how many responses the server has taken since the
    client was sent its model, and ``w`` the model of the client.
    """

    client: int
    change: Array
    rows: int
    arrays: Arrays
    weight: float = 1.0
    staleness: int = 0
    w: Any = None


class Replies(Sequence[Reply]):
    """The replies of a round, in the order of the clients. ``flops`` are those of the server so far."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._all = list(replies)
        self.flops = 0.0

    def __len__(self) -> int:
        """Return the number of replies."""
        return len(self._all)

    def __getitem__(self, i: Any) -> Any:
        """Return a reply."""
        return self._all[i]

    def sum(self, name: str = "change", *, by: str = "equal") -> Array:
        """Return the sum of an array of the replies, in its shape: of the changes, or of one by its name.

        With ``by="rows"`` each counts as often as its client has rows. Changes have the factors of late
        responses.
        """
        total: Array | None = None
        for reply in self._all:
            weight = float(reply.rows) if by == "rows" else 1.0
            if name == "change":
                term = (weight * reply.weight) * reply.change
            else:
                term = weight * reply.arrays[name]
            total = term if total is None else total + term
        if total is None:
            raise ValueError("there are no replies")
        self.flops += 2.0 * len(self._all) * total.size + 2.0 * total.size
        return total

    def mean(self, name: str = "change", *, by: str = "rows") -> Array:
        """Return the mean of an array of the replies, weighted by rows or ``"equal"``, in its shape.

        ``name`` is that of :meth:`sum`.
        """
        weight = sum(float(r.rows) if by == "rows" else 1.0 for r in self._all)
        return (1.0 / weight) * self.sum(name, by=by)


class _Served(Learner):
    """A learner that runs a method."""

    of: ClassVar[type[Method]]
    _words: ClassVar[Mapping[str, str]] = {"epochs": "fill", "batch": "all"}  # for 0 in options

    def start(self) -> None:
        """Open the model and the rows, and start the method."""
        given = self.given
        self.method = method = self.of()
        self.server = _open(method.model, given)
        self.value_bytes: int = given["value_bytes"]
        self.slot = np.memmap(given["path"], np.float64, "r+", 0, (given["values"],))
        w = np.array(self.slot)
        coded = given.get("coded")
        self.passed: Any = None  # under compression: rows of vectors that fedsim codes
        if coded:
            shape = coded["rows"], given["values"]
            self.passed = np.memmap(coded["path"], np.float64, "r+", 0, shape)
        self.row_flops = self.server.row_flops
        self.update_flops = float(method.update_flops) * w.size
        batch = self.options["batch"]
        self.step_flops = self.row_flops + (self.update_flops / batch if batch else 0.0)
        method.options, method.seed = self.options, self.seed
        method.clients, method.rows = self.clients, self.rows
        self.parameters = freeze({"w": w})
        method.start(self.parameters["w"], self.server_state)
        self.sent = self._message()

    def more(self) -> dict[str, Any]:
        """Return what start answers beside the sizes of messages."""
        return {
            "local": {
                "epochs": self.options["epochs"],
                "batch": self.options["batch"],
                "update_flops": self.update_flops,
            }
        }

    def _message(self) -> Arrays:
        w = self.parameters["w"]
        shown = w if self.passed is None else np.array(self.passed[0])
        return freeze({"w": shown, **self.method.message(w, dict(self.server_state))})

    def nbytes(self, arrays: Arrays) -> int:
        """Return the bytes of arrays in a message."""
        return self.value_bytes * size(arrays)

    def sent_to(self, client: int) -> Arrays:
        """Return the arrays that a client was sent."""
        sent = self.pending.sent.get(client)
        return self.sent if sent is None else sent.parameters

    def begin(self, number: int) -> int:
        """Open a round."""
        del number
        self.sent = self._message()
        return self.nbytes(self.sent)

    def answers(self, work: Sequence[Work]) -> list[tuple[Update, float, int]]:
        """Do the work of clients; return its cost and the bytes of the messages."""
        return [self._answer(i, of) for i, of in enumerate(work)]

    def coded(self, clients: Sequence[int]) -> None:
        """Take the changes of clients as the server decodes them."""
        for i, client in enumerate(clients):
            self.pending.tentative[client].change["change"][:] = self.passed[i]

    def _answer(self, i: int, work: Work) -> tuple[Update, float, int]:
        local = Local(self, work)
        state = dict(self.client_state.get(work.client, {}))
        old = work.parameters["w"]
        w, more = local._ended(self.method.client(old, local, state))  # noqa: SLF001
        kind = self.server.model.dtype  # in which vectors of clients are stored
        change = {"change": np.asarray(w - old, kind)}
        if self.passed is not None:
            self.passed[i] = w - old
        change |= {str(name): np.asarray(value, kind) for name, value in more.items()}
        self.pending.tentative[work.client] = Tentative(change, freeze(state) if state else None)
        steps, flops = local._cost()  # noqa: SLF001
        return Update({}, steps), flops, self.nbytes(change)

    def _reply(self, client: int, weight: float, update: Tentative) -> Reply:
        arrays = {k: v.astype(np.float64) for k, v in update.change.items()}
        return Reply(client, arrays.pop("change"), int(self.rows[client]), arrays, weight)

    def _set(self, w: Array) -> None:
        """Take the next model of the server, and show it to fedsim."""
        w = np.asarray(w, np.float64)
        if w.shape != self.slot.shape:
            raise ValueError(
                f"server returned an array of shape {w.shape}, must be {self.slot.shape}"
            )
        self.parameters = freeze({"w": w})
        self.slot[:] = w

    def end(self) -> float:
        """Close the round with the step of the server, if there are replies."""
        if not self.pending.committed:
            return 0.0
        replies = Replies([self._reply(*of) for of in self.pending.committed])
        w = self.method.server(self.parameters["w"], replies, self.server_state)
        if w is None:
            raise ValueError("server returned None: only without rounds may it refuse a reply")
        self._set(w)
        return replies.flops

    def send(self, client: int) -> int:
        """Send a client the present model."""
        self.pending.sent[client] = Sent(self._message(), self.pending.version)
        return self.nbytes(self.pending.sent[client].parameters)

    def receive(self, client: int) -> tuple[bool, float]:
        """Take the response of a client, if the method does."""
        sent, update = self.pending.sent.pop(client), self.pending.tentative.pop(client)
        of = self._reply(client, 1.0, update)
        stale = self.pending.version - sent.version
        own = sent.parameters["w"] + of.change
        replies = Replies([Reply(client, of.change, of.rows, of.arrays, 1.0, stale, own)])
        state = dict(self.server_state)
        w = self.method.server(self.parameters["w"], replies, state)
        if w is None:
            return False, replies.flops
        self.server_state = state
        if update.state is not None:
            self.client_state[client] = update.state
        self.pending.version += 1
        self._set(w)
        return True, replies.flops

    def load(self, path: Path) -> None:
        """Continue from a file."""
        super().load(path)
        self._set(self.parameters["w"])

    def model_hash(self) -> str:
        """Return no hash: fedsim has the model."""
        return ""

    @classmethod
    def can(cls) -> list[str]:
        """Return what the learner can do besides rounds."""
        return ["save", "receive", "weights", "model", "coded"]


def served(method: type[Method]) -> type[Learner]:
    """Return the learner that runs a method."""
    defaults: dict[str, Any] = {}
    for base in reversed(method.__mro__):
        defaults.update(vars(base).get("defaults", {}))
    own = {"of": method, "name": method.name or method.__name__, "defaults": defaults}
    return type(method.__name__, (_Served,), own)


def _open(model: Any, given: Mapping[str, Any]) -> Server:
    """Return what computes gradients of the model of the scenario."""
    if loss := given.get("loss"):
        model = Linear(loss)
    elif model is None:
        model = _of_command(given["command"])
    server = Server(model() if isinstance(model, type) else model)
    server.on_hello({"v": [1], **given})
    name = server.model.name or type(server.model).__name__
    own, theirs = f"{name} {server.fingerprint()}", given.get("fingerprint")
    if theirs is not None and own != theirs:
        raise ValueError(
            f'the model of the method is "{own}", and that of problem.program.command "{theirs}"'
        )
    values, kind = given["values"], server.model.dtype
    none = np.zeros(0)
    place = none.astype(np.int32), np.zeros(values, kind), np.zeros(values, kind), none
    server.open([place], given.get("data"))
    return server


def _of_command(command: Sequence[str]) -> type[Model]:
    """Return the class of the model that a command serves."""
    source = command[-1]
    named = list(command[1:-1]) == ["-m", "pyfedsim.protocols", "model"]
    if named or (len(command) == 2 and source.endswith(".py")):  # noqa: PLR2004
        return load(source, "model")  # type: ignore[no-any-return]
    raise ValueError(
        f"problem.program.command = {list(command)} names no file of Python with a class of a model: "
        "set the attribute model of the method"
    )
