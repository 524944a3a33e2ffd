"""Federated averaging in Flower's simulation: python with_flower.py TASK...

Its actors, one for each processor, train with the same function as the bare loop. The server tells
a node which client it is, so that cohorts and mini-batches are those of the task.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings

os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
warnings.simplefilter("ignore")

import flwr
import ray
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from modules import accuracy, blas, loaded, train
from task import COHORT, STEP, ended, measured, started

ARGUMENTS = sys.argv[1:]
CLIENTS = 100

client, server = ClientApp(), ServerApp()


@client.train()
def fit(message, context):
    """Train one client."""
    task, x, y, module = loaded(*ARGUMENTS)
    module.load_state_dict(message.content["arrays"].to_torch_state_dict())
    visit = message.content["visit"]
    number, batches = task.visits[visit["round"]][visit["place"]]
    train(module, x[number], y[number], batches, STEP)
    content = {
        "arrays": ArrayRecord(module.state_dict()),
        "metrics": MetricRecord({"num-examples": len(y[number])}),
    }
    return Message(RecordDict(content), reply_to=message)


class Cohorts(FedAvg):
    """FedAvg that tells each node which client it is."""

    def configure_train(self, server_round, arrays, config, grid):
        messages = super().configure_train(server_round, arrays, config, grid)
        for place, message in enumerate(messages):
            visit = ConfigRecord({"round": server_round - 1, "place": place})
            content = RecordDict({**message.content, "visit": visit})
            yield Message(
                content,
                dst_node_id=message.metadata.dst_node_id,
                message_type=message.metadata.message_type,
            )


@server.main()
def main(grid, context):
    """Run all rounds."""
    task, _, _, module = loaded(*ARGUMENTS)

    def evaluated(number, arrays):
        if number:
            ended(number)
        if number == task.rounds:
            module.load_state_dict(arrays.to_torch_state_dict())
            x, y = torch.from_numpy(task.test_x), torch.from_numpy(task.test_y)
            measured(accuracy(module, x, y))

    strategy = Cohorts(
        fraction_train=COHORT / CLIENTS,
        fraction_evaluate=0.0,
        min_train_nodes=COHORT,
        min_available_nodes=CLIENTS,
    )
    first = ArrayRecord(module.state_dict())
    strategy.start(
        grid=grid, initial_arrays=first, num_rounds=task.rounds, evaluate_fn=evaluated
    )


if __name__ == "__main__":
    logging.getLogger("flwr").setLevel(logging.ERROR)
    started(f"Flower {flwr.__version__} with Ray {ray.__version__}", f"PyTorch {torch.__version__}", *blas())
    one_core = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server, client, CLIENTS, backend_config=one_core)
