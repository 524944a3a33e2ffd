"""Federated learning on slow, unreliable devices, in virtual time.

The program fedsim simulates devices, links, batteries and dropouts. This package runs
its scenarios and lends its clock to learners that are written in Python.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pyfedsim.calibration import Calibration
from pyfedsim.engine import Engine
from pyfedsim.errors import (
    BinaryNotFoundError,
    EngineClosedError,
    EngineError,
    ExternalError,
    FedsimError,
    Interrupted,
    Problem,
    RunError,
    ScenarioError,
    Stalled,
    UsageError,
)
from pyfedsim.runs import DataSet, Figure, Run, run, sweep
from pyfedsim.writers import to_mlflow, to_tensorboard, to_wandb

if TYPE_CHECKING:  # type checkers know these names alone, and find misspelled ones
    from pyfedsim._download import download
    from pyfedsim.learner import Learner, Metric, Update
    from pyfedsim.model import Batch, Model, serve

    __version__: str

__all__ = [
    "Batch",
    "BinaryNotFoundError",
    "Calibration",
    "DataSet",
    "Engine",
    "EngineClosedError",
    "EngineError",
    "ExternalError",
    "FedsimError",
    "Figure",
    "Interrupted",
    "Learner",
    "Metric",
    "Model",
    "Problem",
    "Run",
    "RunError",
    "ScenarioError",
    "Stalled",
    "Update",
    "UsageError",
    "download",
    "run",
    "serve",
    "sweep",
    "to_mlflow",
    "to_tensorboard",
    "to_wandb",
]


# Names of modules that import NumPy or ssl: the command fedsim and a driver need none.
_LATER = {
    "download": "_download",
    **dict.fromkeys(("Learner", "Metric", "Update"), "learner"),
    **dict.fromkeys(("Batch", "Model", "serve"), "model"),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return ``__version__``, that of the program in the wheel, or a name of ``_LATER``."""
        if name in _LATER:
            return getattr(importlib.import_module(f"pyfedsim.{_LATER[name]}"), name)
        if name in _LATER.values():
            return importlib.import_module(f"pyfedsim.{name}")
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import

        try:
            return version("pyfedsim")
        except PackageNotFoundError:  # imported from its sources
            return "0.0.0.dev0"

    def __dir__() -> list[str]:
        """Return all names, for completion."""
        return sorted({*globals(), *__all__})
