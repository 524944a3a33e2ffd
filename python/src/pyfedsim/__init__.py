"""Federated learning on slow, unreliable devices, in virtual time.

The program fedsim simulates devices, links, batteries and dropouts. This package runs
its scenarios and lends its clock to learners that are written in Python.
"""

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
from pyfedsim.learner import Learner, Metric, Update, serve
from pyfedsim.runs import Figure, Run, run, sweep

__all__ = [
    "BinaryNotFoundError",
    "Engine",
    "EngineClosedError",
    "EngineError",
    "ExternalError",
    "FedsimError",
    "Figure",
    "Interrupted",
    "Learner",
    "Metric",
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
]
