"""The Flower layer: a SuperLink and SuperNodes as processes, on loopback in a namespace.

As a program it plays a run: its argument is its configuration as JSON.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import links
from inside import prefer

HERE = Path(__file__).resolve().parent
RELEASE = "1.41"
BIN = Path(sys.executable).parent
ADDRESS = "127.0.0.1:8000"
ROUNDS, CUT_ROUNDS = 8, 3


def runs(out: Path) -> list[dict[str, Any]]:
    """Return the runs of the layer."""
    release = importlib.metadata.version("flwr")
    if not release.startswith(RELEASE):
        raise SystemExit(f"the Flower layer needs flwr {RELEASE}, not {release}")
    table = tomllib.loads((HERE / "plan.toml").read_text(encoding="utf-8"))
    cut = bool(os.environ.get("CUT"))
    found = []
    for own in table["flower"]:
        repeat = 1 if cut else own.get("repeat", 1)
        for i in range(repeat):
            name = own["name"] + (f"-{i + 1}" if i else "")
            rounds = CUT_ROUNDS + (own.get("kill", {}).get("round", 0)) if cut else ROUNDS
            settings = {"federation.protocol": "wait-for-all", "overhead.runtime": "flower-1.41"}
            if "timeout_s" in own:
                settings["engine.detect_s"] = own["timeout_s"]
            plan = {**own, "name": name, "plan": own["name"], "rounds": rounds}
            plan |= {"settings": settings, "log": str(out / "flower" / f"{name}.csv")}
            found.append(plan)
    return found


@dataclass
class Node:
    """A SuperNode, with the instants that its output tells, in seconds of perf_counter."""

    process: subprocess.Popen[str]
    started: float
    lines: list[tuple[float, str]] = field(default_factory=list)

    def read(self) -> None:
        """Stamp the lines of the output."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.perf_counter(), line))

    def durations(self) -> list[dict[str, float]]:
        """Return idle_s, receive_s, wait_s and reply_s of the attempts, in their order."""
        found: list[dict[str, float]] = []
        ended, at = self.started, 0.0
        for stamp, line in self.lines:
            if "Receiving: " in line:
                found.append({"idle_s": stamp - ended})
                at = stamp
            elif "Received successfully" in line:
                found[-1]["receive_s"] = stamp - at
                at = stamp
            elif "rig: work at" in line:
                found[-1]["wait_s"] = float(line.split()[-1]) - at
            elif "rig: done at" in line:
                at = float(line.split()[-1])
            elif "Sent successfully" in line:
                found[-1]["reply_s"] = stamp - at
                ended = stamp
        return found


def play(run: dict[str, Any]) -> None:
    """Play a run and write its log."""
    prefer()
    links.call("ip", "link", "set", "lo", "up")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.toml").write_text(
            f'[superlink.rig]\naddress = "{ADDRESS}"\ninsecure = true\n', encoding="ascii"
        )
        os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        os.environ |= {"FLWR_HOME": name, "FLWR_DISABLE_UPDATE_CHECK": "1"}
        os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RIG_RUN": str(folder / "run.json")}
        os.environ["PYTHONUNBUFFERED"] = "1"
        superlink = _superlink(folder)
        nodes = [_node(i, work) for i, work in enumerate(run["work_s"])]
        run["pids"] = [node.process.pid for node in nodes]
        (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
        _submit(run, superlink, folder)
        time.sleep(1)  # the output of the last replies
        for process in [superlink, *(node.process for node in nodes)]:
            process.kill()
    _merge(Path(run["log"]), nodes, run)


def _superlink(folder: Path) -> subprocess.Popen[bytes]:
    """Start the SuperLink and wait until it listens."""
    host, port = ADDRESS.split(":")
    command = [str(BIN / "flower-superlink"), "--insecure", "--host", host, "--port", port]
    command.append("--disable-runtime-dependency-installation")
    with (folder / "superlink.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://{ADDRESS}/health", timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return process
    raise RuntimeError(f"the SuperLink does not start: {(folder / 'superlink.log').read_text()}")


def _node(i: int, work: float) -> Node:
    """Start a SuperNode."""
    command = [str(BIN / "flower-supernode"), "--insecure", "--superlink", ADDRESS]
    command += ["--port", str(9101 + i), "--node-config", f'client="{i + 1}" work={work}']
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    node = Node(process, time.perf_counter())
    threading.Thread(target=node.read, daemon=True).start()
    return node


def _submit(run: dict[str, Any], superlink: subprocess.Popen[bytes], folder: Path) -> None:
    """Run the app, and wait for its end, which its log tells."""
    command = [str(BIN / "flwr"), "run", str(HERE / "flower_app"), "rig", "--stream"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=850)
    if done.returncode or superlink.poll() is not None or not Path(run["log"]).exists():
        text = (folder / "superlink.log").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"the app has failed:\n{done.stdout}{done.stderr}\n{text}")


def _merge(path: Path, nodes: list[Node], run: dict[str, Any]) -> None:
    """Put the durations of the SuperNodes into the log; wait_s then has the poll for a launch."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    if len(rows) < run["rounds"]:
        raise RuntimeError(f"the log has {len(rows)} attempts of {run['rounds']} rounds")
    rows.sort(key=lambda row: float(row["sent_s"]))
    for i, node in enumerate(nodes):
        own = [row for row in rows if row["client"] == str(i + 1)]
        for row in own:  # also those without a reply
            row["flops"] = str(round(1e9 * run["work_s"][i]))
        for row, durations in zip(own, node.durations(), strict=False):
            row.update({key: f"{value:.6f}" for key, value in durations.items()})
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in comments)
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    play(json.loads(sys.argv[1]))
