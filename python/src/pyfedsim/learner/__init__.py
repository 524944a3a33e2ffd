"""Learners that fedsim drives: ``algorithm = "external"`` in a scenario.

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

from pyfedsim.learner._adam import Adam
from pyfedsim.learner._arrays import Arrays, Pending
from pyfedsim.learner._learner import Evaluation, Learner, Metric, Update, Work
from pyfedsim.learner._load import command
from pyfedsim.learner._serve import serve

__all__ = [
    "Adam",
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
