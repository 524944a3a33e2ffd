"""Write the log of a real federation, which ``fedsim calibrate`` reads.

The server has a :class:`Log`, with a row for each attempt. A client has a :class:`Clock`, whose
durations travel with the reply. ``pyfedsim.observe.flower`` does both for Flower. docs/real.md
describes the columns.
"""

from pyfedsim.observe.clock import Clock
from pyfedsim.observe.log import Attempt, Log

__all__ = ["Attempt", "Clock", "Log"]
