"""A Flower app that sends a model around. The work of a client is sleeping."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from pyfedsim.observe import Log
from pyfedsim.observe.flower import observed, timing

LOOPBACK_MBPS = 10_000.0
"""The rate of a link that a user without measurements would enter for loopback: Ethernet of 10 Gbit/s."""

server_app = ServerApp()
client_app = ClientApp(mods=[timing])


@client_app.train()
def train(message: Message, context: Context) -> Message:
    """Sleep as long as the work of this node takes, and reply with the model."""
    print(f"rig: work at {time.perf_counter()}", flush=True)  # the node's output is time-stamped
    work = float(context.node_config["work"])
    time.sleep(work)
    print(f"rig: done at {time.perf_counter()}", flush=True)
    content = {
        "model": message.content["model"],
        "metrics": MetricRecord({"flops": 1e9 * work}),
    }
    return Message(RecordDict(content), reply_to=message)


@server_app.main()
def main(grid: Grid, context: Context) -> None:  # noqa: ARG001 - Flower's
    """Play the rounds, each with all nodes that have replied in the one before."""
    run: dict[str, Any] = json.loads(Path(os.environ["RIG_RUN"]).read_text(encoding="utf-8"))
    nominal = {"gflops": 1.0, "down_mbps": LOOPBACK_MBPS, "up_mbps": LOOPBACK_MBPS}
    clients = {str(i + 1): nominal for i in range(len(run["work_s"]))}
    with Log(run["log"], run["settings"], run=run["name"], clients=clients) as log:
        log.comment(json.dumps({key: run[key] for key in ("work_s", "bytes", "rounds")}))
        log.comment(run["machine"])
        observed(grid, log, columns=flops)
        nodes = connected(grid, len(clients))
        values = np.random.default_rng(7).standard_normal(run["bytes"] // 4, np.float32)
        model = ArrayRecord({"values": Array(values)})
        for number in range(run["rounds"]):
            kill(run, number)
            messages = [
                Message(RecordDict({"model": model}), node, "train", group_id=str(number))
                for node in nodes
            ]
            replies = list(grid.send_and_receive(messages, timeout=run.get("timeout_s")))
            nodes = [reply.metadata.src_node_id for reply in replies if not reply.has_error()]


def flops(reply: Message) -> dict[str, float]:
    """Return the column of a row."""
    return {"flops": reply.content["metrics"]["flops"]}


def connected(grid: Grid, count: int) -> list[int]:
    """Wait for the nodes."""
    for _ in range(600):
        nodes = sorted(grid.get_node_ids())
        if len(nodes) == count:
            return nodes
        time.sleep(0.1)
    raise RuntimeError(f"{count} nodes do not connect in 60 s")


def kill(run: dict[str, Any], number: int) -> None:
    """Kill a SuperNode some time after the start of a round."""
    plan = run.get("kill")
    if plan and plan["round"] == number:
        pid = run["pids"][plan["client"] - 1]
        threading.Timer(plan["after_s"], os.kill, (pid, signal.SIGKILL)).start()
