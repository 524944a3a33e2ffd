"""The class Learner and what its methods take and return."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyfedsim.protocols import _checkpoint
from pyfedsim.protocols._arrays import Arrays, Pending, Sent, Tentative, add, nbytes, size


@dataclass(frozen=True)
class Metric:
    """A figure that :meth:`Learner.evaluate` reports: its ``name``, and its ``unit``, such as "ms".

    ``split`` is "train", "validation", "test" or "". ``better`` is "higher", "lower" or "".
    fedsim's columns ``primal``, ``train_error``, ``test_error`` and ``validation_error`` come from
    ("train", "loss"), and from "error" or "accuracy" of "train", "test" and "validation".
    """

    split: str
    name: str
    better: str = ""
    unit: str = ""

    @property
    def full_name(self) -> str:
        """The name in results and in :meth:`Learner.evaluate`, such as ``test_accuracy``."""
        return f"{self.split}_{self.name}" if self.split else self.name


@dataclass(frozen=True)
class Evaluation:
    """``values`` of metrics of the whole model, and of metrics by client in ``clients``.

    Both have the full names of the metrics as keys; that of a client is its number from 0.
    """

    values: Mapping[str, float]
    clients: Mapping[str, Mapping[int, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """What fedsim asks of ``client``, a number from 0.

    ``steps`` is the most steps that it may take, or None: as many as it likes. ``seed`` is that of
    the client and the attempt. ``parameters`` are arrays by name, those that the client was sent,
    read-only. ``round`` is the number of rounds before this one. ``streams`` are those of mini-batches
    and of gradients, of a method.
    """

    client: int
    steps: int | None
    seed: int
    parameters: Arrays
    round: int = 0
    streams: Sequence[str] = ()

    def rng(self) -> np.random.Generator:
        """Return the random numbers of this work: a new generator with its seed."""
        return np.random.Generator(np.random.PCG64(self.seed))


@dataclass(frozen=True)
class Update:
    """What a client sends back.

    ``parameters`` is the model of the client, with the names and shapes of
    :attr:`Learner.parameters`. ``steps`` is the number of steps that it took. ``flops`` is their
    cost, one multiply or one add being one; None: ``steps`` times :attr:`Learner.step_flops`.
    ``up_bytes`` is the size of its message; None: the bytes of ``parameters``. ``state``,
    arrays by name, becomes the state of the client (:attr:`Learner.client_state`) if the server
    takes the update.
    ``batches`` is the number of mini-batches that the steps made, and ``traffic_bytes`` the bytes
    of memory that they read and wrote; None: what :attr:`Learner.batch_steps` and
    :attr:`Learner.step_traffic_bytes` say. They take time if devices have overheads.
    """

    parameters: Arrays
    steps: int
    flops: float | None = None
    up_bytes: int | None = None
    state: Arrays | None = None
    batches: int | None = None
    traffic_bytes: float | None = None


class Learner:
    """A learner for one run; fedsim makes another instance for the next run.

    Set ``metrics`` and ``defaults`` in the class, and write at least :meth:`start`,
    :meth:`train` and :meth:`evaluate`. The other methods have defaults, which together are
    federated averaging (McMahan et al., AISTATS 2017): the server adds to its parameters the mean
    of the clients' changes, weighted by their rows.

    In a run, these attributes are set before :meth:`start`:

    * ``id`` (the name of the run), ``seed``, ``options`` (those of the scenario over
      ``defaults``);
    * ``clients`` (their number), ``rows`` (training rows of each), ``features`` (of a row;
      0: unknown), ``labels`` (of the rows of the scenario, with the names of their
      classes: ``{-1: "no", 1: "yes"}`` or ``{0: "a", 1: "b", 2: "c"}``; empty: they have none).

    :meth:`start` sets:

    * ``parameters``: the model of the server, arrays by name. They are read-only: put new arrays
      in their place. In :meth:`train` they are those that the client was sent;
    * ``step_flops``: the most FLOPs that one step of a client takes, one multiply or one add being
      one. A step is what the learner says; the gradient of one row is a good choice, since
      fedsim limits the steps of slow clients under deadlines;
    * ``batch_steps`` (optional): the steps of a mini-batch. The default is 1;
    * ``step_traffic_bytes`` (optional): the bytes of memory that a step reads and writes. The
      default is 0.

    ``server_state`` and ``client_state`` (arrays by name, for the server and for each
    client) are for subclasses. They are saved with the parameters. ``pending`` holds the updates
    that the server has not added to the parameters yet.
    """

    name: ClassVar[str] = ""
    """Name of the learner in results; default: the name of the class."""
    metrics: ClassVar[Sequence[Metric]] = ()
    """The metrics that :meth:`evaluate` reports."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """The options and their default values, in addition to those of base classes. Other options
    are errors."""
    one_model: ClassVar[bool] = True
    """Whether all clients are sent the same parameters, and hubs (``network.hubs.size``) may add up
    their changes. Set it to False in a learner with a model for each client."""
    allow_nonfinite: ClassVar[bool] = False
    """Whether an update may have NaN or infinities. False: it is an error that names the client and
    the parameter."""
    mixing: ClassVar[float] = 0.6
    """Weight of a fresh response in :meth:`receive`."""

    id: str
    seed: int
    clients: int
    rows: NDArray[np.int64]
    features: int
    given: dict[str, Any]
    labels: dict[int, str]
    options: dict[str, Any]
    parameters: Arrays
    step_flops: float
    batch_steps: int = 1
    step_traffic_bytes: float = 0.0
    server_state: Arrays
    client_state: dict[int, Arrays]

    pending: Pending

    # What a subclass writes.

    def start(self) -> None:
        """Prepare the run: set ``parameters`` and ``step_flops``."""
        raise NotImplementedError(f"{type(self).__name__} has no method start")

    def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
        """Do the local work of a client, from ``self.parameters``, and return its update.

        Take at most ``steps`` steps (None: as many as you like), and draw random numbers from
        ``rng`` alone. The server may discard the result, so change no other state here.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method train")

    def evaluate(self) -> Mapping[str, float] | Evaluation:
        """Return the metrics of the present model by full name. This takes no virtual time.

        A metric that is left out, NaN or infinite is unknown in this round.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method evaluate")

    def loss(self, client: int) -> float:
        """Return the mean loss of the present model on the training rows of a client.

        Selections such as "power-of-choice" ask for it. There is no default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method loss")

    # What the loop calls.

    def more(self) -> dict[str, Any]:
        """Return what start answers beside sizes and steps."""
        return {}

    def nbytes(self, arrays: Arrays) -> int:
        """Return the bytes of ``arrays``, arrays by name, in a message: those in memory."""
        return nbytes(arrays)

    def sent_to(self, client: int) -> Arrays:
        """Return the parameters that a client was sent: with rounds, those of the server."""
        sent = self.pending.sent.get(client)
        return self.parameters if sent is None else sent.parameters

    def answers(self, work: Sequence[Work]) -> list[tuple[Update, float, int]]:
        """Do ``work``; return updates, their FLOPs and the bytes of their messages."""
        updates = self.solve(work)
        if len(updates) != len(work):
            raise ValueError(f"solve returned {len(updates)} updates for {len(work)} clients")
        return [self._propose(*of) for of in zip(work, updates, strict=True)]

    def _propose(self, work: Work, update: Update) -> tuple[Update, float, int]:
        """Store an update until commit."""
        if not isinstance(update, Update):
            raise TypeError(
                f"client {work.client}: train must return an Update, not {update!r:.60}"
            )
        if update.parameters.keys() != work.parameters.keys():
            raise ValueError(
                f"client {work.client}: the update has the parameters {sorted(update.parameters)}, "
                f"must have {sorted(work.parameters)}"
            )
        change = {}
        for name, old in work.parameters.items():
            new = np.asarray(update.parameters[name])
            if new.shape != old.shape:
                raise ValueError(
                    f"client {work.client}: parameter {name} of the update has shape {new.shape}, "
                    f"must have {old.shape}"
                )
            change[name] = new - old
            if not self.allow_nonfinite and not _finite(new):
                raise ValueError(
                    f"client {work.client}: parameter {name} of the update has NaN or infinities; "
                    "allow_nonfinite = True in the learner permits it"
                )
        self.pending.tentative[work.client] = Tentative(change, update.state)
        flops = update.flops
        if flops is None:
            flops = float(update.steps) * float(self.step_flops)
        up = self.nbytes(update.parameters) if update.up_bytes is None else update.up_bytes
        return update, flops, up

    # Rounds.

    def begin(self, number: int) -> int:  # noqa: ARG002 - for subclasses
        """Open the round of this number; return the bytes that the server sends to each client."""
        return nbytes(self.parameters)

    def solve(self, work: Sequence[Work]) -> Sequence[Update]:
        """Return the updates of several clients for their ``work``, in order.

        The default calls :meth:`train` for each. Override it to train them together, on a GPU or in processes.
        """
        server = self.parameters
        updates = []
        try:
            for item in work:
                self.parameters = item.parameters
                updates.append(self.train(item.client, item.steps, item.rng()))
        finally:
            self.parameters = server
        return updates

    def commit(self, clients: Sequence[int], weights: Sequence[float]) -> None:
        """Take the updates of these clients into the round, multiplied by ``weights``."""
        for client, weight in zip(clients, weights, strict=True):
            update = self.pending.tentative.pop(client)
            if update.state is not None:
                self.client_state[client] = update.state
            self.pending.committed.append((client, weight, update))

    def coded(self, clients: Sequence[int]) -> None:
        """Take the changes of clients as the server decodes them, under compression."""
        raise NotImplementedError(f"{type(self).__name__} cannot compress")

    def discard(self, clients: Sequence[int]) -> None:
        """Forget the updates of these clients, which the server does not take."""
        for client in clients:
            self.pending.tentative.pop(client, None)
            self.pending.sent.pop(client, None)

    def end(self) -> float:
        """Close the round: take the server's step. Return its FLOPs.

        The default adds :meth:`mean_change` to the parameters.
        """
        change, flops = self.mean_change()
        if change:
            self.parameters = add(self.parameters, change, 1.0)
            flops += 2.0 * size(change)
        return flops

    def mean_change(self) -> tuple[Arrays, float]:
        """Return the mean change of the committed updates, and the FLOPs of computing it.

        The mean is sum(weight * rows * change) / sum(rows), in float64. It is empty if no
        update was committed.
        """
        total: Arrays = {}
        rows = 0.0
        for client, weight, update in self.pending.committed:
            rows += float(self.rows[client])
            factor = weight * float(self.rows[client])
            for name, change in update.change.items():
                if name not in total:
                    total[name] = np.zeros(change.shape)
                total[name] += factor * change.astype(np.float64, copy=False)
        if rows == 0:
            return {}, 0.0
        flops = 2.0 * len(self.pending.committed) * size(total)
        return {name: value / rows for name, value in total.items()}, flops

    # Without rounds.

    def send(self, client: int) -> int:
        """Send a client the present parameters, without rounds; return the bytes."""
        self.pending.sent[client] = Sent(self.parameters, self.pending.version)
        return nbytes(self.parameters)

    def receive(self, client: int) -> tuple[bool, float]:
        """Take the response of a client, without rounds.

        Return whether the server took it, and the FLOPs of the server. The default is FedAsync
        (Xie, Koyejo, Gupta 2019): x becomes (1 - a) x + a x_client, where a is ``mixing`` times
        (1 + staleness)^-0.5, and the staleness is the number of responses since the client was
        sent its parameters.
        """
        sent = self.pending.sent.pop(client)
        update = self.pending.tentative.pop(client)
        share = float(self.mixing) * (1.0 + self.pending.version - sent.version) ** -0.5
        target = add(sent.parameters, update.change, 1.0)
        gap = {name: target[name] - value for name, value in self.parameters.items()}
        self.parameters = add(self.parameters, gap, share)
        if update.state is not None:
            self.client_state[client] = update.state
        self.pending.version += 1
        return True, 4.0 * size(gap)

    # Checkpoints.

    def save(self, path: Path) -> None:
        """Write all that :meth:`load` needs to continue bit for bit to ``path``, without pickle.

        A learner with state of its own, other than ``server_state`` and ``client_state``,
        overrides both.
        """
        _checkpoint.write(path, self)

    def load(self, path: Path) -> None:
        """Continue from the file ``path``, of :meth:`save`. It is called after :meth:`start`."""
        _checkpoint.read(path, self)

    def model_hash(self) -> str:
        """Return 16 hex digits for the manifest: a hash of the parameters."""
        digest = hashlib.blake2b(digest_size=8)
        for name, value in self.parameters.items():
            digest.update(f"{name} {value.dtype.str} {value.shape}\n".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()

    def finish(self) -> None:
        """End the run. The default does nothing."""

    @classmethod
    def can(cls) -> list[str]:
        """Return what the learner can do besides rounds: "save", "receive", "loss", "weights"."""
        able = ["save", "receive", "weights"]
        return [*able, "loss"] if cls.loss is not Learner.loss else able


def _finite(array: Any) -> bool:
    """Return whether an array has no NaN and no infinity; one without numbers has none."""
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
