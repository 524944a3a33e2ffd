"""Run commands of fedsim."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from pyfedsim import _binary
from pyfedsim.errors import error_of_exit, reports_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["call", "watch"]

WINDOWS = platform.system() == "Windows"


def call(arguments: Sequence[str | os.PathLike[str]]) -> str:
    """Run a command that takes little time and return its standard output.

    Raises
    ------
    FedsimError
        The exception of the exit status.
    """
    done = subprocess.run(
        _binary.command(arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise error_of_exit(done.returncode, done.stderr)
    return done.stdout


def watch(
    arguments: Sequence[str],
    progress: Callable[[dict[str, Any]], None],
    text: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str, str, bool]:
    """Run a command with ``--progress json``.

    The command is in a session of its own, so that an interrupt from the terminal
    reaches this program alone. The first KeyboardInterrupt passes it on: fedsim saves
    what it has and ends. The second kills it. If this program is killed, fedsim ends at
    its next line of progress.

    Parameters
    ----------
    arguments
        Command and arguments of fedsim.
    progress
        Called with each line of progress (docs/reference/json.md).
    text
        Called with each other line of standard error. Lines that report a failure come
        at the end, and only if there was none (warnings).
    environment
        Additions to the environment.

    Returns
    -------
    tuple
        Exit status, standard output, standard error without progress, and whether a
        KeyboardInterrupt came.
    """
    options: dict[str, Any] = {"start_new_session": True}
    if WINDOWS:
        options = {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP
    process = subprocess.Popen(
        _binary.command(arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        **options,
    )
    assert process.stdout is not None  # noqa: S101 - for mypy
    assert process.stderr is not None  # noqa: S101
    output: list[bytes] = []
    errors: list[str] = []
    stdout = process.stdout
    reader = threading.Thread(target=lambda: output.append(stdout.read()), daemon=True)
    reader.start()
    interrupted = False
    try:
        while True:
            try:
                line = process.stderr.readline().decode(errors="replace")
                if not line:
                    break
                _take(line.rstrip("\r\n"), errors, progress, text)
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                _interrupt(process)
        reader.join()
        status = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        reader.join()
        stdout.close()
        process.stderr.close()
    if status == 0:
        for line in filter(reports_failure, errors):
            text(line)
    return status, output[0].decode(), "\n".join(errors), interrupted


def _take(
    line: str,
    errors: list[str],
    progress: Callable[[dict[str, Any]], None],
    text: Callable[[str], None],
) -> None:
    """Pass on a line of standard error."""
    if line.startswith('{"done":'):
        progress(json.loads(line))
        return
    errors.append(line)
    if not reports_failure(line):
        text(line)


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):  # it may have ended
        interrupt = getattr(signal, "CTRL_BREAK_EVENT") if WINDOWS else signal.SIGINT  # noqa: B009 - only on Windows
        process.send_signal(interrupt)
