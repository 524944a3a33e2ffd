from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyfedsim import BinaryNotFoundError, _binary


def program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _binary.NAME
    path.write_text("")
    path.chmod(0o755)
    return path


def test_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable comes first, then the program of the package, then PATH."""
    named, own, listed = (program(tmp_path / name) for name in ("named", "package/bin", "path"))
    monkeypatch.setattr(_binary, "__file__", str(tmp_path / "package" / "_binary.py"))
    monkeypatch.setenv("PATH", str(listed.parent))
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


def test_relative_name_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDSIM_BINARY", str(Path("here") / _binary.NAME))
    assert _binary.find() == tmp_path / "here" / _binary.NAME
    assert sys.platform == "win32" or _binary.find().is_absolute()
