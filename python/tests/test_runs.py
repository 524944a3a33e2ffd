from __future__ import annotations

import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyfedsim
from pyfedsim import _tables, runs
from pyfedsim._progress import Display, describe
from pyfedsim._scenario import dumps
from pyfedsim._tables import LIBRARIES
from pyfedsim.protocols import Learner

pytestmark = pytest.mark.usefixtures("fedsim")

SCENARIO: dict[str, Any] = {
    "name": "small",
    "data": {"synthetic": {"clients": 4, "features": 5}},
    "devices": {"speed_spread": 1.0},
    "faults": {"drop_probability": 0.1},
    "run": {"rounds": 5, "seeds": [1, 2], "devices": True},
    "methods": {"mocha": {"label": "MOCHA"}, "cocoa": {"label": "CoCoA"}},
}


@pytest.fixture(scope="session")
def made(fedsim: Path, tmp_path_factory: pytest.TempPathFactory) -> pyfedsim.Run:
    return pyfedsim.run(SCENARIO, out=tmp_path_factory.mktemp("runs") / "small", progress=False)


def test_data_sets(fedsim: Path, tmp_path: Path, made: pyfedsim.Run) -> None:
    """The labels of a file have the names of its classes."""
    rows = "".join(f"{i % 3},{'yes' if i % 4 else 'no'},{i},{i * i}\n" for i in range(24))
    (tmp_path / "mine.csv").write_text("who,answer,x,y\n" + rows + "0,no,,1\n", encoding="utf-8")
    data = {"source": "csv", "path": str(tmp_path / "mine.csv"), "missing": "drop"}
    columns = {"client_column": "who", "label_column": "answer"}
    run = pyfedsim.run(
        {"name": "mine", "data": data | columns, "run": {"rounds": 1}, "methods": {"mocha": {}}},
        out=tmp_path / "mine",
        progress=False,
    )
    (found,) = run.data_sets
    assert found == runs.DataSet("mine", {-1: "no", 1: "yes"}, 1, 0, 1)
    assert [entry["data_set"] for entry in run.manifest["runs"]] == [0]
    assert made.data_sets == []


