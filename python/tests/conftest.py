from __future__ import annotations

from pathlib import Path

import pytest

import pyfedsim
from pyfedsim import BinaryNotFoundError, _binary


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
