"""A run in its own namespaces; its argument is its configuration as JSON.

The namespaces and all processes end with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import links
import server
from pyfedsim.observe import Log

HERE = Path(__file__).resolve().parent
CONNECT_S = 120.0
NICE = -20
SETTLE_S = 0.5  # token buckets fill


class Processes:
    """The processes of clients and relays."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.run = run
        self.clients: dict[int, subprocess.Popen[bytes]] = {}
        self.relays: list[subprocess.Popen[bytes]] = []
        for i, number in enumerate(run["clients"]):
            delay_s = run["delay_ms"][i % len(run["delay_ms"])] / 1e3
            port = server.PORT
            if delay_s:
                port += number
                relay = [sys.executable, str(HERE / "relay.py"), str(port), str(server.PORT)]
                self.relays.append(subprocess.Popen([*relay, str(delay_s)]))
            self.clients[number] = self._start(number, port)

    def _start(self, number: int, port: int) -> subprocess.Popen[bytes]:
        run, client = self.run, self.run["client"][str(number)]
        config = {
            "id": number,
            "host": links.server_address(number, bool(run["cell_mbps"])),
            "port": port,
            "hidden": run["hidden"],
            "batch": run["batch"],
            "examples": client["examples"],
            "pace": client["pace"],
            "groups": client["groups"],
        }
        command = [*links.enter(number), sys.executable, str(HERE / "client.py")]
        return subprocess.Popen([*command, json.dumps(config)])

    def on_round(self, number: int) -> None:
        """Kill a client some time after the start of a round."""
        kill = self.run.get("kill")
        if kill and kill["round"] == number:
            threading.Timer(kill["after_s"], self.clients[kill["client"]].kill).start()

    def end(self) -> None:
        """Wait for the processes, which end with their connections."""
        killed = self.run.get("kill", {}).get("client")
        for number, process in self.clients.items():
            if process.wait(10) and number != killed:
                raise RuntimeError(f"client {number} ended with status {process.returncode}")


def prefer() -> None:
    """Go before the other processes of the machine, which then disturb less. Quotas still hold."""
    os.nice(NICE)
    sessions = Path("/proc/self/autogroup")  # where they are scheduled as one, nice counts inside
    if sessions.exists():
        os.setsid()
        sessions.write_text(str(NICE), encoding="ascii")


def play(run: dict[str, Any]) -> None:
    """Play a run and write its log."""
    rates = [
        links.Link(n, run["client"][str(n)]["down"], run["client"][str(n)]["up"])
        for n in run["clients"]
    ]
    prefer()
    links.build(rates, run["cell_mbps"], run["cell"] == "fair")
    processes = Processes(run)
    clients, replies = server.accept(set(run["clients"]), CONNECT_S)
    time.sleep(SETTLE_S)
    nominal = {
        str(n): {
            "down_mbps": run["client"][str(n)]["down"],
            "up_mbps": run["client"][str(n)]["up"],
            "gflops": run["client"][str(n)]["gflops"],
        }
        for n in run["clients"]
    }
    with Log(run["log"], settings(run), run=run["name"], clients=nominal) as log:
        log.comment(json.dumps({k: v for k, v in run.items() if k not in ("log", "python")}))
        log.comment(f"load average {' '.join(map(str, os.getloadavg()))}; {run['machine']}")
        server.Server(run, clients, replies, log, processes.on_round).play()
    for client in clients:
        if client.alive:
            client.close()
    processes.end()


def settings(run: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a scenario that describe a run."""
    protocol = run["protocol"]
    keys: dict[str, Any] = {"federation.protocol": protocol}
    if protocol == "deadline":
        keys["federation.deadline_s"] = run["deadline_s"]
        keys["federation.protocol_options.fit_work"] = False
    if protocol == "first":
        keys["federation.protocol_options.over_selection"] = run["over_selection"]
    if protocol in ("deadline", "first"):
        keys["federation.late"] = "keep"
    if protocol == "asynchronous":
        keys["methods.fedbuff.options.buffer"] = run["buffer"]
    if run["clients_per_round"]:
        keys["federation.clients_per_round"] = run["clients_per_round"]
    if run["cell_mbps"]:
        keys["network.shared.cells"] = 1
        keys["network.shared.cell_down_mbps"] = keys["network.shared.cell_up_mbps"] = run["cell_mbps"]
        keys["description"] = f"cell with a {run['cell']} queue"  # scenarios have the fair one
    return keys


if __name__ == "__main__":
    play(json.loads(sys.argv[1]))
