"""Run scenarios, and read their results."""

from __future__ import annotations

import contextlib
import html
import json
import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyfedsim import _process, _tables, _temporary, _writers
from pyfedsim._notebook import numbered
from pyfedsim._progress import Display
from pyfedsim._scenario import arguments, as_file
from pyfedsim.errors import FedsimError, Interrupted, RunError, UsageError, error_of_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyfedsim._scenario import Scenario, Value
    from pyfedsim._tables import Library
    from pyfedsim.model._here import Here

__all__ = ["DataSet", "Figure", "Run", "run", "sweep"]

# A DataFrame of pandas or polars, or a structured array of NumPy.
Table = Any


def run(
    scenario: Scenario,
    *,
    set: Mapping[str, Value] | None = None,  # noqa: A002 - as in fedsim --set
    method: object = None,
    model: object = None,
    out: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: bool | Callable[[dict[str, Any]], None] = True,
    figures: bool = True,
    force: bool = False,
    resume: bool = False,
    checkpoint_s: float | None = None,
    allow_external: bool = False,
    allow_other_program: bool = False,
) -> Run:
    """Run a scenario and return its results.

    An interrupt (Ctrl-C, or of the kernel of a notebook) ends each run after its round,
    saves a checkpoint and raises KeyboardInterrupt; a second one does not wait. Call
    again with ``out`` and ``resume=True`` to continue: the results are those of an
    uninterrupted run.

    Parameters
    ----------
    scenario
        Path of a scenario (``*.toml``), name of a shipped scenario, or the content of a
        scenario as a dictionary. Relative paths of data in a dictionary are relative to
        the working directory.
    set
        Settings that override keys of the scenario, as in
        ``{"network.profile": "3g", "run.seeds": [1, 2]}``.
    method
        A method beside those of the scenario: a class derived from :class:`pyfedsim.Method` in a file,
        ``"module:Class"`` or ``"file.py:Class"``, or a dictionary of several by name. Its name is that
        of the class in lower case. fedsim starts it as a program of its own.
    model
        The model that all methods of the scenario learn, with its loss: a class derived from
        :class:`pyfedsim.Model` in a file, ``"module:Class"`` or ``"file.py:Class"``. fedsim starts
        it as a program of its own. Or an instance, which computes in this process, as in a
        notebook: an error of it is the cause of the exception, with its own traceback. A class
        or an instance that has rows of its own brings them.
    out
        Run directory; None: ``runs/<name of the scenario>``. In a notebook it gets a number if
        it holds a run, so that a cell can be run again.
    seed
        Run with this one seed.
    workers
        Number of cores to use; None: all. The results are the same.
    progress
        Whether to show progress; or a function that gets each line of progress as a
        dictionary (docs/reference/json.md). The output of programs goes to standard error in any
        case.
    figures
        Whether to draw the figures of the scenario.
    force
        Overwrite an existing run in ``out``.
    resume
        Continue the interrupted or killed run in ``out``, or start it if there is none.
    checkpoint_s
        Minimum seconds between checkpoints; 0: none; None: the default of fedsim.
    allow_external
        Allow a scenario to start the programs that it names. ``method`` and ``model`` imply
        it.
    allow_other_program
        Resume runs of an external model with another program than before the interruption; the
        results say so.

    Raises
    ------
    ScenarioError
        The scenario or a setting is wrong; the error has file, line, column and key.
    UsageError
        The arguments are wrong, or ``out`` holds a run already.
    Stalled
        In some run no device can act again; the results are complete.
    Interrupted
        Another program interrupted fedsim.
    RunError
        The run failed.
    """
    if resume and out is None:
        raise UsageError("resume=True: needs out, the run directory")
    options = _given(
        {
            "--seed": seed,
            "--workers": workers,
            "--checkpoint": checkpoint_s,
            "--force": force,
            "--no-figures": not figures,
            "--allow-external": allow_external or method is not None or model is not None,
            "--allow-other-program": allow_other_program,
        }
    )
    options += arguments(set)
    if method is not None:
        options += arguments(_methods(method))
    here = _here(model)
    if model is not None:
        options += arguments(_problem(model))

    def start(directory: str | None) -> Run:
        place = _given({"--resume" if resume else "--out": directory})
        with as_file(scenario) as path, contextlib.ExitStack() as stack:
            update, text = shown(progress, stack)
            line = ["run", "--json", "--progress=json", *place, *options, "--", path]
            if here is None:
                return _outcome(*_process.watch(line, update, text), directory)
            stack.enter_context(here)
            done = _process.watch(line, update, text, here.environment)
            try:
                return _outcome(*done, directory)
            except FedsimError as error:
                raise error from here.error

    return numbered(start, out)


