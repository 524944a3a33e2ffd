"""The mod and the grid of logs with messages of the installed Flower."""

from __future__ import annotations

import csv
import importlib
import re
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install flwr")
pytestmark = pytest.mark.filterwarnings("ignore")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    flwr: Any = importlib.import_module("flwr.app")
    from pyfedsim.flower import _releases
    from pyfedsim.observe import Log, flower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@pytest.fixture(autouse=True)
def _running(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the identity of the running task, which messages ask for."""
    for name in ("_task_id", "_run_id", "_node_id"):
        if _releases.TaskIdentity is not None:
            monkeypatch.setattr(_releases.TaskIdentity, name, 1)


class Grid:
    """Calls a ClientApp when replies are pulled, as the grids of Flower do in send_and_receive."""

    def __init__(self, app: Callable[[Any, Any], Any]) -> None:
        self.app = app
        self.sent: dict[str, Any] = {}

    def push_messages(self, messages: Iterable[Any]) -> list[str]:
        ids = []
        for message in messages:
            key = f"m{len(self.sent)}"
            message.metadata.__dict__["_message_id"] = key
            message.metadata.__dict__["_src_node_id"] = 1
            self.sent[key] = message
            ids.append(key)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> list[Any]:
        return [reply for key in message_ids if (reply := self.reply(key)) is not None]

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> Any:
        return self.pull_messages(self.push_messages(messages))

    def reply(self, key: str) -> Any:
        message = self.sent[key]
        node = message.metadata.dst_node_id
        if node == 14:
            return None
        if node == 15:
            error = _releases.Error(code=0, reason="broken")
            return flwr.Message(error, reply_to=message)
        name = {11: {"client": "pi-3"}, 12: {"partition-id": 4}}.get(node, {})
        context = SimpleNamespace(node_config=name)
        return flower.timing(message, context, self.app)


def app(message: Any, _: Any) -> Any:
    """Train for 20 ms."""
    time.sleep(0.02)
    content = {
        "arrays": message.content["arrays"],
        "metrics": flwr.MetricRecord({"num-examples": 60, "loss": 0.5}),
    }
    return flwr.Message(flwr.RecordDict(content), reply_to=message)


def message(node: int, kind: str = "train", group: str = "", number: int | None = None) -> Any:
    config = {} if number is None else {"server-round": number}
    content = {"arrays": flwr.ArrayRecord([]), "config": flwr.ConfigRecord(config)}
    content["arrays"]["w"] = flwr.Array("float32", (25,), "numpy.ndarray", bytes(100))
    return flwr.Message(flwr.RecordDict(content), node, kind, group_id=group)


def rows(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    with path.open() as file:
        found = [{k: v for k, v in row.items() if v != ""} for row in csv.DictReader(file)]
    assert len({(row["client"], row["round"]) for row in found}) == len(found)
    return {(row["client"], row["round"]): row for row in found}


def test_messages_become_rows(tmp_path: Path) -> None:
    clients = {"pi-3": {"down_mbps": 20}}
    with Log(tmp_path / "a.csv", clients=clients) as log:
        grid = flower.observed(Grid(app), log, columns=lambda _: {"epochs": 2})
        replies = grid.send_and_receive([message(node, group="7") for node in range(11, 16)])
        assert len(replies) == 4
        for reply in replies[:3]:
            assert set(reply.content) == {"arrays", "metrics"}
        assert replies[3].has_error()
        grid.send_and_receive([message(11, "evaluate.fast", number=9)])
        grid.send_and_receive([message(14)])
        grid.push_messages([message(11)])  # its reply is not pulled
    found = rows(tmp_path / "a.csv")
    outcomes = {key: row["outcome"] for key, row in found.items()}
    assert outcomes == {
        ("pi-3", "7"): "taken",
        ("4", "7"): "taken",
        ("13", "7"): "taken",
        ("14", "7"): "lost",
        ("15", "7"): "failed",
        ("pi-3", "9"): "taken",
        ("14", "2"): "lost",
        ("pi-3", "3"): "lost",
    }
    row = found["pi-3", "7"]
    assert row["examples"] == "60"
    assert row["epochs"] == "2"
    assert row["down_mbps"] == "20"
    assert row["kind"] == "train"
    assert int(row["bytes_down"]) >= 100
    assert int(row["bytes_up"]) >= 100
    assert float(row["seen_s"]) - float(row["sent_s"]) >= float(row["compute_s"]) >= 0.02
    assert float(row["cpu_s"]) < 0.02
    assert "wait_s" not in row
    assert found["pi-3", "9"]["kind"] == "evaluate"
    assert "seen_s" not in found["15", "7"]
    assert float(found["14", "2"]["sent_s"]) > float(row["seen_s"])


def test_a_message_that_cannot_be_sent_has_failed(tmp_path: Path) -> None:
    grid: Any = Grid(app)
    grid.push_messages = lambda messages: [None for _ in messages]
    with Log(tmp_path / "a.csv") as log:
        assert flower.observed(grid, log).push_messages([message(11)]) == [None]
    assert rows(tmp_path / "a.csv")["11", "0"]["outcome"] == "failed"


@pytest.mark.skipif(sys.platform != "linux", reason="the age of a process is read from /proc")
def test_the_launch_of_a_process_is_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/flwr-clientapp"])
    monkeypatch.setattr(flower, "_first", True)
    contexts = SimpleNamespace(node_config={})
    records = [flower.timing(message(11), contexts, app).content[flower.RECORD] for _ in range(2)]
    assert [set(record) for record in records] == [
        {"wait_s", "compute_s", "cpu_s"},
        {"compute_s", "cpu_s"},
    ]
    assert 0.02 < records[0]["wait_s"] < 3600


def test_the_app_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An app as docs/python.md has it writes the log of ten rounds."""
    page = Path(__file__).parents[2] / "docs" / "python.md"
    if not page.is_file():
        pytest.skip("the page is not in the sdist")
    block = re.search(r"^```py\n([^`]*observe\.flower.*?)^```", page.read_text(), re.M | re.S)
    assert block is not None
    clients, servers, strategies = (
        importlib.import_module(f"flwr.{name}")
        for name in ("clientapp", "serverapp", "serverapp.strategy")
    )
    names = {
        "ClientApp": clients.ClientApp,
        "FedAvg": strategies.FedAvg,
        "server_app": servers.ServerApp(),
        "arrays": flwr.ArrayRecord([np.zeros(3)]),
    }
    monkeypatch.chdir(tmp_path)
    exec(block[1], names)  # noqa: S102
    names["client_app"].train()(app)

    @names["client_app"].evaluate()  # type: ignore[untyped-decorator]
    def evaluate(message: Any, _: Any) -> Any:
        metrics = flwr.MetricRecord({"num-examples": 60, "loss": 0.5})
        return flwr.Message(flwr.RecordDict({"metrics": metrics}), reply_to=message)

    class Nodes(Grid):
        def get_node_ids(self) -> list[int]:
            return [11, 12]

        def reply(self, key: str) -> Any:
            name = {"client": f"pi-{self.sent[key].metadata.dst_node_id}"}
            return self.app(self.sent[key], SimpleNamespace(node_config=name))

    names["server_app"](Nodes(names["client_app"]), SimpleNamespace())
    with (tmp_path / "monday.csv").open() as file:
        found = list(csv.DictReader(file))
    assert sorted((int(row["round"]), row["kind"], row["client"]) for row in found) == [
        (number, kind, client)
        for number in range(1, 11)
        for kind in ("evaluate", "train")
        for client in ("pi-11", "pi-12")
    ]
    assert all(float(row["compute_s"]) >= 0.02 for row in found if row["kind"] == "train")
