"""Runs the code of docs/python.md: up to the model in order, in one folder; then each section."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyfedsim
from test_calibration import write

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page is not in the sdist")


@pytest.mark.slow
def test_python_page(fedsim: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
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


@pytest.mark.once
def test_the_model_of_the_page(fedsim: Path, tmp_path: Path) -> None:
    """Run line.toml with line.py, and check them."""
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


@pytest.mark.once
def test_the_torch_model_of_the_page(fedsim: Path, tmp_path: Path) -> None:
    """Check layers.py, and let it learn."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    block = re.search(r"^`layers.py`\n\n```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert block is not None
    (tmp_path / "layers.py").write_text(block[1])
    (tmp_path / "layers.toml").write_text(
        f"""[data]
target = "classes"
synthetic = {{ clients = 3, features = 784, classes = 10, rows_min = 30, rows_max = 40 }}
bias = false
[problem]
model = "external"
program.command = ["{sys.executable}", "layers.py"]
[run]
rounds = 5
[methods.fedavg]
[[experiment]]
name = "layers"
"""
    )
    in_folder(
        tmp_path,
        f"""import subprocess, pyfedsim
subprocess.run(["{fedsim}", "check", "--model", "layers.toml"], check=True)
pyfedsim.run("layers.toml", allow_external=True, figures=False)""",
    )
    rounds = pyfedsim.Run(tmp_path / "runs" / "layers").table("rounds", "numpy")
    assert rounds["primal"][-1] < 0.95 * rounds["primal"][0]


@pytest.mark.slow
@pytest.mark.usefixtures("fedsim")
def test_the_download_of_the_page(tmp_path: Path) -> None:
    """The files are there: nothing is fetched from a network."""
    data = Path(os.environ.get("FEDSIM_DATA", "missing")) / "mnist"
    if not data.is_dir():
        pytest.skip(f"no {data}: set FEDSIM_DATA to the folder that has mnist")
    block = re.search(r"\n## Public data\n.*?```py\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert block is not None
    shutil.copytree(data, tmp_path / "data" / "mnist")
    (tmp_path / "mine.toml").write_text(
        """data.target = "classes"
data.partition = { method = "iid", clients = 100 }
run = { rounds = 3, eval_every = 3 }
methods.fedavg = {}
"""
    )
    in_folder(tmp_path, "import pyfedsim\n" + block[1])
    rounds = pyfedsim.Run(tmp_path / "runs" / "mine").table("rounds", "numpy")
    assert rounds["test_error"][-1] < 0.4


def in_folder(folder: Path, code: str) -> None:
    """Run code of the page in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(pyfedsim.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.once
@pytest.mark.usefixtures("fedsim")
def test_the_calibration_of_the_page(tmp_path: Path) -> None:
    """Its logs are of test_calibration.py."""
    for number, size in enumerate([100_000, 100_000, 200_000, 400_000]):
        write(tmp_path / f"run{number + 1}.csv", [size], [1 + number])
    block = re.search(
        r"\n## Calibrate and predict\n.*?```py\n(.*?)^```", PAGE.read_text(), re.M | re.S
    )
    assert block is not None
    in_folder(tmp_path, block[1])
    assert len(pyfedsim.Run(tmp_path / "runs" / "deadline").table("rounds", "numpy")) > 1


@pytest.mark.once
@pytest.mark.usefixtures("fedsim")
def test_the_method_of_the_page(tmp_path: Path) -> None:
    """Run momentum.py as an argument, and from a file."""
    page = PAGE.read_text().partition("\n## A method of your own\n")[2]
    code, table = (
        re.search(rf"^```{kind}\n(.*?)^```", page, re.M | re.S) for kind in ("python", "toml")
    )
    call = re.search(r"^`(pyfedsim\.run\(.*?\))`", page, re.M)
    assert code is not None
    assert table is not None
    assert call is not None
    (tmp_path / "momentum.py").write_text(code[1])
    (tmp_path / "mine.toml").write_text(
        table[1].replace('"python3"', f'"{sys.executable}"')
        + '[run]\nrounds = 3\n[[experiment]]\nname = "mine"\n'
    )
    few = 'set={"run.max_time_s": 5, "run.seeds": [1]}, progress=False, figures=False)'
    start = "import pyfedsim\nfrom momentum import Momentum\n"
    in_folder(tmp_path, start + call[1].replace(")", ", " + few))
    in_folder(tmp_path, start + 'pyfedsim.run("mine.toml", allow_external=True, figures=False)')
    for name, methods in (("quickstart", 5), ("mine", 1)):
        rows = pyfedsim.Run(tmp_path / "runs" / name).table("runs", "numpy")
        assert len(set(rows["method"])) == methods
        assert "momentum" in {m.lower() for m in rows["method"]}
