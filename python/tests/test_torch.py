"""PyTorch models; skipped without torch. "make test-torch" runs them."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyfedsim
from pyfedsim.model import Batch, Server
from test_learner import ROWS, client_data

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from pyfedsim._torch import (  # noqa: E402
    TorchModel,
    count,
    counting,
    forward_flops,
    pick,
)


class Rows:
    """A map-style dataset of pairs."""

    def __init__(self, client: int) -> None:
        self.x, self.y = client_data(client)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, row: int) -> tuple[Any, int]:
        return torch.tensor(self.x[row]), int(self.y[row])


def test_rows_of_a_dataset_are_those_of_tensors() -> None:
    assert count(Rows(1)) == ROWS[1]
    inputs, targets = pick(Rows(1), np.array([4, 2]))
    assert torch.equal(inputs, torch.tensor(client_data(1)[0][[4, 2]]))
    assert targets.tolist() == client_data(1)[1][[4, 2]].tolist()


CNN = nn.Sequential(
    nn.Conv2d(1, 8, 5, stride=2, padding=2),  # 14 x 14: 2 * 196 * 8 * 25 FLOPs
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.Conv2d(8, 16, 3, groups=2),  # 12 x 12: 2 * 144 * 16 * 4 * 9
    nn.ConvTranspose2d(16, 4, 2, stride=2),  # from 12 x 12: 2 * 144 * 16 * 4 * 4
    nn.Flatten(),
    nn.Linear(4 * 24 * 24, 10),  # 2 * 2304 * 10
)
CNN_FLOPS = 2 * (196 * 8 * 25 + 144 * 16 * 36 + 144 * 16 * 16 + 2304 * 10)


def without_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.flop_counter", None)


def test_hooks_count_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    without_counter(monkeypatch)
    assert forward_flops(CNN, torch.zeros(1, 1, 28, 28)) == CNN_FLOPS
    assert forward_flops(CNN, torch.zeros(5, 1, 28, 28)) == 5 * CNN_FLOPS
    assert CNN.training
    assert not any(layer._forward_hooks for layer in CNN.modules())


def test_hooks_count_training_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that runs in the with statement, and nothing after it."""
    without_counter(monkeypatch)
    with counting() as flops:
        nn.functional.cross_entropy(
            CNN(torch.zeros(2, 1, 28, 28)), torch.zeros(2).long()
        ).backward()
        assert flops() == 3 * 2 * CNN_FLOPS
        with torch.no_grad():
            CNN(torch.zeros(1, 1, 28, 28))
    CNN(torch.zeros(1, 1, 28, 28))
    assert flops() == 7 * CNN_FLOPS


def test_flops_that_cannot_be_counted_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    without_counter(monkeypatch)
    with pytest.raises(ValueError, match="FLOPs of a LSTM cannot be counted by hooks"):
        forward_flops(nn.LSTM(3, 4), torch.zeros(1, 2, 3))
    with pytest.raises(ValueError, match="no FLOPs were counted"):
        forward_flops(nn.ReLU(), torch.zeros(1))


def test_uses_the_counter_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the interface of torch.utils.flop_counter.FlopCounterMode."""

    class FlopCounterMode:
        def __init__(self, *, display: bool = True) -> None:
            assert not display
            self.entered = self.left = False

        def __enter__(self) -> Any:
            self.entered = True
            return self

        def __exit__(self, *_: object) -> None:
            self.left = True

        def get_total_flops(self) -> int:
            assert self.entered
            assert self.left
            return 1234

    standin = types.ModuleType("torch.utils.flop_counter")
    standin.FlopCounterMode = FlopCounterMode  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.flop_counter", standin)
    assert forward_flops(CNN, torch.zeros(1, 1, 28, 28)) == 1234
    assert TorchModel(CNN, shape=(1, 28, 28)).row_flops == 3 * 1234


@pytest.mark.skipif(
    not hasattr(torch.utils, "flop_counter") and torch.__version__ < "2.1",
    reason="this torch has no counter of FLOPs",
)
def test_the_counter_of_torch_agrees_with_hooks() -> None:
    assert forward_flops(CNN, torch.zeros(2, 1, 28, 28)) == 2 * CNN_FLOPS


APP = """\
import sys

