"""Programs that fedsim drives, and learners: ``algorithm = "external"`` in a scenario.

A learner is for simulations whose model and data fedsim does not have; a method that learns the rows
and the model of a scenario is a :class:`pyfedsim.Method`.

A learner is a program that trains models. fedsim asks it for work over its standard input
and output, and decides from the bytes and FLOPs of its answers when each response arrives.
Models never cross the pipe. A subclass of :class:`Learner` is such a program::

    class Mean(Learner):
        metrics = (Metric("test", "loss", "lower"),)

        def start(self): ...  # set self.parameters and self.step_flops
        def train(self, client, steps, rng): ...  # return an Update
        def evaluate(self): ...  # return {"test_loss": 0.3}

    if __name__ == "__main__":
        serve(Mean)
"""

from pyfedsim.protocols._arrays import Arrays, Pending
from pyfedsim.protocols._learner import Evaluation, Learner, Metric, Update, Work
from pyfedsim.protocols._load import command, serve

__all__ = [
    "Arrays",
    "Evaluation",
    "Learner",
    "Metric",
    "Pending",
    "Update",
    "Work",
    "command",
    "serve",
]
