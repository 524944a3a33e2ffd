"""A learner in NumPy does what fedsim's own method does, to the nanosecond and to 1e-12."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyfedsim
from pyfedsim import _scenario
from pyfedsim.learner import command

PROTOCOLS: dict[str, dict[str, Any]] = {
    "wait-for-all": {},
    "first": {"clients_per_round": 3, "over_selection": 1.5},
    "deadline": {"deadline_s": 0.09, "fit_work": False, "late": "keep"},
}


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize(
    ("protocol", "hub_size"), [*((name, 0) for name in PROTOCOLS), ("wait-for-all", 4)]
)
def test_numpy_gives_the_times_and_the_model_of_fedavg(
    fedsim: Path, tmp_path: Path, protocol: str, hub_size: int
) -> None:
    rows, model = tmp_path / "rows", tmp_path / "model.npy"
    options = {"epochs": 3, "step": 0.4, "l2": 0.01, "mu": 0.2}
    scenario: dict[str, Any] = {
        "name": "truth",
        "data": {"synthetic": {"clients": 12, "features": 8, "client_spread": 0.5}, "bias": True},
        "problem": {"loss": "logistic", "regularizer": "independent", "optimum_sweeps": 0},
        "devices": {"clock_ghz": 0.002, "spread": "log-normal", "spread_width": 0.8},
        "network": {"profile": "lte", "jitter": 0.5, "header_bytes": 0, "hub_size": hub_size},
        "faults": {"drop_probability": 0.2},
        "federation": {"protocol": protocol, "server_gflops": 1e-5, **PROTOCOLS[protocol]},
        "run": {"rounds": 25},
    }
    methods: dict[str, dict[str, Any]] = {
        "built-in": {"algorithm": "fedprox", "options": {"batch": 0, **options}},
        "numpy": {
            "algorithm": "external",
            "command": command(str(Path(__file__).with_name("logistic.py"))),
            "options": {"rows": str(rows), "model": str(model), **options},
        },
    }
    with _scenario.as_file({**scenario, "methods": {"fedavg": {}}}) as path:
        export: list[str | Path] = [fedsim, "data", "export", path, "--out", rows]
        subprocess.run(export, check=True, capture_output=True)
    made = [
        pyfedsim.run(
            {**scenario, "methods": {name: method}},
            set={"run.model": name == "built-in"},
            out=tmp_path / name,
            progress=False,
            figures=False,
            allow_external=True,
        )
        for name, method in methods.items()
    ]
    first, second = (run.manifest["runs"][0] for run in made)
    assert first["event_hash"] == second["event_hash"]
    assert first["events"] == second["events"]
    built_in, numpy = (run.table("rounds", "numpy") for run in made)
    for column in ("time_s", "participants", "dropped", "late", "bytes_up", "flops", "energy_j"):
        np.testing.assert_array_equal(built_in[column], numpy[column])
    assert built_in["dropped"].sum() > 0
    assert built_in["train_error"][-1] < built_in["train_error"][0] / 2
    for column in ("train_error", "test_error"):
        np.testing.assert_allclose(numpy[column], built_in[column], rtol=0, atol=1e-15)
    w = np.load(next((made[0].directory / "models").glob("*.npy")))
    np.testing.assert_allclose(np.load(model), w[0], rtol=0, atol=1e-12)
    assert np.abs(w[0]).max() > 0.5
