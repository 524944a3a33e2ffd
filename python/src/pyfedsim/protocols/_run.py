"""What the loop does for a learner between its methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyfedsim.protocols._arrays import Pending
from pyfedsim.protocols._learner import Learner


def open_run(learner: Learner, request: Mapping[str, Any]) -> None:
    """Set the attributes that a learner has before its method start."""
    learner.id, learner.seed = str(request["id"]), int(request["seed"])
    learner.clients, learner.features = int(request["clients"]), int(request.get("features", 0))
    learner.labels = {int(x["value"]): str(x["class"]) for x in request.get("labels") or []}
    learner.rows = np.asarray(request["rows"], dtype=np.int64)
    learner.options = merge_options(type(learner), request.get("options") or {})
    learner.parameters, learner.server_state, learner.client_state = {}, {}, {}
    learner.pending = Pending()
    learner.given = request.get("model") or {}


def merge_options(learner: type[Learner], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the default options of a class and its bases, with those given in their place."""
    options: dict[str, Any] = {}
    for base in reversed(learner.__mro__):
        options.update(vars(base).get("defaults", {}))
    words = getattr(learner, "_words", {})
    for key, value in given.items():
        if key not in options:
            has = ", ".join(sorted(options)) or "none"
            raise ValueError(f'option "{key}" is unknown: the learner has {has}')
        if key in words and value == 0:
            raise ValueError(f'options.{key} = 0: write "{words[key]}"')
        default = options[key]
        taken = 0 if key in words and value == words[key] else value
        number = isinstance(default, float) and type(taken) is int
        if default is not None and type(taken) is not type(default) and not number:
            kind = type(default).__name__
            raise ValueError(f'option "{key}" = {value!r} must be of type {kind}')
        options[key] = float(taken) if number else taken
    return options
