from __future__ import annotations

import sys
from pathlib import Path

import pytest

import pyfedsim
from pyfedsim import _binary
from pyfedsim.errors import BinaryNotFoundError, UsageError


def program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _binary.NAME
    path.write_text("#!/bin/sh\necho fedsim 1.0\n")
    path.chmod(0o755)
    return path


def test_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable comes first, then the program of the package, then PATH."""
    named, own, listed = (program(tmp_path / name) for name in ("named", "package/bin", "path"))
    monkeypatch.setattr(_binary, "__file__", str(tmp_path / "package" / "_binary.py"))
    monkeypatch.setenv("PATH", f"{listed.parent}:/bin")
    monkeypatch.setenv("FEDSIM_BINARY", str(named))
    assert _binary.find() == named
    monkeypatch.delenv("FEDSIM_BINARY")
    assert _binary.find() == own
    own.unlink()
    assert _binary.find() == listed
    listed.unlink()
    with pytest.raises(BinaryNotFoundError, match="fedsim not found"):
        _binary.find()


def test_named_program_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDSIM_BINARY", str(tmp_path / "none"))
    with pytest.raises(BinaryNotFoundError, match="is no program"):
        _binary.find()


@pytest.mark.parametrize("text", ["#!/bin/sh\necho fedsims\n", "#!/bin/sh\nyes\n", ""])
def test_another_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    other = program(tmp_path)
    other.write_text(text)
    monkeypatch.setattr(_binary, "__file__", str(tmp_path / "package" / "_binary.py"))
    monkeypatch.setenv("FEDSIM_BINARY", str(other))
    with pytest.raises(BinaryNotFoundError, match=r"FEDSIM_BINARY=.*: is another program than fed"):
        _binary.find()
    monkeypatch.delenv("FEDSIM_BINARY")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(BinaryNotFoundError, match="found in PATH: is another program than fedsim"):
        _binary.find()


def test_a_program_that_hangs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose own child holds its output."""
    other = program(tmp_path)
    other.write_text("#!/bin/sh\nsleep 1000\n")
    monkeypatch.setenv("FEDSIM_BINARY", str(other))
    monkeypatch.setattr(_binary, "_ANSWER_S", 0.2)
    with pytest.raises(
        BinaryNotFoundError, match=r'does not answer "fedsim ..." within 0.2 s: set'
    ):
        _binary.find()


@pytest.mark.parametrize("out", ["\udcff", "a\0b"])
def test_arguments_are_text(fedsim: Path, out: str) -> None:
    with pytest.raises(UsageError, match=r"must be text without zero bytes and lone surrogates"):
        pyfedsim.run("quickstart", out=out, set={"run.rounds": 1})
    with pytest.raises(UsageError, match=r"must be text without"):
        pyfedsim.Engine({}, method="m", out=out)


def test_relative_name_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDSIM_BINARY", str(Path("here") / _binary.NAME))
    assert _binary.find() == tmp_path / "here" / _binary.NAME
    assert sys.platform == "win32" or _binary.find().is_absolute()
