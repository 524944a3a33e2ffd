"""Writes the files of this folder with SciPy (1.17.1) and NumPy: base64 of what they save.

Task t = 0, 1, 2 has t + 2 rows of 3 features x[i, j] = (-1)^j (20 t + 5 i + j), as
unsigned types without the sign and as floats an eighth of it, and targets t - i.
"""

import base64
import io
import pathlib

import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.io

HERE = pathlib.Path(__file__).parent


def x(t: int, dtype: str) -> np.ndarray:
    i, j = np.arange(t + 2)[:, None], np.arange(3)
    values = (20 * t + 5 * i + j) * np.where(dtype[0] == "u", 1, (-1.0) ** j)
    return (values / (8 if dtype[0] == "f" else 1)).astype(dtype)


def write(name: str, variables: dict[str, object], **options: object) -> None:
    out = io.BytesIO()
    scipy.io.savemat(out, variables, **options)
    text = base64.encodebytes(out.getvalue()).decode()
    (HERE / f"{name}.mat.b64").write_text(text)


for dtype in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]:
    cells = np.empty((1, 3), object)
    targets = np.empty((3, 1), object)
    for t in range(3):
        cells[0, t] = x(t, dtype)
        targets[t, 0] = (t - np.arange(t + 2.0))[None if t % 2 else slice(None), slice(None) if t % 2 else None]
    write(dtype, {"other": "text", "X": cells, "Y": targets}, do_compression=dtype[1] != "4")
write(
    "matrix",
    {
        "features": np.concatenate([x(t, "f8") for t in range(3)]),
        "labels": np.concatenate([t - np.arange(t + 2.0) for t in range(3)]),
        "school": np.repeat([3, 1, 2], [2, 3, 4]),
    },
)

# Arrays of NumPy (2.4.6): the rows of x, in Fortran order, with texts as labels.
out = io.BytesIO()
np.savez_compressed(
    out,
    x=np.asfortranarray(np.concatenate([x(t, "f4") for t in range(3)])),
    y=np.array(["b", "é", "b", "é", "b", "b", "é", "b", "b"]),
    task=np.repeat(["two", "ten", "one"], [2, 3, 4]),
    z=np.array([{"an": "object"}]),
)
(HERE / "arrays.npz.b64").write_text(base64.encodebytes(out.getvalue()).decode())

# A parquet file of PyArrow (26.0.1).
out = io.BytesIO()
columns = {
    "task": np.repeat(["two", "ten", "one"], [2, 3, 4]),
    "label": ["b", "é", "b", "é", "b", "b", "é", "b", "b"],
    "x": list(np.concatenate([x(t, "f4") for t in range(3)])),
    "gap": [1, None, 3, 4, 5, 6, 7, 8, 9],
    "odd": np.arange(9) % 2 == 1,
    "big": np.array([2**64 - 1] + [1] * 8, "u8"),
}
pyarrow.parquet.write_table(pyarrow.table(columns), out, row_group_size=4)
(HERE / "arrow.parquet.b64").write_text(base64.encodebytes(out.getvalue()).decode())
