"""Calls of the ClientApp: isolated, seeded and undone if the attempt fails."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import ERROR
from typing import Any, NoReturn

import numpy as np

from pyfedsim.errors import RunError, UsageError
from pyfedsim.protocols._serve import last_line

from . import _releases as flwr
from .arrays import nonfinite
from .work import Meter, count_bytes

_EXIT = os._exit

_MOST_WARNINGS = 10
_MOST_TEXT = 200

FIRST_NODE = 2
"""Node id of client 0; 0 and 1 have a meaning in Flower."""


@dataclass
class Attempt:
    """A message to a client until its end.

    Attributes
    ----------
    client
        Client, from 0.
    kind
        Kind of the message: train, evaluate or query.
    message
        The client's own copy of the message.
    id
        Number of the attempt in the engine; also the message id.
    number
        How many messages the client got before this one.
    sent_ns
        Virtual time at which it was sent.
    round
        The round in which it ended.
    kept
        Whether anybody can still ask for the reply.
    asked
        Whether the app has asked for the reply.
    reply
        The reply once the ClientApp was called, else None.
    raised
        Whether the ClientApp failed.
    state
        The client's state after the call, pickled; None if it is empty.
    """

    client: int
    kind: str
    message: Any
    id: int = 0
    number: int = 0
    sent_ns: int = 0
    round: int = 0
    kept: bool = True
    asked: bool = False
    reply: Any = None
    raised: bool = False
    state: bytes | None = None


@dataclass(frozen=True)
class Work:
    """What an attempt costs: FLOPs and bytes up, and steps and traffic_bytes if declared."""

    flops: float
    bytes_up: int
    beside: dict[str, float] = field(default_factory=dict)


@contextmanager
def own_streams() -> Iterator[None]:
    """Restore Python's, NumPy's and torch's global random streams at the end."""
    torch = sys.modules.get("torch")
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    tensor = torch.get_rng_state() if torch else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        if torch and tensor is not None:
            torch.set_rng_state(tensor)


def seed_streams(*seed: object) -> None:
    """Seed Python's and NumPy's global random streams, and torch's if it is imported."""
    digest = hashlib.blake2b(repr(seed).encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "little")
    random.seed(number)
    np.random.seed(number & 0xFFFFFFFF)  # noqa: NPY002 - apps use the global stream
    if torch := sys.modules.get("torch"):
        torch.manual_seed(number >> 1)


def copied(message: Any) -> Any:
    """Return a copy of a message that shares only its arrays, which are immutable."""
    content = message.content.copy()
    records = content.__dict__["_data"]  # whose own methods check types
    for key, record in records.items():
        records[key] = twin = record.copy()
        if not isinstance(record, flwr.ArrayRecord):
            values = twin.__dict__["_data"]
            for name, value in values.items():
                if isinstance(value, list):
                    values[name] = list(value)
    sent = _twin(message)
    sent.__dict__["_metadata"] = _twin(message.metadata)
    sent.__dict__["_content"] = content
    return sent


def _twin(value: Any) -> Any:
    twin = object.__new__(type(value))
    twin.__dict__.update(value.__dict__)
    return twin


