"""Logs of real federations: their rows, the clock of a client, and what is refused."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from pyfedsim.errors import UsageError
from pyfedsim.observe import Clock, Log
from pyfedsim.observe.log import COLUMNS

if TYPE_CHECKING:
    from pathlib import Path


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a log, without what they do not have."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [{k: v for k, v in row.items() if v != ""} for row in csv.DictReader(lines)]


def test_a_row_has_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    settings = {
        "federation.protocol": "first",
        "federation.protocol_options.over_selection": 1.5,
        "federation.clients_per_round": 4,
        "federation.protocol_options.fit_work": False,
    }
    clients: dict[str, Any] = {"phone, red": {"class": "phone", "down_mbps": 20, "gflops": 0.3}}
    with Log(path, settings, run="monday", clients=clients) as log:
        log.comment("load 0.1\nidle")
        attempt = log.sent("phone, red", 3, bytes_down=1000, batch=32)
        sent = attempt.row["sent_s"]
        time.sleep(0.01)
        attempt.first_byte()
        time.sleep(0.01)
        attempt.received()
        seen = attempt.row["seen_s"]
        time.sleep(0.01)
        attempt.seen(
            bytes_up=900, client={"compute_s": 0.0123456789}, outcome="late", flops=2398560000
        )
    text = path.read_text().splitlines()
    assert text[:4] == [
        '#! federation.protocol = "first"',
        "#! federation.protocol_options.over_selection = 1.5",
        "#! federation.clients_per_round = 4",
        "#! federation.protocol_options.fit_work = false",
    ]
    assert text[4].split(",") == list(COLUMNS)
    assert text[5:7] == ["# load 0.1", "# idle"]
    (row,) = rows(path)
    first = float(row.pop("reply_first_s"))
    assert float(sent) + 0.01 <= first + 1e-6 <= float(seen) - 0.01 + 2e-6
    assert row == {
        "run": "monday",
        "round": "3",
        "client": "phone, red",
        "class": "phone",
        "kind": "train",
        "bytes_down": "1000",
        "bytes_up": "900",
        "batch": "32",
        "flops": "2398560000",
        "sent_s": f"{sent:.6f}",
        "seen_s": f"{seen:.6f}",
        "compute_s": "0.012346",
        "outcome": "late",
        "down_mbps": "20",
        "gflops": "0.3",
    }


def test_attempts_without_a_reply_are_lost(tmp_path: Path) -> None:
    with Log(tmp_path / "a.csv") as log:
        log.sent("a", 0, bytes_down=1)
        log.sent("b", 0, bytes_down=1).lost("failed")
        log.sent("c", 0, bytes_down=1).seen(bytes_up=1, client='{"wait_s": 2}')
    found = {row["client"]: row for row in rows(tmp_path / "a.csv")}
    assert [found[c]["outcome"] for c in "abc"] == ["lost", "failed", "taken"]
    assert [("seen_s" in found[c], found[c]["bytes_up"]) for c in "abc"] == [
        (False, "0"),
        (False, "0"),
        (True, "1"),
    ]
    assert found["c"]["wait_s"] == "2.000000"
    assert "run" not in found["a"]


def test_wrong_values_are_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.csv")
    with pytest.raises(UsageError, match="bytes_down is -1; it must be a whole number"):
        log.sent("a", 0, bytes_down=-1)
    with pytest.raises(UsageError, match="no column 'speed'"):
        log.sent("a", 0, bytes_down=1, speed=3)
    attempt = log.sent("a", 0, bytes_down=1)
    for wrong in ({"compute_s": float("nan")}, {"compute_s": -1.0}, {"sent_s": 1.0}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            attempt.seen(bytes_up=1, client=wrong)
    with pytest.raises(UsageError, match="outcome is 'gone'"):
        attempt.seen(bytes_up=1, outcome="gone")
    attempt.seen(bytes_up=1)
    with pytest.raises(UsageError, match="has ended before"):
        attempt.lost()
    log.close()
    assert len(rows(tmp_path / "a.csv")) == 1
    with pytest.raises(UsageError, match=r"a\.csv is closed"):
        log.sent("a", 1, bytes_down=1)
    with pytest.raises(UsageError, match=r"a\.csv exists"):
        Log(tmp_path / "a.csv")
    with pytest.raises(UsageError, match="not a key of a scenario"):
        Log(tmp_path / "b.csv", {"federation protocol": 1})
    with pytest.raises(UsageError, match="a setting is a text"):
        Log(tmp_path / "c.csv", {"federation.deadline_s": float("inf")})
    with pytest.raises(UsageError, match="no column 'mbps'"):
        Log(tmp_path / "d.csv", clients={"a": {"mbps": 1}})
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_threads_write_whole_rows(tmp_path: Path) -> None:
    def attempts(client: int) -> None:
        for number in range(50):
            log.sent(client, number, bytes_down=number).seen(bytes_up=number)

    with Log(tmp_path / "a.csv") as log:
        threads = [threading.Thread(target=attempts, args=(c,)) for c in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = [(row["client"], row["round"], row["bytes_up"]) for row in rows(tmp_path / "a.csv")]
    assert sorted(found) == sorted((str(c), str(n), str(n)) for c in range(8) for n in range(50))


KILLED = """
import sys, time
from pyfedsim.observe import Log
log = Log(sys.argv[1])
for number in range(3):
    log.sent("a", number, bytes_down=1).seen(bytes_up=1)
log.sent("a", 3, bytes_down=1)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.usefixtures("importable")
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_killed_server_loses_only_what_has_not_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "a.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        program.send_signal(signal.SIGKILL)
    assert [row["round"] for row in rows(tmp_path / "a.csv")] == ["0", "1", "2"]


def test_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now, cpu = [100.0], [5.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: cpu[0])

    def step(seconds: float) -> None:
        now[0] += seconds

    clock = Clock()
    step(1)
    clock.first_byte()
    step(2)
    clock.received()
    step(4)
    with clock.computing():
        step(8)
        cpu[0] += 3
    known = {"idle_s": 1, "receive_s": 2, "wait_s": 4, "compute_s": 8, "cpu_s": 3}
    assert clock.durations() == known
    step(16)
    clock.replied()
    assert json.loads(clock.json()) == {**known, "reply_s": 16}
    step(32)
    clock.first_byte()
    assert clock.durations() == {"idle_s": 32}
    clock.first_byte()  # the end of the reply before is not known
    assert clock.durations() == {}


@pytest.mark.parametrize("marks", [("received", "start", "stop"), ("start", "stop")])
def test_clock_of_a_loop_that_sees_less(marks: tuple[str, ...]) -> None:
    clock = Clock()
    known: list[Any] = []
    for _ in range(2):
        for mark in marks:
            getattr(clock, mark)()
        known.append(set(clock.durations()))
    want = {"compute_s", "cpu_s"} | ({"wait_s"} if "received" in marks else set())
    assert known == [want, want]
    assert max(clock.durations().values()) < 1.0
