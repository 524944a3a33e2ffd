"""Runs the Python code of docs/python.md up to the model, in order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyfedsim

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.mark.slow
def test_python_page(fedsim: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    if not PAGE.is_file():
        pytest.skip("the page is not in the sdist")
    page = PAGE.read_text().partition("\n## A model of your own\n")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(pyfedsim.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "stragglers.svg").read_text().count("<path") > 5


def test_the_model_of_the_page(fedsim: Path, tmp_path: Path) -> None:
    """Run line.toml with line.py, and check them."""
    if not PAGE.is_file():
        pytest.skip("the page is not in the sdist")
    for name in ("line.py", "line.toml"):
        block = re.search(rf"^`{name}`\n\n```\w+\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        assert block is not None
        (tmp_path / name).write_text(block[1].replace('"python3"', f'"{sys.executable}"'))
    environment = {**os.environ, "PYTHONPATH": str(Path(pyfedsim.__file__).parents[1])}
    for arguments in (["check", "--model"], ["run", "--allow-external", "--no-figures"]):
        done = subprocess.run(
            [fedsim, *arguments, "line.toml"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
    rounds = pyfedsim.Run(tmp_path / "runs" / "line").table("rounds", "numpy")
    for method in ("fedavg", "scaffold", "fednova"):
        errors = rounds["test_error"][rounds["algorithm"] == method]
        assert errors[-1] < 0.9 * errors[0]
