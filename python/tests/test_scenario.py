from __future__ import annotations

import datetime as dt
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyfedsim
from pyfedsim._scenario import arguments, as_file, dumps
from pyfedsim.errors import ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip(
        "tomli", reason="tomllib is new in Python 3.11, and tomli is absent"
    )


DOCUMENT: dict[str, Any] = {
    "name": "dict",
    "data": {"path": 'a "b" \\ \n\t\x01\x7f é', "seed": 3},
    "methods": {"mocha": {}, "a.b": {"label": "", "options": {"epochs": [1, 2]}}},
    "float": [1.0, 1e300, 1e-7, -0.0, 123456789012345680.0, float("inf"), float("-inf")],
    "mixed": [1, "x", {"y": [], "z z": {"w": True}}],
    "experiment": [
        {"name": "one", "axes": {"k": [1]}, "inner": [{"a": 1}, {"a": 2}]},
        {"name": "two", "figure": {"title": "t"}},
    ],
    "when": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc),
    "day": dt.date(2026, 1, 2),
    "large": 2**63 - 1,
    "truth": False,
    "empty": {},
    "none": [],
}


def test_dumps_round_trip() -> None:
    back = tomllib.loads(dumps(DOCUMENT))
    assert back == DOCUMENT
    assert str(back["float"]) == str(DOCUMENT["float"])  # -0.0, and floats stay floats


def test_dumps_nan() -> None:
    value = tomllib.loads(dumps({"x": float("nan")}))["x"]
    assert value != value  # noqa: PLR0124 - NaN


def generated(source: random.Random, depth: int) -> Any:
    kind = source.randrange(7 if depth else 4)
    if kind == 0:
        return source.randrange(-(2**63), 2**63)
    if kind == 1:
        return source.uniform(-1, 1) * 10.0 ** source.randrange(-300, 300)
    if kind == 2:
        return "".join(
            chr(source.choice([0, 9, 10, 34, 92, 65, 127, 233, 0x1F600])) for _ in range(5)
        )
    if kind == 3:
        return source.random() < 0.5
    if kind == 4:
        return [generated(source, depth - 1) for _ in range(source.randrange(4))]
    return {
        f"k{i}{source.choice(['', '.', ' ', '-', 'é'])}": generated(source, depth - 1)
        for i in range(source.randrange(4))
    }


@pytest.mark.parametrize("seed", range(200))
def test_dumps_generated_round_trip(seed: int) -> None:
    source = random.Random(seed)
    document = {f"key{i}": generated(source, 4) for i in range(5)}
    assert tomllib.loads(dumps(document)) == document


def test_numpy_values() -> None:
    text = dumps({"a": np.float64(0.5), "b": np.arange(3), "c": np.bool_(True), "d": Path("x")})
    assert tomllib.loads(text) == {"a": 0.5, "b": [0, 1, 2], "c": True, "d": "x"}


@pytest.mark.parametrize("value", [None, {1, 2}, b"x", object(), [1, None]])
def test_values_without_form(value: object) -> None:
    with pytest.raises(ScenarioError, match=r"run\.x: ") as caught:
        dumps({"run": {"x": value}})
    assert caught.value.key == "run.x"


def test_arguments() -> None:
    assert arguments({"a.b": 1, "c": "3g", "d": [1.5, True]}) == [
        "--set", "a.b=1", "--set", 'c="3g"', "--set", "d=[1.5, true]",
    ]  # fmt: skip
    assert arguments(None) == []


def test_dotted_keys_are_not_tables() -> None:
    with pytest.raises(
        ScenarioError, match=r'run\.rounds: must be nested: {"run": {"rounds": ...}}'
    ):
        as_file({"run.rounds": 5}).__enter__()


def test_as_file(tmp_path: Path) -> None:
    with as_file("quickstart") as name:
        assert name == "quickstart"
    with as_file(tmp_path / "x.toml") as name:
        assert name == str(tmp_path / "x.toml")
    with as_file({"name": "mine", "run": {"rounds": 3}}) as name:
        path = Path(name)
        assert path.name == "mine.toml"
        assert tomllib.loads(path.read_text()) == {"name": "mine", "run": {"rounds": 3}}
    assert not path.exists()
    with pytest.raises(ScenarioError, match="must be a name"), as_file({"name": "a/b"}):
        pass


@pytest.mark.usefixtures("fedsim")
def test_a_name_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins with a dash reaches the program as a name."""
    monkeypatch.chdir(tmp_path)
    for start in (pyfedsim.run, partial(pyfedsim.Engine, method="m")):
        with pytest.raises(ScenarioError, match=r"^--help: unknown scenario --help"):
            start("--help")
    kept = pyfedsim.run(
        "quickstart", set={"run.rounds": 1}, seed=1, out="--out", figures=False, progress=False
    )
    assert "complete" in kept.summary()
    assert kept.report().name == "report.html"
    assert list(tmp_path.iterdir()) == [tmp_path / "--out"]
