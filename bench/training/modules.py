"""The models of the race in PyTorch. Started by fedsim it serves one: python modules.py NAME."""

from __future__ import annotations

import functools
import sys

import numpy as np
import torch
from task import Task
from torch import nn


def softmax() -> nn.Module:
    """Return softmax regression at zero, without biases as in fedsim."""
    module = nn.Linear(784, 10, bias=False)
    nn.init.zeros_(module.weight)
    return module


def mlp() -> nn.Module:
    """Return the network with 128 hidden units."""
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def lenet5() -> nn.Module:
    """Return LeNet-5 with ReLU and maxima, of 61,706 values, with the same first values each time."""
    torch.manual_seed(1)
    return nn.Sequential(
        *(nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )


MODULES = {"softmax": softmax, "mlp": mlp, "lenet5": lenet5}


def blas() -> list[str]:
    """Return the line of PyTorch's configuration about its library of convolutions."""
    return [line.strip(" -") for line in torch.__config__.show().splitlines() if "DNN v" in line]


def made(name: str, first: np.ndarray) -> nn.Module:
    """Return a module with its first values, if there are any."""
    module = MODULES[name]()
    if len(first):
        nn.utils.vector_to_parameters(torch.tensor(first, dtype=torch.float32), module.parameters())
    return module


@functools.cache
def loaded(*arguments: str):
    """Return the task, the rows and labels of its clients, and its module, once for a process."""
    torch.set_num_threads(1)
    task = Task(list(arguments))
    x, y = [torch.from_numpy(a) for a in task.x], [torch.from_numpy(a) for a in task.y]
    return task, x, y, made(task.model, task.first)


def accuracy(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """Return the share of rows whose class has the largest score."""
    module.eval()
    with torch.no_grad():
        right = sum(
            int((module(x[i : i + 1000]).argmax(1) == y[i : i + 1000]).sum())
            for i in range(0, len(x), 1000)
        )
    return right / len(x)


def train(module: nn.Module, x: torch.Tensor, y: torch.Tensor, batches, step: float) -> None:
    """Take a step of SGD on each of the mini-batches."""
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=step)
    for rows in batches:
        rows = torch.from_numpy(rows).long()
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
        optimizer.step()


if __name__ == "__main__":
    from pyfedsim import TorchModel, serve

    serve(TorchModel(MODULES[sys.argv[1]]))
