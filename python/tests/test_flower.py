"""Flower apps on the virtual clock."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install flwr")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("fedsim")]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flower_apps as apps
    import flower_legacy
    from pyfedsim import Run, flower
    from pyfedsim.errors import RunError, ScenarioError, Stalled, UsageError
    from pyfedsim.flower import _releases, arrays, clients, command, grid, names, simulation

TESTS = Path(__file__).parent
FLOPS = apps.FLOPS_PER_EXAMPLE
NEVER: dict[str, Any] = {
    "federation": {"protocol": "deadline", "deadline_s": 1},
    "engine": {"detect_s": 1},
}


def run(server: Any, folder: Path, client: Any = apps.client_app, **options: Any) -> Any:
    """Run an app over twelve clients without figures."""
    options.setdefault("flops_per_example", FLOPS)
    options.setdefault("scenario", apps.scenario())
    scenario = options.pop("scenario")
    return flower.run(
        server, client, scenario, out=folder / "run", force=True, figures=False, **options
    )


def rounds(done: Any) -> Any:
    """Return the rows of rounds.parquet as a structured array."""
    return done.table("rounds", "numpy")


@pytest.mark.slow
def test_strategies_have_the_same_bits_everywhere() -> None:
    """Thirteen strategies, another hash seed, lazy calls: the same events, models, metrics."""
    found = []
    with contextlib.ExitStack() as ends:
        programs = []
        for seed, lazy in (("0", []), ("1", ["--lazy"])):
            environment = {**os.environ, "PYTHONHASHSEED": seed}
            environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
            command = [sys.executable, "-W", "ignore", str(TESTS / "flower_hashes.py"), *lazy]
            program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
            programs.append(ends.enter_context(program))
            ends.callback(program.kill)
        for program in programs:
            text, _ = program.communicate(timeout=300)
            assert program.returncode == 0
            found.append(json.loads(text))
    assert found[0] == found[1]
    assert len(found[0]) == 15
    models = {name: model for name, (_, model, _) in found[0].items() if model}
    assert len(models) == 14  # the loop returns none
    equal = [name for name, model in models.items() if list(models.values()).count(model) > 1]
    assert not equal  # each strategy does what its name says


@pytest.mark.once
def test_repetitions_have_the_same_bits(tmp_path: Path) -> None:
    first, second, lazy = (
        run(
            apps.server_app(apps.strategies.FedAdam()),
            tmp_path,
            scenario=apps.scenario(**apps.DROPS),
            lazy=lazy,
        )
        for lazy in (False, False, True)
    )
    assert first.event_hash == second.event_hash == lazy.event_hash
    assert first.model_sha256 == second.model_sha256 == lazy.model_sha256
    assert first.calls == second.calls > lazy.calls  # a client that dropped out computed nothing
    other = run(
        apps.server_app(apps.strategies.FedAdam()),
        tmp_path,
        scenario=apps.scenario(**apps.DROPS),
        seed=2,
    )
    assert other.event_hash != first.event_hash
    assert other.model_sha256 != first.model_sha256


def test_silent_failures_cost_the_timeout_or_the_detection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    never = [3]
    protocol = {"protocol": "deadline", "deadline_s": 1}
    _releases.log.__self__.propagate = True
    server = apps.server_app(apps.strategies.FedAvg(fraction_evaluate=0.0), timeout=100)
    slow = run(
        server,
        tmp_path,
        scenario=apps.scenario(
            faults={"never": never}, federation=protocol, engine={"detect_s": 0}
        ),
    )
    assert slow.seconds > 0
    assert "Timeouts ended" not in caplog.text
    late = run(
        server,
        tmp_path,
        scenario=apps.scenario(
            faults={"never": never}, federation=protocol, engine={"detect_s": 1000}
        ),
    )
    assert [row["time_s"] for row in rounds(late)] == [100, 200, 300]
    assert "Timeouts ended 3 of 3 rounds" in caplog.text
    found = run(
        server,
        tmp_path,
        scenario=apps.scenario(
            faults={"never": never}, federation=protocol, engine={"detect_s": 50}
        ),
    )
    assert [row["time_s"] for row in rounds(found)] == [50, 100, 150]
    for done in (slow, late, found):
        assert [row["participants"] for row in rounds(done)] == [11, 11, 11]


def replies_of(grid: Any, **timeout: Any) -> list[Any]:
    messages = [apps.ask(np.zeros(apps.FEATURES), node) for node in grid.get_node_ids()]
    return list(grid.send_and_receive(messages, **timeout))


def test_failures_are_error_replies(tmp_path: Path) -> None:
    codes: dict[str, Any] = {}

    def main(grid: Any) -> None:
        replies = replies_of(grid)
        codes["failed"] = [r.error.code for r in replies if r.has_error()]
        assert [r.metadata.src_node_id for r in replies] == list(grid.get_node_ids())
        late = [apps.ask(np.zeros(apps.FEATURES), node, ttl=0.001) for node in grid.get_node_ids()]
        codes["expired"] = {r.error.code for r in grid.send_and_receive(late)}
        codes["none"] = replies_of(grid, timeout=1e-3)

    scenario = apps.scenario(faults={"never": [3]}, **NEVER)
    run(apps.plain_app(main), tmp_path, scenario=scenario)
    assert codes == {
        "failed": [_releases.ErrorCode.NODE_UNAVAILABLE],
        "expired": {_releases.ErrorCode.MESSAGE_UNAVAILABLE},
        "none": [],
    }


def test_an_exception_of_a_client_is_an_error_reply(tmp_path: Path) -> None:
    def fails(message: Any, context: Any) -> Any:
        if context.node_config["partition-id"] == 2:
            raise RuntimeError("no data")
        return apps.train(message, context)

    client = apps.ClientApp()
    client.train()(fails)
    errors: list[Any] = []

    def main(grid: Any) -> None:
        errors.extend(r.error for r in replies_of(grid) if r.has_error())

    run(apps.plain_app(main), tmp_path, client)
    assert [e.code for e in errors] == [_releases.ErrorCode.CLIENT_APP_RAISED_EXCEPTION]
    assert "no data" in errors[0].reason


def test_a_failed_attempt_never_happened(tmp_path: Path) -> None:
    """The calls that a client's state counts are those whose responses arrived."""
    seen: dict[int, list[float]] = {}

    def main(grid: Any) -> None:
        for _ in range(6):
            for reply in replies_of(grid):
                if reply.has_content():
                    count = reply.content["metrics"]["calls"]
                    seen.setdefault(reply.metadata.src_node_id, []).append(count)

    done = run(apps.plain_app(main), tmp_path, scenario=apps.scenario(**apps.DROPS))
    assert done.calls == 72 > sum(map(len, seen.values()))
    assert all(counts == list(range(1, len(counts) + 1)) for counts in seen.values())