def test_values_by_client(fedsim: Path, tmp_path: Path) -> None:
    """Statistics over clients are those of the values by client, by NumPy."""
    fleet = [
        {"name": "old phone", "share": 0.5, "device": "phone-2010", "link": "3g"},
        {"name": "laptop", "share": 0.5, "device": "phone-2010", "link": "wifi"},
    ]
    (tmp_path / "fleet.toml").write_text(dumps({"class": fleet}), encoding="utf-8")
    changed = {
        "data": {"synthetic": {"clients": 23, "features": 5, "rows_min": 20, "rows_max": 90}},
        "run": {"rounds": 4, "client_metrics": ["loss", "auc"], "clients_every": 2},
        "devices": {},
        "fleet": {"name": str(tmp_path / "fleet.toml")},
        "methods": {"mocha": {}},
    }
    run = pyfedsim.run(SCENARIO | changed, out=tmp_path / "run", progress=False)
    rows, metrics = run.table("client_values", "numpy"), run.table("metrics", "numpy")
    assert set(rows["class"]) == {"old phone", "laptop"}
    assert len(rows) == 23 * 3 * 2 * 2
    for number in (0, 2, 4):
        for name, worst in (("loss", -1), ("auc", 1)):
            of = (rows["round"] == number) & (rows["split"] == "test") & (rows["name"] == name)
            known = rows[of & ~np.isnan(rows["value"])]
            x = known["value"]
            for statistic, want in {
                "_clients": np.mean(x),
                "": np.average(x, weights=known["rows"]),
                "_sd": np.std(x),
                "_worst10": np.mean(np.sort(x)[::worst][: -(-len(x) // 10)]),
                "_p10": np.quantile(x, 0.1),
                "_p90": np.quantile(x, 0.9),
                "_jain": np.sum(x) ** 2 / (len(x) * np.sum(x**2)),
            }.items():
                named = metrics["name"] == f"{name}{statistic}"
                got = metrics[(metrics["round"] == number) & (metrics["split"] == "test") & named]
                assert list(got["value"]) == pytest.approx([want], rel=1e-12, abs=1e-15)
    last = rows[(rows["round"] == 4) & (rows["split"] == "train") & (rows["name"] == "loss")]
    assert sum(last["updates"]) == sum(run.table("rounds", "numpy")["participants"])
    assert np.ptp(last["compute_s"] / last["rows"]) < 1e-9 < min(last["compute_s"])
    slow = last["class"] == "old phone"
    assert min(last["transfer_s"][slow]) > max(last["transfer_s"][~slow]) > 0
    if importlib.util.find_spec("pandas"):
        assert list(run.table("client_values", "pandas")["class"]) == list(rows["class"])


@pytest.mark.once
def test_tables(made: pyfedsim.Run) -> None:
    """All libraries read the same numbers."""
    for name, rows in (("rounds", 24), ("runs", 4), ("devices", 80)):
        table = made.table(name, "numpy")
        assert table.shape == (rows,)
        assert table["seed"].dtype == np.int64
        assert table["run"].dtype.kind == "U"
        for library in LIBRARIES[:2]:
            if importlib.util.find_spec(library) is None:
                continue
            other = made.table(name, library)
            assert list(other.columns) == list(table.dtype.names)
            for column in table.dtype.names:
                values = np.asarray(other[column])
                if table[column].dtype.kind == "U":
                    assert [v if isinstance(v, str) else "" for v in values] == list(table[column])
                else:
                    np.testing.assert_array_equal(values.astype(float), table[column].astype(float))
    assert set(made.table("runs", "numpy")["method"]) == {"MOCHA", "CoCoA"}
    assert made.rounds is made.rounds


def test_numpy_without_pandas_and_polars(
    made: pyfedsim.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "numpy" or None)
    assert isinstance(pyfedsim.Run(made.directory).rounds, np.ndarray)
    with pytest.raises(pyfedsim.errors.FedsimError, match="pip install polars"):
        made.table("rounds", "polars")
    with pytest.raises(pyfedsim.errors.FedsimError, match="must be one of"):
        made.table("rounds", "excel")  # type: ignore[arg-type]


def test_no_such_table(made: pyfedsim.Run) -> None:
    with pytest.raises(pyfedsim.errors.RunError, match=r"^(?!write).*metric"):
        _ = made.metrics


def test_types_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("run,seed,a,b,c\n1,18446744073709551615,1,,x\nnan,0,-2,+Inf,\n")
    table = _tables.read_csv(path, "numpy")
    assert [table.dtype[n].kind for n in table.dtype.names] == ["U", "u", "i", "f", "U"]
    assert list(table["run"]) == ["1", "nan"]
    assert list(table["b"][1:]) == [np.inf]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = _tables.read_csv(path, "pandas")
    assert list(frame["run"]) == ["1", "nan"]
    assert frame["b"][1] == np.inf
    assert frame["seed"][0] == 2**64 - 1
    assert pandas.isna(frame["b"][0])


def test_polars_types(tmp_path: Path) -> None:
    pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / "x.csv"
    path.write_text("run,seed,a,b\n1,3,1,\nnan,0,-2,+Inf\n")
    frame = _tables.read_csv(path, "polars")
    assert list(frame["run"]) == ["1", "nan"]
    assert frame["b"].to_list() == [None, np.inf]


def test_tables_of_the_summary(made: pyfedsim.Run) -> None:
    """They have the cells of the program, each column by its own name."""
    rows = made.table("times", "numpy")
    assert [row["method"] for row in rows] == ["CoCoA", "MOCHA"]
    for library in LIBRARIES[:2]:
        if importlib.util.find_spec(library):
            frame = made.table("times", library)
            assert {name: list(frame[name]) for name in frame.columns} == {
                name: [row[name] for row in rows] for name in rows[0]
            }
    for text, rule in ((made.latex(), r"\toprule"), (made.markdown("times"), "| :-- |")):
        assert rule in text
        for cell in rows[0].values():
            assert cell.rstrip("*").replace(" %", "") in text.replace(r"$\pm$", "±")
    with pytest.raises(pyfedsim.errors.FedsimError, match="tables"):
        made.latex("tables")
    with pytest.raises(pyfedsim.errors.UsageError, match=r"run\.latex\(.times.\)"):
        made.table("latex")


def test_tables_of_several_experiments() -> None:
    rows = [{"method": "a<b", "time": "1 s"}, {"method": "c", "time": "2 s"}, {"class": "x"}]
    first, second = _tables.html_of_rows(rows)
    assert first.count("<tr>") == 3
    assert "<td>a&lt;b</td>" in first
    assert "<th>class</th>" in second
    for library in LIBRARIES[:2]:
        if importlib.util.find_spec(library):
            frame = _tables.of_rows(rows, library)
            assert list(frame.columns) == ["method", "time", "class"]
            assert frame["class"][2] == "x"


def test_figures(made: pyfedsim.Run, tmp_path: Path) -> None:
    assert made.figures == ["small"]
    figure = made.figure()
    assert figure._repr_svg_().startswith("<svg")
    assert figure.png.startswith(b"\x89PNG")
    assert figure.save(tmp_path / "a.svg").read_bytes() == figure.svg
    assert figure.save(tmp_path / "a.png").read_bytes() == figure.png
    with pytest.raises(pyfedsim.errors.UsageError, match=r"\.svg or \.png"):
        figure.save(tmp_path / "a.pdf")
    other = made.figure(x="energy_j", y="test_error")
    assert b"test error" in other.svg.lower()
    assert other.svg != figure.svg
    with pytest.raises(pyfedsim.errors.FedsimError, match="no figure none: there are small"):
        made.figure("none")


def test_html_has_curves_and_no_scripts(made: pyfedsim.Run) -> None:
    html = made._repr_html_()
    assert html.count("<svg") == 1
    assert html.index("<th>method</th>") < html.index("<td>MOCHA</td>") < html.index("<svg")
    assert "<b>warning:</b>" not in html
    assert "<script" not in html.lower()
    assert not re.search(r"\son\w+=", html)


def test_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cell that is run again gets a numbered directory; progress shows before the first line."""
    shown: list[str] = []
    bars: list[str] = []

    class Cell:
        def update(self, content: Any, *, raw: bool) -> None:
            assert raw
            shown.append(content["text/plain"])
            bars.append(content["text/html"])

    def display(content: Any, *, raw: bool, display_id: bool) -> Cell:
        assert display_id
        Cell().update(content, raw=raw)
        return Cell()

    monkeypatch.chdir(tmp_path)
    pyfedsim.run(SCENARIO, progress=False, figures=False)
    with pytest.raises(
        pyfedsim.errors.UsageError, match=r"use force=True \(--force\) to overwrite"
    ):
        pyfedsim.run(SCENARIO, progress=False, figures=False)
    notebook = types.ModuleType("IPython")
    notebook.get_ipython = lambda: types.SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    module = types.ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    capsys.readouterr()
    again = [pyfedsim.run(SCENARIO, figures=False) for _ in range(2)]
    assert [str(run.directory) for run in again] == ["runs/small-2", "runs/small-3"]
    told = "runs/small: holds a complete run: the results go to runs/small-"
    assert capsys.readouterr().err.count(told) == 2
    assert shown[0] == "starting"
    assert shown[-1] == bars[-1] == ""
    assert re.match(r'<progress value="[01]\.\d{4}"', bars[-2])
    with pytest.raises(pyfedsim.errors.UsageError, match="holds a complete run"):
        pyfedsim.run(SCENARIO, out="runs/small", progress=False)
    for number in ("", "-2"):
        with pyfedsim.Engine("deadline", method="own", figures=False) as engine:
            engine.close_round(1, [])
            assert engine.finish()["directory"] == f"runs/deadline-own{number}"


def test_html_has_warnings_above_the_table(tmp_path: Path) -> None:
    dead = {"devices.battery.wh": 1e-9, "devices.charging.when": "never"}
    with pytest.raises(pyfedsim.errors.Stalled):
        pyfedsim.run(SCENARIO, set=dead, out=tmp_path / "x", figures=False, progress=False)
    html = pyfedsim.Run(tmp_path / "x")._repr_html_()
    assert html.index("<b>warning:</b>") < html.index("<table>")


@pytest.mark.once
def test_figure_of_a_run_without_figures(tmp_path: Path) -> None:
    run = pyfedsim.run(SCENARIO, out=tmp_path / "x", figures=False, progress=False)
    assert run.figures == []
    assert run.figure().name == "small"
    assert "<svg" in run._repr_html_()


def test_report_explain_summary(made: pyfedsim.Run, tmp_path: Path) -> None:
    assert "<html" in made.report(tmp_path / "r.html").read_text()
    assert "downlink" in made.explain()
    second = made.table("runs", "numpy")["run"][1]
    assert second in made.explain(second)
    assert "small" in made.summary()
    assert "[methods.mocha]" in made.scenario
    assert made.manifest["state"] == "complete"
    assert repr(made) == f"Run({str(made.directory)!r})"
    assert pyfedsim.Run(made.directory).manifest == made.manifest
    with pytest.raises(pyfedsim.errors.FedsimError, match=r"no manifest\.json"):
        pyfedsim.Run(tmp_path)


def test_settings_seed_workers(tmp_path: Path, made: pyfedsim.Run) -> None:
    run = pyfedsim.run(
        SCENARIO,
        set={"run.rounds": np.int64(3), "methods.mocha.label": 'A "b"'},
        seed=2,
        workers=1,
        figures=False,
        progress=False,
        out=tmp_path / "x",
    )
    table = run.table("runs", "numpy")
    assert list(table["method"]) == ['A "b"', "CoCoA"]
    assert list(table["seed"]) == [2, 2]
    assert list(table["round"]) == [3, 3]
    # The same seed gives the same first rounds as in the longer run.
    rounds, longer = run.table("rounds", "numpy"), made.table("rounds", "numpy")
    same = longer[(longer["seed"] == 2) & (longer["round"] <= 3)]
    assert list(rounds["time_s"]) == list(same["time_s"])


def test_scenario_path_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("[run]\nrounds = 2\n[methods.mocha]\n")
    assert pyfedsim.run(Path("mine.toml"), progress=False).directory == Path("runs/mine")
    shipped = pyfedsim.run(
        "quickstart", set={"run.rounds": 2, "run.seeds": [1]}, figures=False, progress=False
    )
    assert shipped.directory == Path("runs/quickstart")
    with pytest.raises(pyfedsim.errors.UsageError, match="complete run"):
        pyfedsim.run("mine.toml", progress=False)
    pyfedsim.run("mine.toml", progress=False, force=True)


def test_sweep(tmp_path: Path) -> None:
    run = pyfedsim.sweep(
        SCENARIO,
        {"network.profile": ["3g", "wifi"], "faults.drop_probability": np.array([0.0, 0.5])},
        set={"run.rounds": 2},
        seed=1,
        progress=False,
        figures=False,
        out=tmp_path / "x",
    )
    table = run.table("runs", "numpy")
    cells = {
        (p, d)
        for p, d in zip(table["network.profile"], table["faults.drop_probability"], strict=True)
    }
    assert cells == {("3g", 0.0), ("3g", 0.5), ("wifi", 0.0), ("wifi", 0.5)}
    with pytest.raises(pyfedsim.errors.UsageError, match="must be a list"):
        pyfedsim.sweep(SCENARIO, {"network.profile": "3g"})
    with pytest.raises(pyfedsim.errors.UsageError, match="at least one key"):
        pyfedsim.sweep(SCENARIO, {})


def test_scenario_errors(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[run]\nrounds = -1\n[methods.mocha]\n")
    with pytest.raises(pyfedsim.errors.ScenarioError) as caught:
        pyfedsim.run(path, progress=False, out=tmp_path / "x")
    error = caught.value
    assert (error.file, error.line, error.column, error.key) == (str(path), 2, 10, "run.rounds")
    with pytest.raises(pyfedsim.errors.ScenarioError) as caught:
        pyfedsim.run({**SCENARIO, "nothing": 1}, progress=False, out=tmp_path / "x")
    assert (caught.value.file, caught.value.line, caught.value.key) == (None, None, "nothing")
    assert not (tmp_path / "x").exists()
    with pytest.raises(pyfedsim.errors.UsageError, match="needs out"):
        pyfedsim.run(SCENARIO, resume=True)


def test_failures_are_told_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pyfedsim.errors.ScenarioError):
        pyfedsim.run({**SCENARIO, "nothing": 1}, out=tmp_path / "x")
    assert capfd.readouterr().err == ""


LEARNER = """
import sys
import numpy as np
from pyfedsim.protocols import Learner, Metric, Update

class Mean(Learner):
    metrics = (Metric("test", "loss", "lower"),)
    defaults = {"step": 0.5}

    def start(self):
        print("hello from the learner", file=sys.stderr)
        self.parameters = {"w": np.zeros(3)}
        self.step_flops = 100.0

    def train(self, client, steps, rng):
        return Update({"w": self.parameters["w"] + self.options["step"] * (1 - self.parameters["w"])}, 10)

    def evaluate(self):
        return {"test_loss": float(abs(1 - self.parameters["w"]).max())}
"""


def test_learner_beside_a_built_in_method(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(pyfedsim.__file__).parents[1]))
    file = tmp_path / "mean.py"
    file.write_text(LEARNER)
    run = pyfedsim.run(
        {**SCENARIO, "faults": {}, "run": {"rounds": 3, "seeds": [1]}},
        method={"mean": f"{file}:Mean"},
        set={"methods.mean.options.step": 0.25},
        figures=False,
        out=tmp_path / "x",
    )
    assert "hello from the learner" in capfd.readouterr().err
    assert set(run.table("runs", "numpy")["method"]) == {"MOCHA", "CoCoA", "mean"}
    values = run.table("metrics", "numpy")["value"]
    np.testing.assert_allclose(values, 0.75 ** np.arange(4), rtol=1e-15)


def test_failed_learner(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(pyfedsim.__file__).parents[1]))
    file = tmp_path / "mean.py"
    file.write_text(LEARNER.replace("return Update", "raise ArithmeticError('no root')  #"))
    with pytest.raises(pyfedsim.errors.ExternalError, match=r"^run .*no root"):
        pyfedsim.run(SCENARIO, method=file, progress=False, out=tmp_path / "x")
    shown = capfd.readouterr().err
    assert "in train" in shown  # its traceback
    assert "permissions" not in shown


def test_scenario_with_command_needs_consent(tmp_path: Path) -> None:
    scenario = {
        **SCENARIO,
        "methods": {"x": {"algorithm": "external", "program": {"command": ["true"]}}},
    }
    with pytest.raises(pyfedsim.errors.UsageError, match=r"allow.external"):
        pyfedsim.run(scenario, progress=False, out=tmp_path / "x")


def test_stalled(tmp_path: Path) -> None:
    dead = {
        **SCENARIO,
        "devices": {"battery": {"wh": 1e-9}, "charging": {"when": "never"}},
        "run": {"rounds": 3, "seeds": [1]},
    }
    with pytest.raises(pyfedsim.errors.Stalled) as caught:
        pyfedsim.run(dead, progress=False, figures=False, out=tmp_path / "x")
    assert caught.value.directory is not None
    assert set(pyfedsim.Run(caught.value.directory).table("runs", "numpy")["status"]) == {"stalled"}


LONG = {**SCENARIO, "run": {"rounds": 6000, "seeds": [1]}}


@pytest.mark.slow
def test_interrupt_leaves_a_resumable_run(tmp_path: Path) -> None:
    shares: list[float] = []

    def interrupt(line: dict[str, Any]) -> None:
        if line["share"] > 0 and not shares:  # before, there is nothing to save
            shares.append(line["share"])  # first: the signal ends this function
            signal.raise_signal(signal.SIGINT)

    out = tmp_path / "x"
    with pytest.raises(KeyboardInterrupt, match="resume with"):
        pyfedsim.run(LONG, progress=interrupt, figures=False, out=out)
    run = pyfedsim.run(LONG, progress=False, figures=False, out=out, resume=True)
    assert list(run.table("runs", "numpy")["round"]) == [6000, 6000]
    again = pyfedsim.run(LONG, progress=False, figures=False, out=out, resume=True)
    assert again.manifest == run.manifest


@pytest.mark.skipif(sys.platform == "win32", reason="a script as a program")
def test_second_interrupt_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ignores interrupts is killed by the second one."""
    program = tmp_path / "fedsim"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, os, signal, sys\n"
        "if sys.argv[1] == 'version': print('fedsim 1.0'); sys.exit(0)\n"
        "done = json.dumps({'done': os.getpid()}).replace(': ', ':')\n"
        "signal.signal(signal.SIGINT, lambda *_: print(done, file=sys.stderr, flush=True))\n"
        "print('{\"done\":%d}' % os.getpid(), file=sys.stderr, flush=True)\n"
        "while True: signal.pause()\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("FEDSIM_BINARY", str(program))
    lines: list[int] = []

    def interrupt(line: dict[str, Any]) -> None:
        lines.append(line["done"])
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        pyfedsim.run(SCENARIO, progress=interrupt)
    assert len(lines) == 2
    with pytest.raises(ProcessLookupError):
        os.kill(lines[0], 0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_killed_python_leaves_no_orphan(tmp_path: Path) -> None:
    code = "import sys, pyfedsim; pyfedsim.run(sys.argv[1], out=sys.argv[2], progress=lambda x: print(flush=True))"
    path = tmp_path / "long.toml"
    path.write_text(dumps({**LONG, "run": {"rounds": 10**9, "seeds": [1]}}))
    python = subprocess.Popen(
        [sys.executable, "-c", code, path, tmp_path / "x"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(pyfedsim.__file__).parents[1])},
    )
    assert python.stdout is not None
    assert python.stdout.readline() == b"\n"  # the run makes progress
    children = Path(f"/proc/{python.pid}/task/{python.pid}/children").read_text().split()
    assert len(children) == 1
    python.kill()
    python.wait()
    python.stdout.close()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{children[0]}").exists():
        assert time.monotonic() < deadline, "fedsim runs on"
        time.sleep(0.05)


class Local(Learner):
    """A learner at the top of a file."""


def test_methods_of_learners() -> None:
    file = str(Path(__file__).resolve())
    serve = [sys.executable, "-m", "pyfedsim.protocols", "method"]
    assert runs._methods(Local) == {
        "methods.local.algorithm": "external",
        "methods.local.program.command": [*serve, f"{file}:Local"],
    }
    assert list(runs._methods({"a": Local, "b": "pkg.mod:C"})) == [
        "methods.a.algorithm",
        "methods.a.program.command",
        "methods.b.algorithm",
        "methods.b.program.command",
    ]
    for source, name in (("x/My.py", "my"), ("x/y.py:Some", "some"), ("pkg.mod", "mod")):
        assert f"methods.{name}.program.command" in runs._methods(source)
    with pytest.raises(TypeError, match="must be a subclass"):
        runs._methods(3)


def line(share: float, left: float | None = None) -> dict[str, Any]:
    return {
        "done": 1,
        "total": 4,
        "what": "runs",
        "share": share,
        "left_s": left,
        "phase": "running",
        "run": "a/b",
    }


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_in_a_log_has_no_carriage_returns() -> None:
    out, now = io.StringIO(), [0.0]
    with Display(out, lambda: now[0]) as display:
        for i in range(40):
            now[0] = float(i)
            display.update(line(i / 40))
        display.text("note: x")
    assert out.getvalue().splitlines() == [
        "1/4 runs, 25 %, running a/b",
        "1/4 runs, 50 %, running a/b",
        "1/4 runs, 75 %, running a/b",
        "note: x",
    ]
    assert "\r" not in out.getvalue()


def test_progress_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)  # as if it were not installed
    out = Terminal()
    with Display(out) as display:
        display.update(line(0.5, 30.2))
    assert out.getvalue() == "\r1/4 runs, 50 %, about 30 s left, running a/b\x1b[K\r\x1b[K"


@pytest.mark.parametrize(
    ("seconds", "want"),
    [(3.4, "3 s"), (59.6, "1 min 0 s"), (3600, "1 h 0 min"), (7265, "2 h 1 min")],
)
def test_duration(seconds: float, want: str) -> None:
    assert f"about {want} left" in describe(line(0.5, seconds))
