"""Federated averaging in PyTorch without a framework: python with_torch.py TASK... THREADS."""

import sys

import torch
from modules import accuracy, blas, loaded, train
from task import STEP, ended, measured, started
from torch.nn.utils import parameters_to_vector, vector_to_parameters

*arguments, threads = sys.argv[1:]
task, x, y, module = loaded(*arguments)
torch.set_num_threads(int(threads))
started(f"PyTorch {torch.__version__}", *blas())
w = parameters_to_vector(module.parameters()).detach()
for number, visits in enumerate(task.visits[: task.rounds], 1):
    total = torch.zeros_like(w)
    for client, batches in visits:
        vector_to_parameters(w.clone(), module.parameters())  # they become views of it
        train(module, x[client], y[client], batches, STEP)
        total += parameters_to_vector(module.parameters()).detach()
    w = total / len(visits)  # all clients have as many rows
    ended(number)
vector_to_parameters(w, module.parameters())
measured(accuracy(module, torch.from_numpy(task.test_x), torch.from_numpy(task.test_y)))
