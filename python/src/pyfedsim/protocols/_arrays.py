"""Arrays by name, and what a learner stores of its clients in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
"""Arrays by name: the parameters of a model, or the state of a client."""


@dataclass
class Tentative:
    """The change of a client's parameters, until the server takes or discards it."""

    change: Arrays
    state: Arrays | None = None


@dataclass
class Sent:
    """What a client was sent without rounds, and the version of the server at that time."""

    parameters: Arrays
    version: int


@dataclass
class Pending:
    """Updates of clients that the server has not added to its parameters yet.

    ``tentative`` are those that it may still discard, by client. ``committed`` are those that it took in the
    open round: client, weight and update, in the order of commits. Without rounds, ``sent`` is
    what clients were sent, and ``version`` the number of responses taken.
    """

    tentative: dict[int, Tentative] = field(default_factory=dict)
    committed: list[tuple[int, float, Tentative]] = field(default_factory=list)
    sent: dict[int, Sent] = field(default_factory=dict)
    version: int = 0


def nbytes(arrays: Arrays) -> int:
    """Return the bytes of arrays in memory."""
    return sum(int(value.nbytes) for value in arrays.values())


def size(arrays: Arrays) -> int:
    """Return the number of values of arrays."""
    return sum(int(value.size) for value in arrays.values())


def add(arrays: Arrays, change: Arrays, factor: float) -> Arrays:
    """Return arrays + factor * change, in the types of arrays; whole numbers are rounded."""
    result = {}
    for name, value in arrays.items():
        new = value + factor * change[name]
        result[name] = (np.rint(new) if value.dtype.kind in "iu" else new).astype(value.dtype)
    return result


def freeze(arrays: Mapping[str, Any]) -> Arrays:
    """Return arrays that are read-only."""
    frozen = {}
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise TypeError(f"parameter {name} holds Python objects, must hold numbers")
        array.setflags(write=False)
        frozen[str(name)] = array
    return frozen