def _given(flags: Mapping[str, object]) -> list[str]:
    """Return the arguments of flags with a value; a flag of value True has none."""
    return [
        flag if value is True else f"{flag}={value}"
        for flag, value in flags.items()
        if value is not None and value is not False
    ]


def shown(
    progress: bool | Callable[[dict[str, Any]], None], stack: contextlib.ExitStack
) -> tuple[Callable[[dict[str, Any]], None], Callable[[str], None]]:
    """Return the functions that get lines of progress and other lines.

    ``progress`` is that of :func:`run`; a display ends with ``stack``.
    """
    if callable(progress):
        return progress, Display().text
    if not progress:
        return _ignore, _note
    display = stack.enter_context(Display())
    return display.update, display.text


def sweep(
    scenario: Scenario,
    axes: Mapping[str, Iterable[Value]],
    **options: Any,
) -> Run:
    """Run a scenario for every combination of values of some keys, and return the results.

    Parameters
    ----------
    scenario
        As in :func:`run`.
    axes
        The values of each key, as in ``{"network.profile": ["3g", "lte"]}``. Each key
        is a column of the tables.
    **options
        The keyword arguments of :func:`run`.
    """
    if not axes:
        raise UsageError("axes: must have at least one key")
    settings = dict(options.pop("set", None) or {})
    for key, values in axes.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise UsageError(f"axes[{key!r}] = {values!r}: must be a list of values")
        settings[f'sweep."{key}"'] = list(values)
    return run(scenario, set=settings, **options)


def _ignore(line: object) -> None:
    """Ignore a line."""


def _note(line: str) -> None:
    """Print a line without progress, unless it is an estimate or names the programs to start."""
    if not line.startswith(("estimate: ", "fedsim: ", "  methods.", "  problem: ")):
        Display().text(line)


def _methods(method: object) -> dict[str, Value]:
    """Return the settings that add methods."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and main.name.startswith("pyfedsim.protocols"):
        raise UsageError(
            "run(method=...) was called while fedsim loads the method: "
            'call it under "if __name__ == "__main__":"'
        )
    from pyfedsim.protocols import command  # noqa: PLC0415 - imports NumPy

    named = method if isinstance(method, dict) else {_name(method): method}
    settings: dict[str, Value] = {}
    for name, one in named.items():
        settings[f"methods.{name}.algorithm"] = "external"
        source = os.fspath(one) if isinstance(one, os.PathLike) else one
        settings[f"methods.{name}.program.command"] = command(source)
    return settings


def _here(model: object) -> Here | None:
    """Return what serves a model of this process; None if the model is another."""
    if model is None:
        return None
    from pyfedsim.model import Model  # noqa: PLC0415 - imports NumPy
    from pyfedsim.model._here import Here  # noqa: PLC0415

    return Here(model) if isinstance(model, Model) else None


def _problem(model: object) -> dict[str, Value]:
    """Return the settings of a model of one's own."""
    from pyfedsim.model import Model  # noqa: PLC0415 - imports NumPy
    from pyfedsim.model._here import COMMAND  # noqa: PLC0415
    from pyfedsim.protocols import command  # noqa: PLC0415

    source = os.fspath(model) if isinstance(model, os.PathLike) else model
    settings: dict[str, Value] = {"problem.model": "external"}
    if isinstance(model, Model):
        settings |= {"problem.program.command": COMMAND, "problem.program.processes": 1}
    else:
        settings["problem.program.command"] = command(source, "model")
    own = model() if isinstance(model, type) else model
    if isinstance(own, Model) and (rows := own.rows()) is not None:
        settings["data.source"] = "external"
        settings["data.external.clients"] = len(rows["train"])
        settings["data.external.rows"] = [int(n) for n in rows["train"]]
    return settings