class Clients:
    """The ClientApp on all clients.

    Parameters
    ----------
    app
        The ClientApp.
    number
        Number of clients.
    seed
        Seed of the run. An attempt's streams depend on it, the client and the attempt's number.
    run_config
        Configuration of the run, as in Flower.
    meter
        Counts FLOPs.
    allow_nonfinite
        Whether arrays of replies to train messages may have NaN or infinities.
    """

    def __init__(
        self,
        app: Any,
        number: int,
        seed: int,
        run_config: dict[str, Any],
        meter: Meter,
        *,
        allow_nonfinite: bool = False,
    ) -> None:
        self._app = app
        self._number = number
        self._seed = seed
        self._run_config = run_config
        self._meter = meter
        self._states: dict[int, bytes] = {}
        self._allow_nonfinite = allow_nonfinite
        self.calls = 0
        self.trained = 0
        self.failed = 0
        self.last_failure = ""
        self._attempts: Counter[int] = Counter()
        self._failures: dict[int, list[str]] = {}

    def warnings(self) -> list[str]:
        """Return a text about each client that failed in over half of its attempts, or of many."""
        found = [
            f"client {k} failed in {len(failures)} of {self._attempts[k]} attempts: {failures[-1]}"
            for k, failures in sorted(self._failures.items())
            if 2 * len(failures) > self._attempts[k]
        ]
        if len(found) > _MOST_WARNINGS:
            found[_MOST_WARNINGS:] = [f"so did {len(found) - _MOST_WARNINGS} more clients"]
        return found

    def check_trained(self) -> None:
        """Raise RunError if every training message has ended in an error of the ClientApp."""
        if self.failed and not self.trained:
            raise RunError(
                f"all {self.failed} calls of the ClientApp with a train message failed; "
                f"the last: {self.last_failure}"
            )

    def call(self, attempt: Attempt, run_id: int) -> Work:
        """Call the ClientApp for an attempt, and store reply and state in the attempt.

        It leaves the global random streams changed.

        An exception of the ClientApp becomes an error reply of code 2, as in Flower; it
        weighs nothing.

        Raises
        ------
        UsageError
            If the ClientApp returns no Message, or FLOPs are not declared or not finite.
        """
        before = self._states.get(attempt.client)
        context = flwr.Context(
            run_id=run_id,
            node_id=attempt.client + FIRST_NODE,
            node_config={"partition-id": attempt.client, "num-partitions": self._number},
            state=_unpickled(before),
            run_config=dict(self._run_config),
        )
        self.calls += 1
        self._attempts[attempt.client] += 1
        counted, failure = None, ""
        try:
            seed_streams(self._seed, attempt.client, attempt.number)
            with self._meter.counting(attempt.message) as counted, exits(_whose(attempt)):
                reply = self._app(message=attempt.message, context=context)
            if context.run_config != self._run_config:
                raise ValueError("the run_config of the Context cannot be modified")  # noqa: TRY301
        except UsageError:
            raise
        except Exception as raised:  # noqa: BLE001 - Flower reports it to the server
            flwr.log(ERROR, "%s", "".join(traceback.format_exception(raised)))
            failure = last_line(raised)
            reply = error_reply(
                attempt.message,
                flwr.ErrorCode.CLIENT_APP_RAISED_EXCEPTION,
                f"{type(raised).__name__}:<'{raised}'>",
            )
            context.state = None
        if not isinstance(reply, flwr.Message):
            raise UsageError(
                f"{_whose(attempt)} returned an object of type {type(reply).__name__}; "
                "it must return a Message"
            )
        attempt.reply = reply
        if context.state is None:
            attempt.state = before
        elif len(context.state):
            attempt.state = pickle.dumps(context.state)
        train = attempt.kind == "train"
        if reply.has_error():
            attempt.raised = True
            self.failed += train
            self.last_failure = str(reply.error.reason)
            text = " ".join((failure or self.last_failure).split())[:_MOST_TEXT]
            self._failures.setdefault(attempt.client, []).append(text)
            return Work(0.0, 0)
        self.trained += train
        if train and not self._allow_nonfinite and (name := nonfinite(reply.content)):
            raise RunError(
                f"{_whose(attempt)} returned NaN or infinities in the array {name}; "
                "allow_nonfinite=True (--allow-nonfinite) permits it"
            )
        flops = self._meter.flops(attempt.client, attempt.message, reply, counted)
        beside = self._meter.beside(attempt.client, attempt.message, reply)
        return Work(flops, count_bytes(reply.content), beside)

    def commit(self, attempt: Attempt) -> None:
        """Make the state after an attempt the state of the client: its response arrived."""
        if attempt.state is None:
            self._states.pop(attempt.client, None)
        else:
            self._states[attempt.client] = attempt.state


def _whose(attempt: Attempt) -> str:
    """Return a text that names the call of a ClientApp."""
    return (
        f"the ClientApp, called with a {attempt.kind} message to node "
        f"{attempt.client + FIRST_NODE} (device {attempt.client}),"
    )


@contextmanager
def exits(who: str) -> Iterator[None]:
    """Tell who ends this process by sys.exit or os._exit.

    Raises
    ------
    UsageError
        If it is sys.exit; os._exit prints a line and ends the process, as ever.
    """
    process, before = os.getpid(), os._exit

    def told(status: int) -> NoReturn:
        if os.getpid() == process:  # and no child of it
            print(f"fedsim: {who} called os._exit({status})", file=sys.stderr, flush=True)  # noqa: T201
        _EXIT(status)

    vars(os)["_exit"] = told
    try:
        yield
    except SystemExit as error:
        raise UsageError(f"{who} called sys.exit({error.code!r}); raise an exception") from error
    finally:
        vars(os)["_exit"] = before


def error_reply(message: Any, code: int, reason: str) -> Any:
    """Return an error reply to a message."""
    return flwr.Message(flwr.Error(code=code, reason=reason), reply_to=message)


def _unpickled(state: bytes | None) -> Any:
    """Return a state that this process has pickled."""
    return flwr.RecordDict() if state is None else pickle.loads(state)  # noqa: S301
