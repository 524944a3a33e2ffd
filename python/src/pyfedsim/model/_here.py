"""A model that lives in this process: the program that fedsim starts passes requests on to it."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pyfedsim.errors import UsageError

if TYPE_CHECKING:
    from pyfedsim.model import Model

PLACE = "PYFEDSIM_MODEL"
"""The environment variable with the path of the socket."""

COMMAND = [sys.executable, "-m", "pyfedsim.protocols", "here"]
"""The program that passes requests on. A resumed run has the same."""


class Here:
    """Serves a model of this process, in threads, while it is open.

    ``error`` is the first exception of the model, with its traceback.
    """

    def __init__(self, model: Model) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError(
                "model: must be a class in a file on this system, which has no sockets in files"
            )
        self.model = model
        self.error: BaseException | None = None
        self._fingerprint = functools.cache(model.fingerprint)  # attributes may change in a run
        self._folder = tempfile.mkdtemp(prefix="fedsim-")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._folder) / "model"))
        self._listener.listen()
        self.environment = {PLACE: str(Path(self._folder) / "model")}

    def __enter__(self) -> Here:  # noqa: PYI034 - typing has Self from Python 3.11 on
        """Begin to serve."""
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the socket. What is connected ends with its program."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        from pyfedsim.model import Server  # noqa: PLC0415 - it imports this module

        server = Server(self.model, quiet=True)
        server.fingerprint = self._fingerprint
        with connection, connection.makefile("rb") as requests, contextlib.suppress(OSError):
            for line in requests:
                response = server.answer(line)
                self.error = self.error or server.error
                connection.sendall(response)


def pass_on(requests: BinaryIO, responses: BinaryIO) -> None:
    """Pass requests on to the process that has the model, and its responses back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ[PLACE])
        with connection.makefile("rb") as answers:
            for line in requests:
                connection.sendall(line)
                answer = answers.readline()
                if not answer:
                    return
                responses.write(answer)
                responses.flush()
