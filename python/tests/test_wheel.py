"""The wheel of this machine has the program; the sdist has its Go sources."""

from __future__ import annotations

import doctest
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]

pytest.importorskip("hatchling", reason="hatchling is not installed")


@pytest.fixture(scope="session")
def build_module() -> ModuleType:
    sys.path.insert(0, str(ROOT))
    try:
        import hatch_build  # noqa: PLC0415 - not a package
    finally:
        sys.path.remove(str(ROOT))
    return hatch_build


def test_versions(build_module: ModuleType) -> None:
    assert doctest.testmod(build_module).failed == 0
    for text, want in [
        ("v1.2.3-rc.1 66066450df90", "1.2.3rc1"),
        ("v0.0.0-20261122112455-66066450df90 66066450df90", "0.0.0.dev20261122112455+g66066450df90"),
        ("v1.2.3+dirty 66066450df90", "1.2.3+dirty"),
        ("v1.0.0-rc.1.0.20261122112455-66066450df90 66066450df90", "1.0.0rc1.dev20261122112455+g66066450df90"),
        ("(devel) 66066450df90", "0.0.0.dev0"),
    ]:  # fmt: skip
        assert build_module.python_version(text) == want


def test_message_without_go(build_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match=r"needs Go 1\.26 or later .* PYFEDSIM_NO_BINARY=1"):
        build_module.go(["version"])


def run(*command: str | Path, **options: Any) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if done.returncode != 0 and "No matching distribution" in done.stdout:
        pytest.skip("pip cannot reach PyPI")
    assert done.returncode == 0, done.stdout
    return str(done.stdout)


SCRIPT = """
import subprocess, sys, pyfedsim
from pyfedsim import _binary
print(pyfedsim.__version__)
print(subprocess.run([_binary.find(), "version"], capture_output=True, text=True).stdout.splitlines()[0])
run = pyfedsim.run("quickstart", set={"run.rounds": 2, "run.seeds": [1]}, progress=False)
print(len(run.runs), len(run.figure().svg) > 1000)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_wheel_runs_without_go(build_module: ModuleType, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    goos, goarch = build_module.host()
    assert wheel.name.endswith(f"-py3-none-{build_module.TAGS[goos, goarch]}.whl")
    assert wheel.stat().st_size < 20e6
    with zipfile.ZipFile(wheel) as archive:
        assert "pyfedsim/py.typed" in archive.namelist()
    fresh = tmp_path / "venv"
    venv.create(fresh, with_pip=False)
    scripts = fresh / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / Path(sys.executable).name
    run(*pip, "--python", python, "install", "-q", wheel)
    clean = {
        key: value
        for key, value in os.environ.items()
        if key not in {"FEDSIM_BINARY", "PYTHONPATH", "VIRTUAL_ENV"}
    }
    clean["PATH"] = str(scripts)
    version, program, result = run(python, "-c", SCRIPT, cwd=tmp_path, env=clean).splitlines()
    assert version == build_module.python_version(program.removeprefix("fedsim "))
    assert result == "4 True"
    # The command of the package is the program.
    assert run(scripts / "fedsim", "version", cwd=tmp_path, env=clean).splitlines()[0] == program
    assert run(python, "-m", "pyfedsim", "version", env=clean).splitlines()[0] == program


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_sdist_has_the_sources(build_module: ModuleType, tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert sdist.stat().st_size < 5e6
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert (folder / build_module.STAMP).read_text().strip() == build_module.program_version()
    for goos, goarch in build_module.TAGS:
        # Fails if a package or an embedded file is missing.
        listed = run(
            *("go", "list", "-deps", "-f", "{{.ImportPath}}", "./cmd/fedsim"),
            cwd=folder / "go",
            env={**os.environ, "GOOS": goos, "GOARCH": goarch},
        )
        assert "fedsim/scenarios" in listed.split()
