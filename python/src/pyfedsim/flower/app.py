"""What an app can ask of fedsim while it runs: the clock, and the ends of rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyfedsim.errors import UsageError

from .names import split_of

if TYPE_CHECKING:
    from .grid import VirtualGrid
    from .rounds import Rounds

_running: list[tuple[VirtualGrid, Rounds]] = []


def now() -> float:
    """Return the virtual time in seconds since the start of the run.

    In a ClientApp it is the time at which its message was sent.

    Raises
    ------
    UsageError
        If no app runs on fedsim.
    """
    return _current()[0].now_ns / 1e9


def sleep(seconds: float) -> None:
    """Advance the virtual clock by ``seconds``; for a ServerApp. Messages travel meanwhile."""
    _current()[0].sleep(seconds)


def close(number: int | None = None, metrics: Mapping[str, float] | None = None) -> dict[str, Any]:
    """End a round of a ServerApp without a strategy.

    Parameters
    ----------
    number
        Its number, compared with fedsim's; 0, before the first message, records the metrics of
        the initial model; None: not compared.
    metrics
        Values of metrics of the whole model by name. A prefix ``train_``, ``validation_`` or ``test_`` of a key
        names its split; without one it is test.

    Returns
    -------
    dict
        The row of the round, with the columns of rounds.parquet.
    """
    rounds = _current()[1]
    for key, value in (metrics or {}).items():
        rounds.report(split_of(key), {key: value})
    return rounds.close(number)


def running() -> bool:
    """Return whether an app runs on fedsim, so that the functions here can be used."""
    return bool(_running)


def _current() -> tuple[VirtualGrid, Rounds]:
    if not _running:
        raise UsageError("no Flower app runs on fedsim: call this from an app that it runs")
    return _running[-1]
