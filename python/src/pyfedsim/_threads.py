"""Threads of the linear algebra libraries that this process has loaded."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_NAMES = [
    f"{prefix}openblas_set_num_threads{suffix}"
    for prefix in ("", "scipy_")
    for suffix in ("", "64_", "_64")
]


def limit_blas(threads: int) -> None:
    """Set the threads of OpenBLAS, unless OPENBLAS_NUM_THREADS says how many it has.

    ``torch.set_num_threads`` does not reach an OpenBLAS with threads of its own, such as Debian's:
    then each process would have one on every core.
    """
    if "OPENBLAS_NUM_THREADS" in os.environ:
        return
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:  # not on Linux
        return
    for file in sorted({line.partition("/")[2] for line in lines if "openblas" in line}):
        library = ctypes.CDLL(f"/{file}")
        for name in _NAMES:
            if hasattr(library, name):
                getattr(library, name)(ctypes.c_int(threads))
