"""Run the apps that flwr 1.22 generates, unmodified, by Flower and by fedsim.

    python flower_templates.py PYTHON-WITH-FLWR-1.22

The wheel of Flower 1.22 holds these apps as templates; newer releases load them from a server.
The sklearn app gets its data from a hub, which tests cannot rely on: a stand-in for the package
flwr_datasets gives it the digits of scikit-learn. Needs flwr[simulation] and scikit-learn.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from pyfedsim.flower import command

CLIENTS = 10
SCENARIO = """\
name = "equal"
[data.synthetic]
clients = 10
"""
DATASETS = '''\
"""Digits of scikit-learn in the place and form of the hub's MNIST."""
import numpy as np
from sklearn.datasets import load_digits


class Partition(dict):
    def with_format(self, name):
        return self

    def __len__(self):
        return len(self["label"])


class FederatedDataset:
    def __init__(self, dataset, partitioners):
        self.number = partitioners["train"].num_partitions

    def load_partition(self, partition, split):
        digits = load_digits()
        images = np.tile(np.kron(digits.images, np.ones((1, 3, 3))), (5, 1, 1)) / 16
        images = np.pad(images, ((0, 0), (2, 2), (2, 2)))[partition :: self.number]
        return Partition(image=images, label=np.tile(digits.target, 5)[partition :: self.number])
'''
PARTITIONER = """\
class IidPartitioner:
    def __init__(self, num_partitions):
        self.num_partitions = num_partitions
"""


def generate(python: str, folder: Path) -> None:
    """Generate the apps, and the stand-in that workers of Flower must find too."""
    for app, framework in (("numpyapp", "NumPy"), ("sklearnapp", "sklearn")):
        flwr = Path(python).parent / "flwr"
        subprocess.run(
            [flwr, "new", app, "--framework", framework, "--username", "me"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    datasets = folder / "flwr_datasets"
    datasets.mkdir()
    (datasets / "__init__.py").write_text(DATASETS)
    (datasets / "partitioner.py").write_text(PARTITIONER)
    (folder / "equal.toml").write_text(SCENARIO)


def by_fedsim(folder: Path, app: str) -> None:
    """Run an app by fedsim-flower."""
    arguments = [str(folder / app), str(folder / "equal.toml"), "--flops-per-example", "47040"]
    status = command.main([*arguments, "--out", str(folder / f"{app}-run"), "--no-figures"])
    if status:
        raise SystemExit(f"fedsim-flower {app}: exit status {status}")


def by_flower(folder: Path, app: str) -> None:
    """Run an app by Flower's simulation, with its configuration."""
    config: Any = importlib.import_module("flwr.common.config")
    client = importlib.import_module(f"{app}.client_app").app
    server = importlib.import_module(f"{app}.server_app").app
    context: Any = importlib.import_module("flwr.app").Context
    settings = config.get_fused_config_from_dir(folder / app, {})
    wrapped = _configured(client, settings)
    server_context = context(
        run_id=1,
        node_id=0,
        node_config={},
        state=importlib.import_module("flwr.app").RecordDict(),
        run_config=settings,
    )
    run: Any = importlib.import_module("flwr.simulation").run_simulation
    original = server.__call__

    class Server(type(server)):  # type: ignore[misc]
        """The ServerApp with its run configuration, which this interface does not pass."""

        def __call__(self, grid: Any, context: Any) -> None:
            """Run the app."""
            del context
            while len(list(grid.get_node_ids())) < CLIENTS:  # they still register
                time.sleep(0.1)
            original(grid, server_context)

    run(Server(), wrapped, CLIENTS)


def _configured(client: Any, settings: Any) -> Any:
    """Return a ClientApp whose contexts have the run configuration."""

    class Client(type(client)):  # type: ignore[misc]
        """The ClientApp with its run configuration."""

        def __call__(self, message: Any, context: Any) -> Any:
            """Run the app."""
            configured = type(context)(
                run_id=context.run_id,
                node_id=context.node_id,
                node_config=context.node_config,
                state=context.state,
                run_config=settings,
            )
            return client(message, configured)

    return Client()


def models(folder: Path, app: str) -> list[Any]:
    """Return the arrays of the model that an app has saved."""
    if app == "numpyapp":
        with np.load(folder / "final_model.npz") as arrays:
            return [arrays[key] for key in arrays]
    model = importlib.import_module("joblib").load(folder / "logreg_model.pkl")
    return [model.coef_, model.intercept_]


def main() -> int:
    """Run the apps on both sides, and compare what is not random."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(sys.argv[1], folder)
        paths = [str(folder), *(str(folder / app) for app in ("numpyapp", "sklearnapp"))]
        sys.path[:0] = paths
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
        found: dict[str, list[list[Any]]] = {"numpyapp": [], "sklearnapp": []}
        for app, arrays in found.items():
            for run in (by_fedsim, by_flower):
                os.chdir(folder)  # where the apps save their models
                run(folder, app)
                arrays.append(models(folder, app))
    # The NumPy app adds random numbers; the other one is deterministic.
    ours, theirs = found["numpyapp"]
    difference = float(np.linalg.norm(ours[0] - theirs[0]))
    print(f"numpyapp: models of noise, {difference:.1e} apart")  # noqa: T201
    ours, theirs = found["sklearnapp"]
    relative = max(
        float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in zip(ours, theirs, strict=True)
    )
    print(f"sklearnapp: {relative:.1e}")  # noqa: T201
    return int(not relative <= 1e-12)


if __name__ == "__main__":
    sys.exit(main())
