"""Read tables of a run directory with the library that is installed."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
from typing import TYPE_CHECKING, Any, Literal

from pyfedsim.errors import FedsimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np

__all__ = ["Library", "choose", "read_csv"]

Library = Literal["pandas", "polars", "numpy"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "numpy")

# Columns of text, whatever they hold: a method may be named 1 or nan.
TEXT = (
    *("run", "experiment", "method", "algorithm", "status", "reason", "outcome", "class"),
    *("split", "name"),
)


def choose(library: Library | None) -> Library:
    """Return the library to use: the first of pandas, polars and NumPy that is installed.

    Raises
    ------
    FedsimError
        If the named library is unknown or not installed.
    """
    if library is None:
        return next(name for name in LIBRARIES if importlib.util.find_spec(name))
    if library not in LIBRARIES:
        raise FedsimError(f"library={library!r}: must be one of {', '.join(LIBRARIES)}")
    if importlib.util.find_spec(library) is None:
        raise FedsimError(f"{library} is not installed: pip install {library}")
    return library


def read_csv(path: Path, library: Library) -> Any:
    """Return a table in csv as a DataFrame of pandas or polars, or as a structured array."""
    return {"pandas": _pandas, "polars": _polars, "numpy": _numpy}[library](path)


def _pandas(path: Path) -> Any:
    import pandas as pd  # noqa: PLC0415 - optional

    options: dict[str, Any] = {}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later ones read all digits
        options["float_precision"] = "round_trip"
    return pd.read_csv(
        path, dtype=dict.fromkeys(TEXT, "str"), keep_default_na=False, na_values=[""], **options
    )


def _polars(path: Path) -> Any:
    import polars as pl  # noqa: PLC0415 - optional

    # polars reads +Inf as text.
    table = _numpy(path)
    frame = pl.DataFrame({name: table[name] for name in table.dtype.names})
    return frame.with_columns(
        pl.col(pl.Float64).fill_nan(None), pl.col(pl.String).replace("", None)
    )


def _numpy(path: Path) -> Any:
    """Return a structured array: int64, uint64 or float64 columns, and text."""
    import numpy as np  # noqa: PLC0415 - importing this package does without

    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        names = next(rows)
        cells = list(rows)
    columns = [
        np.array([row[i] for row in cells], dtype=np.str_)
        if name in TEXT
        else _column([row[i] for row in cells])
        for i, name in enumerate(names)
    ]
    table = np.empty(len(cells), dtype=[(n, c.dtype) for n, c in zip(names, columns, strict=True)])
    for name, column in zip(names, columns, strict=True):
        table[name] = column
    return table


def _column(cells: list[str]) -> np.ndarray[Any, Any]:
    """Return the values of a column: integers, floats (NaN if empty) or text."""
    import numpy as np  # noqa: PLC0415

    for dtype, convert in _DTYPES:
        with contextlib.suppress(ValueError, OverflowError):
            return np.array([convert(cell) for cell in cells], dtype=dtype)
    return np.array(cells, dtype=np.str_)


def _float(cell: str) -> float:
    return float(cell) if cell else float("nan")


_DTYPES: tuple[tuple[str, Callable[[str], float]], ...] = (
    ("int64", int),
    ("uint64", int),
    ("float64", _float),
)
