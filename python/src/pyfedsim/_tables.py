"""Read tables of a run directory with the library that is installed."""

from __future__ import annotations

import contextlib
import csv
import html
import importlib.util
import itertools
from typing import TYPE_CHECKING, Any, Literal

from pyfedsim.errors import FedsimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import numpy as np

__all__ = ["SHOWN", "Library", "choose", "html_of_rows", "of_rows", "read_csv"]

Library = Literal["pandas", "polars", "numpy"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "numpy")

# Tables of fedsim show, whose cells are text.
SHOWN = ("times", "ends")

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


def of_rows(rows: list[dict[str, str]], library: Library) -> Any:
    """Return rows of text as a DataFrame of pandas or polars, or as they are for NumPy."""
    if library == "numpy":
        return rows
    names = list(dict.fromkeys(itertools.chain(*rows)))
    columns = {name: [row.get(name) for row in rows] for name in names}
    if library == "pandas":
        import pandas as pd  # noqa: PLC0415 - optional

        return pd.DataFrame(columns)
    import polars as pl  # noqa: PLC0415 - optional

    return pl.DataFrame(columns)


def html_of_rows(rows: list[dict[str, str]]) -> list[str]:
    """Return a table of HTML for each group of successive rows with the same names of columns."""

    def line(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

    return [
        f"<table><thead>{line('th', names)}</thead><tbody>"
        f"{''.join(line('td', row.values()) for row in group)}</tbody></table>"
        for names, group in itertools.groupby(rows, key=tuple)
    ]


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
