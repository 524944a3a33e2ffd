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
