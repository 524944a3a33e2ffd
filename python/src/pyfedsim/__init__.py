"""Federated learning on slow, unreliable devices, in virtual time.

The program fedsim simulates devices, links, batteries and dropouts. This package runs
its scenarios, and lets models and methods that are written in Python take part. Exceptions are in
:mod:`pyfedsim.errors`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pyfedsim import errors as errors
from pyfedsim.calibration import Calibration
from pyfedsim.engine import Engine
from pyfedsim.runs import Run, run, sweep

if TYPE_CHECKING:  # type checkers know these names alone, and find misspelled ones
    from pyfedsim import data as data
    from pyfedsim._torch import TorchModel
    from pyfedsim.method import Method
    from pyfedsim.model import Model
    from pyfedsim.protocols import serve

    __version__: str

__all__ = [
    "Calibration",
    "Engine",
    "Method",
    "Model",
    "Run",
    "TorchModel",
    "run",
    "serve",
    "sweep",
]


# Names of modules that import NumPy, PyTorch or ssl: the command fedsim and a driver need none.
_LATER = {"Method": "method", "Model": "model", "TorchModel": "_torch", "serve": "protocols"}
_MODULES = {*_LATER.values(), "data"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return ``__version__``, that of the program in the wheel, or a name of ``_LATER``."""
        if name in _LATER:
            return getattr(importlib.import_module(f"pyfedsim.{_LATER[name]}"), name)
        if name in _MODULES:
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
