"""The work of the race, the same for all programs: rows, clients of each round, mini-batches, start.

record.py has written the rows and the mini-batches of a run of fedsim to a file.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np

STEP = 0.05  # of local SGD
COHORT = 10  # clients of a round


class Task:
    """Rows of 100 clients, and what each client of each round does with them.

    The arguments of a program are the file, the model, the rows of a mini-batch, the rounds, and
    the file with the first values of the model, of 64-bit floats; more arguments are its own.
    """

    def __init__(self, arguments: list[str], dtype: type = np.float32) -> None:
        file, self.model, batch, rounds, first, *self.more = arguments
        self.batch, self.rounds = int(batch), int(rounds)
        with np.load(file) as arrays:
            of = dict(arrays)
        scale = dtype(255)
        cuts = np.cumsum(of["train_rows"])[:-1]
        self.x = [x / scale for x in np.split(of["train_x"], cuts)]
        self.y = np.split(of["train_y"], cuts)
        self.test_x, self.test_y = of["test_x"] / scale, of["test_y"]
        self.first = np.fromfile(first) if first != "-" else np.zeros(0)
        self.visits: list[list[tuple[int, list[np.ndarray]]]] = [[]]
        """For each round its clients, with the rows of each of their steps."""
        self._divide(of["clients"], of["steps"])

    def _divide(self, clients: np.ndarray, steps: np.ndarray) -> None:
        """Divide the steps of the whole run by round and client."""
        left = 0
        for client, padded in zip(clients.tolist(), steps, strict=True):
            rows = padded[padded >= 0]
            if left == 0:
                if len(self.visits[-1]) == COHORT:
                    self.visits.append([])
                self.visits[-1].append((client, []))
                left = len(self.y[client])
            at, batches = self.visits[-1][-1]
            if at != client:
                raise ValueError(f"client {at} has {left} rows left when client {client} begins")
            batches.append(rows)
            left -= len(rows)
        if left or len(self.visits[-1]) != COHORT or len(self.visits) < self.rounds:
            raise ValueError(f"the file has {len(self.visits)} rounds, of which the last is cut off")


def started(*names: str) -> None:
    """Say which versions work: those of the program, and of its library of linear algebra."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    found = set(re.findall(r"/lib((?:scipy_)?(?:openblas|mkl|blis|blas)[^/]*?)\.so", maps))
    say(program=", ".join([*names, *sorted(found)]))


def ended(number: int) -> None:
    """Say that a round has ended."""
    say(round=number)


def measured(accuracy: float) -> None:
    """Say the share of test rows that the last model gives the right class."""
    say(accuracy=float(accuracy))


def say(**message) -> None:
    """Write a line of JSON, in one piece: other processes may write to the same output."""
    sys.__stdout__.write(json.dumps(message) + "\n")
    sys.__stdout__.flush()
