"""Methods in Python are those of fedsim: the same times, and the same models to 1e-12."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import methods
import pyfedsim
from pyfedsim.errors import ExternalError, ScenarioError

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
SCENARIO: dict[str, Any] = {
    "name": "methods",
    "data": {"synthetic": {"clients": 12, "features": 8, "client_spread": 0.5}, "bias": True},
    "problem": {"loss": "logistic", "regularizer": "independent", "optimum": {"when": "never"}},
    "devices": {"clock_ghz": 0.002, "speed_spread": 0.8},
    "network": {"profile": "lte", "jitter": 0.5, "wire": {"bytes_per_value": 4}},
    "faults": {"drop_probability": 0.2},
    "federation": {"server_gflops": 1e-5},
    "run": {"rounds": 12, "seeds": [1, 2]},
    "experiment": [{"name": "methods", "figure": {"y": "test_error"}}],
}
CLASSES = {"data.target": "classes", "data.synthetic.classes": 3}
SAME = ("time_s", "participants", "dropped", "late", "flops", "bytes_down", "bytes_up", "energy_j")

MODEL = """
import numpy as np
from pyfedsim import Model, serve


class Net(Model):
    \"\"\"A hidden layer with dropout, and a running mean.\"\"\"

    buffers = 1
    dtype = "float32"

    def initial(self, rng):
        return np.append(rng.normal(size=self.features), 0.0)

    def gradient(self, w, batch, rng):
        x = batch.x * (rng.random(batch.x.shape) < 0.8)
        miss = x @ w[:-1] - batch.y
        return (miss**2).mean() / 2, np.append(x.T @ miss / len(miss), 0.9 * w[-1] + 0.1 * x.mean())

    def evaluate(self, w, batch):
        miss = batch.x @ w[:-1] + w[-1] - batch.y
        return (miss**2).mean() / 2, float((batch.y * (batch.x @ w[:-1]) <= 0).sum())


if __name__ == "__main__":
    serve(Net)
