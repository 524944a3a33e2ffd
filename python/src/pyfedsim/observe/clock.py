"""The durations of an attempt on the client's clock."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DURATIONS", "Clock"]

DURATIONS = ("idle_s", "receive_s", "wait_s", "compute_s", "reply_s", "cpu_s")
"""Columns of the log that a client measures."""


class Clock:
    """Measures one attempt after the other, for one client.

    Each method marks an instant, in the order of the methods here. A duration is known when both
    of its ends are marked, so a loop that cannot see an instant omits its mark. The clock is
    monotonic, and is never compared with that of the server.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.first_byte()  # of the message
    >>> clock.received()
    >>> with clock.computing():
    ...     pass  # train
    >>> sorted(clock.durations())
    ['compute_s', 'cpu_s', 'idle_s', 'receive_s', 'wait_s']
    """

    def __init__(self) -> None:
        self._ended: float | None = time.perf_counter()
        self._marks: dict[str, float] = {}

    def first_byte(self) -> None:
        """Mark the first byte of a message, which begins the next attempt."""
        self._marks = {"first": time.perf_counter()}
        if self._ended is not None:
            self._marks["idle"] = self._ended
            self._ended = None

    def received(self) -> None:
        """Mark that the message is whole."""
        if "received" in self._marks:  # an attempt without a first byte
            self._marks = {}
            self._ended = None
        self._marks["received"] = time.perf_counter()

    def start(self) -> None:
        """Mark the start of training."""
        if "start" in self._marks:  # an attempt without a message
            self._marks = {}
            self._ended = None
        self._marks["start"] = time.perf_counter()
        self._marks["cpu"] = time.process_time()

    def stop(self) -> None:
        """Mark the end of training."""
        self._marks["stop"] = time.perf_counter()
        self._marks["cpu_stop"] = time.process_time()

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Return a context that marks the start of training, and its end after the block."""
        self.start()
        yield
        self.stop()

    def replied(self) -> None:
        """Mark that the reply is sent, not only handed to the operating system.

        ``idle_s`` of the next attempt begins here.
        """
        self._ended = self._marks["replied"] = time.perf_counter()

    def durations(self) -> dict[str, float]:
        """Return the durations of the attempt that are known by now, in seconds.

        ``reply_s`` is known after :meth:`replied`: it needs a message of its own, after the reply.
        """
        ends = {
            "idle_s": ("idle", "first"),
            "receive_s": ("first", "received"),
            "wait_s": ("received", "start"),
            "compute_s": ("start", "stop"),
            "reply_s": ("stop", "replied"),
            "cpu_s": ("cpu", "cpu_stop"),
        }
        marks = self._marks
        return {
            name: marks[last] - marks[first]
            for name, (first, last) in ends.items()
            if first in marks and last in marks
        }

    def json(self) -> str:
        """Return :meth:`durations` as JSON, to send with the reply."""
        return json.dumps(self.durations())
