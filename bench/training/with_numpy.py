"""Federated averaging in NumPy, in the precision of fedsim: python with_numpy.py TASK..."""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "programs"))

import networks
import numpy as np
from task import STEP, Task, ended, measured, started


def kernels() -> list[str]:
    """Return the processor whose kernels OpenBLAS runs, if threadpoolctl is there to tell."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return [f"kernels of {i['architecture']}" for i in threadpool_info() if "architecture" in i]



task = Task(sys.argv[1:], np.float64)
started(f"NumPy {np.__version__}", *kernels())
targets = [np.eye(10)[y] for y in task.y]
shapes = {"softmax": [(10, 784)], "mlp": [(128, 784), (128,), (10, 128), (10,)]}[task.model]
cuts = np.cumsum([np.prod(shape) for shape in shapes])
w = task.first.copy() if len(task.first) else np.zeros(cuts[-1])


def arrays(values):
    """Return the values as arrays that share their memory."""
    return [part.reshape(s) for part, s in zip(np.split(values, cuts[:-1]), shapes, strict=True)]


descend = {"softmax": networks.softmax, "mlp": networks.mlp}[task.model]
for number, visits in enumerate(task.visits[: task.rounds], 1):
    total = np.zeros_like(w)
    for client, batches in visits:
        values = w.copy()
        order = np.concatenate(batches)
        descend(task.x[client], targets[client], order, task.batch, *arrays(values), step=STEP)
        total += values
    w = total / len(visits)  # all clients have as many rows
    ended(number)
layers = arrays(w)
scores = task.test_x @ layers[0].T
if len(layers) > 1:
    scores = np.maximum(scores + layers[1], 0) @ layers[2].T + layers[3]
measured(np.mean(scores.argmax(axis=1) == task.test_y))
