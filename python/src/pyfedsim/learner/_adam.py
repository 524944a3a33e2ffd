"""FedAdam's server step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pyfedsim.learner._arrays import add, size
from pyfedsim.learner._learner import Learner


class Adam(Learner):
    """A learner whose server takes an adaptive step: FedAdam.

    With the mean change c of a round, the server computes m = beta1 m + (1 - beta1) c,
    v = beta2 v + (1 - beta2) c^2 and x = x + server_step m / (sqrt(v) + tau), element by
    element and without bias correction; m starts at 0 and v at tau^2 (Reddi et al., Adaptive
    Federated Optimization, ICLR 2021, algorithm 2). Name it before the class of the clients'
    work: ``class Mine(Adam, TorchLearner)``.
    """

    defaults: ClassVar[Mapping[str, Any]] = {
        "server_step": 0.01,
        "beta1": 0.9,
        "beta2": 0.99,
        "tau": 1e-3,
    }

    def end(self) -> float:
        """Close the round with the adaptive step; return its FLOPs, 11 a value."""
        change, flops = self.mean_change()
        if not change:
            return flops
        b1, b2, tau = (float(self.options[key]) for key in ("beta1", "beta2", "tau"))
        step = {}
        for name, c in change.items():
            m = b1 * self.server_state.get(f"m/{name}", np.zeros(c.shape)) + (1 - b1) * c
            v = self.server_state.get(f"v/{name}", np.full(c.shape, tau * tau))
            v = b2 * v + (1 - b2) * c * c
            self.server_state[f"m/{name}"], self.server_state[f"v/{name}"] = m, v
            step[name] = m / (np.sqrt(v) + tau)
        self.parameters = add(self.parameters, step, float(self.options["server_step"]))
        return flops + 11.0 * size(step)
