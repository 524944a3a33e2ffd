"""The log of a real federation: one row an attempt, written by the server."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyfedsim.errors import UsageError

from .clock import DURATIONS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import TextIO

__all__ = ["COLUMNS", "Attempt", "Log"]

Value = str | int | float
"""A value of a row."""

COLUMNS = (
    *("run", "round", "client", "class", "kind", "bytes_down", "bytes_up"),
    *("examples", "epochs", "batch", "steps", "flops", "traffic_bytes"),
    *("sent_s", "reply_first_s", "seen_s", *DURATIONS, "outcome"),
    *("down_mbps", "up_mbps", "gflops", "energy_j"),
)
"""The columns, in the order of the file."""

OUTCOMES = ("taken", "late", "failed", "lost")
_TEXTS = {"run", "client", "class", "kind", "outcome"}
_COUNTS = {"round", "bytes_down", "bytes_up"}
_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class Log:
    """A log, as csv. A row is in the file as soon as its attempt has ended.

    A server that is killed loses the attempts that have not ended, and nothing else. All methods
    may be called from several threads.

    Parameters
    ----------
    path
        The file, which must not exist: the instants of a log have one origin.
    settings
        Keys of a scenario and what they were in this run, such as
        ``{"federation.protocol": "first", "federation.clients_per_round": 4}``.
    run
        Name of the run; None: that of the file.
    clients
        Columns of clients that do not change, by name: ``class``, and the nominal ``down_mbps``,
        ``up_mbps`` and ``gflops``.

    Examples
    --------
    ::

        with Log("monday.csv", settings={"federation.protocol": "wait-for-all"}) as log:
            attempt = log.sent("pi-3", 0, bytes_down=len(message))
            ...  # send the message, receive the reply
            attempt.seen(bytes_up=len(reply), client=durations, examples=600, epochs=2, batch=32)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any] | None = None,
        run: str | None = None,
        clients: Mapping[str, Mapping[str, Value]] | None = None,
    ) -> None:
        self.path = Path(path)
        self._run = run
        self._clients = {
            name: {key: _checked(key, value) for key, value in columns.items()}
            for name, columns in (clients or {}).items()
        }
        lines = [f"#! {_setting(key, value)}\n" for key, value in (settings or {}).items()]
        self._lock = threading.Lock()
        self._pending: dict[int, Attempt] = {}
        self._origin = time.perf_counter()
        try:
            self._file: TextIO | None = self.path.open("x", encoding="utf-8", newline="")
        except FileExistsError:
            raise UsageError(
                f"{self.path} exists: a log has one run, so name another file"
            ) from None
        self._file.writelines(lines)
        self._writer = csv.DictWriter(self._file, COLUMNS, lineterminator="\n")
        self._writer.writeheader()
        self._file.flush()

    def now(self) -> float:
        """Return the seconds since the origin of this log."""
        return time.perf_counter() - self._origin

    def sent(
        self,
        client: str | int,
        round: int,  # noqa: A002 - the name of the column
        *,
        bytes_down: int,
        kind: str = "train",
        **columns: Value,
    ) -> Attempt:
        """Begin an attempt and return it: call this just before the message is sent.

        Parameters
        ----------
        client
            Name of the client, the same in all rounds and runs.
        round
            Number of the round, from 0.
        bytes_down
            Bytes of the message.
        kind
            "train", "evaluate" or another.
        **columns
            Other columns of the row, such as ``examples``.
        """
        row: dict[str, Value] = {
            "client": str(client),
            "round": round,
            "bytes_down": bytes_down,
            "kind": kind,
        }
        row.update(columns)
        row = {key: _checked(key, value) for key, value in row.items()}
        attempt = Attempt(self, row)
        with self._lock:
            self._opened()
            self._pending[id(attempt)] = attempt
        row.setdefault("sent_s", self.now())
        return attempt

    def comment(self, text: str) -> None:
        """Write ``text`` as a comment, on lines that begin with ``#``."""
        with self._lock:
            file = self._opened()
            file.writelines(f"# {line}\n" for line in text.splitlines())
            file.flush()

    def close(self) -> None:
        """End the log. Attempts without a reply are written as lost."""
        for attempt in list(self._pending.values()):
            with contextlib.suppress(UsageError):  # another thread has just ended it
                attempt.lost()
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __enter__(self) -> Log:  # noqa: PYI034 - Self is of Python 3.11
        """Return the log, which the end of the block closes."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the log."""
        self.close()

    def _opened(self) -> TextIO:
        if self._file is None:
            raise UsageError(f"{self.path} is closed")
        return self._file

    def _write(self, attempt: Attempt, values: Mapping[str, Value]) -> None:
        """Write the row of an attempt that ends now."""
        values = {key: _checked(key, value) for key, value in values.items()}
        with self._lock:
            file = self._opened()
            if self._pending.pop(id(attempt), None) is None:
                raise UsageError(f"the attempt of client {attempt.client} has ended before")
            row = {**attempt.row, **values, "client": attempt.client}
            row = {**self._clients.get(attempt.client, {}), **row}
            if self._run is not None:
                row.setdefault("run", self._run)
            self._writer.writerow({key: _text(key, value) for key, value in row.items()})
            file.flush()


