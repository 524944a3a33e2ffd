"""The writers with stand-ins of the trackers, and with tensorboardX if it is installed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import pyfedsim
from pyfedsim import Engine

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO: dict[str, Any] = {
    "name": "driven",
    "data": {"synthetic": {"clients": 2, "features": 3}},
    "methods": {"mocha": {}},
}


@pytest.fixture(scope="module")
def made(fedsim: Path, tmp_path_factory: pytest.TempPathFactory) -> pyfedsim.Run:
    with Engine(SCENARIO, method="Mine", out=tmp_path_factory.mktemp("x") / "run") as engine:
        for number in (1, 2):
            engine.exchange(
                number,
                "train",
                [{"id": number, "client": 0, "down_bytes": 1, "flops": 1.0, "up_bytes": 1}],
            )
            value = {"split": "test", "name": "auc", "value": 0.5 * number}
            engine.close_round(number, [number], metrics=[value])  # type: ignore[list-item]
        return pyfedsim.Run(engine.finish()["directory"])


def module(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    made = ModuleType(name)
    made.__dict__.update(content)
    monkeypatch.setitem(sys.modules, name, made)


def check(logged: list[tuple[str, float, int]], run: pyfedsim.Run) -> None:
    assert [(n, v, s) for n, v, s in logged if n == "test_auc"] == [
        ("test_auc", 0.5, 1),
        ("test_auc", 1.0, 2),
    ]
    times = [v for n, v, s in logged if n == "time_s"]
    assert times == list(run.table("rounds", "numpy")["time_s"])
    assert "suboptimality" not in {n for n, _, _ in logged}  # unknown in all rounds


def test_tensorboard(made: pyfedsim.Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    logged: list[tuple[str, float, int]] = []
    folders = []

    class SummaryWriter:
        def __init__(self, folder: str) -> None:
            folders.append(folder)

        def __enter__(self) -> SummaryWriter:  # noqa: PYI034
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def add_text(self, name: str, text: str) -> None:
            assert "method: Mine" in text

        def add_scalar(self, name: str, value: float, step: int, walltime: float) -> None:
            logged.append((name, value, step))
            assert walltime in made.table("rounds", "numpy")["time_s"]

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    module(monkeypatch, "tensorboardX", SummaryWriter=SummaryWriter)
    assert made.to_tensorboard(tmp_path) == tmp_path
    assert len(folders) == 1
    check(logged, made)


def test_tensorboardx(made: pyfedsim.Run, tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    made.to_tensorboard(tmp_path)
    assert [path.stat().st_size > 100 for path in tmp_path.rglob("*tfevents*")] == [True]


def test_mlflow(made: pyfedsim.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[str, float, int]] = []
    parameters: dict[str, str] = {}

    class Active:
        info = SimpleNamespace(run_id="id1")

        def __enter__(self) -> Active:  # noqa: PYI034
            return self

        def __exit__(self, *_: object) -> None:
            pass

    class Client:
        def log_batch(self, run_id: str, metrics: list[tuple[str, float, int, int]]) -> None:
            assert run_id == "id1"
            logged.extend((name, value, step) for name, value, _, step in metrics)

    module(monkeypatch, "mlflow.entities", Metric=lambda *values: values)
    module(
        monkeypatch,
        "mlflow",
        start_run=lambda run_name: Active(),
        log_params=parameters.update,
        MlflowClient=Client,
        set_experiment=lambda name: parameters.update(experiment_name=name),
    )
    assert made.to_mlflow("phones") == ["id1"]
    assert parameters["experiment_name"] == "phones"
    assert parameters["method"] == "Mine"
    check(logged, made)


def test_wandb(made: pyfedsim.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[str, float, int]] = []

    class Active:
        id = "w1"

        def define_metric(self, name: str, step_metric: str) -> None:
            assert step_metric == "time_s"

        def log(self, values: dict[str, float], step: int) -> None:
            logged.extend((name, value, step) for name, value in values.items())

        def finish(self) -> None:
            pass

    options: dict[str, Any] = {}

    def init(**given: Any) -> Active:
        options.update(given)
        return Active()

    module(monkeypatch, "wandb", init=init)
    assert made.to_wandb(project="p") == ["w1"]
    assert options["project"] == "p"
    assert options["config"]["method"] == "Mine"
    check(logged, made)


def test_missing_libraries(
    made: pyfedsim.Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("mlflow", "wandb", "tensorboardX", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(pyfedsim.errors.FedsimError, match="pip install mlflow"):
        made.to_mlflow()
    with pytest.raises(pyfedsim.errors.FedsimError, match="pip install wandb"):
        made.to_wandb()
    with pytest.raises(pyfedsim.errors.FedsimError, match="pip install tensorboardX"):
        made.to_tensorboard(tmp_path)