def test_a_message_waits_for_the_one_before(tmp_path: Path) -> None:
    """The second message to a busy client computes after the first, on its state."""
    found: list[Any] = []

    def main(grid: Any) -> None:
        node = next(iter(grid.get_node_ids()))
        w = np.zeros(apps.FEATURES)
        ids = grid.push_messages([apps.ask(w, node), apps.ask(w, node)])
        while len(found) < 2:
            found.extend(grid.pull_messages(ids))

    for lazy in (False, True):
        found.clear()
        run(apps.plain_app(main), tmp_path, lazy=lazy)
        assert [r.content["metrics"]["calls"] for r in found] == [1, 2]
        assert found[0].metadata.created_at < found[1].metadata.created_at


def test_pulled_replies_come_in_order_of_arrival(tmp_path: Path) -> None:
    logs: list[list[Any]] = [[], []]
    for lazy, log in zip((False, True), logs, strict=True):
        run(apps.asynchronous_app(40, log), tmp_path, lazy=lazy)
    assert logs[0] == logs[1]
    times = [time for time, _, _ in logs[0]]
    assert times == sorted(times)
    assert len(set(times)) > 30


def test_a_loop_that_polls(tmp_path: Path) -> None:
    counts = []

    def main(grid: Any) -> None:
        for number in range(1, 4):
            ids = set(
                grid.push_messages(
                    apps.ask(np.zeros(apps.FEATURES), node) for node in grid.get_node_ids()
                )
            )
            start, got = flower.now(), 0
            while ids and flower.now() < start + 0.5:
                arrived = grid.pull_messages(ids)
                got += len(arrived)
                ids -= {r.metadata.reply_to_message_id for r in arrived}
                flower.sleep(0.1)
            assert flower.now() < start + 0.6
            counts.append(got)
            row = flower.close(number, {"test_accuracy": number / 10})
            assert row["participants"] == got
            while ids:
                ids -= {r.metadata.reply_to_message_id for r in grid.pull_messages(ids)}
                flower.sleep(1)

    done = run(apps.plain_app(main), tmp_path, poll=True, rounds="app")
    assert len(rounds(done)) == 3
    assert [round(1 - row["test_error"], 12) for row in rounds(done)] == [0.1, 0.2, 0.3]
    assert all(count > 0 for count in counts)


