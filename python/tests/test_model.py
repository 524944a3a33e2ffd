"""Models of one's own: the loop, and a NumPy twin of fedsim's network under its methods."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyfedsim
from pyfedsim.model import Batch
from pyfedsim.model._code import _Code

SOURCES = str(Path(pyfedsim.__file__).parent.parent)

TWIN = '''
import math

import numpy as np

from pyfedsim import Model, serve

MASK = 2**64 - 1


def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def uniform(seed, purpose, device, number):
    """Numbers of fedsim's stream of (seed, purpose, device, round): internal/tools/rng."""
    h = mix((seed + 0x9E3779B97F4A7C15) & MASK)
    h = mix(h ^ (purpose * 0xD6E8FEB86659FD93) & MASK)
    h = mix(h ^ ((device & MASK) * 0xA0761D6478BD642F) & MASK)
    h = mix(h ^ (number * 0xE7037ED1A0B428DB) & MASK)
    state = h << 64 | mix((h + 0x9E3779B97F4A7C15) & MASK)
    while True:
        factor = 2549297995355413924 << 64 | 4865540595714422341
        state = (state * factor + (6364136223846793005 << 64 | 1442695040888963407)) % 2**128
        high, low = state >> 64, state & MASK
        high ^= high >> 32
        high = (high * 0xDA942042E4DD58B5) & MASK
        high ^= high >> 48
        yield ((high * (low | 1)) & MASK) >> 11


class Twin(Model):
    """One hidden layer of four ReLU units, and softmax."""

    squared = True

    @property
    def row_flops(self):  # as docs/time.md counts
        (d, n), (_, c) = self.shapes()
        return 4.0 * d * n + 2 * n + 6 * n * c + 2 * c

    def initial(self, rng, seed=None):
        raise AssertionError

    def shapes(self):
        return (self.features, 4), (4, self.outputs)

    def split(self, w):
        (d, n), (_, c) = self.shapes()
        a, b = n * d, n * d + n
        return w[:a].reshape(n, d), w[a:b], w[b : b + c * n].reshape(c, n), w[b + c * n :]

    def scores(self, w, x):
        first, b, second, e = self.split(w)
        h = np.maximum(0, x @ first.T + b)
        z = h @ second.T + e
        z = z - z.max(axis=1, keepdims=True)
        p = np.exp(z)
        return h, z - np.log(p.sum(axis=1, keepdims=True)), p / p.sum(axis=1, keepdims=True)

    def gradient(self, w, batch, rng):
        x, y, i = batch.x, batch.y.astype(int), np.arange(len(batch.y))
        h, log, p = self.scores(w, x)
        losses = -log[i, y]
        p[i, y] -= 1
        p /= len(y)
        if batch.weights is not None:
            losses = losses * batch.weights
            p *= batch.weights[:, None]
        back = (p @ self.split(w)[2]) * (h > 0)
        parts = back.T @ x, back.sum(0), p.T @ h, p.sum(0)
        return losses.mean(), np.concatenate([part.ravel() for part in parts])

    def evaluate(self, w, batch):
        y, i = batch.y.astype(int), np.arange(len(batch.y))
        _, log, p = self.scores(w, batch.x)
        losses = -log[i, y]
        return losses.mean(), (p.argmax(1) != y).sum(), (losses**2).mean()

    @property
    def predictions(self):
        return self.outputs

    def losses(self, w, batch):
        y, i = batch.y.astype(int), np.arange(len(batch.y))
        _, log, p = self.scores(w, batch.x)
        return -log[i, y], y, p


if __name__ == "__main__":
    serve(Twin)
