"""Checks of the rig before it measures: tools, namespaces, a rate, a quota, an idle machine.

As a program, in namespaces of its own, it checks the rate and the quota.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import links
import numpy as np
from inside import prefer

RATE_MBPS = 4.0
RATE_TOLERANCE = 0.02
QUOTA_TOLERANCE = 0.1
BUSY = 0.08  # share of all cores
WIRE = 1514 / 1448
"""Bytes on the wire for a byte of a full segment, with time stamps."""
PORT = 7699


class CannotError(Exception):
    """The rig cannot run on this machine."""


def tools() -> None:
    """Raise CannotError without the commands of Linux, or without root."""
    if sys.platform != "linux":
        raise CannotError("the rig needs Linux")
    if os.geteuid() != 0:
        raise CannotError("the rig needs root")
    missing = [name for name in ("ip", "tc", "unshare", "nsenter") if not shutil.which(name)]
    if missing:
        raise CannotError(f"no {', '.join(missing)}; install iproute2 and util-linux")


def namespaces(unshare: list[str]) -> None:
    """Raise CannotError where namespaces or token buckets are not allowed."""
    bucket = "tc qdisc add dev lo root tbf rate 1mbit burst 4kb latency 1s"
    done = subprocess.run(
        [*unshare, "sh", "-c", bucket], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotError(f"no namespaces with shaped links here: {done.stderr.strip()}")


def core_gflops(out: Path) -> float:
    """Return the speed of a core in 1e9 FLOP/s, measured once by multiplying matrices.

    It is what somebody would enter who has not calibrated.
    """
    path = out / "machine.json"
    if not path.exists():
        matrix = np.ones((384, 384), np.float32)
        best = 0.0
        for _ in range(30):
            begun = time.perf_counter()
            matrix @ matrix
            best = max(best, 2 * 384**3 / (time.perf_counter() - begun) / 1e9)
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"core_gflops": round(best, 1)}), encoding="ascii")
    return float(json.loads(path.read_text(encoding="ascii"))["core_gflops"])


def idle(limit_s: float = 60.0) -> str:
    """Wait until the machine is idle; return what it was."""
    begun = time.monotonic()
    while (busy := _busy()) > BUSY:
        if os.environ.get("RIG_BUSY"):
            return f"machine BUSY: {100 * busy:.0f} % by others, so do not trust this run"
        if time.monotonic() - begun > limit_s:
            raise SystemExit(
                f"others use {100 * busy:.0f} % of this machine for {limit_s:.0f} s: measure when it "
                "is idle, or set RIG_BUSY=1"
            )
    return f"machine idle: {100 * busy:.0f} % busy"


def _busy() -> float:
    """Return the share of processor time that is used in a second."""

    def times() -> tuple[int, int]:
        with Path("/proc/stat").open(encoding="ascii") as file:
            values = [int(word) for word in file.readline().split()[1:9]]
        return sum(values), values[3] + values[4]  # idle and waiting for input

    before = times()
    time.sleep(1)
    total, free = (now - then for now, then in zip(times(), before, strict=True))
    return 1 - free / total


def rate() -> None:
    """Check that a message takes the time that its rate says, both ways."""
    size = 200_000
    links.build([links.Link(1, RATE_MBPS, RATE_MBPS)], 0.0, fair=True)
    program = [sys.executable, __file__, "peer", str(size)]
    listener = socket.create_server(("0.0.0.0", PORT))
    with listener, subprocess.Popen([*links.enter(1), *program]) as peer:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.recv(1)
        time.sleep(0.3)
        begun = time.perf_counter()
        connection.sendall(bytes(size))
        connection.recv(1)
        middle = time.perf_counter()
        connection.sendall(b"-")
        left = size
        while left:
            left -= len(connection.recv(left))
        end = time.perf_counter()
        peer.wait(10)
    want = (size * WIRE - links.BURST) * 8 / (RATE_MBPS * 1e6)
    for way, took in (("down", middle - begun), ("up", end - middle)):
        if abs(took / want - 1) > RATE_TOLERANCE:
            raise SystemExit(
                f"a rate does not hold: {size} bytes {way} at {RATE_MBPS} Mbit/s took {took:.4f} s, not {want:.4f} s"
            )
        print(f"check: {way} {took:.4f} s, theory {want:.4f} s")


def peer(size: int) -> None:
    """Receive a message and send one."""
    connection = socket.create_connection(("10.77.1.1", PORT))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(b"-")
    left = size
    while left:
        left -= len(connection.recv(left))
    connection.sendall(b"-")
    connection.recv(1)
    connection.sendall(bytes(size))


def quota(paths: list[str]) -> None:
    """Check that a group limits the processor time of a process to a fifth of a core."""
    program = (
        "import sys, time\n"
        "open(sys.argv[1] + '/cgroup.procs', 'w').write('0')\n"
        "wall, cpu = time.perf_counter(), time.process_time()\n"
        "while time.perf_counter() < wall + 2: pass\n"
        "print((time.process_time() - cpu) / (time.perf_counter() - wall))\n"
    )
    for path in paths:
        command = [sys.executable, "-c", program, path]
        share = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        if abs(share / 0.2 - 1) > QUOTA_TOLERANCE:
            raise SystemExit(f"a quota does not hold: {share:.3f} of a core, not 0.2")
        print(f"check: share {share:.3f} of a core, quota 0.2")


def main() -> None:
    """Check the rate and the quota; or be the peer of the rate's check."""
    if sys.argv[1] == "peer":
        peer(int(sys.argv[2]))
        return
    config: dict[str, Any] = json.loads(sys.argv[1])
    prefer()
    rate()
    quota(config["groups"])


if __name__ == "__main__":
    main()
