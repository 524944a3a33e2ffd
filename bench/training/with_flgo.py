"""Federated averaging in FLGo: python with_flgo.py TASK...

FLGo's own loop trains, on the cohorts of the task, in mini-batches of its own order.
"""

from __future__ import annotations

import os
import sys
import tempfile
import types
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")

import flgo
import flgo.algorithm.fedavg as fedavg
import torch
from flgo.benchmark.partition import BasicPartitioner
from flgo.benchmark.toolkits.cv.classification import (
    FromDatasetGenerator,
    FromDatasetPipe,
    GeneralCalculator,
)
from flgo.experiment.logger.simple_logger import SimpleLogger
from flgo.utils.fmodule import FModule
from modules import accuracy, blas, made
from task import COHORT, STEP, Task, ended, measured, started

task = Task(sys.argv[1:])
started(f"FLGo {version('flgo')}", f"PyTorch {torch.__version__}", *blas())
x, y = [torch.from_numpy(a) for a in task.x], [torch.from_numpy(a) for a in task.y]
rows = torch.utils.data.TensorDataset(torch.cat(x), torch.cat(y))
test = torch.utils.data.TensorDataset(torch.from_numpy(task.test_x), torch.from_numpy(task.test_y))


class Clients(BasicPartitioner):
    """Gives each client its rows."""

    def __call__(self, data):
        parts = torch.arange(len(data)).split([len(part) for part in y])
        return [part.tolist() for part in parts]


class Generator(FromDatasetGenerator):
    def __init__(self):
        super().__init__(benchmark="race", train_data=rows, val_data=None, test_data=test)


class Pipe(FromDatasetPipe):
    def __init__(self, path):
        super().__init__(path, train_data=rows, val_data=None, test_data=test)


class Net(FModule):
    def __init__(self):
        super().__init__()
        self.inner = made(task.model, task.first)

    def forward(self, inputs):
        return self.inner(inputs)


class Server(fedavg.Server):
    """Asks the cohorts of the task."""

    def sample(self):
        return [client for client, _ in task.visits[self.current_round - 1]]

    def iterate(self):
        updated = super().iterate()
        ended(self.current_round)
        return updated


class Quiet(SimpleLogger):
    """Evaluates nothing: the end of this file does."""

    def log_once(self, *args, **kwargs):
        pass


def server_model(party):
    """Give the server the model."""
    if "Server" in type(party).__name__:
        party.model = Net().to(party.device)


# FLGo imports a benchmark by its name.
Generator.__module__ = "race.core"
race, core = types.ModuleType("race"), types.ModuleType("race.core")
race.__path__, race.core = [], core
core.TaskGenerator, core.TaskPipe, core.TaskCalculator = Generator, Pipe, GeneralCalculator
sys.modules.update({"race": race, "race.core": core})
model = types.SimpleNamespace(
    __name__=task.model, init_local_module=lambda party: None, init_global_module=server_model
)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    flgo.gen_task_by_(race, Clients(), "task")
    options = {
        **{"num_rounds": task.rounds, "proportion": COHORT / len(y), "num_epochs": 1},
        **{"batch_size": task.batch, "learning_rate": STEP, "learning_rate_decay": 1.0},
        **{"train_holdout": 0.0, "eval_interval": task.rounds + 1, "no_tqdm": True},
        **{"no_log_console": True, "aggregate": "uniform"},
    }
    method = types.SimpleNamespace(__name__="fedavg", Server=Server, Client=fedavg.Client)
    runner = flgo.init("task", method, options, model=model, Logger=Quiet)
    runner.run()
    measured(accuracy(runner.model, *test.tensors))
