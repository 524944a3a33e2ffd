"""Find the program fedsim."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pyfedsim.errors import BinaryNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_ANSWER_S = 10.0

NAME = "fedsim.exe" if sys.platform == "win32" else "fedsim"


def find() -> Path:
    """Return the path of the program fedsim.

    The first that exists counts: the environment variable ``FEDSIM_BINARY``, the
    program in this package (wheels have one), ``fedsim`` in ``PATH``.

    Raises
    ------
    BinaryNotFoundError
        If there is none, or if ``FEDSIM_BINARY`` or ``PATH`` lead to another program.
    """
    named = os.environ.get("FEDSIM_BINARY")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BinaryNotFoundError(
                f"FEDSIM_BINARY={named}: is no program: set it to the path of fedsim, or unset it"
            )
        return _checked(
            found, f"FEDSIM_BINARY={named}", "set it to the path of fedsim, or unset it"
        )
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
    return _checked(found, f"{found}, found in PATH", "set FEDSIM_BINARY to the path of fedsim")


def command(arguments: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the program and its arguments.

    Raises
    ------
    BinaryNotFoundError
        As :func:`find`.
    UsageError
        If an argument has what no text has, such as the surrogate of a byte in the name of a file.
    """
    texts = [os.fspath(argument) for argument in arguments]
    for text in texts:
        try:
            whole = b"\0" not in text.encode()
        except UnicodeEncodeError:
            whole = False
        if not whole:
            raise UsageError(f"{text!r}: must be text without zero bytes and lone surrogates")
    return [str(find()), *texts]


def _checked(found: str, what: str, remedy: str) -> Path:
    """Return the absolute path of a program that says that it is fedsim."""
    path = Path(found).absolute()
    if not _is_fedsim(path, path.stat().st_mtime_ns):
        raise BinaryNotFoundError(
            f'{what}: is another program than fedsim: "{path} version" does not answer '
            f'"fedsim ..." within {_ANSWER_S:g} s: {remedy}'
        )
    return path


@functools.lru_cache
def _is_fedsim(path: Path, modified_ns: int) -> bool:
    """Return whether a program prints the version of fedsim; it is asked once."""
    del modified_ns
    expected = b"fedsim "
    try:
        asked = subprocess.Popen(
            [path, "version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=sys.platform != "win32",
        )
    except OSError:  # it cannot be started
        return False
    assert asked.stdout is not None  # noqa: S101 - for mypy
    answer: list[bytes] = []
    read = asked.stdout.read
    reader = threading.Thread(target=lambda: answer.append(read(len(expected))), daemon=True)
    reader.start()
    reader.join(_ANSWER_S)
    _end(asked)
    reader.join(1)
    if not reader.is_alive():  # else a process that it left behind holds the pipe
        asked.stdout.close()
    return answer == [expected]


def _end(program: subprocess.Popen[bytes]) -> None:
    """Kill a program with those that it has started."""
    if sys.platform == "win32":
        program.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    program.wait()
