"""Rounds of a Flower run and their metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from logging import WARNING
from typing import TYPE_CHECKING, Any

from pyfedsim.errors import UsageError

from . import _releases as flwr
from .names import Name, direction, metric_name
from .work import examples

if TYPE_CHECKING:
    from pyfedsim.engine import Engine

    from .clients import Attempt


@dataclass
class _Sent:
    """What was sent of a type of messages in the round under way.

    Attributes
    ----------
    kind
        Kind of the type: train, evaluate or query.
    first, last
        Numbers of the first and the last sending.
    group
        Group id of the last message.
    sent_ns
        Virtual time of the last sending.
    clients
        Those that got a message.
    """

    kind: str
    first: int
    last: int = 0
    group: str = ""
    sent_ns: int = 0
    clients: set[int] = field(default_factory=set)


class Rounds:
    """Closes the rounds of a run in the engine, with their metrics.

    A strategy tells where rounds begin. Without one, a round ends when the app sends messages
    of a type again: see :meth:`sending`. With ``by_app`` only :func:`pyfedsim.flower.close`
    ends a round.

    Parameters
    ----------
    engine
        Records the rounds.
    by_app
        Whether the app closes all rounds.
    """

    def __init__(self, engine: Engine, *, by_app: bool) -> None:
        self._engine = engine
        self._by_app = by_app
        self._strategy = False
        self._open = False
        self._sent: dict[str, _Sent] = {}  # by type of message, in the round under way
        self._answered: set[str] = set()  # kinds of which the app got a reply in this round
        self._sendings = 0
        self._taken: list[Attempt] = []
        self._unread: list[Attempt] = []  # responses that the app has not pulled
        self._values: dict[Name, float] = {}
        self._failed: list[Attempt] = []
        self._clients: dict[Name, dict[int, tuple[float, int | None]]] = {}  # values and examples
        self._skipped: set[str] = set()
        self.number = 1
        self.evaluated = "test"
        self.pulled = False  # whether the app has ever asked for the replies to pushed messages

    def follow_strategy(self, *, server_evaluates: bool) -> None:
        """Let a strategy tell the rounds from here on.

        Parameters
        ----------
        server_evaluates
            Whether the server evaluates the model: its metrics then have the split test, and
            those of the clients the split validation.
        """
        if self._trains():
            self.finish()
        self._open = False  # what was asked before belongs to the first round of the strategy
        self._strategy = True
        self.evaluated = "validation" if server_evaluates else "test"

    def leave_strategy(self) -> None:
        """Close the last round of a strategy."""
        self.finish()
        self._strategy = False

    def begin(self) -> None:
        """Begin the next round of a strategy, and close the one before."""
        self.finish()
        self._open = True

    def sending(self, attempts: list[Attempt], now_ns: int, *, exchange: bool, idle: bool) -> None:
        """Note that messages are about to be sent; close the round if they begin the next one.

        Parameters
        ----------
        attempts
            The messages.
        now_ns
            Virtual time.
        exchange
            Whether the app waits for the replies at once.
        idle
            Whether no message is under way.
        """
        if not self._strategy and not self._by_app:
            if self._open and any(self._repeats(a, now_ns, exchange, idle) for a in attempts):
                self.close()
            self._open = True
        self._sendings += 1
        for attempt in attempts:
            metadata = attempt.message.metadata
            sent = self._sent.get(metadata.message_type)
            if sent is None:
                sent = self._sent[metadata.message_type] = _Sent(attempt.kind, self._sendings)
            sent.last, sent.sent_ns = self._sendings, now_ns
            sent.group = metadata.group_id
            sent.clients.add(attempt.client)
        self._open = self._open or self._trains()

    def _trains(self) -> bool:
        """Return whether training messages were sent in the round under way."""
        return any(sent.kind == "train" for sent in self._sent.values())

    def _repeats(self, attempt: Attempt, now_ns: int, exchange: bool, idle: bool) -> bool:
        """Return whether a message begins the next round: its type is sent again."""
        metadata = attempt.message.metadata
        sent = self._sent.get(metadata.message_type)
        if sent is None or not self._leads(sent):
            return False
        if metadata.group_id and sent.group:
            return bool(metadata.group_id != sent.group)
        if exchange or idle or attempt.kind in self._answered:
            return True
        return not self.pulled and (attempt.client in sent.clients or now_ns != sent.sent_ns)

    def _leads(self, sent: _Sent) -> bool:
        """Return whether a round can begin with another message of the type.

        Training can; a query if the round began with it or trained after it; an evaluation if
        there is nothing else in the round.
        """
        others = [s for s in self._sent.values() if s.kind != "evaluate"]
        if sent.kind == "train" or not others:
            return True
        if sent.kind == "evaluate":
            return False
        trained = any(s.kind == "train" and s.last > sent.last for s in others)
        return trained or sent.first == min(s.first for s in others)

    def delivered(self, attempt: Attempt) -> None:
        """Note that the ServerApp gets a reply."""
        reply = attempt.reply
        if reply.has_error():
            return
        self._answered.add(attempt.kind)
        if attempt.kind != "evaluate":
            self._taken.append(attempt)
        if attempt.kind == "query":
            return
        split = "train" if attempt.kind == "train" else self.evaluated
        rows = whole(examples(reply.content))
        for key, value in scalars(reply.content):
            values = self._clients.setdefault(metric_name(split, key), {})
            values[attempt.client] = value, rows

    def arrived(self, attempt: Attempt) -> None:
        """Note the response to a training message that the app has pushed and not pulled."""
        self._unread.append(attempt)

    def failed(self, attempt: Attempt) -> None:
        """Note that a ClientApp failed: its reply reports an error."""
        self._failed.append(attempt)

    def report(self, split: str, metrics: Mapping[str, Any] | None) -> None:
        """Record metrics of the whole model in the round under way."""
        for key, value in (metrics or {}).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                if math.isfinite(value):
                    self._values[metric_name(split, key)] = float(value)
                else:
                    self._skip(key, value)

    def close(self, number: int | None = None) -> dict[str, Any]:
        """Close the round under way.

        Parameters
        ----------
        number
            Its number, to be compared; 0 records the metrics of the initial model.

        Returns
        -------
        dict
            The row of the round, with the columns of rounds.parquet.
        """
        initial = number == 0
        if number not in (None, self.number) and not (initial and self.number == 1):
            raise UsageError(
                f"close({number}): round {self.number} is under way; if the app closes all "
                "rounds, run it with rounds='app'"
            )
        # The engine forgets attempts that ended in an earlier round.
        trains = self._trains()
        taken = [
            attempt.id
            for attempt in (*self._taken, *(a for a in self._unread if not a.asked))
            if attempt.round == self.number and (attempt.kind == "train" or not trains)
        ]
        answer = self._engine.close_round(
            0 if initial else self.number,
            [] if initial else taken,
            failed=[a.id for a in self._failed if a.round == self.number and not initial],
            metrics=[_entry(name, value=value) for name, value in self._values.items()],
            clients=[_by_client(name, values) for name, values in self._clients.items()],
        )
        self._values.clear()
        if not initial:
            self.number += 1
            self._open = False
            self._sent.clear()
            self._answered.clear()
            self._taken, self._unread, self._failed = [], [], []
            self._clients.clear()
        return answer["row"]

    def finish(self) -> None:
        """Close the round under way if there is one, unless the app closes all rounds."""
        if self._open and (self._strategy or not self._by_app):
            self.close()

    def _skip(self, key: str, value: float) -> None:
        if key not in self._skipped:
            self._skipped.add(key)
            flwr.log(WARNING, "metric %s is %s and left out of the results", key, value)


def scalars(content: Any) -> Iterable[tuple[str, float]]:
    """Yield the finite numbers of a reply's MetricRecords, without numbers of examples."""
    for record in content.values():
        if not isinstance(record, flwr.MetricRecord):
            continue
        for key, value in record.items():
            if key in ("num-examples", "num_examples") or isinstance(value, list):
                continue
            if math.isfinite(value):
                yield key, float(value)


def whole(number: float | None) -> int | None:
    """Return a number of rows; None if it is none that fedsim has."""
    if number is None or not 0 <= number < 2**31 or number != int(number):
        return None
    return int(number)


def _by_client(name: Name, values: Mapping[int, tuple[float, int | None]]) -> Any:
    """Return the values and the examples of clients as the engine takes them."""
    clients = sorted(values)
    found, rows = zip(*(values[client] for client in clients), strict=True)
    return _entry(name, clients=clients, values=list(found), rows=list(rows))


def _entry(name: Name, **fields: Any) -> Any:
    """Return a metric as the engine takes it; it is declared at its first appearance."""
    split, label = name
    return {"split": split, "name": label, "better": direction(label), **fields}
