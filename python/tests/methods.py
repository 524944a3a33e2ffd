"""Methods in Python that fedsim has, too; test_method.py runs both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyfedsim import Method

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyfedsim.method import Local, Replies


class FedAvg(Method):
    """Federated averaging: the class as it is."""


class FedProx(Method):
    """Its steps are written out, with a proximal term and weight decay."""

    defaults: ClassVar[Mapping[str, Any]] = {"mu": 0.1, "l2": 0.0}

    def client(self, w: Any, local: Local, state: Any) -> Any:
        u, mu, l2 = w, self.options["mu"], self.options["l2"]
        for rows in local.batches():
            u = u - local.step * (local.gradient(u, rows) + l2 * u + mu * (u - w))
        return u


class FedAvgM(Method):
    """Momentum of the server."""

    defaults: ClassVar[Mapping[str, Any]] = {"beta": 0.5}

    def server(self, w: Any, replies: Replies, state: Any) -> Any:
        state["v"] = self.options["beta"] * state.get("v", 0.0) + replies.mean()
        return w + state["v"]


class FedAsync(Method):
    """Without rounds: x becomes (1 - a) x + a x_client, with a = 0.6 (1 + staleness)^-0.5."""

    def server(self, w: Any, replies: Replies, state: Any) -> Any:
        (reply,) = replies
        if reply.staleness > self.options["most"]:
            return None
        replies.flops += 5.0 * w.size
        return w + 0.6 * (1.0 + reply.staleness) ** -0.5 * (reply.w - w)

    defaults: ClassVar[Mapping[str, Any]] = {"most": 100}
