"""A Flower app of NumPy for the tests, written as its documentation shows, and scenarios."""

from __future__ import annotations

import importlib
import random
import time
import warnings
from typing import Any

import numpy as np

warnings.simplefilter("ignore")  # Flower and its libraries warn of their own future

flwr: Any = importlib.import_module("flwr.app")
strategies: Any = importlib.import_module("flwr.serverapp.strategy")
try:
    ServerApp: Any = importlib.import_module("flwr.serverapp").ServerApp
    ClientApp: Any = importlib.import_module("flwr.clientapp").ClientApp
except AttributeError:  # to 1.35
    ServerApp = importlib.import_module("flwr.server").ServerApp
    ClientApp = importlib.import_module("flwr.client").ClientApp

importlib.import_module("logging").getLogger("flwr").setLevel("WARNING")

FEATURES = 20
FLOPS_PER_EXAMPLE = 6 * FEATURES

STRATEGIES: dict[str, Any] = {
    "FedAvg": strategies.FedAvg,
    "FedProx": lambda: strategies.FedProx(proximal_mu=0.1),
    "FedAvgM": lambda: strategies.FedAvgM(server_momentum=0.9),
    "FedAdam": lambda: strategies.FedAdam(eta=0.05),
    "FedAdagrad": lambda: strategies.FedAdagrad(eta=0.05),
    "FedYogi": lambda: strategies.FedYogi(eta=0.05),
    "FedMedian": strategies.FedMedian,
    "FedTrimmedAvg": lambda: strategies.FedTrimmedAvg(beta=0.2),
    "Krum": lambda: strategies.Krum(num_malicious_nodes=1),
    "MultiKrum": lambda: strategies.MultiKrum(num_malicious_nodes=1, num_nodes_to_select=3),
    "Bulyan": lambda: strategies.Bulyan(num_malicious_nodes=1),
    "QFedAvg": lambda: strategies.QFedAvg(client_learning_rate=0.1),
    "DP": lambda: strategies.DifferentialPrivacyServerSideFixedClipping(
        strategies.FedAvg(), noise_multiplier=0.1, clipping_norm=1.0, num_sampled_clients=10
    ),
}


def scenario(clients: int = 12, **settings: Any) -> dict[str, Any]:
    """Return a scenario of phones over LTE whose speeds differ; settings override its tables."""
    tables: dict[str, Any] = {
        "name": "flower",
        "data": {"synthetic": {"clients": clients}},
        "devices": {"clock_ghz": 0.001, "speed_spread": 1},
        "network": {"profile": "lte", "jitter": 0.3},
    }
    for table, values in settings.items():
        tables[table] = {**tables.get(table, {}), **values}
    return tables


DROPS: dict[str, Any] = {"faults": {"drop_probability": 0.2}, "engine": {"detect_s": 2}}


def examples(client: int) -> tuple[Any, Any]:
    """Return the rows and labels of a client."""
    rng = np.random.RandomState(client)
    x = rng.randn(20 + client % 5, FEATURES)
    return x, (x @ np.linspace(-1, 1, FEATURES) > 0) * 1.0


def train(message: Any, context: Any) -> Any:
    """Take five steps of logistic regression, with a little noise from the global stream."""
    start = message.content["arrays"].to_numpy_ndarrays()[0]
    w = start.copy()
    config = message.content.get("config", {})
    mu = config.get("proximal-mu", 0.0)  # of FedProx
    x, y = examples(context.node_config["partition-id"])
    for _ in range(5):
        p = 1 / (1 + np.exp(-x @ w))
        w -= 0.5 * (x.T @ (p - y) / len(y) + mu * (w - start))
    if "exact" not in config:
        w += 1e-3 * np.random.randn(FEATURES)  # noqa: NPY002 - what apps do
    calls = int(context.state["calls"]["n"]) if "calls" in context.state else 0
    context.state["calls"] = flwr.MetricRecord({"n": calls + 1})
    loss = -np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9))
    metrics = {"num-examples": len(y), "train_loss": float(loss), "calls": calls + 1}
    return flwr.Message(
        flwr.RecordDict({"arrays": flwr.ArrayRecord([w]), "metrics": flwr.MetricRecord(metrics)}),
        reply_to=message,
    )


def evaluate(message: Any, context: Any) -> Any:
    """Report the share of right answers on a client."""
    w = message.content["arrays"].to_numpy_ndarrays()[0]
    x, y = examples(context.node_config["partition-id"])
    metrics = {"num-examples": len(y), "eval_acc": float(np.mean((x @ w > 0) == y))}
    return flwr.Message(flwr.RecordDict({"metrics": flwr.MetricRecord(metrics)}), reply_to=message)


client_app: Any = ClientApp()
client_app.train()(train)
client_app.evaluate()(evaluate)


def global_evaluate(number: int, arrays: Any) -> Any:
    """Report the norm of the model, as a loss."""
    del number
    return flwr.MetricRecord({"loss": float(np.linalg.norm(arrays.to_numpy_ndarrays()[0]))})