'''

# initial gets the seed of the run, so that the values can be those of fedsim's network.
TWIN = TWIN.replace(
    """    def initial(self, rng, seed=None):
        raise AssertionError
""",
    """    def initial(self, rng):
        values = []
        for i, (d, n) in enumerate(self.shapes()):
            bound, stream = math.sqrt(6 / (d + n)), uniform(SEED, 26, -1, i)
            values += [bound * (2 * next(stream) * 2.0**-53 - 1) for _ in range(d * n)] + [0.0] * n
        return np.array(values)
""",
).replace("MASK =", "SEED = 1\nMASK =")

SCENARIO: dict[str, Any] = {
    "name": "twin",
    "data": {
        "target": "classes",
        "test_fraction": 0.25,
        "synthetic": {"clients": 5, "features": 6, "classes": 3, "rows_min": 10, "rows_max": 30},
    },
    "problem": {"regularizer": "independent"},
    "run": {"rounds": 20, "max_time_s": 1e6},
}
INSIDE = {"problem.model": "mlp", "problem.model_options.hidden": [4], "problem.loss": "softmax"}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the twin."""
    file = tmp_path_factory.mktemp("twin") / "twin.py"
    file.write_text(TWIN, encoding="utf-8")
    return file


# Why methods of fedsim do not learn an external model.
REFUSED = {
    **dict.fromkeys(("mocha", "cocoa", "mb-sdca", "async-mocha", "local"), "is a dual method"),
    "optimum": "the model that the central solver finds",
    "central": "a central solver has no other",
    "external": "a learner has its own model",
    **dict.fromkeys(("fedrep", "fedper"), "of which nothing would be shared"),
}
WITHOUT_ROUNDS = {"federation.protocol": "asynchronous", "federation.clients_per_round": 3}
SETTINGS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("asgd", "fedasync", "rennala", "ringleader", "ringmaster"), WITHOUT_ROUNDS),
    "rescaled": {"federation.protocol": "asynchronous"},
    "fedau": {"federation.protocol": "first", "federation.clients_per_round": 3},
    "fedbuff": WITHOUT_ROUNDS | {"run.max_time_s": 100},
    "fedcompass": {"federation.protocol": "compass"},
    "hierfavg": {"network.hubs.size": 3},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "fedbuff": {"buffer": 2},
    "mb-sgd": {"step": 0.1, "delay": 100.0},
    "per-fedavg": {"variant": "hessian-free"},
}
CODECS = ("top-k", "qsgd")


def methods_of() -> list[str]:
    """Return the names of all methods."""
    with pytest.raises(pyfedsim.errors.ScenarioError) as caught:
        pyfedsim.run({"name": "x", "methods": {"none": {}}})
    return str(caught.value).split("must be one of ")[1].split(", ")


@pytest.mark.once
def test_a_numpy_twin_learns_as_the_network_of_fedsim(
    twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 1e-9 after 20 rounds, with codecs after one; on two processes bit for bit."""
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    methods: dict[str, Any] = {
        name: {
            "algorithm": name,
            "options": {"batch": 4, **OPTIONS.get(name, {})},
            "set": SETTINGS.get(name, {}),
        }
        for name in methods_of()
        if name not in REFUSED
    }
    for codec in CODECS:
        coded = {"compression.up": codec, "run.rounds": 1}
        methods[codec] = {"algorithm": "scaffold", "set": coded}
    scenario = SCENARIO | {"methods": methods}
    inside, outside, two = (
        pyfedsim.run(
            scenario,
            model=model,
            set=INSIDE if model is None else {"problem.program.processes": workers},
            workers=workers,
            out=tmp_path / f"{model is None}{workers}",
            progress=False,
            figures=False,
        )
        for model, workers in ((None, 1), (f"{twin}:Twin", 1), (f"{twin}:Twin", 2))
    )
    a, b = inside.table("rounds", "numpy"), outside.table("rounds", "numpy")
    assert list(a["method"]) == list(b["method"])
    assert set(a["method"]) == set(methods)
    for column in ("primal", "train_error", "test_error", "time_s"):
        # The FLOPs of scores alone, which ifca and fedem compute, are not known of a program.
        known = np.array([column != "time_s" or m not in ("ifca", "fedem") for m in a["method"]])
        np.testing.assert_allclose(
            a[column][known], b[column][known], rtol=1e-9, atol=1e-9, err_msg=column
        )
    for method in methods:
        losses = a["primal"][a["method"] == method]
        assert losses.min() < losses[0], method
    hashes = [[r["model_hash"] for r in run.manifest["runs"]] for run in (outside, two)]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("name", REFUSED)
def test_methods_that_refuse_a_model(name: str, tmp_path: Path) -> None:
    assert name in methods_of()
    if name == "external":
        return
    with pytest.raises(pyfedsim.errors.ScenarioError) as caught:
        pyfedsim.run(
            SCENARIO | {"methods": {name: {}}},
            set={"problem.model": "external", "problem.program.command": ["no"]},
            out=tmp_path / "out",
        )
    assert REFUSED[name] in str(caught.value)


def test_an_error_of_a_model_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    file = tmp_path / "broken.py"
    file.write_text(
        "import numpy as np\nfrom pyfedsim import Model\n"
        "class Broken(Model):\n"
        "    def initial(self, rng):\n        return np.zeros(3)\n"
        "    def gradient(self, w, batch, rng):\n        return 0.0, np.zeros(4)\n"
        "    def evaluate(self, w, batch):\n        return 0.0, 0\n",
        encoding="utf-8",
    )
    scenario = SCENARIO | {"methods": {"fedavg": {}}}
    with pytest.raises(pyfedsim.errors.ExternalError) as caught:
        pyfedsim.run(
            scenario, model=file, out=tmp_path / "out", workers=1, progress=False, figures=False
        )
    text = "gradient of client 0: it reports: ValueError: gradient returned an array of shape (4,), must be (3,)"
    assert text in str(caught.value)


@pytest.mark.once
def test_a_model_with_rows_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that has rows brings them into the scenario."""
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "means.py").write_text(
        "import numpy as np\nfrom pyfedsim import Model\n"
        "class Means(Model):\n"
        "    def rows(self):\n        return {'train': [2, 4], 'test': [1, 1]}\n"
        "    def initial(self, rng):\n        return rng.normal(size=1)\n"
        "    def gradient(self, w, batch, rng):\n"
        "        miss = w - batch.client\n        return miss @ miss / 2, miss\n"
        "    def evaluate(self, w, batch):\n"
        "        miss = w - batch.client\n"
        "        return miss @ miss / 2, len(batch.rows) * miss @ miss\n",
        encoding="utf-8",
    )
    import means  # type: ignore[import-not-found]  # noqa: PLC0415

    scenario = {
        "name": "means",
        "data": {"target": "real"},
        "problem": {"regularizer": "independent"},
        "run": {"rounds": 200, "client_metrics": ["error"]},
        "methods": {"fedavg": {}},
    }
    run = pyfedsim.run(scenario, model=means.Means, out=tmp_path / "out", progress=False)
    # w is the mean of 0 (2 rows) and 1 (4 rows).
    clients = run.table("client_values", "numpy")
    errors = {r["client"]: r["value"] for r in clients if r["split"] == "train"}
    assert errors == pytest.approx({0: 2 / 3, 1: 1 / 3}, abs=1e-6)


def test_the_server_answers_in_lines(twin: Path) -> None:
    requests = [{"op": "hello", "v": [1], "features": 2, "outputs": 3, "clients": 1}, {"op": "no"}]
    done = subprocess.run(
        [sys.executable, str(twin)],
        input="".join(json.dumps(r) + "\n" for r in requests).encode(),
        env={**os.environ, "PYTHONPATH": SOURCES},
        capture_output=True,
        check=True,
    )
    hello, no = map(json.loads, done.stdout.splitlines())
    assert hello["values"] == 4 * 3 + 3 * 5
    assert hello["dtype"] == "float64"
    assert hello["squared_losses"] is True
    assert f"NumPy {np.__version__}" in hello["fingerprint"]
    assert no == {"error": "the operation 'no' is unknown"}


class Means(pyfedsim.Model):
    """A number for all clients, which have their own numbers, in this process."""

    name = "means"
    broken = False

    def rows(self) -> dict[str, list[int]]:
        return {"train": [2, 4], "test": [1, 1]}

    def initial(self, rng: np.random.Generator) -> Any:
        return rng.normal(size=1)

    def gradient(self, w: Any, batch: Batch, rng: np.random.Generator) -> tuple[float, Any]:
        if self.broken:
            raise ZeroDivisionError("of a user")
        miss = w - batch.client
        return miss @ miss / 2, miss

    def evaluate(self, w: Any, batch: Batch) -> tuple[float, ...]:
        miss = w - batch.client
        return miss @ miss / 2, len(batch.rows) * miss @ miss


MEANS: dict[str, Any] = {
    "name": "means",
    "data": {"target": "real"},
    "problem": {"regularizer": "independent"},
    "run": {"rounds": 200, "client_metrics": ["error"]},
    "methods": {"fedavg": {}, "scaffold": {"options": {"weights": "rows"}}},
}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no sockets in files")
def test_a_model_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance needs no file; the traceback of its error is that of the user's code."""
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    run = pyfedsim.run(MEANS, model=Means(), out=tmp_path / "out", progress=False, figures=False)
    clients = run.table("client_values", "numpy")
    found = [r["value"] for r in clients if r["split"] == "train"]
    np.testing.assert_allclose(found, [2 / 3, 1 / 3] * 2, atol=1e-6)
    broken = Means()
    broken.broken = True
    with pytest.raises(
        pyfedsim.errors.ExternalError, match="ZeroDivisionError: of a user"
    ) as caught:
        pyfedsim.run(MEANS, model=broken, out=tmp_path / "no", progress=False, figures=False)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert cause.__traceback__ is not None
    names = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert names[-1] == "gradient"
    # The run continues with a model that is right, which is another one.
    keys: dict[str, Any] = {"resume": True, "progress": False, "figures": False}
    with pytest.raises(pyfedsim.errors.RunError, match="the program is another than before"):
        pyfedsim.run(MEANS, model=Means(), out=tmp_path / "no", **keys)
    keys["allow_other_program"] = True
    again = pyfedsim.run(MEANS, model=Means(), out=tmp_path / "no", **keys)
    assert again.manifest["result_hash"] == run.manifest["result_hash"]


@pytest.mark.once
@pytest.mark.skipif(sys.platform == "win32", reason="there are no sockets in files")
def test_metrics_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are means over the rows of clients, and by client; a value that is NaN is an error."""
    monkeypatch.setenv("PYTHONPATH", SOURCES)

    def size(w: Any, batch: Batch) -> float:
        return float(len(batch.rows) + 0 * w[0])

    def distance(w: Any, batch: Batch) -> Any:
        return abs(w - batch.client)[0]

    model = Means()
    model.metrics = {"size": size, "distance": (distance, "lower", "m")}
    keys = {"rounds": 200, "client_metrics": ["size"], "targets": {"train_distance": [0.5]}}
    scenario = MEANS | {"run": keys, "methods": {"fedavg": {}}}
    run = pyfedsim.run(scenario, model=model, out=tmp_path / "a", progress=False, figures=False)
    found = {
        f"{r['split']}_{r['name']}": float(r["value"]) for r in run.table("metrics", "numpy")
    }  # those of the last round
    # w is 2/3; the clients have 2 and 4 training rows.
    assert found["train_distance"] == pytest.approx((2 * 2 / 3 + 4 / 3) / 6, abs=1e-6)
    assert found["test_distance"] == pytest.approx(1 / 2, abs=1e-6)
    assert found["train_size"] == pytest.approx(20 / 6)
    assert found["train_size_worst10"] == 2
    declared = {
        (m["split"], m["name"], m["better"], m["unit"]) for m in run.manifest["runs"][0]["metrics"]
    }
    assert {("train", "size", "higher", ""), ("test", "distance", "lower", "m")} <= declared
    assert run.table("runs", "numpy")["time_s_to_train_distance_0.5"][0] > 0
    fingerprint = model.fingerprint()
    model.metrics = {"size": lambda w, _: w[0] * float("nan")}
    assert model.fingerprint() != fingerprint
    with pytest.raises(pyfedsim.errors.ExternalError) as caught:
        pyfedsim.run(MEANS, model=model, out=tmp_path / "b", progress=False, figures=False)
    text = r"metric size of the (train|test) rows of client 0 is nan: must be a finite number"
    assert re.search(text, str(caught.value)), str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


HASHES = """
import importlib, json, pathlib, sys
from pyfedsim import Model
sys.dont_write_bytecode = True
for text in json.load(sys.stdin):
    if sys.argv[1] == "notebook":
        space = {"__name__": "__main__"}
        exec(compile(text, "<cell>", "exec"), space)
        Line = space["Line"]
    else:
        pathlib.Path("model.py").write_text(text, encoding="utf-8")
        sys.modules.pop("model", None)
        importlib.invalidate_caches()
        from model import Line
    print(Line().fingerprint().split(",")[0])
"""


def hashes_of(folder: Path, kind: str, texts: list[str], **environ: str) -> list[str]:
    """Return the hashes of the code of models in another process: of a file, or of a notebook."""
    done = subprocess.run(
        [sys.executable, "-c", HASHES, kind],
        input=json.dumps(texts),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SOURCES, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.split()


LINE = """
import os
from functools import partial
import numpy as np
from pyfedsim import Model
{head}

def scaled(x, by=3):
    return x * by

def around(by):
    return lambda x: x * by

class Line(Model):
    rate = float(os.environ.get("RATE", "1"))
    table = {{"a": [1, {{2.5, "b"}}], "c": np.arange(3)}}
    twice = partial(scaled, by=2)
    inner = staticmethod(around(5))

    def __init__(self):
        self.step, self._cache = 0.5, os.urandom(4)

    @property
    def half(self):
        return self.rate / 2

    def initial(self, rng):
        return np.zeros(1)

    def gradient(self, w, batch, rng):
        import late
        inner = [(lambda y: y + 1)(scaled(x)) for x in w if x not in {{"u", "v", "w"}}]
        return 0.0, np.array(inner)

    def evaluate(self, w, batch):
        return 0.0, 0.0
"""

EDITS = {
    "a constant in a comprehension": ("y + 1", "y + 2"),
    "a constant in a set": ('"u", "v"', '"u", "x"'),
    "a property": ("self.rate / 2", "self.rate / 3"),
    "a default": ("by=3", "by=4"),
    "a closure": ("around(5)", "around(6)"),
    "a partial": ("by=2", "by=5"),
    "an attribute of the class": ('"b"', '"d"'),
    "an array": ("np.arange(3)", "np.arange(4)"),
    "an attribute of the instance": ("= 0.5", "= 0.25"),
}


@pytest.mark.parametrize("kind", ["file", "notebook"])
def test_a_fingerprint_is_that_of_the_code(tmp_path: Path, kind: str) -> None:
    """It is the same in every process, and another one after each edit."""
    (tmp_path / "late.py").write_text("A = 1\n", encoding="utf-8")
    text = LINE.format(head="")
    texts = [text, *(text.replace(*edit) for edit in EDITS.values())]
    found = hashes_of(tmp_path, kind, texts, PYTHONHASHSEED="1")
    assert hashes_of(tmp_path, kind, texts, PYTHONHASHSEED="2") == found
    found += hashes_of(tmp_path, kind, [text], RATE="2")
    for what, of in zip([*EDITS, "an attribute that the environment sets"], found[1:], strict=True):
        assert of != found[0], what
    assert len(set(found)) == len(found)


def test_a_fingerprint_is_that_of_what_the_file_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules beside it, packages, and imports within functions; no other files, and no libraries."""
    files = {
        "helper.py": "from package.deep import K\nSCALE = 1\n",
        "package/__init__.py": "",
        "package/deep.py": "from . import sibling\nfrom .other import *\nK = 1\n",
        "package/sibling.py": "import helper\n",
        "package/other.py": "try:\n    import missing\nexcept ImportError:\n    pass\n",
        "late.py": "A = 1\n",
        "imports_others.py": LINE.format(head="from helper import SCALE\n"),
    }
    (tmp_path / "package").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    line = importlib.import_module("imports_others").Line()
    first = line.fingerprint()
    for name, content in files.items():
        (tmp_path / name).write_text(content + "# edited\n", encoding="utf-8")
        assert line.fingerprint() != first, name
        (tmp_path / name).write_text(content, encoding="utf-8")
    line._cache = b""
    assert line.fingerprint() == first
    line.step = 0.25
    assert line.fingerprint() != first
    code = _Code()
    code.text(type(line))
    assert {str(file.relative_to(tmp_path)) for file in code.files} == set(files)
    for name in (
        "imports_others",
        "helper",
        "package.sibling",
        "package.other",
        "package.deep",
        "package",
    ):
        sys.modules.pop(name, None)
