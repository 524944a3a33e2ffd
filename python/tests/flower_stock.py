"""Compare models with those of Flower's own simulation, on equal devices without dropouts.

The last app has typed messages, pushes that nobody waits for, and the state of clients.
Needs flwr[simulation]. Flower adds the responses in another order in each run, so the last digits
differ: the models must agree to 1e-12 of their norm.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import flower_apps as apps
from pyfedsim import flower

CLIENTS = 10
TOLERANCE = 1e-12


def main() -> int:
    """Print the difference of each strategy. Returns 1 if one is too large."""
    simulation: Any = importlib.import_module("flwr.simulation")
    worst = 0.0
    for name in (
        "FedAvg",
        "FedProx",
        "FedAvgM",
        "FedAdam",
        "FedMedian",
        "FedTrimmedAvg",
        "QFedAvg",
    ):
        models = []

        def server() -> Any:
            strategy = apps.STRATEGIES[name]()  # noqa: B023 - called in this turn
            # Flower's simulation starts while its nodes still register.
            strategy.min_available_nodes = strategy.min_train_nodes = CLIENTS
            exact = apps.flwr.ConfigRecord({"exact": True})

            def main(grid: Any, context: Any) -> None:
                del context
                arrays = apps.flwr.ArrayRecord([np.zeros(apps.FEATURES)])
                result = strategy.start(
                    grid=grid, initial_arrays=arrays, num_rounds=3, train_config=exact
                )
                models.append(result.arrays.to_numpy_ndarrays()[0])  # noqa: B023

            app = apps.ServerApp()
            app.main()(main)
            return app

        simulation.run_simulation(server(), apps.client_app, CLIENTS)
        virtual(server(), apps.client_app, CLIENTS)
        difference = float(np.linalg.norm(models[0] - models[1]) / np.linalg.norm(models[0]))
        worst = max(worst, difference)
        print(f"{name}: {difference:.1e}")  # noqa: T201
    losses: tuple[list[float], list[float]] = ([], [])
    simulation.run_simulation(apps.vertical_app(20, losses[0]), apps.vertical_client(), 3)
    virtual(apps.vertical_app(20, losses[1]), apps.vertical_client(), 3)
    difference = float(np.linalg.norm(np.subtract(*losses)) / np.linalg.norm(losses[0]))
    worst = max(worst, difference)
    print(f"typed messages: {difference:.1e}")  # noqa: T201
    return int(not worst <= TOLERANCE)


def virtual(server: Any, client: Any, clients: int) -> None:
    """Run an app on fedsim."""
    with tempfile.TemporaryDirectory() as folder:
        flower.run(
            server,
            client,
            {"name": "equal", "data": {"synthetic": {"clients": clients}}},
            flops={"train": 1e6, "query": 1e6},
            out=Path(folder) / "run",
            figures=False,
        )


if __name__ == "__main__":
    sys.exit(main())
