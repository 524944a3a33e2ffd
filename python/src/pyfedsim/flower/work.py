"""Bytes, FLOPs and steps of messages: what the engine turns into time and energy."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from logging import INFO
from numbers import Real
from typing import Any

from pyfedsim.errors import UsageError

from . import _releases as flwr

KINDS = ("train", "evaluate", "query")
"""Kinds of messages."""

Amount = Callable[[int, Any, Any], float] | Mapping[str, float]
"""FLOPs, steps or bytes of an attempt: a function of (client, message, reply), where client is the
partition id; or numbers by kind of message, or by type, such as ``train.apply_gradients``."""

# Messages that ask a client for what it has; answering them computes nothing.
_FREE = ("get_parameters", "get_properties")


def kind_of(message: Any) -> str:
    """Return the kind of a message for the engine: train, evaluate or query."""
    category = message.metadata.message_type.split(".")[0]
    return category if category in ("train", "evaluate") else "query"


def count_bytes(content: Any) -> int:
    """Return the bytes of a message's content, as Flower's message_size_mod counts them."""
    total = 0
    for record in content.values():
        try:
            total += int(record.count_bytes())
        except (IndexError, ValueError):  # noqa: PERF203 - Flower fails on empty lists and strings
            total += sum(len(key) + _value_bytes(value) for key, value in record.items())
    return total


def _value_bytes(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_value_bytes, value))
    return len(value) if isinstance(value, (str, bytes)) else 8


class Declared:
    """An amount that replies declare under a key, or an argument of ``run`` for them.

    The key is in a MetricRecord of the reply (legacy: in its metrics): ``fedsim-flops`` for flops.
    """

    def __init__(self, name: str, given: Amount | None) -> None:
        self._name = name
        self.key = "fedsim-" + name.replace("_", "-")
        self.function = given if callable(given) else None
        self.by_type = _amounts(name, given) if isinstance(given, Mapping) else {}
        if given is not None and not isinstance(given, Mapping) and not callable(given):
            raise TypeError(
                f"{name} is of type {type(given).__name__}; it must be a function of client, "
                "message and reply, or numbers by kind of message, as in "
                '{"train": 1e9, "query": 0}'
            )

    def of(self, client: int, message: Any, reply: Any) -> Any:
        """Return what is declared of an attempt, or None; its key is removed from the reply."""
        found = None
        for record in reply.content.values():
            if self.key in record and not isinstance(record, flwr.ArrayRecord):
                found = record[self.key]
                del record[self.key]
        if found is None and self.function is not None:
            found = self.function(client, message, reply)
        if found is None:
            of_kind = self.by_type.get(kind_of(message))
            found = self.by_type.get(message.metadata.message_type, of_kind)
        return found

    def checked(self, declared: Any, client: int, message: Any) -> float:
        """Return a declared number, after a check."""
        value = float(declared)
        if not math.isfinite(value) or value < 0:
            what = "FLOPs" if self._name == "flops" else self._name
            raise UsageError(
                f"the {what} of a {kind_of(message)} message of client {client} are {value}; "
                "they must be finite and not negative"
            )
        return value


class Meter:
    """Counts the FLOPs, steps and memory traffic of attempts.

    Parameters
    ----------
    flops
        FLOPs of an attempt from client, message and reply; or FLOPs of a message by kind or type.
    flops_per_example
        FLOPs of training on one example once, or a mapping from kinds (train, evaluate, query)
        to FLOPs for one example. A number means a third of it for evaluate, the forward pass.
    epochs
        Passes over the examples in an attempt of kind train.
    steps, traffic_bytes
        Mini-batch steps of an attempt, and bytes of memory that it reads and writes, like flops;
        0 if nothing declares them.
    """

    def __init__(
        self,
        flops: Amount | None,
        flops_per_example: float | Mapping[str, float] | None,
        epochs: float,
        steps: Amount | None = None,
        traffic_bytes: Amount | None = None,
    ) -> None:
        self._flops = Declared("flops", flops)
        self._beside = {
            "steps": Declared("steps", steps),
            "traffic_bytes": Declared("traffic_bytes", traffic_bytes),
        }
        given: Any = 0 if flops_per_example is None else flops_per_example
        for value in given.values() if isinstance(given, Mapping) else [given]:
            if not isinstance(value, Real):
                raise TypeError(
                    f"flops_per_example has a {type(value).__name__}; it must be a number, or "
                    "numbers by kind: train, evaluate, query"
                )
        if isinstance(flops_per_example, Mapping):
            unknown = sorted(set(flops_per_example) - set(KINDS))
            if unknown:
                raise UsageError(
                    f"flops_per_example: unknown kind {unknown[0]!r}; "
                    "the kinds are train, evaluate and query"
                )
            self._per_example = dict(flops_per_example)
        elif flops_per_example is not None:
            self._per_example = {"train": flops_per_example, "evaluate": flops_per_example / 3}
        else:
            self._per_example = {}
        self._epochs = epochs
        self._told: set[str] = set()  # types of messages whose FLOPs torch counts

    @contextmanager
    def counting(self, message: Any) -> Iterator[Callable[[], float] | None]:
        """Let torch count the FLOPs of a call, if it is there and nothing else declares them.

        Gives a function that returns the FLOPs, or None.
        """
        kind, name = kind_of(message), message.metadata.message_type
        known = {*self._flops.by_type, *self._per_example, *_FREE}
        declared = self._flops.function is not None or kind in known or name in known
        if declared or "torch" not in sys.modules:
            yield None
            return
        with importlib.import_module("pyfedsim._torch").counting() as flops:
            yield flops

    def flops(
        self, client: int, message: Any, reply: Any, counted: Callable[[], float] | None = None
    ) -> float:
        """Return the FLOPs of an attempt, and remove their declaration from the reply.

        Parameters
        ----------
        client, message, reply
            The attempt.
        counted
            What :meth:`counting` gave.

        Raises
        ------
        UsageError
            If nothing declares them, or if they are negative or not finite.
        """
        declared = self._flops.of(client, message, reply)
        kind, name = kind_of(message), message.metadata.message_type
        if declared is None and kind in self._per_example:
            per_example = self._per_example[kind]
            count = 0.0 if per_example == 0 else examples(reply.content)
            if count is not None:
                declared = per_example * count * (self._epochs if kind == "train" else 1)
        if declared is None and name in _FREE:
            declared = 0.0
        if declared is None and counted is not None:
            declared = self._of_torch(counted, name)
        if declared is None:
            raise UsageError(_undeclared(client, message, reply, self._per_example))
        return self._flops.checked(declared, client, message)

    def beside(self, client: int, message: Any, reply: Any) -> dict[str, float]:
        """Return the declared steps and traffic_bytes of an attempt, as the engine takes them."""
        found = {}
        for name, declared in self._beside.items():
            value = declared.of(client, message, reply)
            if value is not None:
                found[name] = declared.checked(value, client, message)
        return found

    def _of_torch(self, counted: Callable[[], float], name: str) -> float | None:
        """Return the FLOPs that torch has counted in a call; None if there are none."""
        try:
            flops = counted()
        except ValueError as error:
            raise UsageError(f"{error}, or declare the FLOPs (--flops)") from error
        if flops <= 0:
            return None
        if name not in self._told:
            self._told.add(name)
            flwr.log(INFO, "torch counts the FLOPs of %s messages: %.4g in the first", name, flops)
        return flops


def _amounts(argument: str, given: Mapping[str, Any]) -> dict[str, float]:
    """Return numbers by kind or type of message, after a check."""
    for name, value in given.items():
        if not isinstance(value, Real):
            raise TypeError(
                f"{argument}[{name!r}] is of type {type(value).__name__}; it must be a number"
            )
        if name.split(".")[0] not in KINDS:
            raise UsageError(
                f"{argument}: unknown kind {name!r}; the kinds are {', '.join(KINDS)}, "
                "or types such as train.update"
            )
    return dict(given)


def _undeclared(client: int, message: Any, reply: Any, per_example: Mapping[str, float]) -> str:
    """Return the error of a message whose FLOPs nothing declares."""
    kind = kind_of(message)
    text = f"the FLOPs of a {kind} message of client {client} are not declared; "
    if kind in per_example and examples(reply.content) is None:
        text += (
            "flops_per_example needs num-examples in a MetricRecord of the reply, which has none; "
        )
    return text + (
        f'give those of a message, flops={{"{kind}": 1e9}} (fedsim-flower: --flops {kind}=1e9), or '
        'of an example, flops_per_example={"train": 1e6} (--flops-per-example 1e6) with the '
        f"reply's num-examples, or let the ClientApp put 'fedsim-flops' into a MetricRecord"
    )


def examples(content: Any) -> float | None:
    """Return the number of examples that a reply reports, or None."""
    for record in content.values():
        if not isinstance(record, flwr.MetricRecord):
            continue
        for key in ("num-examples", "num_examples"):
            if key in record:
                return float(record[key])
    return None