import torch
import flower_apps as apps
from pyfedsim import Run, flower

client = apps.ClientApp()


@client.train()
def train(message, context):
    model = torch.nn.Linear(20, 4)
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    model(torch.ones(8, 20)).sum().backward()
    arrays = apps.flwr.ArrayRecord(model.state_dict())
    metrics = apps.flwr.MetricRecord({"num-examples": 8})
    return apps.flwr.Message(apps.flwr.RecordDict({"a": arrays, "m": metrics}), reply_to=message)


def main(grid):
    arrays = apps.flwr.ArrayRecord(torch.nn.Linear(20, 4).state_dict())
    apps.strategies.FedAvg(fraction_evaluate=0.0).start(grid, arrays, num_rounds=2)


run = flower.run(apps.plain_app(main), client, apps.scenario(), out=sys.argv[1], figures=False)
print([float(row["flops"]) for row in run.table("rounds", "numpy")])
"""


@pytest.mark.slow
def test_flower_apps_are_counted(fedsim: Path, tmp_path: Path) -> None:
    pytest.importorskip("flwr", reason="Flower is not installed: pip install flwr")
    here = Path(__file__).parent
    environment = {**os.environ, "FEDSIM_BINARY": str(fedsim), "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join([str(here), str(here.parent / "src")])
    done = subprocess.run(
        [sys.executable, "-c", APP, str(tmp_path / "run")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)
    # A counter leaves out the gradient of the inputs, which nobody needs; hooks do not know.
    assert counted in ([12 * passes * 2 * 8 * 20 * 4] * 2 for passes in (2, 3))


LENET = """
import torch
from torch import nn

from pyfedsim import TorchModel, serve


def lenet():
    torch.manual_seed(5)
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    ).double()


def rows(part, client):
    torch.manual_seed(10 * client + part)
    return torch.randn(4 + 2 * client, 1, 28, 28).double(), torch.randint(10, (4 + 2 * client,))


DATA = {"train": [rows(0, k) for k in range(3)], "test": [rows(1, k) for k in range(3)]}

if __name__ == "__main__":
    serve(TorchModel(lenet(), nn.functional.cross_entropy, DATA))
