"""A client: receives models, trains, replies. Its argument is its configuration as JSON.

It imports NumPy, warms up and connects before it enters its control group.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import numpy as np
import training
import wire
from pyfedsim.observe import Clock


def main() -> None:
    """Serve until the server closes the connection."""
    config = json.loads(sys.argv[1])
    hidden, examples = config["hidden"], config["examples"]
    rows, labels = training.data(config["id"], examples)
    vector = np.zeros(training.parameters(hidden), np.float32)
    few = 20 * config["batch"]
    training.train(vector, hidden, rows[:few], labels[:few], 1, config["batch"], None)
    connection = socket.create_connection((config["host"], config["port"]))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for group in config["groups"]:
        Path(group, "cgroup.procs").write_text("0", encoding="ascii")  # this process
    connection.sendall(wire.pack({"id": config["id"]}))
    clock = Clock()
    while True:
        try:
            header, body, _ = wire.receive(connection, clock.first_byte)
        except ConnectionError:
            return
        clock.received()
        pace = training.Pace(*config["pace"]) if config["pace"] else None
        with clock.computing():
            vector = training.train(
                np.frombuffer(body, np.float32),
                hidden,
                rows,
                labels,
                header["epochs"],
                header["batch"],
                pace,
            )
        durations = clock.durations()
        durations.pop("idle_s", None)  # the end of a reply is not seen here
        reply = {"durations": durations, "behind_s": pace.behind_s if pace else 0.0}
        connection.sendall(wire.pack(reply, vector.tobytes()))


if __name__ == "__main__":
    main()
