"""What ``import pyfedsim`` and the command fedsim load."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyfedsim

HEAVY = {"numpy", "pandas", "polars", "torch", "flwr", "tqdm", "IPython", "asyncio", "ssl"}


@pytest.mark.parametrize(
    "module", ["pyfedsim", "pyfedsim.__main__", "pyfedsim.observe", "pyfedsim.traces"]
)
def test_import_is_light(module: str) -> None:
    """Nothing heavy is imported: the time of an import is that of such modules."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", f"import {module}"],
        env={"PYTHONPATH": str(Path(pyfedsim.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE))
    assert module in loaded
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()


@pytest.mark.parametrize("name", [*pyfedsim.__all__, "method", "model", "data"])
def test_every_name_exists(name: str) -> None:
    if name == "TorchModel":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    assert getattr(pyfedsim, name).__name__.rpartition(".")[2] == name


def test_completion_knows_every_name() -> None:
    assert set(pyfedsim.__all__) <= set(dir(pyfedsim))


def test_unknown_name() -> None:
    """Type checkers find it, too: mypy would call a comment without an error unused."""
    with pytest.raises(AttributeError, match="module 'pyfedsim' has no attribute 'lerner'"):
        pyfedsim.lerner  # type: ignore[attr-defined]  # noqa: B018