"""


def steps(
    module: Any, data: Any, start: Any, change: Any, *, step: float, batch: int, near: Any = None
) -> int:
    """Make the local steps of a client in a textbook loop, in the order of its rows.

    ``change`` is added to gradients, and 0.1 (w - near), as Ditto does.
    """
    module.load_state_dict(start)
    made = 0
    for first in range(0, len(data[1]), batch):
        module.zero_grad()
        loss = nn.functional.cross_entropy(
            module(data[0][first : first + batch]), data[1][first : first + batch]
        )
        loss.backward()
        with torch.no_grad():
            for name, p in module.named_parameters():
                pull = 0.1 * (p - near[name]) if near else 0
                p.sub_(step * (p.grad + (change[name] if change else 0) + pull))
        made += 1
    return made


def textbook(space: dict[str, Any], algorithm: str, rounds: int) -> list[float]:
    """Return the training losses of clients after rounds; of their own models with Ditto."""
    module, data, step, batch = space["lenet"](), space["DATA"]["train"], 0.05, 3
    w = {n: p.detach().clone() for n, p in module.named_parameters()}
    zero = {n: torch.zeros_like(p) for n, p in w.items()}
    c, own = dict(zero), [dict(zero) for _ in data]  # with FedDyn h, and the terms -g_k
    total = sum(len(d[1]) for d in data)
    personal: list[Any] = [None] * len(data)
    for _ in range(rounds):
        models, variates, taken = [], [], []
        for k, d in enumerate(data):
            pull, near = None, None
            if algorithm == "scaffold":
                pull = {n: c[n] - own[k][n] for n in w}
            if algorithm == "feddyn":  # alpha = 0.1
                pull, near = own[k], w
            made = steps(module, d, w, pull, step=step, batch=batch, near=near)
            after = {n: p.detach().clone() for n, p in module.named_parameters()}
            models.append(after)
            taken.append(made)
            if algorithm == "ditto":
                steps(module, d, personal[k] or w, None, step=step, batch=batch, near=w)
                personal[k] = {n: p.detach().clone() for n, p in module.named_parameters()}
            variates.append({n: own[k][n] - c[n] + (w[n] - after[n]) / (made * step) for n in w})
        if algorithm == "scaffold":
            w = {n: sum(m[n] for m in models) / len(models) for n in w}
            pairs = list(zip(variates, own, strict=True))
            c = {n: old + sum(v[n] - o[n] for v, o in pairs) / 3 for n, old in c.items()}
            own = variates
        elif algorithm == "feddyn":
            mean = {n: sum(m[n] - old for m in models) / len(models) for n, old in w.items()}
            own = [
                {n: t[n] + 0.1 * (m[n] - w[n]) for n in w} for t, m in zip(own, models, strict=True)
            ]
            c = {n: c[n] - 0.1 * mean[n] for n in w}
            w = {n: w[n] + mean[n] - c[n] / 0.1 for n in w}
        elif algorithm == "fednova":
            share = [len(d[1]) / total for d in data]
            length = sum(p * k for p, k in zip(share, taken, strict=True))
            for n, old in w.items():
                moved = zip(share, models, taken, strict=True)
                w[n] = old - length * sum(p * (old - m[n]) / k for p, m, k in moved)
        else:
            w = {
                n: sum(m[n] * len(d[1]) for m, d in zip(models, data, strict=True)) / total
                for n in w
            }
    losses = []
    for k, (x, y) in enumerate(data):
        module.load_state_dict(personal[k] or w)
        with torch.no_grad():
            losses.append(float(nn.functional.cross_entropy(module(x), y)))
    return losses


@pytest.mark.parametrize(("rounds", "tolerance"), [(5, 1e-8), (1, 1e-5)], ids=["double", "float"])
@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", "fednova", "feddyn", "ditto"])
def test_lenet_under_methods_of_fedsim_equals_textbook_loops(
    algorithm: str,
    rounds: int,
    tolerance: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To 1e-8 after five rounds in float64, and to 1e-5 after one in float32."""
    lenet = LENET if rounds > 1 else LENET.replace(".double()", "")
    monkeypatch.setenv("PYTHONPATH", str(Path(pyfedsim.__file__).parent.parent))
    file = tmp_path / "lenet.py"
    file.write_text(lenet, encoding="utf-8")
    space: dict[str, Any] = {"__name__": "lenet"}
    exec(lenet, space)  # noqa: S102
    options: dict[str, Any] = {"step": 0.05, "batch": 3, "shuffle": False}
    if algorithm in ("scaffold", "feddyn"):
        options["weights"] = "equal"
    scenario = {
        "name": "lenet",
        "data": {
            "source": "external",
            "target": "classes",
            "external": {"clients": 3, "rows": [4, 6, 8]},
        },
        "problem": {
            "model": "external",
            "program": {"command": [sys.executable, str(file)]},
            "regularizer": "independent",
        },
        "run": {"rounds": rounds, "client_metrics": ["loss"]},
        "methods": {algorithm: {"options": options}},
    }
    run = pyfedsim.run(
        scenario, out=tmp_path / "out", progress=False, figures=False, allow_external=True
    )
    clients = run.table("client_values", "numpy")
    losses = [r["value"] for r in clients if r["split"] == "train" and r["name"] == "loss"]
    np.testing.assert_allclose(losses, textbook(space, algorithm, rounds), rtol=tolerance)


