"""The names of Flower that moved between its releases, each looked up once.

Flower 1.22 to 1.4x are supported. A name that moved is given with all its places, the newest first.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from pyfedsim.errors import FedsimError


def _first(*places: str) -> Any:
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

Context = _first("flwr.app:Context")
Message = _first("flwr.app:Message")
RecordDict = _first("flwr.app:RecordDict")
ArrayRecord = _first("flwr.app:ArrayRecord")
ConfigRecord = _first("flwr.app:ConfigRecord")
MetricRecord = _first("flwr.app:MetricRecord")
Error = _first("flwr.app:Error", "flwr.common:Error")
ErrorCode = _first("flwr.common.constant:ErrorCode")
SUPERLINK_NODE_ID: int = _first("flwr.common.constant:SUPERLINK_NODE_ID")
Grid = _first("flwr.serverapp.grid:Grid", "flwr.server.grid:Grid")
ServerApp = _first("flwr.serverapp:ServerApp", "flwr.server:ServerApp")
ClientApp = _first("flwr.clientapp:ClientApp", "flwr.client:ClientApp")
Run = _first("flwr.supercore.run:Run", "flwr.common.typing:Run")
Strategy = _first("flwr.serverapp.strategy:Strategy")
log = _first("flwr.supercore:log", "flwr.common.logger:log")

# Modules in which names are replaced while an app runs.
message_module = _first("flwr.app.message.message", "flwr.common.message")
strategy_utils = _first("flwr.serverapp.strategy.strategy_utils")
server_module = _first("flwr.server.server")
settle_fit = _first("flwr.server.server:_handle_finished_future_after_fit")
settle_evaluate = _first("flwr.server.server:_handle_finished_future_after_evaluate")
compat_app = _first("flwr.server.compat.app")
workflows = _first("flwr.server.workflow.default_workflows")

# How a project folder is read.
load_app = _first("flwr.supercore.object_ref:load_app", "flwr.common.object_ref:load_app")
project_config = _first("flwr.common.config:get_project_config")
fused_config = _first("flwr.common.config:get_fused_config_from_dir")
parse_config_args = _first("flwr.common.config:parse_config_args")

try:  # the identity of the running task; 1.36 has none
    TaskIdentity: Any = importlib.import_module("flwr.supercore.task_identity").TaskIdentity
except ModuleNotFoundError:
    TaskIdentity = None

toml = _first("tomllib", "tomli")  # Flower depends on tomli
