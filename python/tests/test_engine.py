from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pyfedsim
from pyfedsim import Engine
from pyfedsim.errors import EngineClosedError, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyfedsim.engine import Message

SCENARIO: dict[str, Any] = {
    "name": "driven",
    "data": {"synthetic": {"clients": 10, "features": 5}},
    "devices": {"speed_spread": 1.0},
    "network": {"profile": "lte"},
    "run": {"seeds": [1]},
    "methods": {"mocha": {}},
}


def messages(first: int, devices: int = 10, down: int = 1000) -> list[Message]:
    return [
        {"id": first + i, "client": i, "down_bytes": down, "flops": 2e6, "up_bytes": 1000}
        for i in range(devices)
    ]


@pytest.fixture
def out(fedsim: Path, tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_rounds_become_a_run_directory(out: Path) -> None:
    metrics: Any = [{"split": "test", "name": "accuracy", "better": "higher"}]
    with Engine(SCENARIO, method="Mine", seed=1, metrics=metrics, out=out) as engine:
        assert engine.clients == 10
        assert engine.now_ns == 0
        assert engine.available()["available"] == [[0, 9]]
        assert engine.select(1) == list(range(10))
        assert engine.select_epochs(1, 3) == dict.fromkeys(range(10), 3)
        chosen, reports = engine.select_batteries(1, 0)
        assert chosen == list(range(10)) == list(reports)
        assert all(0 < level <= 1 and plugged for level, plugged in reports.values() if level)
        times = []
        for number in (1, 2, 3):
            sent = messages(10 * number)
            reply = engine.exchange(number, "train", sent)
            assert reply["end"] == "all"
            assert {event["id"] for event in reply["events"]} == {m["id"] for m in sent}
            assert all(event["ev"] == "response" for event in reply["events"])
            assert [e["t_ns"] for e in reply["events"]] == sorted(
                e["t_ns"] for e in reply["events"]
            )
            closed = engine.close_round(
                number,
                [m["id"] for m in sent],
                metrics=[{"split": "test", "name": "accuracy", "value": 0.25 * number}],
                clients=[
                    {"split": "test", "name": "accuracy", "clients": [0, 3], "values": [0.5, 1.0]}
                ],
            )
            assert closed["row"]["round"] == number
            assert closed["row"]["participants"] == 10
            times.append(engine.now_ns)
        assert times == sorted(set(times))
        done = engine.finish()
    run = pyfedsim.Run(done["directory"])
    assert list(run.table("rounds", "numpy")["test_error"]) == [0.75, 0.5, 0.25]
    assert [round(t * 1e9) for t in run.table("rounds", "numpy")["time_s"]] == times
    metrics = run.table("metrics", "numpy")
    assert list(metrics["value"][metrics["name"] == "accuracy"]) == [0.25, 0.5, 0.75]
    assert list(run.table("client_values", "numpy")["value"]) == [0.5, 1.0] * 3
    assert "Mine" in run._repr_html_()


def test_single_operations(out: Path) -> None:
    with Engine(SCENARIO, method="Mine", out=out) as engine:
        sent = messages(1, 3)
        assert engine.send(1, "train", sent)["refused"] == []
        first = engine.wait(count=1)
        assert first["end"] == "count"
        assert len(first["events"]) == 1
        none = engine.wait(until_ns=engine.now_ns)
        assert none["end"] == "until"
        rest = engine.wait([m["id"] for m in sent])
        assert len(first["events"]) + len(rest["events"]) == 3
        lazy: Message = {"id": 9, "client": 0, "down_bytes": 10, "flops": None, "up_bytes": None}
        engine.send(1, "query", [lazy])
        stopped = engine.wait([9])
        assert [e["ev"] for e in stopped["events"]] == ["work"]
        engine.work(9, 1e6, 10)
        assert [e["ev"] for e in engine.wait([9])["events"]] == ["response"]
        engine.send(1, "train", [{**lazy, "id": 10, "flops": 1.0, "up_bytes": 1}])
        engine.cancel([10])
        before = engine.now_ns
        assert engine.advance(before + 5_000_000_000)["end"] in {"until", "all"}
        assert engine.now_ns == before + 5_000_000_000


def test_overheads_take_time(out: Path) -> None:
    overhead = {"step_s": 2, "s_per_gb": 3, "launches_per_step": 5}
    alike = {**SCENARIO, "devices": {}, "overhead": overhead}  # a speed factor divides them
    with Engine(alike, method="Mine", out=out) as engine:
        plain = messages(1, 1)
        engine.exchange(1, "train", plain)
        usual = engine.now_ns
        engine.exchange(1, "train", [{**plain[0], "id": 2, "steps": 4, "traffic_bytes": 2e9}])
        more = engine.now_ns - 2 * usual
        assert more == pytest.approx((4 * 5 * 2 + 2 * 3) * 1e9, abs=2)
        late: Message = {**plain[0], "id": 3, "flops": None, "up_bytes": None}
        engine.exchange(1, "train", [late])
        engine.work(3, 2e6, 1000, steps=1, traffic_bytes=1e9)
        engine.wait([3])
        assert engine.now_ns - 3 * usual - more == pytest.approx((5 * 2 + 3) * 1e9, abs=3)


def test_refused_operations_change_nothing(out: Path) -> None:
    with Engine(SCENARIO, method="Mine", out=out) as engine:
        cases: list[tuple[Callable[[], object], str, str]] = [
            (lambda: engine.advance(0), "past", ""),
            (lambda: engine.wait([77]), "unknown-id", ""),
            (lambda: engine.send(1, "train", messages(1, 11)), "client", ""),
            (lambda: engine.send(1, "train", [{**messages(1)[0], "flops": -1.0}]), "type", "flops"),
        ]
        engine.advance(1000)
        for request, code, field in cases:
            with pytest.raises(EngineError) as caught:
                request()
            assert caught.value.code == code
            assert not caught.value.fatal
            assert field in (caught.value.field or "")
        assert engine.now_ns == 1000
        assert len(engine.exchange(1, "train", messages(1))["events"]) == 10


def test_infinite_numbers_are_not_sent(out: Path) -> None:
    with Engine(SCENARIO, method="Mine", out=out) as engine:
        with pytest.raises(ValueError, match="not JSON compliant"):
            engine.send(1, "train", [{**messages(1)[0], "flops": float("inf")}])
        assert engine.exchange(1, "train", messages(1))["end"] == "all"


def test_policy_gives_the_events_of_the_driver(out: Path) -> None:
    """Wait-for-all as a policy is an exchange that waits for all."""
    hashes = []
    for policy in (False, True):
        with Engine(SCENARIO, method="Mine", out=out / str(policy)) as engine:
            for number in (1, 2):
                sent = messages(10 * number)
                reply = engine.exchange(number, "train", sent, policy=policy)
                taken = reply["taken"] if policy else [m["id"] for m in sent]
                assert sorted(taken) == [m["id"] for m in sent]
                engine.close_round(number, taken)
            hashes.append(engine.finish()["event_hash"])
    assert hashes[0] == hashes[1]


def test_resume_after_kill(out: Path) -> None:
    def drive(engine: Engine, rounds: int) -> None:
        for number in range(1, rounds + 1):
            sent = messages(10 * number)
            engine.exchange(number, "train", sent)
            engine.close_round(number, [m["id"] for m in sent])

    with Engine(SCENARIO, method="Mine", out=out / "whole") as engine:
        drive(engine, 6)
        whole = engine.finish()["event_hash"]
    with Engine(SCENARIO, method="Mine", out=out / "killed", checkpoint_s=1e-9) as engine:
        drive(engine, 3)
        engine._process.kill()
        with pytest.raises(pyfedsim.errors.RunError, match="signal 9"):
            engine.available()
    with Engine(SCENARIO, method="Mine", out=out / "killed", resume=True) as engine:
        drive(engine, 6)
        assert engine.finish()["event_hash"] == whole
    with pytest.raises(pyfedsim.errors.UsageError, match="needs out"):
        Engine(SCENARIO, method="Mine", resume=True)


def test_scenario_errors_have_places(out: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[network]\nprofile = 3\n[methods.mocha]\n")
    with pytest.raises(pyfedsim.errors.ScenarioError) as caught:
        Engine(path, method="Mine", out=out, stderr=False)
    assert (caught.value.line, caught.value.key) == (2, "network.profile")
    with pytest.raises(pyfedsim.errors.ScenarioError, match=r"^unknown key netwrk"):
        Engine({"netwrk": {}}, method="Mine", out=out, stderr=False)


def test_failures_are_told_once(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("x = 3\n[methods.mocha]\n")
    with pytest.raises(pyfedsim.errors.ScenarioError):
        Engine(path, method="Mine", out=out)
    (tmp_path / "file").touch()
    with pytest.raises(pyfedsim.errors.UsageError, match="is not a run directory but a file"):
        Engine(SCENARIO, method="Mine", out=tmp_path / "file")
    for missing in (tmp_path / "missing.toml", "quikstart"):
        with pytest.raises(pyfedsim.errors.ScenarioError):
            Engine(missing, method="Mine", out=out)
    assert capsys.readouterr().err == ""
    Engine(SCENARIO, method="Mine", out=out).close()
    assert capsys.readouterr().err.count("input ended before the op finish") == 1


def test_closed_engine(out: Path) -> None:
    with pytest.raises(ZeroDivisionError), Engine(SCENARIO, method="Mine", out=out) as engine:
        raise ZeroDivisionError
    assert engine._process.returncode is not None
    engine.close()  # again
    with pytest.raises(EngineClosedError, match="is closed"):
        engine.available()


def test_threads_take_turns(out: Path) -> None:
    with Engine(SCENARIO, method="Mine", out=out) as engine:
        found: list[int] = []

        def ask(device: int) -> None:
            for i in range(20):
                sent = {**messages(1)[0], "id": 1 + device * 100 + i, "client": device}
                engine.send(1, "train", [sent])  # type: ignore[list-item]
                found.append(len(engine.available()["available"]))

        threads = [threading.Thread(target=ask, args=(d,)) for d in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 80
        assert len(engine.wait()["events"]) == 80


def test_memory_does_not_grow_with_rounds(out: Path) -> None:
    with Engine(SCENARIO, method="Mine", out=out, checkpoint_s=0) as engine:

        def drive(first: int, last: int) -> None:
            for number in range(first, last + 1):
                sent = messages(10 * number)
                engine.exchange(number, "train", sent)
                engine.close_round(number, [m["id"] for m in sent])

        drive(1, 50)
        tracemalloc.start()
        try:
            drive(51, 100)
            before = tracemalloc.get_traced_memory()[0]
            drive(101, 400)
            after = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert after - before < 20_000  # 300 rounds of 10 attempts, at 1.3 kB each if kept


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_killed_driver_leaves_no_orphan(out: Path) -> None:
    code = (
        "import sys, json, time; from pyfedsim import Engine\n"
        "e = Engine(json.loads(sys.argv[1]), method='Mine', out=sys.argv[2])\n"
        "print(e._process.pid, flush=True); time.sleep(600)"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(SCENARIO), out],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(pyfedsim.__file__).parents[1])},
    )
    assert driver.stdout is not None
    pid = int(driver.stdout.readline())
    driver.kill()
    driver.wait()
    driver.stdout.close()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, "fedsim engine runs on"
        time.sleep(0.02)


# Faults of the program, with a stand-in.

VERSION = 'if sys.argv[1] == "version": print("fedsim 1.0"); sys.exit(0)\n'
HELLO = 'print(\'{"v":1,"now_ns":0,"clients":2}\', flush=True); sys.stdin.readline()'


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    if sys.platform == "win32":
        pytest.skip("a script as a program")

    def write(body: str) -> None:
        program = tmp_path / "fedsim"
        program.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{VERSION}{body}\n")
        program.chmod(0o755)
        monkeypatch.setenv("FEDSIM_BINARY", str(program))

    return write


@pytest.mark.parametrize(
    ("end", "error", "text"),
    [
        ("sys.exit(0)", EngineClosedError, "ended without a response"),
        (
            "sys.stderr.write('fedsim: disk full\\n'); sys.exit(1)",
            pyfedsim.errors.RunError,
            "^disk full$",
        ),
        ("os.kill(os.getpid(), signal.SIGKILL)", pyfedsim.errors.RunError, "ended by signal 9"),
        (
            "sys.stdout.write('{\"now_ns\":'); sys.exit(1)",
            pyfedsim.errors.RunError,
            "exit status 1",
        ),
        ("sys.exit(75)", pyfedsim.errors.Interrupted, "exit status 75"),
    ],
)
def test_program_ends(
    stand_in: Callable[[str], None], end: str, error: type[Exception], text: str
) -> None:
    stand_in(f"{HELLO}\n{end}")
    with Engine("x", method="Mine", stderr=False) as engine:
        with pytest.raises(error, match=text):
            engine.available()
        with pytest.raises(EngineClosedError):
            engine.available()


def test_garbage_is_an_error(stand_in: Callable[[str], None]) -> None:
    stand_in(f"{HELLO}\nprint('no JSON', flush=True); sys.stdin.readline()")
    with Engine("x", method="Mine") as engine:
        with pytest.raises(EngineClosedError, match="is no response: no JSON"):
            engine.available()
        with pytest.raises(EngineClosedError):
            engine.available()


def test_interrupt_within_an_operation_ends_the_engine(stand_in: Callable[[str], None]) -> None:
    """The response of the interrupted operation must not answer the next one."""
    stand_in(
        # The signal comes while the response is read, not before.
        f"{HELLO}\nsys.stdin.readline(); time.sleep(0.2)\n"
        "os.kill(os.getppid(), signal.SIGINT); time.sleep(600)"
    )
    engine = Engine("x", method="Mine")
    with pytest.raises(KeyboardInterrupt):
        engine.available()
    with pytest.raises(EngineClosedError):
        engine.available()
    engine._process.kill()
    engine.close()


def test_lines_for_people_pass(
    stand_in: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(f"sys.stderr.write('note: one\\n'); sys.stderr.flush()\n{HELLO}\nsys.stdin.read()")
    Engine("x", method="Mine").close()
    assert capsys.readouterr().err == "note: one\n"
    Engine("x", method="Mine", stderr=False).close()
    assert capsys.readouterr().err == ""


def test_fatal_error_ends_the_engine(stand_in: Callable[[str], None]) -> None:
    fatal = '{"error":{"code":"diverged","message":"line 3","field":null,"fatal":true}}'
    stand_in(f"{HELLO}\nprint('{fatal}', flush=True)")
    with Engine("x", method="Mine") as engine:
        with pytest.raises(EngineError, match=r"line 3 \(diverged\)"):
            engine.available()
        with pytest.raises(EngineClosedError, match="diverged"):
            engine.available()


def test_signal_of_terminal_does_not_reach_the_program(out: Path) -> None:
    with Engine(SCENARIO, method="Mine", out=out) as engine:
        if hasattr(os, "getpgid"):
            assert os.getpgid(engine._process.pid) != os.getpgid(0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
