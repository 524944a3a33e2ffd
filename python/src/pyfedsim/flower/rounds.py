"""Rounds of a Flower run and their metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from logging import WARNING
from typing import TYPE_CHECKING, Any

from pyfedsim.errors import UsageError

from . import _releases as flwr
from .names import Name, direction, metric_name

if TYPE_CHECKING:
    from pyfedsim.engine import Engine

    from .clients import Attempt


class Rounds:
    """Closes the rounds of a run in the engine, with their metrics.

    A strategy tells where rounds begin. Without one, a round begins with an exchange of kind
    train, or with messages of kind train that are pushed under another group id or after a
    reply to such a message was pulled. With ``by_app`` only :func:`pyfedsim.flower.close`
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
        self._group = ""
        self._trained = False
        self._taken: list[Attempt] = []
        self._values: dict[Name, float] = {}
        self._clients: dict[Name, dict[int, float]] = {}
        self._skipped: set[str] = set()
        self.number = 1
        self.evaluated = "test"

    def follow_strategy(self, *, server_evaluates: bool) -> None:
        """Let a strategy tell the rounds from here on.

        Parameters
        ----------
        server_evaluates
            Whether the server evaluates the model: its metrics then have the split test, and
            those of the clients the split validation.
        """
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

    def training(self, group: str, *, exchange: bool) -> None:
        """Note that messages of kind train are about to be sent."""
        if not self._strategy and self._open and not self._by_app:
            named = group and self._group
            if group != self._group if named else exchange or self._trained:
                self.close()
        self._open = True
        self._group = group

    def delivered(self, attempt: Attempt) -> None:
        """Note that the ServerApp gets a reply."""
        reply = attempt.reply
        if reply.has_error() or attempt.kind == "query":
            return
        train = attempt.kind == "train"
        if train:
            self._trained = True
            self._taken.append(attempt)
        split = "train" if train else self.evaluated
        for key, value in scalars(reply.content):
            values = self._clients.setdefault(metric_name(split, key), {})
            values[attempt.client] = value

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
            The row of the round, with the columns of rounds.csv.
        """
        initial = number == 0
        if number not in (None, self.number) and not (initial and self.number == 1):
            raise UsageError(
                f"close({number}): round {self.number} is under way; if the app closes all "
                "rounds, run it with rounds='app'"
            )
        # The engine forgets attempts that ended in an earlier round.
        taken = [attempt.id for attempt in self._taken if attempt.round == self.number]
        answer = self._engine.close_round(
            0 if initial else self.number,
            [] if initial else taken,
            metrics=[_entry(name, value=value) for name, value in self._values.items()],
            clients=[
                _entry(name, devices=[c for c, _ in pairs], values=[v for _, v in pairs])
                for name, pairs in ((n, sorted(v.items())) for n, v in self._clients.items())
            ],
        )
        self._values.clear()
        if not initial:
            self.number += 1
            self._open = self._trained = False
            self._taken = []
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


def _entry(name: Name, **fields: Any) -> Any:
    """Return a metric as the engine takes it; it is declared at its first appearance."""
    split, label = name
    return {"split": split, "name": label, "better": direction(label), **fields}