def _name(method: object) -> str:
    """Return the name of a method: that of its class, module or file."""
    if isinstance(method, type):
        return method.__name__.lower()
    from pyfedsim.protocols._load import split  # noqa: PLC0415 - imports NumPy

    source, _, wanted = split(str(method))
    return (wanted or Path(source).name.removesuffix(".py").rpartition(".")[2]).lower()


def _outcome(status: int, output: str, errors: str, interrupted: bool, out: str | None) -> Run:
    """Return the run that a command made, or raise its error."""
    directory = json.loads(output)["directory"] if output.strip() else out
    if status == 0 and directory is not None and not interrupted:
        return Run(directory)
    error = error_of_exit(status, errors, directory) if status else None
    if interrupted and (error is None or isinstance(error, Interrupted)):
        raise KeyboardInterrupt(str(error) if error else f"results: {directory}")
    if error is None:
        raise FedsimError("fedsim ended without a result")
    raise error


class Figure:
    """A figure of a run. Notebooks display it.

    Attributes
    ----------
    name
        Name of the file without its extension.
    svg, png
        The content in both formats.
    """

    def __init__(self, name: str, svg: bytes, png: bytes) -> None:
        self.name = name
        self.svg = svg
        self.png = png

    def __repr__(self) -> str:
        """Return the name."""
        return f"Figure({self.name!r})"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure to a file that ends in .svg or .png, and return its path."""
        path = Path(path)
        content = {".svg": self.svg, ".png": self.png}.get(path.suffix)
        if content is None:
            raise UsageError(f"{path}: must end in .svg or .png")
        path.write_bytes(content)
        return path

    def _repr_svg_(self) -> str:
        """Return the SVG element, for notebooks."""
        text = self.svg.decode()
        return text[text.index("<svg") :]


@dataclass(frozen=True)
class DataSet:
    """What a file of data says of itself, and a scenario does not."""

    name: str
    """Name of the set."""
    labels: dict[int, str]
    """The classes by label: -1 and 1, or the numbers of several classes, from 0. Empty for real
    targets, and for labels without names."""
    dropped_rows: int
    """Number of rows with missing values that were left out (``data.missing = "drop"``)."""
    filled_rows: int
    """Number of rows with means in place of missing values (``data.missing = "mean"``)."""
    missing_values: int
    """Number of values that these rows miss."""


class Run:
    """The results of a run: a run directory.

    The tables are DataFrames of pandas if it is installed, otherwise of polars,
    otherwise structured arrays of NumPy; :meth:`table` lets you choose.
    docs/results.md describes their columns.

    Parameters
    ----------
    directory
        A run directory, of this program or of ``fedsim run``.

    Attributes
    ----------
    directory
        Its path.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        if not (self.directory / "manifest.json").is_file():
            raise FedsimError(
                f"{self.directory}: is no complete run directory: it has no manifest.json"
            )

    def __repr__(self) -> str:
        """Return how to open the run again."""
        return f"Run({str(self.directory)!r})"

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Versions, settings, hashes and the list of runs."""
        text = (self.directory / "manifest.json").read_text(encoding="utf-8")
        return cast("dict[str, Any]", json.loads(text))

    @property
    def data_sets(self) -> list[DataSet]:
        """What files of data say of themselves: labels with their classes, missing values.

        The entry ``data_set`` of a run in :attr:`manifest` is an index into this list.
        """
        return [
            DataSet(
                name=x["name"],
                labels={label["value"]: label["class"] for label in x.get("labels", [])},
                dropped_rows=x.get("dropped_rows", 0),
                filled_rows=x.get("filled_rows", 0),
                missing_values=x.get("missing_values", 0),
            )
            for x in self.manifest.get("data_sets", [])
        ]

    @property
    def scenario(self) -> str:
        """The scenario with all settings, as TOML."""
        return (self.directory / "scenario.toml").read_text(encoding="utf-8")

    @cached_property
    def rounds(self) -> Table:
        """One row for each run and round."""
        return self.table("rounds")

    @cached_property
    def runs(self) -> Table:
        """One row for each run: its end, totals, and the cost of each target."""
        return self.table("runs")

    @cached_property
    def devices(self) -> Table:
        """One row for each run, round and device; without ``run.devices=true``, of small runs."""
        return self.table("devices")

    @cached_property
    def metrics(self) -> Table:
        """One row for each value of a named metric of the whole model or over clients."""
        return self.table("metrics")

    @cached_property
    def clients(self) -> Table:
        """One row for each client of data that name their clients: its number and name."""
        return self.table("clients")

    @cached_property
    def client_values(self) -> Table:
        """One row for each value of a metric of a client; needs ``run.client_metrics``.

        A learner may report its own instead.
        """
        return self.table("client_values")

    def table(self, name: str, library: Library | None = None) -> Table:
        """Read a table and return it.

        Parameters
        ----------
        name
            ``rounds``, ``runs``, ``devices``, ``metrics``, ``clients`` or ``client_values``; or a table
            of :meth:`summary`, ``times`` or ``ends``, whose cells are text with units.
        library
            ``pandas``, ``polars`` or ``numpy``; None: the first of these that is
            installed. With ``numpy``, ``times`` and ``ends`` are lists of dictionaries, one for each row.

        Raises
        ------
        FedsimError
            If the run has no such table, or the library is not installed.
        """
        if name in ("latex", "markdown"):
            raise UsageError(f'"{name}" is a format, no table: call run.{name}("times")')
        library = _tables.choose(library)
        if name in _tables.SHOWN:
            return _tables.of_rows(json.loads(self._export(name, "json")), library)
        path = self.directory / f"{name}.csv"
        if path.is_file():
            return _tables.read_csv(path, library)
        with _temporary.folder() as folder:
            return _tables.read_csv(self._exported(folder, name, "csv"), library)

    def latex(self, name: str = "times") -> str:
        """Return a table for LaTeX with booktabs; ``name`` as for :meth:`table`.

        Raises
        ------
        FedsimError
            If the run has no such table.
        """
        return self._export(name, "tex")

    def markdown(self, name: str = "times") -> str:
        """Return a table in Markdown; ``name`` as for :meth:`table`.

        Raises
        ------
        FedsimError
            If the run has no such table.
        """
        return self._export(name, "md")

    def _export(self, name: str, form: str) -> str:
        with _temporary.folder() as folder:
            return self._exported(folder, name, form).read_text(encoding="utf-8")

    def _exported(self, folder: Path, name: str, form: str) -> Path:
        copy = folder / f"{name}.{form}"
        try:
            _process.call(["export", "-o", str(copy), "--", self.directory, name])
        except RunError as error:
            raise RunError(str(error).removeprefix(f"write {copy}: ")) from None
        return copy

    def to_tensorboard(self, folder: str | os.PathLike[str]) -> Path:
        """Write event files, one folder for each run, and return ``folder``.

        Steps are rounds; the wall time of each event is its virtual time in seconds from
        the start of 1970, so that TensorBoard's horizontal axis RELATIVE is virtual time.
        Needs tensorboard with PyTorch, or tensorboardX.
        """
        return _writers.to_tensorboard(self, folder)

    def to_mlflow(self, experiment: str | None = None) -> list[str]:
        """Log each run to MLflow and return the ids that MLflow gave them.

        Steps are rounds; the timestamp of a metric is its virtual time in milliseconds. ``experiment`` is
        the name of the experiment of MLflow; None: the active one.
        """
        return _writers.to_mlflow(self, experiment)

    def to_wandb(self, **options: Any) -> list[str]:
        """Log each run to Weights & Biases and return the ids that it gave them.

        Steps are rounds; virtual time is the metric ``time_s``, to which all curves are drawn by
        default. ``options`` are those of ``wandb.init``, such as ``project`` and ``mode="offline"``.
        """
        return _writers.to_wandb(self, **options)

    @property
    def figures(self) -> list[str]:
        """Names of the figures, without extension."""
        return sorted({Path(name).stem for name in self.manifest.get("figures") or []})

    def figure(
        self, name: str | None = None, *, x: str | None = None, y: str | None = None
    ) -> Figure:
        """Return a figure of the run.

        Parameters
        ----------
        name
            One of :attr:`figures`; None: the first.
        x, y
            Quantities of the axes, such as ``time_s``, ``energy_j``, ``test_error`` or
            ``test_accuracy``; None: those of the scenario. With one of them, or without
            a figure in the directory, fedsim draws the figure now.
        """
        drawn = self.directory / "figures"
        if self.figures and x is None and y is None:
            return _figure(drawn, self._named(name, self.figures))
        axes = [f"--{key}={value}" for key, value in (("x", x), ("y", y)) if value is not None]
        with _temporary.folder() as folder:
            _process.call(["plot", "--out", folder, *axes, "--", self.directory])
            names = sorted(path.stem for path in folder.glob("*.svg"))
            if name is None and self.figures:
                name = self.figures[0]
            return _figure(folder, self._named(name, names))

    def _named(self, name: str | None, names: list[str]) -> str:
        if not names:
            raise FedsimError(f"{self.directory}: has no figure")
        if name is None:
            return names[0]
        if name not in names:
            raise FedsimError(f"{self.directory}: no figure {name}: there are {', '.join(names)}")
        return name

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the HTML report and return its path; None: ``report.html`` in the run directory."""
        target = self.directory / "report.html" if path is None else Path(path)
        _process.call(["report", "--out", target, "--", self.directory])
        return target

    def explain(self, run: str | None = None) -> str:
        """Return what took the time of a run, as text, from its rows by device (``devices``).

        Parameters
        ----------
        run
            Id of the run, from the table ``runs``; None: the first.
        """
        return _process.call(
            ["explain", *([] if run is None else [f"--run={run}"]), "--", self.directory]
        )

    def summary(self) -> str:
        """Return settings, results and files as text."""
        return _process.call(["show", "--all", "--", self.directory])

    def _repr_html_(self) -> str:
        """Return warnings, the table ``times`` and the figures, for notebooks; without scripts."""
        parts = [f"<div><p><code>{html.escape(str(self.directory))}</code></p>"]
        told = json.loads(_process.call(["show", "--json", "--", self.directory]))["results"]
        parts += [
            f"<p><b>warning:</b> {html.escape(message['text'])}</p>"
            for message in told["messages"]
            if message["level"] == "warning"
        ]
        parts += _tables.html_of_rows(json.loads(self._export("times", "json")))
        with contextlib.suppress(FedsimError):  # a run without figures shows its tables
            names = self.figures or [self.figure().name]
            parts += [self.figure(name)._repr_svg_() for name in names]
        parts.append(
            f"<details><summary>all results</summary><pre>{html.escape(self.summary())}</pre></details></div>"
        )
        return "\n".join(parts)


def _figure(folder: Path, name: str) -> Figure:
    return Figure(
        name, (folder / f"{name}.svg").read_bytes(), (folder / f"{name}.png").read_bytes()
    )