"""


def pair(
    tmp_path: Path, method: Any, built_in: str, settings: dict[str, Any], **options: Any
) -> pyfedsim.Run:
    """Run a method in Python beside one of fedsim, with the same options."""
    local = {"epochs": 3.0, "step": 0.4, "batch": 16, **options}
    scenario = {**SCENARIO, "methods": {"fedsim": {"algorithm": built_in, "options": local}}}
    settings = {**settings, **{f"methods.python.options.{k}": v for k, v in local.items()}}
    net = tmp_path / "net.py"
    run = pyfedsim.run(
        scenario,
        method={"python": method},
        model=str(net) if net.exists() else None,
        set=settings,
        out=tmp_path / "run",
        progress=False,
        allow_external=True,
    )
    rounds = run.table("rounds", "numpy")
    mine, theirs = (rounds[rounds["method"] == name] for name in ("python", "fedsim"))
    for column in SAME:
        np.testing.assert_array_equal(mine[column], theirs[column])
    for column in ("primal", "train_error", "test_error", "test_error_clients"):
        np.testing.assert_allclose(mine[column], theirs[column], rtol=0, atol=1e-12)
    runs = {r["id"]: r for r in run.manifest["runs"]}
    for name, of in runs.items():
        other = name.replace("/python/", "/fedsim/")
        assert of["event_hash"] == runs[other]["event_hash"]
    assert mine["test_error"].min() < mine["test_error"][0]
    return run


PROTOCOLS: dict[str, dict[str, Any]] = {
    "wait-for-all": {},
    "first": {"federation.clients_per_round": 3, "federation.protocol_options.over_selection": 1.5},
    "deadline": {"federation.deadline_s": 0.09, "federation.late": "keep"},
}


@pytest.mark.once
@pytest.mark.usefixtures("fedsim", "importable")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fedprox_in_a_loop_of_its_own(tmp_path: Path, protocol: str) -> None:
    settings = {"federation.protocol": protocol, **PROTOCOLS[protocol]}
    run = pair(tmp_path, methods.FedProx, "fedprox", settings, l2=0.01, mu=0.2)
    assert run.table("rounds", "numpy")["dropped"].sum() > 0


@pytest.mark.once
@pytest.mark.usefixtures("fedsim", "importable")
@pytest.mark.parametrize(
    ("method", "built_in", "settings", "options"),
    [
        (methods.FedAvg, "fedavg", {"problem.loss": "softmax", **CLASSES}, {"batch": "all"}),
        (methods.FedAvg, "fedavg", {"problem.loss": "hinge", **CLASSES}, {}),
        (
            methods.FedAvg,
            "fedavg",
            {"problem.loss": "squared", "data.target": "real"},
            {"step": 0.1},
        ),
        (f"{EXAMPLES / 'scaffold.py'}:Scaffold", "scaffold", {}, {"server_step": 0.7}),
        (methods.FedAsync, "fedasync", {"federation.protocol": "asynchronous"}, {}),
    ],
)
def test_methods_of_fedsim(
    tmp_path: Path, method: Any, built_in: str, settings: Any, options: Any
) -> None:
    if isinstance(method, str) and not EXAMPLES.is_dir():
        pytest.skip("the examples are not here")
    pair(tmp_path, method, built_in, settings, **options)


@pytest.mark.once
@pytest.mark.usefixtures("fedsim", "importable")
@pytest.mark.parametrize("codes", [{}, {"compression.up": "top-k", "compression.down": "qsgd"}])
def test_an_external_model_has_the_same_bits(tmp_path: Path, codes: dict[str, Any]) -> None:
    """Dropout, buffers and single precision: of random numbers and of rounding."""
    (tmp_path / "net.py").write_text(MODEL)
    unset = {"problem.loss": None, "problem.optimum.when": None}
    run = pair(
        tmp_path, methods.FedAvg, "fedavg", {"federation.protocol": "first", **unset, **codes}
    )
    hashes = {r["id"]: r["model_hash"] for r in run.manifest["runs"]}
    assert len(hashes) == 4
    for name, of in hashes.items():
        assert of == hashes[name.replace("/python/", "/fedsim/")]


CODES: dict[str, dict[str, Any]] = {
    "qsgd": {"compression.up": "qsgd", "compression.down": "qsgd"},
    "top-k": {
        "compression.up": "top-k",
        "compression.up_options.k": "40 %",
        "compression.down": "top-k",
        "compression.down_options.k": "60 %",
        "federation.protocol": "deadline",
        "federation.deadline_s": 0.09,
        "federation.late": "keep",
    },
    "float16": {"compression.down": "float16", "federation.protocol": "first"},
}


@pytest.mark.once
@pytest.mark.usefixtures("fedsim", "importable")
@pytest.mark.parametrize("name", CODES)
def test_compressed_messages_are_those_of_fedsim(tmp_path: Path, name: str) -> None:
    """More clients than a request for work has rows, residuals, and clients that missed changes."""
    settings = {"data.synthetic.clients": 20, **CODES[name]}
    plain = {k: v for k, v in settings.items() if not k.startswith("compression")}
    run = pair(tmp_path / "coded", methods.FedAvg, "fedavg", settings)
    whole = pair(tmp_path / "plain", methods.FedAvg, "fedavg", plain)
    sent, most = (r.table("rounds", "numpy")["bytes_down"].sum() for r in (run, whole))
    assert sent < most


@pytest.mark.once
@pytest.mark.usefixtures("fedsim", "importable")
def test_compressed_messages_without_rounds(tmp_path: Path) -> None:
    settings = {
        "federation.protocol": "asynchronous",
        "compression.up": "top-k",
        "compression.up_options.k": "40 %",
        "compression.down": "top-k",
        "compression.down_options.k": "60 %",
    }
    pair(tmp_path, methods.FedAsync, "fedasync", settings)


LEARNER = """
import numpy as np
from pyfedsim import serve
from pyfedsim.protocols import Learner


class Own(Learner):
    def start(self):
        self.parameters, self.step_flops = {"w": np.zeros(3)}, 1.0