class Attempt:
    """An attempt that has begun, as :meth:`Log.sent` returns it.

    Exactly one of ``seen`` and ``lost`` ends it. ``log`` gets its ``row``, whose columns and units
    are those of docs/real.md.
    """

    def __init__(self, log: Log, row: dict[str, Value]) -> None:
        self.client = str(row["client"])
        self.row = row
        self._log = log

    def first_byte(self) -> None:
        """Mark the first byte of the reply."""
        self.row["reply_first_s"] = self._log.now()

    def received(self) -> None:
        """Mark that the reply is whole; ``seen`` marks it otherwise."""
        self.row["seen_s"] = self._log.now()

    def seen(
        self,
        *,
        bytes_up: int,
        client: Mapping[str, float] | str | None = None,
        outcome: str = "taken",
        **columns: Value,
    ) -> None:
        """End the attempt with its reply.

        Parameters
        ----------
        bytes_up
            Bytes of the reply.
        client
            What the client's ``Clock.durations()`` or ``Clock.json()`` returned.
        outcome
            "taken", "late" (the server does not wait for it any more) or "failed" (an error).
        **columns
            Other columns of the row, such as ``examples``, ``epochs`` and ``batch``.
        """
        self.row.setdefault("seen_s", self._log.now())
        durations = json.loads(client) if isinstance(client, str) else dict(client or {})
        if unknown := set(durations) - set(DURATIONS):
            raise UsageError(
                f"client {self.client} sends unknown durations: {', '.join(sorted(unknown))}"
            )
        values: dict[str, Value] = {
            **durations,
            "bytes_up": bytes_up,
            "outcome": outcome,
            **columns,
        }
        self._log._write(self, values)  # noqa: SLF001

    def lost(self, outcome: str = "lost", **columns: Value) -> None:
        """End the attempt without a reply.

        ``outcome`` is "lost", or "failed" if an error says so; ``columns`` are as in :meth:`seen`.
        """
        self._log._write(self, {"outcome": outcome, "bytes_up": 0, **columns})  # noqa: SLF001


def _setting(key: str, value: Any) -> str:
    """Return a TOML assignment of a scenario's key."""
    if not _KEY.fullmatch(key):
        raise UsageError(f"{key!r} is not a key of a scenario, such as federation.protocol")
    if isinstance(value, bool | int | str):
        return f"{key} = {json.dumps(value)}"
    if isinstance(value, float) and math.isfinite(value):
        return f"{key} = {value!r}"
    raise UsageError(f"{key} is {value!r}; a setting is a text, a number or a truth value")


def _checked(name: str, value: Value) -> Value:
    """Return a value of a column, or raise an error."""
    if name not in COLUMNS:
        raise UsageError(f"a log has no column {name!r}; its columns are {', '.join(COLUMNS)}")
    if name in _TEXTS:
        if name == "outcome" and value not in OUTCOMES:
            raise UsageError(f"outcome is {value!r}; it is one of {', '.join(OUTCOMES)}")
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    whole = name in _COUNTS
    if not (math.isfinite(number) and number >= 0) or (whole and number != int(number)):
        kind = "whole number" if whole else "finite number"
        raise UsageError(f"{name} is {value!r}; it must be a {kind} of at least 0")
    return int(value) if number == int(number) and not name.endswith("_s") else number


def _text(name: str, value: Value) -> Value:
    """Return what the file has for a value: seconds to the microsecond, other numbers exactly."""
    if isinstance(value, float):
        return f"{value:.6f}" if name.endswith("_s") else repr(value)
    return value