def test_metrics_of_clients_weigh_by_their_examples(tmp_path: Path) -> None:
    """As Flower aggregates: (0 10 + 0 + 2 30 + 3 40) / 80, and not by rows of the scenario."""
    client = apps.ClientApp()

    def train(message: Any, context: Any) -> Any:
        k = context.node_config["partition-id"]
        metrics = apps.flwr.MetricRecord(
            {"num-examples": 10 * (k + 1) * (k != 1), "loss": float(k)}
        )
        records = {"arrays": message.content["arrays"], "metrics": metrics}
        return apps.flwr.Message(apps.flwr.RecordDict(records), reply_to=message)

    def evaluate(message: Any, context: Any) -> Any:
        k = context.node_config["partition-id"]
        metrics = {"accuracy": k / 4, **({"num-examples": k + 1} if k else {})}
        records = {"metrics": apps.flwr.MetricRecord(metrics)}
        return apps.flwr.Message(apps.flwr.RecordDict(records), reply_to=message)

    client.train()(train)
    client.evaluate()(evaluate)

    def main(grid: Any) -> None:
        nodes = list(grid.get_node_ids())
        grid.send_and_receive([apps.ask(np.zeros(2), node) for node in nodes])
        grid.send_and_receive([apps.ask(np.zeros(2), node, "evaluate") for node in nodes])

    flops = {"train": 1e6, "evaluate": 1e6}
    scenario = apps.scenario(4)
    done = run(apps.plain_app(main), tmp_path, client, scenario=scenario, flops=flops)
    values = {f"{r['split']}_{r['name']}": r["value"] for r in done.table("metrics", "numpy")}
    assert float(values["train_loss"]) == 180 / 80
    assert "test_accuracy" not in values  # client 0 says no number
    rows = {(r["split"], r["client"]): r["rows"] for r in done.table("client_values", "numpy")}
    assert [rows["train", k] for k in range(4)] == [10, 0, 30, 40]
    assert [rows["test", k] for k in range(1, 4)] == [2, 3, 4]
    assert done.manifest["data"].startswith("of the driver")


def test_a_client_that_fails_is_dropped_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _releases.log.__self__.propagate = True
    client = apps.ClientApp()

    def train(message: Any, context: Any) -> Any:
        k = context.node_config["partition-id"]
        if k == 3 or (k == 2 and not context.state):
            context.state["once"] = apps.flwr.ConfigRecord({"a": 1})
            raise ValueError("no such\nfile")
        return apps.flwr.Message(message.content, reply_to=message)

    client.train()(train)

    def main(grid: Any) -> None:
        for _ in range(3):
            messages = [apps.ask(np.zeros(2), node) for node in grid.get_node_ids()]
            grid.send_and_receive(messages)

    flops = {"train": 1e6}
    done = run(apps.plain_app(main), tmp_path, client, scenario=apps.scenario(4), flops=flops)
    assert [(r["dropped"], r["late"]) for r in rounds(done)] == [(2, 0)] * 3
    text = "client 3 failed in 3 of 3 attempts: ValueError: no such file"
    assert text in caplog.text
    found = [w["text"] for w in done.manifest["runs"][0]["warnings"]]
    assert text in found
    assert done.seconds > 0


def test_legacy_strategies_ask_all_clients_at_once(tmp_path: Path) -> None:
    done = run(
        flower_legacy.server_app(3), tmp_path, flower_legacy.client_app, scenario=apps.scenario()
    )
    rows = rounds(done)
    times = np.diff([0, *[row["time_s"] for row in rows]])

    def main(grid: Any) -> None:
        for node in grid.get_node_ids():
            grid.send_and_receive([apps.ask(np.zeros(apps.FEATURES), node)])

    one_by_one = run(apps.plain_app(main), tmp_path, scenario=apps.scenario())
    assert max(times) < one_by_one.seconds / 2
    assert [row["participants"] for row in rows] == [6, 6, 6]
    assert all(row["test_error"] < 0.5 for row in rows)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {},
            'not declared; give those of a message, flops={"train": 1e9} (fedsim-flower: --flops ',
        ),
        ({"flops": {"trian": 1}}, "unknown kind 'trian'; the kinds are train, evaluate, query"),
        ({"flops": {"train.other": 1}}, "of a train message of client"),
        ({"flops": lambda *_: -1.0}, "are -1.0; they must be finite and not negative"),
        ({"flops": lambda *_: float("nan")}, "are nan; they must be finite"),
        ({"flops_per_example": {"training": 1}}, "unknown kind 'training'"),
        ({"flops_per_example": {"evaluate": 1}}, "are not declared"),
        ({"flops_per_example": 1, "rounds": "mine"}, "rounds='mine': must be"),
        ({"flops_per_example": 1, "steps": {"trian": 1}}, "steps: unknown kind 'trian'"),
        ({"flops_per_example": 1, "steps": {"train": -1}}, "the steps of a train message of"),
    ],
)
def test_undeclared_work_is_an_error(tmp_path: Path, options: Any, text: str) -> None:
    options = {"flops_per_example": None, **options}
    with pytest.raises(UsageError) as error:
        run(apps.server_app(apps.strategies.FedAvg()), tmp_path, **options)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"server_app": apps.client_app},
            "server_app is of type ClientApp; it must be a ServerApp",
        ),
        (
            {"client_app": apps.plain_app(id)},
            "client_app is of type ServerApp; it must be a Client",
        ),
        ({"scenario": 5}, "scenario is of type int; it must be a path"),
        ({"run_config": "a=1"}, "run_config is of type str; it must be a dictionary"),
        ({"epochs": "5"}, "epochs is of type str; it must be a number"),
        ({"flops": 5}, "flops is of type int; it must be a function"),
        ({"flops": {"train": "5"}}, "flops['train'] is of type str; it must be a number"),
        ({"flops_per_example": "5"}, "flops_per_example has a str; it must be a number"),
        ({"flops_per_example": {"train": []}}, "flops_per_example has a list; it must be"),
    ],
)
def test_wrong_types_are_errors_at_once(changes: Any, text: str) -> None:
    called: list[Any] = []
    given: dict[str, Any] = {
        "server_app": apps.plain_app(called.append),
        "client_app": apps.client_app,
    }
    with pytest.raises(TypeError) as error:
        flower.run(**{**given, "scenario": apps.scenario(), **changes})
    assert text in str(error.value)
    assert not called


