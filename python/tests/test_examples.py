"""The examples of examples/python, cut short. They need the real data, in FEDSIM_DATA."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyfedsim

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"

pytestmark = [
    pytest.mark.usefixtures("fedsim", "importable"),
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here"),
]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run a scenario with this Python."""
    data = Path(os.environ.get("FEDSIM_DATA", EXAMPLES.parents[2] / "shared" / "data"))
    monkeypatch.setenv("FEDSIM_DATA", str(data))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)

    def run(name: str, needs: str, settings: dict[str, Any]) -> pyfedsim.Run:
        if not (data / needs).exists():
            pytest.skip(f"{needs} is not in {data}: set FEDSIM_DATA to the folder that has it")
        scenario = EXAMPLES / name
        return pyfedsim.run(
            scenario,
            set=settings,
            out=tmp_path / "run",
            progress=False,
            allow_external=True,
        )

    return run


@pytest.mark.slow
def test_numpy_fedavg(example: Any) -> None:
    run = example("numpy_fedavg.toml", "har.zip", {"run.rounds": 2, "run.seeds": [1]})
    rounds = run.table("rounds", "numpy")
    assert len(rounds) == 6
    assert list(rounds["test_error"] < 0.25) == [False, True, True] * 2
    # A message has 8 bytes for each weight, and a header of 64 bytes. All ten phones respond,
    # or those that neither drop out nor exceed the deadline.
    answers = rounds["bytes_up"] / (8 * 562 * 6 + 64)
    assert list(answers[:3]) == [0, 10, 10]
    assert list(answers[4:]) == list(np.rint(answers[4:]))


@pytest.mark.slow
def test_torch_mnist(example: Any) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    run = example("torch_mnist.toml", "mnist", {"run.rounds": 2})
    rounds = run.table("rounds", "numpy")
    assert len(rounds) == 9
    values = 784 * 64 + 64 + 64 * 10 + 10
    up = rounds["bytes_up"].reshape(3, 3)[:, 1:]
    assert np.all(up >= 20 * (8 * values + 64))
    # 60 images, 5 times, forward and twice that backward; a multiply and an add count as 2.
    assert rounds["flops"].max() % (60 * 5 * 3 * 2 * (784 * 64 + 64 * 10)) == 0
    assert rounds["test_error"].reshape(3, 3)[:, -1].max() < 0.9


def blocks(page: Path) -> dict[str, str]:
    """Return the code blocks of a page that have the name of a file above them."""
    found = re.findall(r"^`([\w.]+)`\n\n```\w*\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    return dict(found)


@pytest.mark.once
def test_page(tmp_path: Path, fedsim: Path) -> None:
    """The programs of docs/python.md learn, and keep to their protocols."""
    for name, text in blocks(EXAMPLES.parents[1] / "docs" / "python.md").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    line = {"problem.program.command": [sys.executable, str(tmp_path / "line.py")]}
    plain = {"methods.momentum.options.beta": 0.0}
    momentum = {"methods.momentum.program.command": [sys.executable, str(tmp_path / "momentum.py")]}
    run = pyfedsim.run(
        tmp_path / "line.toml",
        set={**line, "methods.momentum.algorithm": "external", **momentum, **plain},
        out=tmp_path / "line",
        progress=False,
        allow_external=True,
    )
    rounds = run.table("rounds", "numpy")
    last = {row["method"]: row["primal"] for row in rounds}
    assert len(last) == 4
    assert max(last.values()) < rounds["primal"][0]
    assert abs(last["momentum"] - last["fedavg"]) < 1e-12  # without momentum


@pytest.mark.slow
def test_comparison_with_flower(fedsim: Path, tmp_path: Path) -> None:
    """The Flower app learns on the phones of the comparison, with its times and bytes."""
    pytest.importorskip("flwr", reason="Flower is not installed: pip install flwr")
    data = Path(os.environ.get("FEDSIM_DATA", EXAMPLES.parents[2] / "shared" / "data"))
    if not (data / "har.zip").exists():
        pytest.skip(f"har.zip is not in {data}: set FEDSIM_DATA to the folder that has it")
    for name in ("comparison.toml", "rows.py", "comparison_flower.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    environment = {**os.environ, "FEDSIM_DATA": str(data), "FEDSIM_BINARY": str(fedsim)}
    export = [str(fedsim), "data", "export", "comparison.toml", "--out", "rows"]
    for command in (export, [sys.executable, "-W", "ignore", "comparison_flower.py", "6"]):
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=100)
    rounds = pyfedsim.Run(tmp_path / "runs" / "comparison-flower").table("rounds", "numpy")
    assert list(rounds["round"]) == list(range(7))
    np.testing.assert_allclose(rounds["time_s"], 0.3 * np.arange(7))
    assert rounds["test_error"][0] == 1
    assert rounds["test_error"][-1] < 0.15
    assert np.all(rounds["participants"][1:] >= 20)
    assert np.all(rounds["flops"] % (4 * 561) == 0)
