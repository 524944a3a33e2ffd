"""What is replaced in Flower while an app runs, all in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import _releases as flwr
from .arrays import remembering
from .grid import RUN_ID, VirtualGrid
from .rounds import Rounds
from .strategies import Done, batched, observed_fl, observed_start, registration


@contextmanager
def patched(grid: VirtualGrid, rounds: Rounds, done: Done) -> Iterator[None]:
    """Let Flower use the virtual clock, and tell its rounds; undone at the end."""
    server = flwr.server_module
    replaced: list[tuple[Any, str, Any]] = [
        (flwr.message_module, "now", grid.datetime),
        (flwr.Array, "numpy", remembering(flwr.Array.numpy)),
        (flwr.strategy_utils, "sleep", grid.sleep_for_nodes),
        (flwr.Strategy, "start", observed_start(flwr.Strategy.start, rounds, done)),
        (server, "fit_clients", batched(server.fit_client, flwr.settle_fit)),
        (server, "evaluate_clients", batched(server.evaluate_client, flwr.settle_evaluate)),
        (flwr.compat_app, "run_fl", observed_fl(flwr.compat_app.run_fl, rounds, done)),
    ]
    for module in (flwr.compat_app, flwr.workflows):
        start = module.start_update_client_manager_thread
        replaced.append((module, "start_update_client_manager_thread", registration(start, grid)))
    if flwr.TaskIdentity is not None:
        # Set without their setters: before the run they may be unset.
        replaced += [
            (flwr.TaskIdentity, "_task_id", 1),
            (flwr.TaskIdentity, "_run_id", RUN_ID),
            (flwr.TaskIdentity, "_node_id", flwr.SUPERLINK_NODE_ID),
        ]
    before = [(place, name, getattr(place, name)) for place, name, _ in replaced]
    try:
        for place, name, value in replaced:
            setattr(place, name, value)
        yield
    finally:
        for place, name, value in reversed(before):
            setattr(place, name, value)
