"""The names of Flower that moved between its releases, each looked up once.

Flower 1.22 to 1.4x are supported. A name that moved is given with all its places, the newest first.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from pyfedsim.errors import FedsimError


def first(*places: str) -> Any:
    """Return the object at the first of the places ``module:name`` that exists."""
    for place in places:
        module, _, name = place.partition(":")
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        if not name:
            return found
        if hasattr(found, name):
            return getattr(found, name)
    raise FedsimError(
        f"flwr {release()} has no {places[0]}; pyfedsim.flower supports flwr 1.22 and newer"
    )


def release() -> str:
    """Return the release of Flower that is installed."""
    try:
        return importlib.metadata.version("flwr")
    except importlib.metadata.PackageNotFoundError:
        raise FedsimError("flwr is not installed; install it: pip install flwr") from None


release()

Context = first("flwr.app:Context")
Message = first("flwr.app:Message")
RecordDict = first("flwr.app:RecordDict")
Array = first("flwr.app:Array")
ArrayRecord = first("flwr.app:ArrayRecord")
ConfigRecord = first("flwr.app:ConfigRecord")
MetricRecord = first("flwr.app:MetricRecord")
Error = first("flwr.app:Error", "flwr.common:Error")
ErrorCode = first("flwr.common.constant:ErrorCode")
SUPERLINK_NODE_ID: int = first("flwr.common.constant:SUPERLINK_NODE_ID")
Grid = first("flwr.serverapp.grid:Grid", "flwr.server.grid:Grid")
ServerApp = first("flwr.serverapp:ServerApp", "flwr.server:ServerApp")
ClientApp = first("flwr.clientapp:ClientApp", "flwr.client:ClientApp")
Run = first("flwr.supercore.run:Run", "flwr.common.typing:Run")
Strategy = first("flwr.serverapp.strategy:Strategy")
log = first("flwr.supercore:log", "flwr.common.logger:log")

# Modules in which names are replaced while an app runs.
message_module = first("flwr.app.message.message", "flwr.common.message")
strategy_utils = first("flwr.serverapp.strategy.strategy_utils")
server_module = first("flwr.server.server")
settle_fit = first("flwr.server.server:_handle_finished_future_after_fit")
settle_evaluate = first("flwr.server.server:_handle_finished_future_after_evaluate")
compat_app = first("flwr.server.compat.app")
workflows = first("flwr.server.workflow.default_workflows")

try:  # the identity of the running task; 1.36 has none
    TaskIdentity: Any = importlib.import_module("flwr.supercore.task_identity").TaskIdentity
except ModuleNotFoundError:
    TaskIdentity = None
