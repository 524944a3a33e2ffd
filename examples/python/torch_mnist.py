"""Federated learning of a small network in PyTorch, on shards of MNIST over 1000 clients.

As in McMahan et al. (AISTATS 2017), the images are sorted by digit and cut into shards of 30, and
each client has two of them, so that most clients see two digits. fedsim's methods learn the network.

fedsim starts it: fedsim run torch_mnist.toml --allow-external
"""

import gzip
import os

import numpy as np
import torch
from pyfedsim import TorchModel, serve
from torch import nn

WHERE = "https://yann.lecun.com/exdb/mnist"


def images(part):
    """Return the images, scaled to [0, 1], and the digits of MNIST's "train" or "t10k" part."""
    arrays = []
    for name in (f"{part}-images-idx3-ubyte.gz", f"{part}-labels-idx1-ubyte.gz"):
        path = os.path.join(os.environ.get("FEDSIM_DATA", "."), "mnist", name)
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"there is no {path}: download MNIST's four files from {WHERE} to a folder "
                "named mnist, and set FEDSIM_DATA to the folder that holds it"
            )
        with gzip.open(path) as file:
            content = file.read()
        axes = content[3]
        shape = np.frombuffer(content, ">i4", axes, 4)
        arrays.append(np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape))
    return torch.tensor(arrays[0] / np.float32(255)), torch.tensor(arrays[1].astype(np.int64))


def shards(clients):
    """Return the training images of each client, two shards."""
    x, y = images("train")
    rows = torch.argsort(y, stable=True).reshape(2 * clients, -1)
    rows = rows[np.random.default_rng(1).permutation(len(rows))].reshape(clients, -1)
    return [(x[of], y[of]) for of in rows]


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))


if __name__ == "__main__":
    x, y = images("t10k")
    test = [(x[k::1000], y[k::1000]) for k in range(1000)]
    serve(TorchModel(network, datasets={"train": shards(1000), "test": test}))
