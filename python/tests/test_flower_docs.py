"""The example of docs/flower.md, run as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyfedsim import Run, _binary

pytest.importorskip("flwr", reason="Flower is not installed: pip install flwr")

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("fedsim")
def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs/flower.md").read_text()
    files = dict(re.findall(r"\n`(\S+)`\n\n```\w+\n(.*?)```", text, re.DOTALL))
    assert set(files) == {"app.py", "phones.toml", "experiment.py"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    environment = {**os.environ, "FEDSIM_BINARY": str(_binary.find()), "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = str(ROOT / "python/src")
    subprocess.run(
        [sys.executable, "experiment.py"], cwd=tmp_path, env=environment, check=True, timeout=100
    )
    assert (tmp_path / "accuracy.png").stat().st_size > 10_000
    accuracy, seconds = {}, {}
    for method in ("equal", "stragglers"):
        rows = Run(tmp_path / "runs" / method).table("rounds", "numpy")
        assert len(rows) == 30
        accuracy[method], seconds[method] = 1 - rows["test_error"][-1], rows["time_s"][-1]
    assert min(accuracy.values()) > 0.8
    assert seconds["stragglers"] > 1.2 * seconds["equal"]
