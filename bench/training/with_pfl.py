"""Federated averaging in pfl-research: python with_pfl.py TASK...

Its own loop trains. A client's rows come in the order of the task, so that mini-batches are equal.
"""

from __future__ import annotations

import os
import sys

os.environ["PFL_PYTORCH_DEVICE"] = "cpu"

import numpy as np
import pfl
import torch
from modules import accuracy, blas, loaded
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from task import COHORT, STEP, ended, measured, started

task, x, y, module = loaded(*sys.argv[1:])
started(f"pfl-research {pfl.__version__}", f"PyTorch {torch.__version__}", *blas())
module.loss = lambda inputs, labels, **_: torch.nn.functional.cross_entropy(module(inputs), labels)
module.metrics = lambda *_, **__: {}
visits = iter([visit for of in task.visits for visit in of])
pending = {}  # rows of the client that was drawn last


def draw() -> int:
    """Return the next client of the task."""
    client, batches = next(visits)
    pending[client] = np.concatenate(batches)
    return client


def rows(client: int) -> Dataset:
    """Return the rows of a client in their order."""
    order = torch.from_numpy(pending.pop(client)).long()
    return Dataset([x[client][order], y[client][order]], user_id=str(client))


class Rounds(TrainingProcessCallback):
    """Says when rounds end."""

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        ended(central_iteration + 1)
        return False, Metrics()


data = FederatedDataset(rows, draw)
model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
FederatedAveraging().run(
    NNAlgorithmParams(
        central_num_iterations=task.rounds,
        evaluation_frequency=task.rounds + 1,
        train_cohort_size=COHORT,
        val_cohort_size=None,
    ),
    SimulatedBackend(training_data=data, val_data=data),
    model,
    NNTrainHyperParams(local_num_epochs=1, local_learning_rate=STEP, local_batch_size=task.batch),
    NNEvalHyperParams(local_batch_size=None),
    callbacks=[Rounds()],
)
measured(accuracy(module, torch.from_numpy(task.test_x), torch.from_numpy(task.test_y)))