def test_a_model_takes_rows_of_fedsim_in_the_shape_of_its_module() -> None:
    torch.manual_seed(1)
    module = nn.Sequential(nn.Flatten(), nn.Linear(6, 3))
    model = TorchModel(module, shape=(2, 3))
    model.features, model.outputs = 6, 3
    start = model.initial(np.random.default_rng(0))
    w, g = start.copy(), np.empty_like(start)
    model.mapped(w, g)
    x, y = np.arange(12, dtype=np.float32).reshape(2, 6) / 10, np.array([0.0, 2.0])
    batch = Batch(0, "train", np.arange(2, dtype=np.int32), x, y)
    loss, none = model.gradient(w, batch, np.random.default_rng(0))
    assert none is None
    assert model.dtype == "float32"
    assert model.row_flops == 3 * 2 * 6 * 3
    about = Server(model).on_hello({"v": [1], "features": 6, "outputs": 3})
    weight = {"name": "1.weight", "shape": [3, 6]}
    assert about["shapes"] == [weight, {"name": "1.bias", "shape": [3]}]
    # The gradient of the mean cross-entropy, by hand.
    p = np.exp(x @ start[:18].reshape(3, 6).T + start[18:])
    p /= p.sum(axis=1, keepdims=True)
    assert loss == pytest.approx(-np.log(p[[0, 1], [0, 2]]).mean(), rel=1e-5)
    p[[0, 1], [0, 2]] -= 1
    np.testing.assert_allclose(g, np.append((p.T @ x / 2).ravel(), p.mean(0)), atol=1e-6)
    assert model.evaluate(w, batch)[0] == pytest.approx(loss, rel=1e-6)


def test_losses_and_weights_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cross-entropy as of losses by row that are given; other losses have none."""
    monkeypatch.setattr("pyfedsim._torch._EVALUATED_ROWS", 2)
    x, y = np.arange(6, dtype=np.float64).reshape(3, 2) / 10, np.array([0.0, 2.0, 1.0])
    squared = nn.functional.mse_loss

    def squares(outputs: Any, targets: Any) -> Any:
        return (outputs.reshape(-1) - targets) ** 2

    def mean(outputs: Any, targets: Any) -> Any:
        return squared(outputs.reshape(-1), targets)

    for loss, row_loss, outputs in ((None, None, 3), (mean, squares, 1)):
        model = TorchModel(nn.Linear(2, outputs).double(), loss, row_loss=row_loss)
        about = Server(model).on_hello({"v": [1], "features": 2, "outputs": outputs})
        assert about["predictions"] == outputs
        w = model.initial(np.random.default_rng(0))
        g = np.empty_like(w)
        model.mapped(w, g)

        def gradient(rows: list[int], weights: list[float] | None) -> tuple[float, Any]:
            given = None if weights is None else np.array(weights)
            batch = Batch(0, "train", np.array(rows, np.int32), x[rows], y[rows], given)
            value, _ = model.gradient(w, batch, np.random.default_rng(0))  # noqa: B023
            return value, g.copy()  # noqa: B023

        batch = Batch(0, "train", np.arange(3, dtype=np.int32), x, y)
        losses, targets, predictions = model.losses(w, batch)
        assert losses.mean() == pytest.approx(model.evaluate(w, batch)[0])
        assert targets.tolist() == y.tolist()
        z = x @ w[: 2 * outputs].reshape(outputs, 2).T + w[2 * outputs :]
        if outputs > 1:
            z = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(predictions, z)
        value, both = gradient([0, 2], [0.5, 3.0])
        assert value == pytest.approx((0.5 * losses[0] + 3 * losses[2]) / 2)
        one, two = gradient([0], None)[1], gradient([2], None)[1]
        np.testing.assert_allclose(both, (0.5 * one + 3 * two) / 2)
    assert "predictions" not in Server(TorchModel(nn.Linear(2, 1), squared)).on_hello(
        {"v": [1], "features": 2, "real": True}
    )


def test_metrics_get_the_outputs_of_all_rows_of_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are computed in several batches."""
    monkeypatch.setattr("pyfedsim._torch._EVALUATED_ROWS", 2)

    def second(outputs: Any, targets: Any) -> Any:
        return outputs[:, 1].sum() + 100 * targets.float().sum() + 1000 * len(outputs)

    metrics = {"second": second, "rows": (lambda _, targets: len(targets), "lower", "row")}
    module = nn.Linear(2, 3).double()
    model = TorchModel(module, metrics=metrics)
    server = Server(model)
    about = server.on_hello({"v": [1], "features": 2, "outputs": 3})
    assert about["metrics"] == [
        {"name": "second", "better": "higher", "unit": ""},
        {"name": "rows", "better": "lower", "unit": "row"},
    ]
    assert {second, nn.Linear, TorchModel} <= {of for of in model.code() if callable(of)}
    model.features, model.outputs = 2, 3
    w = model.initial(np.random.default_rng(0))
    model.mapped(w, np.empty_like(w))
    x, y = np.arange(10.0).reshape(5, 2), np.array([0.0, 2.0, 1.0, 0.0, 1.0])
    batch = Batch(0, "test", np.arange(5, dtype=np.int32), x, y)
    model.evaluate(w, batch)
    outputs = x @ w[:6].reshape(3, 2).T + w[6:]
    want = {"second": outputs[:, 1].sum() + 400 + 5000, "rows": 5}
    assert {n: float(v) for n, v in model.measure(w, batch).items()} == pytest.approx(want)


