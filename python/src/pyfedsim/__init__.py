"""Federated learning on slow, unreliable devices, in virtual time.

The program fedsim simulates devices, links, batteries and dropouts. This package runs
its scenarios and lends its clock to learners that are written in Python.
"""

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
from pyfedsim.learner import Learner, Metric, Update
from pyfedsim.model import Batch, Model, serve
from pyfedsim.runs import DataSet, Figure, Run, run, sweep
from pyfedsim.writers import to_mlflow, to_tensorboard, to_wandb

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
    "run",
    "serve",
    "sweep",
    "to_mlflow",
    "to_tensorboard",
    "to_wandb",
]


def __getattr__(name: str) -> str:
    """Return ``__version__``: that of the program in the wheel."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import

    try:
        return version("pyfedsim")
    except PackageNotFoundError:  # imported from its sources
        return "0.0.0.dev0"
