"""SCAFFOLD as a method of its own, beside fedsim's (Karimireddy et al., ICML 2020, option II).

fedsim starts it: fedsim run scaffold.toml --allow-external

A client k has a control variate c_k, and the server c, the mean of all; both start at 0. Local steps
follow the gradient minus c_k plus c, so that they do not drift towards the optimum of the client.
"""

import numpy as np
from pyfedsim import Method, serve


class Scaffold(Method):
    defaults = {"server_step": 1.0}
    update_flops = 7.0  # of a step, for each value: the correction takes two more

    def start(self, w, state):
        state["c"] = np.zeros_like(w)

    def message(self, w, state):  # travels beside w, and counts as bytes
        return {"c": state["c"]}

    def client(self, w, local, state):
        c, own = local.sent["c"], state.get("c", np.zeros_like(w))
        u = local.sgd(w, slope=c - own)
        change = -c - (u - w) / (local.updates * local.step)
        state["c"] = own + change  # kept only if the server takes the response
        return u, {"c": change}

    def server(self, w, replies, state):
        state["c"] = state["c"] + replies.sum("c") / self.clients
        return w + self.options["server_step"] * replies.mean(by="equal")


if __name__ == "__main__":
    serve(Scaffold)