NORM = LENET.replace("nn.ReLU(), nn.Linear(120, 84)", "nn.BatchNorm1d(120), nn.Linear(120, 84)")


def test_running_means_of_batch_normalization_are_averaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FedAvg of a network with a layer of batch normalization equals a textbook loop."""
    monkeypatch.setenv("PYTHONPATH", str(Path(pyfedsim.__file__).parent.parent))
    file = tmp_path / "norm.py"
    file.write_text(NORM, encoding="utf-8")
    space: dict[str, Any] = {"__name__": "norm"}
    exec(NORM, space)  # noqa: S102
    module, data = space["lenet"](), space["DATA"]["train"]
    w = {n: v.clone() for n, v in module.state_dict().items()}
    for _ in range(3):
        models = []
        for d in data:
            module.train()
            steps(module, d, w, None, step=0.05, batch=2)
            models.append({n: v.clone() for n, v in module.state_dict().items()})
        for n, old in w.items():
            if old.is_floating_point():
                w[n] = sum(m[n] * len(d[1]) for m, d in zip(models, data, strict=True)) / 18
    module.load_state_dict(w)
    module.eval()
    with torch.no_grad():
        want = [float(nn.functional.cross_entropy(module(x), y)) for x, y in data]
    scenario = {
        "name": "norm",
        "data": {
            "source": "external",
            "target": "classes",
            "external": {"clients": 3, "rows": [4, 6, 8]},
        },
        "problem": {
            "model": "external",
            "program": {"command": [sys.executable, str(file)]},
            "regularizer": "independent",
        },
        "run": {"rounds": 3, "client_metrics": ["loss"]},
        "methods": {"fedavg": {"options": {"step": 0.05, "batch": 2, "shuffle": False}}},
    }
    run = pyfedsim.run(
        scenario, out=tmp_path / "out", progress=False, figures=False, allow_external=True
    )
    clients = run.table("client_values", "numpy")
    losses = [r["value"] for r in clients if r["split"] == "train" and r["name"] == "loss"]
    np.testing.assert_allclose(losses, want, rtol=1e-8)
    with pytest.raises(
        pyfedsim.errors.FedsimError, match="fedadam does not, and 240 values are set"
    ):
        pyfedsim.run(
            scenario | {"methods": {"fedadam": {}}},
            out=tmp_path / "no",
            progress=False,
            figures=False,
            allow_external=True,
        )


def test_normalization_that_counts_is_refused() -> None:
    with pytest.raises(TypeError, match="set a momentum"):
        TorchModel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, momentum=None)))


def test_threads_are_those_of_openblas_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's OpenBLAS has threads of its own, which torch.set_num_threads does not reach."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    maps = Path("/proc/self/maps")
    if not maps.exists() or "libopenblas" not in maps.read_text("utf-8"):
        pytest.skip("this process has no OpenBLAS of the system")
    blas = ctypes.CDLL("libopenblas.so.0")
    blas.openblas_set_num_threads(2)
    for threads in (1, 2):
        model = TorchModel(nn.Linear(2, 2), threads=threads)
        Server(model).on_hello({"v": [1], "features": 2, "outputs": 2})
        assert blas.openblas_get_num_threads() == threads


def test_random_numbers_are_those_of_the_seed() -> None:
    rng = TorchModel(nn.Linear(2, 2)).draws(7)
    other = np.random.default_rng(7)
    for _ in range(2):
        assert rng.random() == other.random()
