"""Find the program fedsim."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from pyfedsim.errors import BinaryNotFoundError

NAME = "fedsim.exe" if sys.platform == "win32" else "fedsim"


def find() -> Path:
    """Return the path of the program fedsim.

    The first that exists counts: the environment variable ``FEDSIM_BINARY``, the
    program in this package (wheels have one), ``fedsim`` in ``PATH``.

    Raises
    ------
    BinaryNotFoundError
        If there is none, or if ``FEDSIM_BINARY`` names no program.
    """
    named = os.environ.get("FEDSIM_BINARY")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BinaryNotFoundError(
                f"FEDSIM_BINARY={named}: is no program: set it to the path of fedsim, or unset it"
            )
        return Path(found).absolute()
    own = Path(__file__).parent / "bin" / NAME
    if own.is_file():
        return own
    # Not the command of this package, which starts this function.
    scripts = sysconfig.get_path("scripts")
    folders = [f for f in os.environ.get("PATH", os.defpath).split(os.pathsep) if f != scripts]
    found = shutil.which("fedsim", path=os.pathsep.join(folders))
    if found is None:
        raise BinaryNotFoundError(
            "fedsim not found: this installation of pyfedsim has no program, and PATH has none; "
            'build one with "make build" and set FEDSIM_BINARY to its path'
        )
    return Path(found).absolute()
