from __future__ import annotations

import signal
from pathlib import Path

import pytest

import pyfedsim
from pyfedsim import _binary
from pyfedsim.errors import BinaryNotFoundError

# A shell ignores SIGINT in what it runs in the background, and tests would wait for it for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def fedsim() -> Path:
    """Return the program, which tests that run it need."""
    try:
        return _binary.find()
    except BinaryNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs of learners import this package, installed or not."""
    monkeypatch.setenv("PYTHONPATH", str(Path(pyfedsim.__file__).parent.parent))