serve(Own)
"""


@pytest.mark.usefixtures("fedsim", "importable")
@pytest.mark.parametrize(
    ("data", "kind", "why"),
    [
        ({}, ExternalError, "start: must be without compression: fedsim does not see the vectors"),
        (
            {"source": "external", "external": {"clients": 2, "rows": 3}},
            ScenarioError,
            'data.source = "external": must be another with compression',
        ),
    ],
)
def test_a_learner_does_not_compress(tmp_path: Path, data: Any, kind: Any, why: str) -> None:
    (tmp_path / "own.py").write_text(LEARNER)
    command = [sys.executable, str(tmp_path / "own.py")]
    scenario = {
        "name": "own",
        "data": data,
        "compression": {"up": "qsgd"},
        "run": {"rounds": 1},
        "methods": {"own": {"algorithm": "external", "program": {"command": command}}},
        "experiment": [{"name": "own"}],
    }
    with pytest.raises(kind, match=why):
        pyfedsim.run(scenario, out=tmp_path / "run", progress=False, allow_external=True)


@pytest.mark.usefixtures("fedsim", "importable")
def test_compression_is_of_one_vector(tmp_path: Path) -> None:
    """SCAFFOLD sends a control variate beside the model."""
    if not EXAMPLES.is_dir():
        pytest.skip("the examples are not here")
    with pytest.raises(ExternalError, match=r"down_bytes = .* of the model alone"):
        pyfedsim.run(
            {**SCENARIO, "methods": {}},
            method=f"{EXAMPLES / 'scaffold.py'}:Scaffold",
            set={"compression.up": "qsgd"},
            out=tmp_path / "run",
            progress=False,
        )


@pytest.mark.once
@pytest.mark.usefixtures("fedsim", "importable")
@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (methods.FedAvgM, {}),
        (methods.FedAvgM, CODES["top-k"]),
        (methods.FedAsync, {"federation.protocol": "asynchronous"}),
        (f"{EXAMPLES / 'scaffold.py'}:Scaffold", {}),
    ],
    ids=["server", "codes", "asynchronous", "clients"],
)
def test_an_interrupted_method_resumes(tmp_path: Path, method: Any, settings: Any) -> None:
    """The states of the server and of clients are those before the interrupt, bit by bit."""
    if isinstance(method, str) and not EXAMPLES.is_dir():
        pytest.skip("the examples are not here")
    own = {"python": method}
    changes = {"run.rounds": 200, "run.seeds": [1], **settings}
    scenario = {**SCENARIO, "methods": {}}
    left: list[float] = []

    def interrupt(line: dict[str, Any]) -> None:
        if line["share"] > 0 and not left:  # before, there is nothing to save
            left.append(1 - line["share"])
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="resume with"):
        pyfedsim.run(
            scenario, method=own, set=changes, progress=interrupt, figures=False, out=tmp_path / "x"
        )
    assert left[0] > 0
    runs = [
        pyfedsim.run(
            scenario,
            method=own,
            set=changes,
            progress=False,
            figures=False,
            out=tmp_path / name,
            resume=True,
        )
        for name in ("x", "whole")
    ]
    resumed, whole = (run.table("rounds", "numpy") for run in runs)
    assert resumed.tobytes() == whole.tobytes()
    hashes = [[(r["model_hash"], r["event_hash"]) for r in run.manifest["runs"]] for run in runs]
    assert hashes[0] == hashes[1]


@pytest.mark.usefixtures("fedsim", "importable")
def test_zero_has_a_word(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match=r'options.batch = 0: write "all"'):
        pyfedsim.run(
            SCENARIO,
            method={"python": methods.FedAvg},
            set={"methods.python.options.batch": 0},
            out=tmp_path / "run",
            progress=False,
            allow_external=True,
        )


@pytest.mark.usefixtures("fedsim", "importable")
@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (
            {"privacy.mechanism": "central", "privacy.mechanism_options.noise_multiplier": 1.0},
            "privacy.mechanism",
        ),
        ({"privacy.secure_aggregation": "secagg"}, "privacy.secure_aggregation"),
    ],
)
def test_privacy_is_refused(tmp_path: Path, settings: dict[str, Any], key: str) -> None:
    """The vectors of clients are not fedsim's: the error names the key and what it must be."""
    scenario = {**SCENARIO, "methods": {}}
    with pytest.raises(ScenarioError, match="external") as caught:
        pyfedsim.run(
            scenario, method=methods.FedAvg, set=settings, out=tmp_path / "run", progress=False
        )
    assert f"{key}=" in str(caught.value)
    assert 'must be "none"' in str(caught.value)
    assert not (tmp_path / "run").exists()
