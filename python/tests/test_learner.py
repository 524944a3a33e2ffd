"""The learner loop against a driver in the test, and traces of FedAvg and FedProx."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import pyfedsim
from pyfedsim.protocols import Arrays, Evaluation, Learner, Metric, Update, command
from pyfedsim.protocols._load import load
from pyfedsim.protocols._serve import Server

ROWS = [6, 9, 12, 15]
FEATURES, CLASSES = 5, 3

SOURCES = str(Path(pyfedsim.__file__).parent.parent)

Message = dict[str, Any]


def client_data(client: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """x_kij = sin(k + 2 i + 3 j + i j), y_ki = (i k + floor(i/2)) mod 3, counted from 1."""
    k, n = client + 1, ROWS[client]
    i, j = np.arange(1, n + 1)[:, None], np.arange(1, FEATURES + 1)[None, :]
    x = np.sin(k + 2 * i + 3 * j + i * j)
    y = (i[:, 0] * k + i[:, 0] // 2) % CLASSES
    return x, y


def cross_entropy(w: Arrays, x: NDArray[Any], y: NDArray[Any]) -> tuple[float, NDArray[Any]]:
    """Return the mean loss and its gradient by the scores."""
    scores = x @ w["w"] + w["b"]
    scores = scores - scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(y)), y]).mean()
    p[np.arange(len(y)), y] -= 1
    return float(loss), p / len(y)


class Softmax(Learner):
    """Softmax regression on the generated rows: full batches, or batches of 4 in row order."""

    metrics = (Metric("train", "loss", "lower"), Metric("train", "right", "higher", "rows"))
    defaults: ClassVar[Mapping[str, Any]] = {"step": 0.1, "mu": 0.0, "batch": 0}

    def start(self) -> None:
        self.parameters = {"w": np.zeros((FEATURES, CLASSES)), "b": np.zeros(CLASSES)}
        self.step_flops = 6.0 * FEATURES * CLASSES

    def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
        x, y = client_data(client)
        batch, epochs = (self.options["batch"], 2) if self.options["batch"] else (len(y), 5)
        w = {name: value.copy() for name, value in self.parameters.items()}
        for _ in range(epochs):
            for first in range(0, len(y), batch):
                rows = slice(first, first + batch)
                _, g = cross_entropy(w, x[rows], y[rows])
                for name, slope in (("w", x[rows].T @ g), ("b", g.sum(axis=0))):
                    pull = self.options["mu"] * (w[name] - self.parameters[name])
                    w[name] -= self.options["step"] * (slope + pull)
        return Update(w, steps=epochs * len(y))

    def evaluate(self) -> Evaluation:
        parts = [client_data(c) for c in range(self.clients)]
        x, y = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        right = {
            c: float(np.sum(np.argmax(a @ self.parameters["w"] + self.parameters["b"], 1) == b))
            for c, (a, b) in enumerate(parts)
        }
        loss = cross_entropy(self.parameters, x, y)[0]
        values = {"train_loss": loss, "train_right": sum(right.values())}
        return Evaluation(values, {"train_right": right})


class Driver:
    """Asks a server in this process."""

    def __init__(self, learner: type[Learner]) -> None:
        self.server = Server(learner)

    def ask(self, op: str, **fields: Any) -> Message:
        request = {"op": op, "run": 1, **fields} if op != "hello" else {"op": op, **fields}
        line = self.server.answer(json.dumps(request).encode())
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
        response: Message = json.loads(line)
        return response

    def start(self, run: int = 1, **options: Any) -> Message:
        return self.ask(
            "start", run=run, id="t", seed=1, clients=4, rows=ROWS, features=5, options=options
        )

    def solve(self, clients: list[int], steps: int | None = None, seed: int = 5) -> Message:
        work = [{"client": c, "steps": steps, "seed": seed + c} for c in clients]
        return self.ask("solve", round=1, work=work)

    def round(self, number: int = 1, clients: tuple[int, ...] = (0, 1, 2, 3)) -> Message:
        assert self.ask("begin", round=number) == {"down_bytes": 144}
        assert "error" not in self.solve(list(clients))
        assert self.ask("commit", round=number, clients=list(clients)) == {}
        return self.ask("end", round=number)

    def learner(self) -> Learner:
        return self.server.runs[1]


# Loss, norm of (w, b), w[first, 0], w[last, last], b[0] and rows right, computed by two programs
# independent of this one that agree to 1e-15.
TRACES = {
    ("full", 0.0): {
        1: (1.0701616798262, 0.12002707312970273, -0.046255315107137075,
            -0.0051351613229658685, 0.021990709211571754, 20),
        5: (1.0074811638462533, 0.4730201251364906, -0.19423499313938103,
            -0.019307442067650463, 0.08463518723017525, 19),
    },
    ("batch", 0.0): {
        1: (1.0588000765933554, 0.18324182626785768, -0.0697751436122505,
            0.00847076502878165, 0.020928781287719835, 19),
        5: (0.9938424769800659, 0.667711437052086, -0.2766349576144726,
            0.03267591614441256, 0.08239188994340466, 21),
    },
    ("full", 1.0): {
        1: (1.0750246613811156, 0.09832877106525309, -0.037891850648806506,
            -0.0042091900629077725, 0.01801415704695088, 20),
        5: (1.0173718311544424, 0.4040185981295943, -0.16437885634864086,
            -0.016590282648042656, 0.07245585528449525, 19),
    },
    ("batch", 1.0): {
        1: (1.066787759862344, 0.14654440666635957, -0.05884420140032903,
            0.01039613079784739, 0.01363797116278614, 19),
        5: (1.004314676828991, 0.5728614542910538, -0.24543249662011338,
            0.04067663782937793, 0.059475907651557296, 21),
    },
}  # fmt: skip


@pytest.mark.parametrize(("kind", "mu"), TRACES)
def test_reaches_deterministic_traces(kind: str, mu: float) -> None:
    driver = Driver(Softmax)
    driver.start(mu=mu, batch=4 if kind == "batch" else 0)
    seen = {}
    for number in range(1, 6):
        driver.round(number)
        metrics = driver.ask("evaluate", round=number)["metrics"]
        p = driver.learner().parameters
        norm = np.sqrt(np.sum(p["w"] ** 2) + np.sum(p["b"] ** 2))
        values = (metrics[0]["value"], norm, p["w"][0, 0], p["w"][-1, -1], p["b"][0])
        seen[number] = (*values, metrics[1]["value"])
    for number, want in TRACES[kind, mu].items():
        assert seen[number] == pytest.approx(want, rel=0, abs=1e-14)


def test_hello_and_start() -> None:
    driver = Driver(Softmax)
    hello = driver.ask("hello", v=[1], fedsim="0.9")
    assert hello == {
        "v": 1,
        "name": "Softmax",
        "can": ["save", "receive", "weights"],
        "metrics": [
            {"split": "train", "name": "loss", "better": "lower", "unit": ""},
            {"split": "train", "name": "right", "better": "higher", "unit": "rows"},
        ],
    }
    sizes = {"step_flops": 90.0, "down_bytes": 144, "up_bytes": 144}
    assert driver.start() == {**sizes, "one_model": True}
    assert "this learner speaks version 1" in driver.ask("hello", v=[2])["error"]


def test_declares_batches_and_memory_traffic() -> None:
    class Batched(Softmax):
        def start(self) -> None:
            super().start()
            self.batch_steps, self.step_traffic_bytes = 8, 64.0

        def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
            update = super().train(client, steps, rng)
            return dataclasses.replace(update, batches=4, traffic_bytes=1e6) if client else update

    driver = Driver(Batched)
    answer = driver.start()
    assert (answer["batch_steps"], answer["step_traffic_bytes"]) == (8, 64.0)
    work = driver.solve([2, 0])["work"]
    assert (work[0]["batches"], work[0]["traffic_bytes"]) == (4, 1e6)
    assert not {"batches", "traffic_bytes"} & work[1].keys()


def test_counts_flops_and_bytes() -> None:
    driver = Driver(Softmax)
    driver.start()
    assert driver.solve([2, 0])["work"] == [
        {"client": 2, "steps": 60, "flops": 5400.0, "up_bytes": 144},
        {"client": 0, "steps": 30, "flops": 2700.0, "up_bytes": 144},
    ]
    driver.ask("commit", round=1, clients=[0])
    driver.ask("discard", round=1, clients=[2])
    # One update of 18 values: a multiply and an add for its share, and for the server's step.
    assert driver.ask("end", round=1) == {"flops": 72.0}
    response = driver.ask("evaluate", round=1)
    assert response["clients"][0]["clients"] == [0, 1, 2, 3]
    assert sum(response["clients"][0]["values"]) == response["metrics"][1]["value"]


def test_weights_scale_changes_but_not_their_share() -> None:
    driver = Driver(Softmax)
    driver.start()
    driver.solve([0, 1])
    updates = {c: u.change["w"] for c, u in driver.learner().pending.tentative.items()}
    driver.ask("commit", round=1, clients=[0, 1], weights=[1, 0.5])
    driver.ask("end", round=1)
    want = (6 * updates[0] + 0.5 * 9 * updates[1]) / 15
    np.testing.assert_allclose(driver.learner().parameters["w"], want, rtol=1e-15, atol=0)


def test_updates_are_tentative() -> None:
    driver = Driver(Softmax)
    driver.start()
    before = driver.ask("evaluate", round=0)
    driver.solve([0, 1, 2, 3])
    assert driver.ask("evaluate", round=1) == before
    driver.ask("discard", round=1, clients=[0, 1, 2, 3])
    assert driver.ask("end", round=1) == {"flops": 0.0}
    assert driver.ask("evaluate", round=1) == before


def test_a_resumed_run_has_the_same_bits(tmp_path: Path) -> None:
    whole = Driver(Scaffold)
    whole.start()
    for number in range(1, 5):
        whole.round(number)
    first = Driver(Scaffold)
    first.start()
    first.round(1)
    first.solve([3])  # a late response of the first round
    saved = first.ask("save", path=str(tmp_path / "state"))
    second = Driver(Scaffold)
    second.start()
    assert second.ask("load", path=str(tmp_path / "state")) == {}
    assert second.ask("save", path=str(tmp_path / "again")) == saved
    second.ask("discard", round=1, clients=[3])
    for number in range(2, 5):
        second.round(number)
    assert second.ask("evaluate", round=4) == whole.ask("evaluate", round=4)
    assert whole.learner().client_state[2]["rounds"] == 4


class Scaffold(Softmax):
    """A learner whose clients have state, and whose rows are drawn."""

    def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
        update = super().train(client, steps, rng)
        seen = self.client_state.get(client, {"rounds": np.zeros(())})["rounds"]
        noise = rng.normal(size=update.parameters["w"].shape) / (1 + seen)
        parameters = {**update.parameters, "w": update.parameters["w"] + 1e-3 * noise}
        return Update(parameters, update.steps, state={"rounds": seen + 1})


def test_discarded_work_leaves_no_client_state() -> None:
    driver = Driver(Scaffold)
    driver.start()
    driver.solve([0, 1])
    driver.ask("commit", round=1, clients=[1])
    driver.ask("discard", round=1, clients=[0])
    assert list(driver.learner().client_state) == [1]


def test_without_rounds_a_client_trains_what_it_was_sent() -> None:
    driver = Driver(Softmax)
    driver.start()
    for client in (0, 1):
        assert driver.ask("send", client=client) == {"down_bytes": 144}
    driver.solve([0])
    driver.solve([1])  # sent before the response of client 0
    change = {c: u.change["w"] for c, u in driver.learner().pending.tentative.items()}
    assert driver.ask("receive", client=0) == {"taken": True, "flops": 72.0}
    w = driver.learner().parameters["w"]
    np.testing.assert_allclose(w, 0.6 * change[0], rtol=1e-14)
    driver.ask("receive", client=1)
    share = 0.6 / np.sqrt(2)
    want = (1 - share) * w + share * change[1]
    np.testing.assert_allclose(driver.learner().parameters["w"], want, rtol=1e-13)
    driver.ask("send", client=2)
    driver.solve([2])
    driver.ask("discard", clients=[2])
    assert driver.learner().pending.sent == {}
    assert driver.learner().pending.tentative == {}


def test_keeps_the_types_of_parameters() -> None:
    class Mixed(Softmax):
        def start(self) -> None:
            self.step_flops = 1.0
            self.parameters = {"w": np.zeros(3, np.float32), "count": np.array([7], np.int64)}

        def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
            p = self.parameters
            return Update({"w": p["w"] + np.float32(0.1), "count": p["count"] + 2}, steps=1)

    driver = Driver(Mixed)
    driver.start()
    assert driver.solve([0, 1, 2])["work"][0]["up_bytes"] == 20
    driver.ask("commit", round=1, clients=[0, 1, 2])
    driver.ask("end", round=1)
    p = driver.learner().parameters
    assert p["w"].dtype == np.float32
    assert p["w"][0] == np.float32(0.1)
    assert p["count"].dtype == np.int64
    assert p["count"][0] == 9


def train_of(result: Any) -> type[Learner]:
    class Bad(Softmax):
        def train(self, client: int, steps: int | None, rng: np.random.Generator) -> Update:
            update: Update = result(self) if callable(result) else result
            return update

    return Bad


W = {"w": np.zeros((FEATURES, CLASSES)), "b": np.zeros(CLASSES)}


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (Update(W, 1, flops=-1.0), "flops of client 2 = -1.0: must not be negative"),
        (Update(W, 1, flops=float("inf")), "flops of client 2 = inf: must be finite"),
        (Update(W, 1, up_bytes=-4), "up_bytes of client 2 = -4: must be a whole number"),
        (Update(W, 1, up_bytes=1.5), "up_bytes of client 2 = 1.5: must be a whole number"),  # type: ignore[arg-type]
        (Update(W, 11), "client 2 took 11 steps, may take 10"),
        (Update({"w": W["w"]}, 1), "the update has the parameters ['w'], must have ['b', 'w']"),
        (Update({**W, "b": np.zeros(2)}, 1), "has shape (2,), must have (3,)"),
        (
            Update({**W, "b": np.array([0.0, np.nan, 0.0])}, 1),
            "client 2: parameter b of the update has NaN or infinities; allow_nonfinite",
        ),
        (Update({**W, "b": np.array([0.0, np.inf, 0.0])}, 1), "b of the update has NaN"),
        (7, "train must return an Update, not 7"),
        (lambda s: s.parameters["w"].fill(1), "ValueError: assignment destination is read-only"),
    ],
)
def test_says_what_is_wrong_with_an_update(result: Any, error: str) -> None:
    driver = Driver(train_of(result))
    driver.start()
    assert error in driver.solve([2], steps=10)["error"]


def test_an_update_may_be_infinite_where_the_learner_says_so() -> None:
    class Careless(train_of(Update({**W, "b": np.full(CLASSES, np.inf)}, 1))):  # type: ignore[misc]
        allow_nonfinite = True

    driver = Driver(Careless)
    driver.start()
    assert "work" in driver.solve([2], steps=10)


def test_flops_must_be_declared() -> None:
    class Undeclared(Softmax):
        def start(self) -> None:
            self.parameters = dict(W)

    assert "does not set step_flops" in Driver(Undeclared).start()["error"]

    class NoFigure(Softmax):
        def end(self) -> float:
            return None  # type: ignore[return-value]

    driver = Driver(NoFigure)
    driver.start()
    assert "FLOPs of end is missing" in driver.round()["error"]


def test_metrics_of_a_model_that_diverged_are_unknown() -> None:
    class Diverged(Softmax):
        def evaluate(self) -> Evaluation:
            name = "test_loss" if self.options["mu"] else "train_loss"
            return Evaluation({name: float("nan")}, {name: {3: 1.5, 1: float("inf"), 0: 0.5}})

    driver = Driver(Diverged)
    driver.start()
    response = driver.ask("evaluate", round=0)
    key = {"split": "train", "name": "loss"}
    assert response["metrics"] == [{**key, "value": None}]
    assert response["clients"] == [{**key, "clients": [0, 3], "values": [0.5, 1.5]}]
    driver.start(mu=1.0)
    assert (
        'returned "test_loss", which metrics does not declare'
        in (driver.ask("evaluate", round=0)["error"])
    )


def test_unknown_operation_is_refused_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "operation 'nonsense' is unknown" in Driver(Softmax).ask("nonsense")["error"]
    assert capsys.readouterr().err == ""


def test_refuses_unknown_options_and_runs() -> None:
    driver = Driver(Softmax)
    assert driver.start(stpe=1)["error"] == (
        'ValueError: option "stpe" is unknown: the learner has batch, mu, step'
    )
    assert "option \"step\" = 'a' must be of type float" in driver.start(step="a")["error"]
    driver.start(mu=1)
    assert type(driver.learner().options["mu"]) is float
    assert "run 2 has not started" in driver.ask("begin", run=2, round=1)["error"]
    assert "error" in json.loads(driver.server.answer(b"half a li\n"))
    driver.solve([1])
    assert "client 1 is asked again" in driver.solve([1])["error"]
    assert "has no method loss" in driver.ask("loss", clients=[0])["error"]


def test_runs_do_not_share_state() -> None:
    driver = Driver(Softmax)
    driver.start()
    driver.start(run=2, step=0.2)
    driver.round()
    assert not np.any(driver.server.runs[2].parameters["w"])
    assert driver.ask("finish") == {}
    assert list(driver.server.runs) == [2]


LEARNER = """
import ctypes, os, subprocess, sys
import numpy as np
from pyfedsim.protocols import Learner, Metric, Update, serve

