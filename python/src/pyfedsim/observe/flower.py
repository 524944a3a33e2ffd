"""Write the log of a Flower deployment, with two lines in an app.

The ClientApp measures, and its durations travel in the reply, in a ConfigRecord named
:data:`RECORD`::

    from pyfedsim.observe.flower import timing

    app = ClientApp(mods=[timing])

The ServerApp writes::

    from pyfedsim.observe import Log
    from pyfedsim.observe.flower import observed

    @app.main()
    def main(grid, context):
        with Log("monday.csv") as log:
            strategy.start(grid=observed(grid, log), ...)
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .log import Attempt, Log, Value

__all__ = ["RECORD", "observed", "timing"]

RECORD = "pyfedsim.observe"
"""Name of the record in a reply that has the client's durations."""

_CLIENT = "client"
"""Key of a node's config, and of the record: the name of the client."""

_first = True


def timing(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
    """Measure a ClientApp, and return its reply with the durations in seconds.

    This is a mod, the first of the app's list. Flower calls it with ``message`` and ``context``,
    and ``call_next`` calls the rest.

    ``compute_s`` and ``cpu_s`` are those of the other mods and the app. Where Flower starts a
    process for each message, on Linux, ``wait_s`` is the age of the process: its launch, and
    receiving the message. Waiting for Flower's polls is outside of it.

    The name of the client is ``client`` of the node's config, as in
    ``flower-supernode --node-config 'client="pi-3"'``, otherwise ``partition-id``, otherwise the
    node's id. Ids of nodes change when a SuperNode starts.
    """
    clock = Clock()
    launch = _launch()
    with clock.computing():
        reply = call_next(message, context)
    if reply.has_content():
        record: dict[str, Any] = {**launch, **clock.durations()}
        for key in (_CLIENT, "partition-id"):
            if key in context.node_config:
                record[_CLIENT] = str(context.node_config[key])
                break
        reply.content[RECORD] = _flwr().ConfigRecord(record)
    return reply


def observed(
    grid: Any, log: Log, columns: Callable[[Any], Mapping[str, Value]] | None = None
) -> Any:
    """Let a grid write each message that it sends, and each reply, to a log. Returns the grid.

    It replaces ``push_messages`` and ``pull_messages`` of this grid, which ``send_and_receive`` and
    Flower's strategies call. Replies lose the record of :func:`timing`. Messages without a reply
    are written as lost when the log is closed.

    The round of a message is its group id, otherwise ``server-round`` of its config, otherwise the
    number of the call that sent it. ``examples`` is ``num-examples`` of the reply's metrics. Bytes
    are those of the records.

    Parameters
    ----------
    grid
        The grid of the ServerApp.
    log
        The log; it is closed after the last reply.
    columns
        Returns other columns of a row from a reply, such as its ``steps``.
    """
    push, pull = grid.push_messages, grid.pull_messages
    pending: dict[str, Attempt] = {}
    names: dict[int, str] = {}
    calls = 0

    def push_messages(messages: Iterable[Any]) -> list[str]:
        nonlocal calls
        messages = list(messages)
        attempts = [
            log.sent(
                names.get(message.metadata.dst_node_id, str(message.metadata.dst_node_id)),
                _round(message, calls),
                bytes_down=_bytes(message),
                kind=message.metadata.message_type.partition(".")[0],
            )
            for message in messages
        ]
        calls += 1
        ids = list(push(messages))
        for key, attempt in zip(ids, attempts, strict=True):
            if key:
                pending[key] = attempt
            else:  # Flower could not send it
                attempt.lost("failed")
        return ids

    def pull_messages(*arguments: Any, **named: Any) -> list[Any]:
        replies = list(pull(*arguments, **named))
        now = log.now()
        for reply in replies:
            attempt = pending.pop(reply.metadata.reply_to_message_id, None)
            if attempt is not None:
                attempt.row["seen_s"] = now
                _end(attempt, reply, names, columns)
        return replies

    grid.push_messages, grid.pull_messages = push_messages, pull_messages
    return grid


def _end(
    attempt: Attempt,
    reply: Any,
    names: dict[int, str],
    columns: Callable[[Any], Mapping[str, Value]] | None,
) -> None:
    """Write the row of a reply, and take the durations out of it."""
    node = reply.metadata.src_node_id
    if reply.has_error():
        attempt.row.pop("seen_s")
        attempt.lost("failed")
        return
    size = _bytes(reply)
    durations = dict(reply.content.pop(RECORD, {}))
    name = durations.pop(_CLIENT, None)
    if name is not None:
        attempt.client = names[node] = str(name)
    values: dict[str, Any] = {}
    for metrics in reply.content.metric_records.values():
        if "num-examples" in metrics:
            values["examples"] = metrics["num-examples"]
    values.update(columns(reply) if columns else {})
    attempt.seen(bytes_up=size, client=durations, **values)


def _round(message: Any, calls: int) -> int:
    """Return the round of a message."""
    group = message.metadata.group_id
    if group and group.isdecimal():
        return int(group)
    for config in message.content.config_records.values():
        if "server-round" in config:
            return int(config["server-round"])
    return calls


def _bytes(message: Any) -> int:
    """Return the bytes of a message's records."""
    if not message.has_content():
        return 0
    return sum(record.count_bytes() for record in message.content.values())


def _launch() -> dict[str, float]:
    """Return ``wait_s`` in a process that Flower has started for this message."""
    global _first
    first, _first = _first, False
    if not (first and sys.platform == "linux" and sys.argv[0].endswith("flwr-clientapp")):
        return {}
    # The 22nd field is the start in ticks since boot; the second one may contain spaces.
    fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
    ticks = int(fields.rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return {"wait_s": max(age, 0.0)}


def _flwr() -> Any:
    return importlib.import_module("flwr.app")
