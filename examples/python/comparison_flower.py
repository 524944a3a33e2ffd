"""Federated averaging of logistic regression as a Flower app, on rows that fedsim has prepared.

See comparison.toml.

    python comparison_flower.py [ROUNDS]
"""

import json
import sys
from pathlib import Path

import numpy as np
import rows
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

from pyfedsim import flower

EPOCHS, BATCH, STEP = 5, 32, 0.05
DEADLINE_S = 0.3  # that of comparison.toml

about = json.loads(Path("rows/data.json").read_text())
train_rows, test_rows = rows.read("rows")
features = about["features"]
client, server = ClientApp(), ServerApp()


@client.train()
def train(message, context):
    """Take local steps."""
    w = message.content["arrays"].to_numpy_ndarrays()[0]
    x, y = train_rows[context.node_config["partition-id"]]
    left = EPOCHS * len(y)
    while left > 0:
        chosen = np.random.choice(len(y), min(BATCH, left, len(y)), replace=False)
        slope = -y[chosen] / (1 + np.exp(y[chosen] * (x[chosen] @ w)))
        w = w - STEP * slope @ x[chosen] / len(chosen)
        left -= len(chosen)
    metrics = MetricRecord({"num-examples": len(y)})
    return Message(RecordDict({"arrays": ArrayRecord([w]), "metrics": metrics}), reply_to=message)


def evaluate(round_number, arrays):
    """Return the share of all test rows that are wrong."""
    w = arrays.to_numpy_ndarrays()[0]
    wrong = [y * (x @ w) <= 0 for x, y in test_rows]
    return MetricRecord({"test_error": float(np.concatenate(wrong).mean())})


@server.main()
def main(grid, context):
    """Ask all clients in each round, and wait for them until the deadline."""
    FedAvg(fraction_evaluate=0).start(
        grid=grid,
        initial_arrays=ArrayRecord([np.zeros(features)]),
        num_rounds=context.run_config["rounds"],
        timeout=DEADLINE_S,
        evaluate_fn=evaluate,
    )


if __name__ == "__main__":
    run = flower.run(
        server,
        client,
        "comparison.toml",
        method="fedavg-flower",
        run_config={"rounds": int(sys.argv[1]) if sys.argv[1:] else 100},
        flops_per_example=4 * features,
        epochs=EPOCHS,
        # A client that dropped out can be asked again in the next round.
        set={"engine.detect_s": DEADLINE_S},
        out="runs/comparison-flower",
        force=True,
    )
    print(f"{run.directory}: {run.seconds:g} s")