def test_a_failure_says_how_to_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a word of --resume, and each error once."""
    again = {ZeroDivisionError: "has failed\n", KeyboardInterrupt: "nothing is saved\n"}
    for error, text in again.items():

        def main(grid: Any, error: Any = error) -> None:
            raise error

        with pytest.raises(error):
            run(apps.plain_app(main), tmp_path)
        told = capsys.readouterr().err
        assert told.endswith(text)
        assert told.count("\n") == 1
        assert not (tmp_path / "run").exists()

    def late(grid: Any) -> None:
        replies_of(grid)
        replies_of(grid)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(apps.plain_app(late), tmp_path)
    told = capsys.readouterr().err
    assert told.endswith("has failed; run again with force=True (fedsim-flower: --force)\n")
    options: dict[str, Any] = {"out": tmp_path / "run", "figures": False}
    with pytest.raises(UsageError, match=r"use force=True \(--force\) to start over") as refused:
        flower.run(apps.plain_app(id), apps.client_app, apps.scenario(), **options)
    assert "resume" not in str(refused.value)
    with pytest.raises(ScenarioError) as wrong:
        flower.run(apps.plain_app(id), apps.client_app, {"netwrk": {}}, **options)
    assert str(wrong.value) == "unknown key netwrk: did you mean network?"
    assert capsys.readouterr().err == ""


def test_a_client_that_returns_no_message_is_named(tmp_path: Path) -> None:
    client = apps.ClientApp()
    client.train()(lambda message, context: None)

    def main(grid: Any) -> None:
        grid.send_and_receive([apps.ask(np.zeros(apps.FEATURES), 7)])

    for lazy in (False, True):
        with pytest.raises(UsageError, match=r"train .* node 7 \(device 5\), returned .* NoneType"):
            run(apps.plain_app(main), tmp_path, client, lazy=lazy)


def test_flops_of_a_reply_come_first(tmp_path: Path) -> None:
    keys = set()

    def declares(message: Any, context: Any) -> Any:
        reply = apps.train(message, context)
        reply.content["metrics"]["fedsim-flops"] = 1e6
        return reply

    client = apps.ClientApp()
    client.train()(declares)

    def main(grid: Any) -> None:
        for reply in replies_of(grid):
            keys.update(reply.content["metrics"])

    done = run(apps.plain_app(main), tmp_path, client, flops=lambda *_: 1.0)
    assert [row["flops"] for row in rounds(done)] == [12e6]
    assert keys == {"num-examples", "train_loss", "calls"}
    done = run(apps.plain_app(main), tmp_path, flops=lambda client, *_: client)
    assert [row["flops"] for row in rounds(done)] == [sum(range(12))]
    examples = sum(20 + client % 5 for client in range(12))
    done = run(apps.plain_app(main), tmp_path, flops_per_example=7, epochs=3)
    assert [row["flops"] for row in rounds(done)] == [21 * examples]
    done = run(apps.plain_app(main), tmp_path, flops_per_example={"train": 2})
    assert [row["flops"] for row in rounds(done)] == [2 * examples]


def test_flops_of_a_message_by_kind_or_type(tmp_path: Path) -> None:
    client = apps.ClientApp()
    client.train()(apps.train)
    client.train("more")(apps.train)

    def main(grid: Any) -> None:
        nodes = grid.get_node_ids()
        grid.send_and_receive([apps.ask(np.zeros(apps.FEATURES), node) for node in nodes])
        more = [apps.ask(np.zeros(apps.FEATURES), node, "train.more") for node in nodes]
        grid.send_and_receive(more)

    flops = {"train": 1e6, "train.more": 5e6}
    done = run(apps.plain_app(main), tmp_path, client, flops=flops, flops_per_example=1)
    assert [row["flops"] for row in rounds(done)] == [12 * 6e6]


def test_steps_and_traffic_take_time(tmp_path: Path) -> None:
    """Five steps of 2 s and 3 GB of 4 s each, on devices of one speed: 22 s more."""
    keys = set()

    def declares(message: Any, context: Any) -> Any:
        reply = apps.train(message, context)
        reply.content["metrics"]["fedsim-steps"] = 5
        reply.content["metrics"]["fedsim-traffic-bytes"] = 3e9
        return reply

    client = apps.ClientApp()
    client.train()(declares)

    def main(grid: Any) -> None:
        for reply in replies_of(grid):
            keys.update(reply.content["metrics"])

    overheads = {"overhead.step_s": 2.0, "overhead.s_per_gb": 4.0}
    alike = {"devices.speed_spread": 0.0}
    app = apps.plain_app(main)
    plain = run(app, tmp_path, client, set=alike).seconds
    without = run(app, tmp_path, set=alike | overheads).seconds
    assert without == pytest.approx(plain, abs=1e-6)
    for lazy in (False, True):
        keyed = run(app, tmp_path, client, set=alike | overheads, lazy=lazy, steps={"train": 9})
        assert keyed.seconds - plain == pytest.approx(22, abs=1e-6)
    assert keys == {"num-examples", "train_loss", "calls"}
    given = {"steps": {"train": 5}, "traffic_bytes": lambda *_: 3e9}
    argued = run(app, tmp_path, set=alike | overheads, **given)
    assert argued.seconds == pytest.approx(keyed.seconds, abs=1e-6)


def counter(name: str, flops: float) -> Any:
    """Return a stand-in for a module of torch with a counter of FLOPs."""
    module = types.ModuleType(name)

    @contextlib.contextmanager
    def counting() -> Any:
        yield lambda: flops

    module.counting = counting  # type: ignore[attr-defined]
    return module


def test_torch_counts_what_nothing_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = apps.server_app(apps.strategies.FedAvg(fraction_evaluate=0.0))
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setattr(clients, "own_streams", contextlib.nullcontext)
    monkeypatch.setattr(grid, "own_streams", contextlib.nullcontext)
    monkeypatch.setattr(simulation, "own_streams", contextlib.nullcontext)
    monkeypatch.setattr(sys.modules["torch"], "manual_seed", lambda seed: None, raising=False)
    monkeypatch.setitem(sys.modules, "pyfedsim._torch", counter("pyfedsim._torch", 3e6))
    done = run(server, tmp_path, flops_per_example=None)
    assert [row["flops"] for row in rounds(done)] == [12 * 3e6] * 3
    done = run(server, tmp_path, flops_per_example=None, flops={"train": 7})
    assert [row["flops"] for row in rounds(done)] == [12 * 7] * 3
    monkeypatch.setitem(sys.modules, "pyfedsim._torch", counter("pyfedsim._torch", 0))
    with pytest.raises(UsageError, match="are not declared"):
        run(server, tmp_path, flops_per_example=None)


def test_the_config_of_a_run_is_read_only(tmp_path: Path) -> None:
    """As in Flower: the reply of a client that changes it is an error, the server's is its own."""
    seen: list[Any] = []

    def writes(message: Any, context: Any) -> Any:
        seen.append(dict(context.run_config))
        context.run_config["step"] = 2
        return apps.train(message, context)

    client = apps.ClientApp()
    client.train()(writes)
    errors: list[Any] = []
    server = apps.ServerApp()

    @server.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, context: Any) -> None:
        context.run_config["server"] = 5
        errors.extend(r.error for r in replies_of(grid) if r.has_error())

    with pytest.raises(RunError, match="all 12 calls of the ClientApp"):
        run(server, tmp_path, client, run_config={"step": 1})
    assert seen == [{"step": 1}] * 12
    assert len(errors) == 12
    assert "run_config of the Context cannot be modified" in errors[0].reason