class Loud(Learner):
    metrics = (Metric("test", "accuracy", "higher"),)

    def start(self):
        print("printed")
        os.write(1, b"written\\n")
        ctypes.CDLL(None).puts(b"put"); ctypes.CDLL(None).fflush(None)
        child = "print('child', len(__import__('sys').stdin.read()))"
        subprocess.run([sys.executable, "-c", child])
        self.parameters, self.step_flops = {"w": np.zeros(2)}, 1.0

    def train(self, client, steps, rng):
        if client == 3:
            raise ZeroDivisionError("no rows\\nat all")
        return Update({"w": self.parameters["w"] + rng.random(2)}, steps=1)

    def evaluate(self):
        return {"test_accuracy": float(self.parameters["w"][0])}

if __name__ == "__main__":
    serve(Loud)
"""


def converse(command: list[str], requests: list[Message]) -> tuple[list[Message], str, int]:
    text = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr, done.returncode


START: Message = {"op": "start", "run": 1, "id": "t", "seed": 1, "clients": 4, "rows": ROWS}


@pytest.mark.skipif(os.name == "nt", reason="calls C's puts")
@pytest.mark.parametrize("as_module", [True, False])
def test_prints_do_not_reach_the_protocol(tmp_path: Path, as_module: bool) -> None:
    path = tmp_path / "loud.py"
    path.write_text(LEARNER)
    module = ["-m", "pyfedsim.protocols", "method"] if as_module else []
    responses, stderr, code = converse(
        [sys.executable, *module, str(path)],
        [
            {"op": "hello", "v": [1], "fedsim": "0"},
            START,
            {"op": "solve", "run": 1, "round": 1, "work": [{"client": 0, "seed": 2**64 - 1}]},
            {"op": "solve", "run": 1, "round": 1, "work": [{"client": 3, "seed": 0}]},
            {"op": "finish", "run": 1},
            {**START, "run": 2},
        ],
    )
    assert code == 0
    assert [next(iter(response)) for response in responses[:3]] == ["v", "step_flops", "work"]
    assert responses[3:5] == [{"error": "ZeroDivisionError: no rows at all"}, {}]
    assert responses[5]["down_bytes"] == 16
    for text in ("printed", "written", "put", "child 0", "Traceback", "in train"):
        assert text in stderr


def test_a_file_that_fails_is_an_error_response(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import a_module_that_is_missing\n")
    responses, _, code = converse(
        [sys.executable, "-m", "pyfedsim.protocols", "method", str(path)],
        [{"op": "hello", "v": [1]}],
    )
    assert code == 1
    assert responses == [
        {"error": "ModuleNotFoundError: No module named 'a_module_that_is_missing'"}
    ]


def test_finds_the_learner_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "several_learners.py"
    path.write_text(
        "from pyfedsim import Method, Model\nfrom pyfedsim.protocols import Learner\n"
        "class One(Learner): pass\nclass Two(One): pass\n"
    )
    assert load(str(path)).__name__ == "Two"
    assert load(f"{path}:One").__name__ == "One"
    with pytest.raises(ImportError, match="has no method Three, it has: One, Two"):
        load(f"{path}:Three")
    path.write_text(path.read_text() + "class Mine(Model): pass\n")
    assert load(str(path), "model").__name__ == "Mine"
    path.write_text(path.read_text() + "class Four(Method): pass\n")
    with pytest.raises(ImportError, match="must define one method, it has: Two, Four"):
        load(str(path))
    with pytest.raises(FileNotFoundError, match=r"there is no file missing\.py"):
        load("missing.py")


def test_a_command_serves_a_class(tmp_path: Path) -> None:
    def served(text: str) -> list[str]:
        return [sys.executable, "-m", "pyfedsim.protocols", "method", text]

    assert command(Softmax) == served(f"{__file__}:Softmax")
    assert command(Learner) == served("pyfedsim.protocols._learner:Learner")
    assert command("pyfedsim.protocols:Learner") == served("pyfedsim.protocols:Learner")
    assert command("a/b.py:C") == served(f"{Path('a/b.py').resolve()}:C")
    assert load("pyfedsim.protocols:Learner") is Learner

    class Local(Softmax):
        pass

    for bad in (Local, type("Notebook", (Softmax,), {"__module__": "nowhere"})):
        with pytest.raises(TypeError, match="another process cannot import the method"):
            command(bad)
    with pytest.raises(TypeError, match="must be a subclass of Method"):
        command(Path)


def test_a_checkpoint_is_read_without_pickle(tmp_path: Path) -> None:
    driver = Driver(Softmax)
    driver.start()
    with (tmp_path / "bad").open("wb") as file:
        np.savez(file, meta=np.array([{}], dtype=object))
    assert "allow_pickle=False" in driver.ask("load", path=str(tmp_path / "bad"))["error"]
    driver.learner().server_state["x"] = np.array([{}], dtype=object)
    assert "holds Python objects" in driver.ask("save", path=str(tmp_path / "x"))["error"]
    assert not list(tmp_path.glob("x*"))
