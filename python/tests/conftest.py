from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyfedsim import BinaryNotFoundError, _binary

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def fedsim() -> Path:
    """Return the program, which tests that run it need."""
    try:
        return _binary.find()
    except BinaryNotFoundError as error:
        pytest.skip(str(error))