def test_sys_exit_says_who_called_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def exits(message: Any, context: Any) -> Any:
        sys.exit(4)

    client = apps.ClientApp()
    client.train()(exits)
    who = r"with a train message to node 2 \(device 0\), called sys.exit\(4\)"
    with pytest.raises(UsageError, match=who):
        run(apps.plain_app(replies_of), tmp_path, client)
    with pytest.raises(UsageError, match=r"the ServerApp called sys.exit\('no data'\)"):
        run(apps.plain_app(lambda grid: sys.exit("no data")), tmp_path)
    assert "interrupted" not in capsys.readouterr().err


EXIT = """\
import os, sys
import flower_apps as apps
import numpy as np
from pyfedsim import flower

client = apps.ClientApp()


@client.train()
def train(message, context):
    if not os.fork():
        os._exit(0)  # a child is of no interest
    os._exit(7)


def main(grid):
    grid.send_and_receive([apps.ask(np.zeros(3), 6)])


flower.run(apps.plain_app(main), client, apps.scenario(), flops={"train": 1}, out=sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_os_exit_says_who_called_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    done = subprocess.run(
        [sys.executable, "-c", EXIT, str(tmp_path / "run")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 7
    line = "a train message to node 6 (device 4), called os._exit(7)\n"
    assert done.stderr.count(line) == done.stderr.count("os._exit") == 1


def test_bytes_are_those_that_flower_counts(tmp_path: Path) -> None:
    sent: list[int] = []

    def main(grid: Any) -> None:
        message = apps.ask(np.zeros(apps.FEATURES), 2)
        message.content["config"] = apps.flwr.ConfigRecord({"names": [], "text": "", "lr": 0.1})
        sent.append(message.content["arrays"].count_bytes() + 5 + 4 + 2 + 8)
        reply = next(iter(grid.send_and_receive([message])))
        sent.append(sum(record.count_bytes() for record in reply.content.values()))

    for overhead in (0, 1000):
        sent.clear()
        scenario = apps.scenario(engine={"overhead_bytes": overhead})
        row = rounds(run(apps.plain_app(main), tmp_path, scenario=scenario))[0]
        assert [row["bytes_down"], row["bytes_up"]] == [n + overhead for n in sent]


def test_clients_do_not_share_what_they_write(tmp_path: Path) -> None:
    seen = []

    def writes(message: Any, context: Any) -> Any:
        config = message.content["config"]
        seen.append((config["step"], list(config["list"])))
        config["step"] = 99.0
        config["list"].append(1)
        message.content["arrays"].clear()
        return apps.flwr.Message(
            apps.flwr.RecordDict({"metrics": apps.flwr.MetricRecord({"fedsim-flops": 1})}),
            reply_to=message,
        )

    client = apps.ClientApp()
    client.train()(writes)
    content: list[Any] = []

    def main(grid: Any) -> None:
        shared = apps.ask(np.zeros(apps.FEATURES), 2).content
        shared["config"] = apps.flwr.ConfigRecord({"step": 0.5, "list": [7]})
        content.append(shared)
        grid.send_and_receive(
            [apps.flwr.Message(shared, node, "train") for node in grid.get_node_ids()]
        )

    run(apps.plain_app(main), tmp_path, client)
    assert seen == [(0.5, [7])] * 12
    assert len(content[0]["arrays"]) == 1


def test_rounds_have_the_metrics_of_the_strategy(tmp_path: Path) -> None:
    server = apps.server_app(apps.strategies.FedAvg(), evaluate_fn=apps.global_evaluate)
    done = run(server, tmp_path)
    table = done.table("metrics", "numpy")
    own = {(row["split"], row["name"]) for row in table if "_" not in row["name"]}
    assert own == {  # other names are those of statistics over clients, such as loss_clients
        ("train", "loss"),
        ("train", "calls"),
        ("test", "loss"),
        ("validation", "accuracy"),
    }
    norms = [row["value"] for row in table if row["split"] == "test"]
    assert norms[-1] == np.linalg.norm(done.arrays.to_numpy_ndarrays()[0])
    rows = rounds(done)
    assert [row["round"] for row in rows] == [0, 1, 2, 3]
    losses = [row["primal"] for row in rows]
    assert np.isnan(losses[0])
    assert losses[1:] == sorted(losses[1:], reverse=True)


def test_typed_messages_and_pushes_make_rounds(tmp_path: Path) -> None:
    """Queries, then gradients that are pushed and never pulled: a row for each round."""
    losses: list[float] = []
    scenario = apps.scenario(3)
    for lazy in (False, True):
        losses.clear()
        done = run(
            apps.vertical_app(20, losses),
            tmp_path,
            apps.vertical_client(),
            scenario=scenario,
            flops={"train": 2e5, "query": 1e5},
            lazy=lazy,
        )
        rows = rounds(done)
        assert [row["round"] for row in rows] == list(range(1, 21))
        assert np.all(np.diff([0, *[row["time_s"] for row in rows]]) > 0)
        # A gradient arrives while the next embeddings are asked for.
        assert [row["participants"] for row in rows] == [0] + [3] * 19
        assert [row["late"] for row in rows] == [3] * 20
        assert [row["flops"] for row in rows] == [3e5] + [9e5] * 19
        assert losses == sorted(losses, reverse=True)


def test_queries_make_rounds(tmp_path: Path) -> None:
    """An app that trains nothing has a row for each round, and participants."""
    done = run(apps.histogram_app(3, 0.5), tmp_path, apps.histogram_client(), flops={"query": 1e6})
    rows = rounds(done)
    assert [row["participants"] for row in rows] == [6, 6, 6]
    assert [row["flops"] for row in rows] == [6e6] * 3
    assert np.all(np.diff([0, *[row["time_s"] for row in rows]]) > 0)


# The letters are messages to all clients: q, p, t, u queries and trainings of two types
# each, e evaluations; capitals are pushed, and a dot pulls what was pushed.
@pytest.mark.parametrize(
    ("sent", "count"),
    [
        ("qqq", 3),
        ("ttt", 3),
        ("eee", 3),
        ("qtqt", 2),
        ("tqtq", 2),
        ("tutu", 2),
        ("qpTqpT", 2),
        ("teeteet", 3),
        ("etete", 2),
        ("qtete", 2),
        ("eqteqte", 2),
        ("pqtqtqt", 3),
        ("TTT", 3),
        ("T.T.T.", 3),
        ("Q.TQ.T", 2),
        ("QT.QT.", 2),
        ("TE.TE.", 2),
    ],
)
def test_a_message_of_a_type_again_ends_the_round(tmp_path: Path, sent: str, count: int) -> None:
    types = {"q": "query", "p": "query.p", "t": "train", "u": "train.u", "e": "evaluate"}
    client = apps.ClientApp()
    for add, names in ((client.train, ("", "u")), (client.query, ("", "p")), (client.evaluate, "")):
        for name in names or ("",):
            add(*[name] * bool(name))(apps.evaluate)

    def main(grid: Any) -> None:
        pushed: set[str] = set()
        for letter in sent:
            if letter == ".":
                while pushed:
                    got = grid.pull_messages(pushed)
                    pushed -= {r.metadata.reply_to_message_id for r in got}
                continue
            messages = [
                apps.ask(np.zeros(apps.FEATURES), node, types[letter.lower()])
                for node in grid.get_node_ids()
            ]
            if letter.isupper():
                pushed.update(grid.push_messages(messages))
            else:
                grid.send_and_receive(messages)

    flops = {"train": 1e6, "query": 1e6, "evaluate": 1e6}
    assert len(rounds(run(apps.plain_app(main), tmp_path, client, flops=flops))) == count


def test_availability_is_that_of_the_scenario(tmp_path: Path) -> None:
    """A strategy that needs more nodes than there are waits for them in virtual time."""
    half = {"mean_up_s": 600, "mean_down_s": 600}
    found: list[Any] = []

    def main(grid: Any) -> None:
        found.append(len(list(grid.get_node_ids())))
        sampled, _ = _releases.strategy_utils.sample_nodes(grid, 10, 10)
        found.extend([len(sampled), flower.now()])

    run(apps.plain_app(main), tmp_path, scenario=apps.scenario(traces={"availability": half}))
    assert found[0] < 10 == found[1]
    assert found[2] > 0
    assert found[2] == int(found[2])

    def starves(grid: Any) -> None:
        _releases.strategy_utils.sample_nodes(grid, 13, 13)

    with pytest.raises(Stalled, match="too few clients are available"):
        run(apps.plain_app(starves), tmp_path)


def test_patches_are_undone(tmp_path: Path) -> None:
    before = (_releases.message_module.now, _releases.Strategy.start)

    def main(grid: Any) -> None:
        assert flower.running()
        assert flower.now() == 0
        with pytest.raises(UsageError, match="another Flower app"):
            run(apps.plain_app(main), tmp_path)
        with pytest.raises(UsageError, match="close\\(7\\): round 1 is under way"):
            flower.close(7)
        with pytest.raises(UsageError, match="a message goes to node 1; the nodes are 2 to 13"):
            grid.push_messages([apps.ask(np.zeros(2), 1)])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(apps.plain_app(main), tmp_path)
    assert (_releases.message_module.now, _releases.Strategy.start) == before
    assert not flower.running()
    with pytest.raises(UsageError, match="no Flower app runs on fedsim"):
        flower.now()


def test_a_client_cannot_advance_the_clock(tmp_path: Path) -> None:
    def sleeps(message: Any, context: Any) -> Any:
        del message, context
        with pytest.raises(UsageError, match="declare its work in FLOPs"):
            flower.sleep(1)
        assert flower.now() == 1.5
        raise KeyError

    client = apps.ClientApp()
    client.train()(sleeps)

    def main(grid: Any) -> None:
        flower.sleep(1.5)
        assert [r.error.code for r in replies_of(grid)] == [2] * 12

    for lazy in (False, True):
        with pytest.raises(RunError, match="all 12 calls of the ClientApp"):
            run(apps.plain_app(main), tmp_path, client, lazy=lazy)


PROJECT = """\
[project]
name = "small"
version = "1.0.0"
description = "A small app"
license = "Apache-2.0"

