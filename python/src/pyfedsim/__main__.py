"""The command fedsim, also as ``python -m pyfedsim``."""

from __future__ import annotations

import os
import subprocess
import sys

from pyfedsim import _binary
from pyfedsim._process import WINDOWS
from pyfedsim.errors import BinaryNotFoundError


def main() -> int:
    """Run the program with the arguments of this process and return its exit status."""
    try:
        program = _binary.find()
    except BinaryNotFoundError as error:
        sys.stderr.write(f"fedsim: {error}\n")
        return 1
    command = [str(program), *sys.argv[1:]]
    if not WINDOWS:
        os.execv(program, command)  # noqa: S606 - replaces this process
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main())
