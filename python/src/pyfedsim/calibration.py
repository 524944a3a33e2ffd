"""Calibrate fedsim on logs of real federations, and predict runs with the result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pyfedsim import _process, _tables, _temporary
from pyfedsim.errors import UsageError
from pyfedsim.runs import Run, run

if TYPE_CHECKING:
    from pyfedsim._tables import Library

__all__ = ["Calibration"]

# A path, or several.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Calibration:
    """The model of a real federation: the directory that ``fedsim calibrate`` writes.

    Parameters
    ----------
    directory
        A calibration. :meth:`fit` makes one.

    Raises
    ------
    UsageError
        The directory holds no calibration.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        if not (self.directory / "calibration.json").is_file():
            raise UsageError(
                f"{self.directory} holds no calibration: make one with Calibration.fit(logs, out)"
            )

    @classmethod
    def fit(
        cls,
        logs: Paths,
        out: str | os.PathLike[str],
        *,
        hold_out: Literal["rounds", "runs"] | None = None,
        seed: int | None = None,
        force: bool = False,
    ) -> Calibration:
        """Fit the times of clients and links to logs; write and return the calibration.

        Parameters
        ----------
        logs
            One or more logs (docs/real.md), as :mod:`pyfedsim.observe` writes them.
        out
            The directory to write.
        hold_out
            Also predict each round, or each run, by a fit to the others.
        seed
            Seed of the resamples of the confidence intervals; None: the default of fedsim.
        force
            Replace a calibration in ``out``.

        Raises
        ------
        UsageError
            A log is wrong or too short, or ``out`` exists; the message says what and where.
        """
        arguments = ["calibrate", *_paths(logs), "--out", os.fspath(out)]
        if hold_out is not None:
            arguments += ["--hold-out", hold_out]
        if seed is not None:
            arguments += ["--seed", str(seed)]
        if force:
            arguments.append("--force")
        _process.call(arguments)
        return cls(out)

    @cached_property
    def values(self) -> dict[str, Any]:
        """All estimates with unit and 95 % interval (calibration.json); None: not identified."""
        text = (self.directory / "calibration.json").read_text(encoding="utf-8")
        return cast("dict[str, Any]", json.loads(text))

    @property
    def not_identified(self) -> list[dict[str, str]]:
        """The terms that the logs cannot tell: ``term``, ``for`` and ``why``."""
        return cast("list[dict[str, str]]", self.values["not_identified"])

    @property
    def report(self) -> str:
        """The report, at most 80 columns wide."""
        return (self.directory / "report.txt").read_text(encoding="utf-8")

    @property
    def scenario(self) -> Path:
        """The scenario that replays the setting of the logs: base of every what-if."""
        return self.directory / "scenario.toml"

    @property
    def fleet(self) -> Path:
        """The fleet of the clients of the logs."""
        return self.directory / "fleet.toml"

    def run(self, **options: Any) -> Run:
        """Run the scenario and return the results; ``options`` are those of :func:`pyfedsim.run`.

        A what-if is a setting: ``calibration.run(set={"federation.protocol": "deadline",
        "federation.deadline_s": 2.5})``.
        """
        return run(str(self.scenario), **options)

    def check(self, logs: Paths) -> str:
        """Return the errors of the calibration on ``logs`` that it has not seen, as a text.

        Beside them stand the errors of nominal values and, for repeated runs, the noise floor.
        """
        return _process.call(["calibrate", "--check", *_paths(logs), "--with", str(self.directory)])

    def replay(self, logs: Paths, library: Library | None = None) -> Any:
        """Return each attempt of logs as measured and as predicted, in seconds.

        Parameters
        ----------
        logs
            One or more logs.
        library
            ``"pandas"``, ``"polars"`` or ``"numpy"``; None: the first that is installed.

        Returns
        -------
        table
            A DataFrame, or a structured array: ``run``, ``round``, ``client``, ``outcome``,
            ``taken``, and ``measured_`` and ``predicted_`` columns of ``sent_s``, ``seen_s``,
            ``downlink_s``, ``waiting_s``, ``compute_s`` and ``uplink_s``.
        """
        library = _tables.choose(library)
        with _temporary.folder() as folder:
            path = folder / "attempts.csv"
            arguments = ["--with", str(self.directory), "--attempts", str(path)]
            _process.call(["calibrate", "--check", *_paths(logs), *arguments])
            return _tables.read_csv(path, library)

    def __repr__(self) -> str:
        """Show the directory and what it was fitted to."""
        runs, clients = len(self.values["runs"]), len(self.values["clients"])
        return f"Calibration({str(self.directory)!r}: {clients} clients, {runs} runs)"


def _paths(logs: Paths) -> list[str]:
    """Return the paths of one or several logs."""
    if isinstance(logs, str | os.PathLike):
        logs = [logs]
    paths = [os.fspath(path) for path in logs]
    if not paths:
        raise UsageError("logs: must name one log at least")
    return paths