def server_app(strategy: Any, rounds: int = 3, **start: Any) -> Any:
    """Return a ServerApp that starts a strategy."""

    def main(grid: Any, context: Any) -> None:
        result = strategy.start(
            grid=grid,
            initial_arrays=flwr.ArrayRecord([np.zeros(FEATURES)]),
            num_rounds=rounds,
            **start,
        )
        context.state["arrays"] = result.arrays

    app = ServerApp()
    app.main()(main)
    return app


def ask(w: Any, node: int, kind: str = "train", **more: Any) -> Any:
    """Return a message with a model."""
    return flwr.Message(flwr.RecordDict({"arrays": flwr.ArrayRecord([w])}), node, kind, **more)


def plain_app(main: Any) -> Any:
    """Return a ServerApp that is a function of the grid."""

    def call(grid: Any, context: Any) -> None:
        del context
        main(grid)

    app = ServerApp()
    app.main()(call)
    return app


def asynchronous_app(versions: int, log: list[Any] | None = None) -> Any:
    """Return a ServerApp that mixes each response into the model, and asks the client again."""

    def main(grid: Any) -> None:
        w = np.zeros(FEATURES)
        nodes = list(grid.get_node_ids())
        pending = set(grid.push_messages([ask(w, node) for node in nodes]))
        version = 0
        while version < versions:
            for reply in grid.pull_messages(pending):
                pending.discard(reply.metadata.reply_to_message_id)
                if reply.has_content():
                    w = 0.8 * w + 0.2 * reply.content["arrays"].to_numpy_ndarrays()[0]
                    version += 1
                pending.update(grid.push_messages([ask(w, reply.metadata.src_node_id)]))
                if log is not None:
                    log.append((reply.metadata.created_at, reply.metadata.src_node_id, list(w)))

    return plain_app(main)


def vertical_app(rounds: int, losses: list[float] | None = None) -> Any:
    """Return a ServerApp whose clients have columns of the same rows, as in vertical learning.

    A round asks all clients for embeddings, and pushes gradients that nobody waits for.
    """

    def main(grid: Any) -> None:
        labels = np.sin(np.arange(40.0))
        head = np.ones(4)
        while len(list(grid.get_node_ids())) < 3:
            time.sleep(0.1)  # in Flower's simulation, nodes register after the start
        for _ in range(rounds):
            nodes = list(grid.get_node_ids())
            asked = [
                flwr.Message(flwr.RecordDict(), node, "query.generate_embeddings") for node in nodes
            ]
            embeddings = {
                reply.metadata.src_node_id: reply.content["arrays"].to_numpy_ndarrays()[0]
                for reply in grid.send_and_receive(asked)
            }
            error = sum(embeddings[node] for node in nodes) @ head - labels
            if losses is not None:
                losses.append(float(np.mean(error**2)))
            gradient = np.outer(error, head) / len(labels)
            grid.push_messages([ask(gradient, node, "train.apply_gradients") for node in nodes])

    return plain_app(main)


def vertical_client() -> Any:
    """Return the ClientApp of vertical_app: a linear model of its columns, in its state."""
    app = ClientApp()

    def columns(context: Any) -> tuple[Any, Any]:
        x = np.random.RandomState(context.node_config["partition-id"]).randn(40, 3)
        model = context.state.get("model")
        return x, np.zeros((3, 4)) if model is None else model.to_numpy_ndarrays()[0]

    @app.query("generate_embeddings")  # type: ignore[untyped-decorator]
    def embed(message: Any, context: Any) -> Any:
        x, w = columns(context)
        return flwr.Message(
            flwr.RecordDict({"arrays": flwr.ArrayRecord([x @ w])}), reply_to=message
        )

    @app.train("apply_gradients")  # type: ignore[untyped-decorator]
    def apply(message: Any, context: Any) -> Any:
        x, w = columns(context)
        gradient = message.content["arrays"].to_numpy_ndarrays()[0]
        context.state["model"] = flwr.ArrayRecord([w - 0.1 * x.T @ gradient])
        return flwr.Message(flwr.RecordDict(), reply_to=message)

    return app


def histogram_app(rounds: int, share: float = 1.0) -> Any:
    """Return a ServerApp that asks clients for statistics and trains nothing."""

    def main(grid: Any) -> None:
        for number in range(rounds):
            nodes = list(grid.get_node_ids())
            nodes = random.sample(nodes, int(share * len(nodes)))
            content = flwr.RecordDict()
            grid.send_and_receive(
                flwr.Message(content, node, "query", group_id=str(number)) for node in nodes
            )

    return plain_app(main)


def histogram_client() -> Any:
    """Return the ClientApp of histogram_app."""
    app = ClientApp()

    @app.query()  # type: ignore[untyped-decorator]
    def query(message: Any, context: Any) -> Any:
        x, _ = examples(context.node_config["partition-id"])
        metrics = {"histogram": np.histogram(x, 5)[0].tolist(), "mean": float(x.mean())}
        return flwr.Message(
            flwr.RecordDict({"results": flwr.MetricRecord(metrics)}), reply_to=message
        )

    return app