[tool.flwr.app]
publisher = "me"

[tool.flwr.app.components]
serverapp = "small_app:server"
clientapp = "flower_apps:client_app"

[tool.flwr.app.config]
rounds = 3
text = "a"

[tool.flwr.federations]
default = "here"

[tool.flwr.federations.here]
options.num-supernodes = 7
"""

APP = """\
import flower_apps as apps

server = apps.ServerApp()


@server.main()
def main(grid, context):
    assert context.run_config == {"rounds": 2, "text": "b c"}
    strategy = apps.strategies.FedAvg()
    arrays = apps.flwr.ArrayRecord([apps.np.zeros(apps.FEATURES)])
    strategy.start(grid=grid, initial_arrays=arrays, num_rounds=context.run_config["rounds"])
"""


def test_the_command_runs_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "small"
    project.mkdir()
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "small_app.py").write_text(APP)
    scenario = tmp_path / "phones.toml"
    scenario.write_text("[data.synthetic]\nclients = 12\n")
    out = tmp_path / "out"
    arguments = [str(project), str(scenario), "--out", str(out), "--no-figures"]
    arguments += ["--run-config", "rounds=2 text='b c'", "--set", "data.synthetic.clients=5"]
    assert command.main(arguments) == 2
    told = capsys.readouterr().err
    assert told.count("the FLOPs of a train message of client") == 1
    assert "(fedsim-flower: --flops train=1e9)" in told
    arguments += ["--flops-per-example", "120", "--force"]
    assert command.main(arguments) == 0
    assert f"{out}: " in capsys.readouterr().out
    rows = Run(out).table("rounds", "numpy")
    assert [row["participants"] for row in rows] == [5, 5]
    assert set(rows["method"]) == {"small"}
    number = arguments.index("data.synthetic.clients=5")
    arguments[number] = "network.wire.header_bytes=0"
    assert command.main([*arguments, "--flops", "train=1e6,evaluate=3e5"]) == 0
    rows = Run(out).table("rounds", "numpy")
    assert [row["participants"] for row in rows] == [12, 12]
    assert [row["flops"] for row in rows] == [12 * 1.3e6] * 2
    overheads = ["--set", "overhead.step_s=2", "--set", "overhead.s_per_gb=4"]
    amounts = ["--flops", "train=1e6,evaluate=3e5", "--steps", "train=5", "--traffic-bytes"]
    assert command.main([*arguments, *overheads, *amounts, "train=1e9"]) == 0
    later = Run(out).table("rounds", "numpy")["time_s"] - rows["time_s"]
    assert list(later) == pytest.approx([14, 28])
    scenario.write_text("[network]\nprofile = 'lte'\n")  # the number of the project
    assert command.main([*arguments, "--flops", "train=1e6,evaluate=3e5"]) == 0
    assert [row["participants"] for row in Run(out).table("rounds", "numpy")] == [7, 7]
    missing = [str(project), str(tmp_path / "missing.toml"), *arguments[2:]]
    for mistake in (arguments[:-1], [*arguments, "--set", "network.profile=5g"], missing):
        capsys.readouterr()
        assert command.main(mistake) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert command.main([str(tmp_path), str(scenario)]) == 2
    assert "pyproject.toml" in capsys.readouterr().err


@pytest.mark.once
def test_memory_does_not_grow_with_rounds(tmp_path: Path) -> None:
    """The objects after 40 rounds are those after 20, but for a few caches."""
    counts: list[int] = []
    late: list[int] = []

    def main(grid: Any) -> None:
        for number in range(1, 41):
            late.append(12 - len(replies_of(grid, timeout=0.2)))
            flower.sleep(10)  # late replies arrive, and nobody asks for them
            if number in (20, 40):
                gc.collect()
                counts.append(len(gc.get_objects()))

    run(apps.plain_app(main), tmp_path, scenario=apps.scenario(**apps.DROPS))
    assert sum(late) > 80
    # The difference is 23; if the late replies of 20 rounds stayed, it would be 683.
    assert abs(counts[1] - counts[0]) < 300


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("train_loss", ("test", "loss")),
        ("eval-acc", ("test", "accuracy")),
        ("acc", ("test", "accuracy")),
        ("val_", ("test", "val_")),
        ("f1 score", ("test", "f1_score")),
        ("1st", ("test", "m1st")),
        ("é", ("test", "m_")),
    ],
)
def test_names_of_metrics(key: str, name: tuple[str, str]) -> None:
    assert names.metric_name("test", key) == name


def test_directions_and_splits_of_metrics() -> None:
    keys = ("loss", "rmse", "accuracy", "f1", "AUC", "norm", "error_rate")
    assert [names.direction(key) for key in keys] == [
        "lower", "lower", "higher", "higher", "higher", "", "lower",
    ]  # fmt: skip
    prefixed = ("train_loss", "val_loss", "validation.f1", "eval_acc", "test-acc", "accuracy")
    assert [names.split_of(key) for key in prefixed] == [
        "train", "validation", "validation", "test", "test", "test",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.arange(6).reshape(2, 3)[:, ::2],
        np.array(2.5),
        np.array([1, 2], dtype=">i4"),
        np.zeros((2, 0)),
        np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array(["a", "bc"]),
        np.zeros(2, dtype=[("\u03c0", "f8")]),  # the header has version 3 of the format
    ],
)
def test_arrays_are_those_that_flower_reads(array: Any) -> None:
    """Also those whose header was read before, and with the same order in memory."""
    stock = _releases.Array.numpy
    read = arrays.remembering(stock)
    sent = _releases.Array(np.zeros_like(array)), _releases.Array(array), _releases.Array(array)
    for one in sent:
        expected, found = stock(one), read(one)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()
        assert (found.shape, found.strides) == (expected.shape, expected.strides)
        found[...] = expected  # it can be written, and has memory of its own
        assert not np.shares_memory(found, read(one)) or not found.size
    short = _releases.Array(array)
    short.data = short.data[: -max(1, array.nbytes)]
    with pytest.raises(ValueError, match=r"."):
        read(short)


def test_a_run_whose_clients_all_fail_is_an_error(tmp_path: Path) -> None:
    def fails(message: Any, context: Any) -> Any:
        raise RuntimeError("no data")

    client = apps.ClientApp()
    client.train()(fails)
    with pytest.raises(RunError, match=r"all \d+ calls of the ClientApp .*no data"):
        run(apps.plain_app(replies_of), tmp_path, client)


def test_an_update_with_nan_ends_the_run(tmp_path: Path) -> None:
    def diverges(message: Any, context: Any) -> Any:
        reply = apps.train(message, context)
        if context.node_config["partition-id"] == 2:
            for record in reply.content.array_records.values():
                for key, array in record.items():
                    record[key] = _releases.Array(np.full_like(array.numpy(), np.nan))
        return reply

    client = apps.ClientApp()
    client.train()(diverges)
    server = apps.plain_app(replies_of)
    with pytest.raises(RunError, match=r"\(device 2\), returned NaN or infinities in the array "):
        run(server, tmp_path, client)
    run(server, tmp_path, client, allow_nonfinite=True)
