"""Run unmodified Flower apps in virtual time, on the devices and links of a scenario.

:func:`run` runs a ServerApp and a ClientApp; ``fedsim-flower PROJECT SCENARIO`` runs a project
folder. An app may ask for the virtual time with :func:`now`, advance it with :func:`sleep`, and
end rounds of its own with :func:`close`. See docs/flower.md.
"""

from pyfedsim.flower.app import close, now, running, sleep
from pyfedsim.flower.simulation import FlowerRun, run

__all__ = ["FlowerRun", "close", "now", "run", "running", "sleep"]
