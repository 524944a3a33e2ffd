"""The app of flower_apps in Flower's former style: NumPyClient and server_fn."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import flower_apps as apps

common: Any = importlib.import_module("flwr.common")
server: Any = importlib.import_module("flwr.server")
strategies: Any = importlib.import_module("flwr.server.strategy")
client: Any = importlib.import_module("flwr.client")


class Client(client.NumPyClient):  # type: ignore[misc]  # Flower may be missing
    """A client of flower_apps."""

    def __init__(self, partition: int) -> None:
        self.partition = partition

    def fit(self, parameters: Any, config: Any) -> Any:
        """Take five steps."""
        w = parameters[0].copy()
        x, y = apps.examples(self.partition)
        for _ in range(5):
            w -= 0.5 * x.T @ (1 / (1 + np.exp(-x @ w)) - y) / len(y)
        return [w], len(y), {}

    def evaluate(self, parameters: Any, config: Any) -> Any:
        """Report the share of right answers."""
        x, y = apps.examples(self.partition)
        right = float(np.mean((x @ parameters[0] > 0) == y))
        return 1 - right, len(y), {"accuracy": right}


def client_fn(context: Any) -> Any:
    """Return the client of a node."""
    return Client(context.node_config["partition-id"]).to_client()


def weighted(metrics: list[tuple[int, Any]]) -> dict[str, Any]:
    """Return the mean accuracy."""
    total = sum(n for n, _ in metrics)
    return {"accuracy": sum(n * m["accuracy"] for n, m in metrics) / total}


client_app: Any = client.ClientApp(client_fn=client_fn)


def server_app(rounds: int, timeout: float | None = None) -> Any:
    """Return a ServerApp of server_fn with FedAvg over half of the clients."""

    def server_fn(context: Any) -> Any:
        return server.ServerAppComponents(
            strategy=strategies.FedAvg(
                fraction_fit=0.5,
                evaluate_metrics_aggregation_fn=weighted,
                initial_parameters=common.ndarrays_to_parameters([np.zeros(apps.FEATURES)]),
            ),
            config=server.ServerConfig(num_rounds=rounds, round_timeout=timeout),
        )

    return server.ServerApp(server_fn=server_fn)
